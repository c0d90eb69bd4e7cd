"""CoDa: a language model writes what keeps simple constraints, taken from real texts (Evuru et al. 2024; spec coda).

Nothing is trained: `train` takes the constraints out of D_cg, once for each text, and has the model name the concepts to avoid. A request then
gets anchors, real texts with its labels, and what they say becomes a prompt: keywords for every label, which is what makes the text
compositional, the labels with exemplars, a pattern of tags, a length, concepts to leave out. Each draft says what it was asked to keep and
what it kept (`Draft.made_of`).
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compaug import shapes
from compaug.constraints import Constraints, Shown, lengths, lexical, wording
from compaug.constraints.compliance import compliance, totals
from compaug.constraints.concepts import Concept, association, distinct, groups, name_in, question, to_avoid
from compaug.constraints.syntactic import tags_of
from compaug.generators.llm import model_of
from compaug.language_models import complete
from compaug.records import (
    Draft,
    Example,
    InputError,
    atomic_dir,
    read_json,
    read_jsonl,
    sub_seed,
    text_key,
    write_json,
    write_jsonl,
)

ROLES = ("encoder", "decoder")  # keywords; the back end `local`
EXEMPLARS = 3
FATES = ("parsed", "empty", "refused", "cut", "copied")
PAPER_TOKENS, CHARACTERS = 2000, 3  # of prompt and answer at an endpoint, whose tokens are taken for so many characters
NAME_TOKENS = 24  # of the answer that names a concept
LabelSet = tuple[int, ...]


# ---------------------------------------------------------------- constraints of D_cg


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
    """Keep D_cg, in which the texts that requests may be built on have their constraints in `made_of`, and the concepts of each label.

    InputError without a labelled text, and when a concept is to be named and the model does not answer.
    """
    examples = [example for example in examples if example.labels]
    if not examples:
        raise InputError("generators.coda: no text has a label, so there is nothing to take constraints from")
    params = params.model_copy(update={"model": model_of(params, backbones, "coda")})
    texts, label_sets = [e.text for e in examples], [e.labels for e in examples]
    speaks = association(texts, label_sets, len(task.labels)) if params.concepts or params.lexical else []
    pool = _pool(examples, params.anchors, seed)
    records = _records(pool, task, params, speaks, backbones)
    kept = [replace(e, made_of=records.get(e.id)) for e in examples]
    concepts = _concepts(texts, speaks, task, params, backbones) if params.concepts else [[] for _ in task.labels.names]
    facts = {"generator": "coda", **task.facts(), "params": params.model_dump(), "spread": lengths.spread(texts)}
    facts["concepts"] = [[{"name": one.name, "phrases": list(one.phrases)} for one in some] for some in concepts]
    with atomic_dir(out_dir) as folder:
        if params.backend == "local":
            from compaug.decoders import shape
            from compaug.pretrained import load_decoder, quiet

            tokenizer, model = load_decoder(backbones["decoder"])
            with quiet():
                tokenizer.save_pretrained(folder / "tokenizer")
            facts["positions"] = shape(model.config).positions
        write_jsonl(folder / "examples.jsonl", kept)
        write_json(folder / "config.json", facts)


def _pool(examples: Sequence[Example], most: int, seed: int) -> list[Example]:
    """All support texts, and of every composition at most so many others, random ones; 0: all of them."""
    rng = np.random.default_rng(sub_seed(seed, "coda", "pool"))
    seen: Counter = Counter()
    chosen = set()
    for at in rng.permutation(len(examples)).tolist():
        example = examples[at]
        seen[example.labels] += example.source != "support"
        if example.source == "support" or not most or seen[example.labels] <= most:
            chosen.add(at)
    return [examples[at] for at in sorted(chosen)]


def _records(pool: Sequence[Example], task, params, speaks, backbones: Mapping[str, Path]) -> dict[str, dict]:
    """What is taken from each text, by its id: n-grams with their scores for each label, tags of its sentences."""
    made: dict[str, dict] = {example.id: {} for example in pool}
    if params.lexical:
        ngrams = [lexical.ngrams(example.text, params.longest) for example in pool]
        if params.keywords_by == "document":
            asked = [(some, e.text) for some, e in zip(ngrams, pool, strict=True)]
            scores = [[of_text] for of_text in lexical.similarities(asked, backbones["encoder"])]
        else:
            asked = [(some, task.labels.phrases[y]) for some, e in zip(ngrams, pool, strict=True) for y in e.labels]
            of_labels = iter(lexical.similarities(asked, backbones["encoder"]))
            scores = [[next(of_labels) for _ in e.labels] for e in pool]
        for example, some, by_label in zip(pool, ngrams, scores, strict=True):
            spoken = [_shares(speaks[y], some) for y in example.labels]
            made[example.id] = {"ngrams": some, "scores": by_label, "association": spoken}
    if params.syntactic:
        for example, sentences in zip(pool, tags_of([example.text for example in pool]), strict=True):
            made[example.id]["tags"] = sentences
    return made


def _shares(speaks: Mapping[str, float], ngrams: Sequence[str]) -> list[float]:
    """The mutual information of n-grams with a label, over the most that any has; 0 for one that does not speak for it."""
    most = max(speaks.values(), default=1.0)
    return [round(speaks.get(ngram, 0.0) / most, lexical.DECIMALS) for ngram in ngrams]


def _concepts(texts: Sequence[str], speaks, task, params, backbones: Mapping[str, Path]) -> list[list[Concept]]:
    """Of every label; the model names each group of n-grams, or its best n-gram does."""
    grouped = [groups(found) for found in speaks]
    flat = [group for some in grouped for group in some]
    if params.naming == "phrase":
        names = [name_in(group[0]) for group in flat]
    else:
        common = _decoding(params) | {"temperature": 0.0, "max_tokens": NAME_TOKENS, "seed": 0}
        asked = [common | {"messages": [{"role": "user", "content": question(group, texts)}]} for group in flat]
        answers = complete(asked, params.backend, params.model_dump(), Path(params.store), backbones.get("decoder"))
        names = [name_in(answer["content"]) for answer in answers]
    named = iter(names)
    return [distinct([next(named) for _ in some], some) for some in grouped]


# ---------------------------------------------------------------- from requests to prompts


@dataclass(frozen=True)
class Built:
    """The prompt that some requests share, what is asked for in it, and what it had to leave out."""

    prompt: str
    asked: Constraints
    dropped: Mapping[str, int]


class Model:
    """What `train` has kept, and what of it is asked for again and again."""

    def __init__(self, folder: Path, task) -> None:
        config = read_json(folder / "config.json", shapes.GeneratorFacts)
        self.folder, self.task, self.params = folder, task.of_model(config, folder), config["params"]
        self.spread, self.positions = config["spread"], config.get("positions")
        self._concepts = [[Concept(one["name"], tuple(one["phrases"])) for one in some] for some in config["concepts"]]
        examples = read_jsonl(folder / "examples.jsonl", len(task.labels))
        self.known = {text_key(example.text) for example in examples}
        self.compositions = Counter(example.labels for example in examples)
        self.texts = [example for example in examples if example.made_of is not None]  # anchors and exemplars
        self.exact: dict[LabelSet, list[Example]] = {}
        for example in self.texts:
            self.exact.setdefault(example.labels, []).append(example)
        self._avoid: dict[LabelSet, tuple[Concept, ...]] = {}
        self._anchors: dict[tuple, list[Example]] = {}

    def concepts(self, labels: LabelSet) -> tuple[Concept, ...]:
        """Those that a text with these labels is to avoid."""
        if labels not in self._avoid:
            self._avoid[labels] = tuple(to_avoid(self._concepts, self.compositions, labels))
        return self._avoid[labels]

    def anchors(self, wanted: LabelSet, label: int, seed: int) -> list[Example]:
        """Support texts with exactly the wanted labels; without any the texts with that label that have most of the other wanted ones and then
        fewest foreign ones. In random order. InputError where no text has the label."""
        best = [example for example in self.exact.get(wanted, []) if example.source == "support"]
        name = (*wanted, "exactly") if best else (*wanted, "for", label)
        if name not in self._anchors:
            if not best and not (best := [example for example in self.texts if label in example.labels]):
                what = f"no text of D_cg has the label {self.task.labels.names[label]}"
                raise InputError(f"generators.coda: {what}, so no constraints can be taken from one")
            shared = [_in_common(example.labels, wanted) for example in best]
            nearest = [example for example, some in zip(best, shared, strict=True) if some == max(shared)]
            order = np.random.default_rng(sub_seed(seed, "coda", "anchors", *name)).permutation(len(nearest))
            self._anchors[name] = [nearest[at] for at in order]
        return self._anchors[name]


def _in_common(labels: LabelSet, wanted: LabelSet) -> tuple[int, int]:
    shared = len(set(labels) & set(wanted))
    return shared, shared - len(labels)


def build(model: Model, requests: Sequence[Sequence[int]], seed: int) -> list[Built]:
    """The prompt of every request. `n_aug` in a row of the same composition share one: they are what is written for one source.

    InputError for a label that no text has, and for constraints that do not fit even without exemplars and pattern.
    """
    n_tokens, room = _counter(model)
    made: dict[tuple[LabelSet, int], Built] = {}
    found, seen = [], Counter()
    for label_set in (tuple(sorted(some)) for some in requests):
        key = (label_set, seen[label_set] // model.params["n_aug"])
        seen[label_set] += 1
        if key not in made:
            whole = _constraints(model, *key, seed)
            prompt, asked = wording.fitted(model.params["form"], model.task, whole, n_tokens, room)
            if not prompt:
                raise InputError(
                    f"generators.coda: the prompt for {model.task.labels.key(label_set)} exceeds {room} tokens even without "
                    "exemplars and pattern; lower max_tokens or switch constraints off"
                )
            exemplars = len(whole.shown) - len(asked.shown)
            made[key] = Built(prompt, asked, {"exemplars": exemplars, "tags": int(bool(whole.tags) > bool(asked.tags))})
        found.append(made[key])
    return found


def _constraints(model: Model, wanted: LabelSet, turn: int, seed: int) -> Constraints:
    """What the source of that turn, of one composition, asks for (spec section 8; of a single label it is that of section 2)."""
    tagged, drawn = (
        np.random.default_rng(sub_seed(seed, "coda", what, turn, *wanted)) for what in ("tags", "exemplars")
    )
    anchors = {label: (some := model.anchors(wanted, label, seed))[turn % len(some)] for label in wanted}
    sources = list({example.id: example for example in anchors.values()}.values())
    asked = replace(_taken(model, wanted, anchors, sources, tagged), sources=[example.id for example in sources])
    if not model.params["label"]:
        return asked
    chosen = _exemplars(
        model, wanted, sources, drawn
    )  # noise of its own: an ablation changes nothing but what it leaves out
    shown = [_taken(model, one.labels, dict.fromkeys(one.labels, one), [one], tagged) for one in chosen]
    shown = [Shown(one.id, " ".join(one.text.split()), keeps) for one, keeps in zip(chosen, shown, strict=True)]
    return replace(asked, named=True, shown=tuple(shown))


def _taken(
    model: Model, labels: LabelSet, anchors: Mapping[int, Example], sources: Sequence[Example], rng
) -> Constraints:
    """All but the exemplars: keywords from each label's anchor, the rest from these and from the corpus."""
    params, made = model.params, {}
    if params["lexical"]:
        made["keywords"] = _keywords(labels, anchors)
    if spans := getattr(model.task, "required_spans", None):  # of a task whose labels are places in the text
        made["required_spans"] = tuple(dict.fromkeys(span for source in sources for span in spans(source)))
    if params["syntactic"]:
        sentences = sources[rng.integers(len(sources))].made_of["tags"]
        made["tags"] = tuple(sentences[rng.integers(len(sentences))]) if sentences else ()
    if params["length"] != "none":
        mean = float(np.mean([lengths.n_words(source.text) for source in sources]))
        made["length"] = lengths.MODES[params["length"]](mean, model.spread)
    if params["concepts"]:
        made["concepts"] = model.concepts(labels)
    return Constraints(labels, **made)


def _keywords(wanted: LabelSet, anchors: Mapping[int, Example]) -> dict[int, list[str]]:
    """Of one label the k best n-grams of its text. Of m labels ceil(k / m) each: what means the text and speaks for the label (spec 8)."""
    scores, how_many = {}, {}
    for label in wanted:
        example, record = anchors[label], anchors[label].made_of
        at = example.labels.index(label)
        scored = record["scores"][at if len(record["scores"]) > 1 else 0]
        if len(wanted) > 1:
            scored = [score + share for score, share in zip(scored, record["association"][at], strict=True)]
        scores[label] = dict(zip(record["ngrams"], scored, strict=True))
        how_many[label] = math.ceil(lexical.n_keywords(example.text) / len(wanted))
    return lexical.chosen(scores, how_many)


def _exemplars(model: Model, wanted: LabelSet, sources: Sequence[Example], rng) -> list[Example]:
    """Up to three texts with exactly the wanted labels, support texts first, none of them a source; then one of each label alone. In random
    order."""
    used = {example.id for example in sources}

    def fresh(labels: LabelSet) -> list[Example]:
        some = [example for example in model.exact.get(labels, []) if example.id not in used]
        return [some[at] for at in rng.permutation(len(some))]

    own = sorted(fresh(wanted), key=lambda example: example.source != "support")
    alone = [
        some[0] for label in rng.permutation(list(wanted)).tolist() if len(wanted) > 1 and (some := fresh((label,)))
    ]
    chosen = [*own, *alone][:EXEMPLARS]
    return [chosen[at] for at in rng.permutation(len(chosen))]


def _counter(model: Model) -> tuple[Callable[[str], int], int]:
    """How many tokens a prompt has, and how many it may have beside an answer."""
    context = model.params["context"] or model.positions or PAPER_TOKENS
    if model.positions:
        context = min(context, model.positions)
    room = context - model.params["max_tokens"]
    if model.params["backend"] != "local":
        return lambda prompt: math.ceil(len(prompt) / CHARACTERS), room
    from transformers import AutoTokenizer  # slow to import

    tokenizer = AutoTokenizer.from_pretrained(model.folder / "tokenizer", local_files_only=True)
    if model.params["form"] == "list":
        return lambda prompt: len(tokenizer(prompt, verbose=False)["input_ids"]), room
    if tokenizer.chat_template is None:
        raise InputError("generators.coda.form: instruction, but the decoder has no chat template; set form: list")
    return lambda prompt: len(_conversation(tokenizer, prompt)), room


def _conversation(tokenizer, prompt: str) -> list[int]:
    messages = [{"role": "user", "content": prompt}]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)


# ---------------------------------------------------------------- from answers to texts


@dataclass(frozen=True)
class Written:
    """One request: its prompt, what became of each answer to it, and the texts with what they keep, in the order of the answers."""

    built: Built
    fates: list[str]
    texts: list[tuple[str, dict]]
    usage: list[Mapping]

    def best(self, rank_by: str) -> tuple[str, dict] | None:
        """The first text, or the first of those that keep most."""
        if rank_by == "none":
            return next(iter(self.texts), None)
        return max(self.texts, key=lambda text: text[1]["score"], default=None)


def feasible(model_dir: Path, requests: Sequence[Sequence[int]], task) -> list[bool]:
    """Those label sets whose every label some text has, from which constraints can be taken."""
    having = {label for example in Model(model_dir, task).texts for label in example.labels}
    return [having.issuperset(label_set) for label_set in requests]


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """One text per request, the first of its answers or the one that keeps most; none where no answer holds a text. InputError when an
    answer is missing and the model does not give it: the answers so far stay in the store."""
    model = Model(model_dir, task)
    written = _written(model, requests, backbones.get("decoder"), seed)
    _say_dropped(written)
    for number, (label_set, one) in enumerate(zip(requests, written, strict=True)):
        if found := one.best(model.params["rank_by"]):
            text, kept = found
            made_of = one.built.asked.record() | {"compliance": kept}
            yield Draft(number, text, tuple(label_set), made_of=made_of)


def account(model_dir: Path, requests: Sequence[Sequence[int]], task, seed: int) -> dict[str, object]:
    """For the side-car: the model, what became of its answers, what prompts had to leave out, how well the texts keep what was asked for, and
    the first text of every request beside, which tells what ranking gains; tokens as the model counted them, and their price in USD."""
    model = Model(model_dir, task)
    params, written = model.params, _written(model, requests, None, seed)
    fates = Counter(fate for one in written for fate in one.fates)
    prompts = {one.built.prompt: one.built for one in written}.values()
    tokens = {
        kind: sum(usage[f"{kind}_tokens"] or 0 for one in written for usage in one.usage)
        for kind in ("prompt", "completion")
    }
    ranked = {
        words: totals([found[1] for one in written if (found := one.best(rank_by))])
        for words, rank_by in (("kept", params["rank_by"]), ("first", "none"))
    }
    return {
        "model": params["model"],
        "form": params["form"],
        "answers": {fate: fates[fate] for fate in FATES},
        "n_failed": sum(not one.texts for one in written),
        "prompts": {"different": len(prompts), "dropped": _dropped(prompts)},
        "compliance": ranked,
        "tokens": tokens,
        "usd": round(sum(tokens[kind] * params[f"price_{kind}"] for kind in tokens) / 1e6, 4),
    }


def _written(model: Model, requests: Sequence[Sequence[int]], decoder: Path | None, seed: int) -> list[Written]:
    """All requests are asked for at once, each `overgenerate` times."""
    params, built = model.params, build(model, requests, seed)
    common, tries = _decoding(model.params), range(params["overgenerate"])
    asked = [
        common | _prompt(params["form"], one.prompt) | {"seed": sub_seed(seed, "coda", number, which) % 2**31}
        for number, one in enumerate(built)
        for which in tries
    ]
    answers = iter(complete(asked, params["backend"], params, Path(params["store"]), decoder))
    some = [(one, [next(answers) for _ in tries]) for one in built]
    read_ = [[_read(answer, params["form"], model.known) for answer in own] for _, own in some]
    texts = [text for own in read_ for fate, text in own if fate == "parsed"]
    tags = dict(zip(texts, tags_of(texts), strict=True)) if params["syntactic"] else {}
    return [
        Written(
            one,
            [fate for fate, _ in own],
            [(text, compliance(text, one.asked, tags.get(text, ()))) for fate, text in own if fate == "parsed"],
            [answer["usage"] for answer in answers_of],
        )
        for (one, answers_of), own in zip(some, read_, strict=True)
    ]


def _decoding(params) -> dict:
    """What all requests have in common; `params`: the block, or what the model's folder has of it."""
    of = params if isinstance(params, Mapping) else params.model_dump()
    common = {name: of[name] for name in ("model", "temperature", "top_p", "max_tokens")}
    return common | ({"top_k": of["top_k"]} if of["backend"] == "local" else {})


def _prompt(form: str, prompt: str) -> dict:
    if form == "list":
        return {"prompt": prompt, "stop": wording.END}
    return {"messages": [{"role": "user", "content": prompt}]}


def _dropped(prompts) -> dict[str, int]:
    return {part: sum(one.dropped[part] for one in prompts) for part in ("exemplars", "tags")}


def _say_dropped(written: Sequence[Written]) -> None:
    """A line on standard error where prompts did not fit."""
    prompts = {one.built.prompt: one.built for one in written}.values()
    if short := sum(any(one.dropped.values()) for one in prompts):
        left = _dropped(prompts)
        print(
            f"note: coda: {short} of {len(prompts)} prompts exceeded the context: {left['exemplars']} exemplars and "
            f"{left['tags']} patterns were left out",
            file=sys.stderr,
        )


# ---------------------------------------------------------------- what an answer holds

REFUSAL = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\bi(?:'m|’m| am) (?:just )?an? (?:ai|(?:large )?language model)\b"
    r"|\bi(?:'m|’m| am) sorry,? but i (?:can|am|'m|’m)"
    r"|\bi(?: cannot|(?: am|'m|’m) (?:not able|unable) to| can(?:'t|’t| not)) (?:assist|comply|fulfil|fulfill|generate|provide|write|create)\b",
    re.IGNORECASE,
)
REMARK = re.compile(
    r"(?:assistant|answer|document|message|output|response|text)\s*:\s*"
    r"|(?:sure|certainly|of course|okay|absolutely)\b[,.!]*\s*(?:here|this is)\b[^\n:]{0,100}:\s*"
    r"|here(?:'s|’s| is| are)\b[^\n:]{0,60}\b(?:answer|document|example|message|response|sentence|text|tweet)s?\b[^\n:]{0,60}:\s*",
    re.IGNORECASE,
)
MARKER = re.compile(r"(?:[-*•]|1[.)])\s+")
QUOTES = {'"': '"', "“": "”", "'": "'", "‘": "’", "«": "»"}


def _read(answer: Mapping, form: str, known: set[str]) -> tuple[str, str]:
    """(fate, text) of an answer; fate is one of FATES and the text is "" unless it is `parsed`."""
    content = (answer["content"] or "").strip()
    if answer["refusal"] or answer["finish_reason"] == "content_filter" or REFUSAL.search(content[:300]):
        return "refused", ""
    another = ""
    if form == "instruction":  # of several candidates the first
        content, another, _ = _bare(content).partition("\n\n")
    if answer["finish_reason"] == "length" and not another:
        return "cut", ""
    text = " ".join((_unquoted(content) if form == "instruction" else content).split())
    if not text:
        return "empty", ""
    return ("copied", "") if text_key(text) in known else ("parsed", text)


def _bare(content: str) -> str:
    """Without what a model says before its text, and without the mark of a list."""
    for pattern in (REMARK, MARKER):
        if found := pattern.match(content):
            content = content[found.end() :].strip()
    return content


def _unquoted(text: str) -> str:
    """Without the quotation marks around it: those that stand inside stay."""
    text = text.strip()
    inside = text[1:-1]
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1] and not {text[0], text[-1]} & set(inside) - {"'", "’"}:
        return inside
    return text
