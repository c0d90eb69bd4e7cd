"""LLM: a language model is asked for one text per request, with real texts as examples (paper, GPT3.5).

Behind an OpenAI-compatible endpoint it gets an instruction, with examples of exactly the composition; the text stands
between two marks. The decoder backbone (`backend: local`), which need not follow instructions, continues a list of
texts under the line that describes them. An answer that holds no text (a refusal, a remark, a cut end) is dropped and
counted.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from compaug.core.files import atomic_dir, write_json
from compaug.core.records import Draft, Example, sub_seed, write_jsonl
from compaug.generators import Backbones, Requests
from compaug.generators.shared.facts import CONFIG, bill, facts_of
from compaug.generators.shared.real_rows import EXAMPLES, by_composition, examples_of, jaccard
from compaug.models.language_models import complete, model_of

ROLES = ("decoder",)  # opened by the back end `local` alone
TEXT = re.compile(r"<text>(.*?)</text>", re.DOTALL)
FATES = ("parsed", "unparsable", "refused", "cut")
END = "\n"  # of a text in a list
NEAREST = 4  # other compositions in a list, when each has texts enough
Texts = Mapping[tuple[int, ...], Sequence[str]]  # the real texts of each composition


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Keep D_cg for the examples in the prompts, and the name of the model.

    The name is that of params, else the variable OPENAI_MODEL; of the decoder it is its hash.
    """
    model = model_of(params, backbones, "llm")
    words = median(len(e.text.split()) for e in examples)
    with atomic_dir(out_dir) as folder:
        write_jsonl(folder / EXAMPLES, [e for e in examples if e.labels])
        facts = {"generator": "llm", **task.facts(), "median_words": words}
        write_json(folder / CONFIG, facts | {"params": params.in_force() | {"model": model}})


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One text per request, none where the answer holds none.

    InputError when an answer is missing and the model does not give it: the answers so far stay in the store.
    """
    answers, read, _ = _answers(model_dir, requests, task, backbones.get("decoder"), seed)
    for number, (label_set, answer) in enumerate(zip(requests, answers, strict=True)):
        if text := read(answer)[1]:
            yield Draft(number, text, tuple(label_set))


def account(model_dir: Path, requests: Requests, task, seed: int) -> dict[str, object]:
    """For the side-car: the model, the fates of its answers, their tokens and price."""
    answers, read, params = _answers(model_dir, requests, task, None, seed)
    fates = Counter(read(answer)[0] for answer in answers)
    of_fates = {"model": params.model, "answers": {fate: fates[fate] for fate in FATES}}
    return of_fates | bill((answer["usage"] for answer in answers), params)


def _answers(model_dir: Path, requests: Requests, task, decoder: Path | None, seed: int):
    """The answers to all requests, how they are read, and the settings."""
    facts, params, task = facts_of(model_dir, task)
    rows = by_composition(examples_of(model_dir, task))
    texts = {composition: [example.text for example in of_it] for composition, of_it in rows.items()}
    ask, read = FORMS[params.backend]
    common = {name: getattr(params, name) for name in ("model", "temperature", "top_p", "max_tokens")}
    queries = [
        common
        | {"seed": sub_seed(seed, "llm", number) % 2**31}
        | ask(task, tuple(label_set), texts, facts, sub_seed(seed, "shots", first))
        for number, (label_set, first) in enumerate(zip(requests, _sharing(requests, params.per_prompt), strict=True))
    ]
    return complete(queries, params.backend, vars(params), Path(params.store), decoder), read, params


def _sharing(requests: Requests, per_prompt: int) -> list[int]:
    """For each request the first of those that get the same prompt: `per_prompt` in a row of the same composition."""
    firsts, seen = [], Counter()
    first_of: dict[tuple, int] = {}
    for number, label_set in enumerate(map(tuple, requests)):
        firsts.append(first_of.setdefault((label_set, seen[label_set] // per_prompt), number))
        seen[label_set] += 1
    return firsts


# ---------------------------------------------------------------- an instruction, and the text between two marks


def instruction(task, label_set: tuple[int, ...], texts: Texts, config: Mapping, seed: int) -> dict:
    """Task, labels wanted and unwanted, length, examples of the same composition, and the form of the answer."""
    phrases = task.labels.phrases
    labels = ", ".join(f'"{phrases[label]}"' for label in label_set)
    others = ", ".join(f'"{phrase}"' for label, phrase in enumerate(phrases) if label not in set(label_set))
    lines = [
        "Write one text that could have been taken from a data set in which every text is described by a line such as:",
        task.source(label_set).rstrip(" :"),
        f"The text must express ALL of these labels: {labels}.",
        f"It must express NONE of these labels: {others}." if others else "",
        f"Do not name the labels. Length: about {config['median_words']:.0f} words, in the style of the data set.",
    ]
    if examples := _shuffled(texts.get(label_set, []), config["params"]["few_shot_words"], np.random.default_rng(seed)):
        lines += ["Texts of the data set with exactly these labels:", *(f"- {text}" for text in examples)]
    lines.append("Answer with the text alone, between <text> and </text>.")
    return {"messages": [{"role": "user", "content": "\n".join(line for line in lines if line)}]}


def marked(answer: Mapping) -> tuple[str, str]:
    """(fate, text) of the answer to an instruction; fate is one of FATES and the text is "" unless it is `parsed`."""
    if answer["refusal"] or answer["finish_reason"] == "content_filter":
        return "refused", ""
    if answer["finish_reason"] == "length":
        return "cut", ""
    texts = TEXT.findall(answer["content"] or "")
    if len(texts) != 1 or not texts[0].strip():
        return "unparsable", ""
    return "parsed", " ".join(texts[0].split())


# ---------------------------------------------------------------- a list that goes on


def listing(task, label_set: tuple[int, ...], texts: Texts, config: Mapping, seed: int) -> dict:
    """Texts under the lines that describe them, the asked composition last, and the mark of its next text.

    In front of the texts of exactly this composition, which may be few or none, stand those of the compositions that
    have most in common with it (Jaccard index), as far as `few_shot_words` reaches: half of the words are for the exact
    ones where there are any.
    """
    rng, most = np.random.default_rng(seed), config["params"]["few_shot_words"]
    exact = _shuffled(texts.get(label_set, []), most // 2, rng)
    others = [other for other in texts if other != label_set and set(other) & set(label_set)]
    rng.shuffle(others)
    others.sort(key=lambda other: -jaccard(other, label_set))
    left, sections = most - _words(exact), [(label_set, exact)]
    for other in others:
        if shown := _shuffled(texts[other], min(left, max(1, most // NEAREST)), rng):
            sections.append((other, shown))
            left -= _words(shown)
    lines = []
    for composition, shown in reversed(sections):
        lines += [task.source(composition).strip(), *(f"- {text}" for text in shown), ""]
    lines[-1] = "-"
    return {"prompt": "\n".join(lines), "top_k": config["params"]["top_k"], "stop": END}


def listed(answer: Mapping) -> tuple[str, str]:
    """(fate, text) of the next item of a list."""
    if answer["finish_reason"] == "length":
        return "cut", ""
    text = " ".join((answer["content"] or "").split())
    return ("parsed", text) if text else ("unparsable", "")


FORMS = {"endpoint": (instruction, marked), "local": (listing, listed)}


def _shuffled(texts: Sequence[str], most_words: int, rng: np.random.Generator) -> list[str]:
    """Texts in random order, as many as `most_words` words hold."""
    chosen, words = [], 0
    for at in rng.permutation(len(texts)):
        words += len(texts[at].split())
        if words > most_words:
            break
        chosen.append(" ".join(texts[at].split()))
    return chosen


def _words(texts: Sequence[str]) -> int:
    return sum(len(text.split()) for text in texts)
