"""CoDa: a language model writes what keeps simple constraints, taken from real texts (Evuru et al. 2024).

Nothing is trained: `train` extracts the constraints from D_cg, once for each text, and has the model name the
concepts to avoid. A request then gets anchors, real texts with its labels, from which its prompt is built. Each draft
records its constraints and how well it keeps them (`Draft.made_of`).
"""

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from compaug.core.files import InputError, atomic_dir, write_json
from compaug.core.records import Draft, Example, sub_seed, write_jsonl
from compaug.generators import Backbones, Requests
from compaug.generators.coda.constraints import lengths, wording
from compaug.generators.coda.constraints.compliance import compliance, totals
from compaug.generators.coda.constraints.concepts import Concept, distinct, groups, name_in, question
from compaug.generators.coda.constraints.reading import FATES, read
from compaug.generators.coda.constraints.syntactic import tags_of
from compaug.generators.coda.prompts import Built, Model, build
from compaug.generators.shared import keywords
from compaug.generators.shared.facts import CONFIG, bill
from compaug.generators.shared.keywords import association
from compaug.generators.shared.real_rows import EXAMPLES
from compaug.models.language_models import complete, model_of

ROLES = ("encoder", "decoder")  # keywords; the back end `local`
NAME_TOKENS = 24  # of the answer that names a concept


# ---------------------------------------------------------------- constraints of D_cg


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Keep D_cg and the concepts of each label; texts that may serve as anchors have their constraints in `made_of`.

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
    concepts = _concepts(texts, speaks, params, backbones) if params.concepts else [[] for _ in task.labels.names]
    facts = {"generator": "coda", **task.facts(), "params": params.in_force(), "spread": lengths.spread(texts)}
    facts["concepts"] = [[asdict(concept) for concept in of_label] for of_label in concepts]
    with atomic_dir(out_dir) as folder:
        if params.backend == "local":
            from compaug.models.loading import load_decoder, quiet
            from compaug.models.prefix_decoder import shape

            tokenizer, model = load_decoder(backbones["decoder"])
            with quiet():
                tokenizer.save_pretrained(folder / "tokenizer")
            facts["positions"] = shape(model.config).positions
        write_jsonl(folder / EXAMPLES, kept)
        write_json(folder / CONFIG, facts)


def _pool(examples: Sequence[Example], most: int, seed: int) -> list[Example]:
    """All support texts, and of every composition at most so many others, random ones; 0: all of them."""
    seen: Counter = Counter()
    chosen = []
    for at in np.random.default_rng(sub_seed(seed, "coda", "pool")).permutation(len(examples)).tolist():
        is_support = examples[at].source == "support"
        seen[examples[at].labels] += not is_support
        if is_support or not most or seen[examples[at].labels] <= most:
            chosen.append(at)
    return [examples[at] for at in sorted(chosen)]


def _records(pool: Sequence[Example], task, params, speaks, backbones: Backbones) -> dict[str, dict]:
    """What is taken from each text, by its id: n-grams with their scores for each label, tags of its sentences."""
    records: dict[str, dict] = {example.id: {} for example in pool}
    if params.lexical:
        ngrams = {e.id: keywords.ngrams(e.text, params.longest) for e in pool}
        of_document = params.keywords_by == "document"
        near = {e.id: [e.text] if of_document else [task.labels.phrases[y] for y in e.labels] for e in pool}
        pairs = [(ngrams[e.id], text) for e in pool for text in near[e.id]]
        scores = iter(keywords.similarities(pairs, backbones["encoder"]))
        for example in pool:
            records[example.id] = {
                "ngrams": ngrams[example.id],
                "scores": [next(scores) for _ in near[example.id]],
                "association": [_shares(speaks[y], ngrams[example.id]) for y in example.labels],
            }
    if params.syntactic:
        for example, sentences in zip(pool, tags_of([example.text for example in pool]), strict=True):
            records[example.id]["tags"] = sentences
    return records


def _shares(speaks: Mapping[str, float], ngrams: Sequence[str]) -> list[float]:
    """Mutual information of n-grams with a label, over the highest of any; 0 for one that does not speak for it."""
    most = max(speaks.values(), default=1.0)
    return [round(speaks.get(ngram, 0.0) / most, keywords.DECIMALS) for ngram in ngrams]


def _concepts(texts: Sequence[str], speaks, params, backbones: Backbones) -> list[list[Concept]]:
    """Of every label; the model names each group of n-grams, or its best n-gram does."""
    grouped = [groups(scores) for scores in speaks]
    flat = [group for members in grouped for group in members]
    if params.naming == "phrase":
        names = [name_in(group[0]) for group in flat]
    else:
        common = _decoding(params) | {"temperature": 0.0, "max_tokens": NAME_TOKENS, "seed": 0}
        queries = [common | {"messages": [{"role": "user", "content": question(group, texts)}]} for group in flat]
        answers = complete(queries, params.backend, vars(params), Path(params.store), backbones.get("decoder"))
        names = [name_in(answer["content"]) for answer in answers]
    named = iter(names)
    return [distinct([next(named) for _ in members], members) for members in grouped]


# ---------------------------------------------------------------- from answers to texts


@dataclass(frozen=True)
class Written:
    """One request: its prompt, the fate of each answer, and the texts with what they keep, in the order of answers."""

    built: Built
    fates: list[str]
    texts: list[tuple[str, dict]]
    usage: list[Mapping]

    def best(self, rank_by: str) -> tuple[str, dict] | None:
        """The first text, or the first of those that keep most."""
        if rank_by == "none":
            return next(iter(self.texts), None)
        return max(self.texts, key=lambda text: text[1]["score"], default=None)


def feasible(model_dir: Path, requests: Requests, task) -> list[bool]:
    """Those label sets whose every label some text has, from which constraints can be taken."""
    having = {label for example in Model(model_dir, task).texts for label in example.labels}
    return [having.issuperset(label_set) for label_set in requests]


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One text per request, the first of its answers or the one that keeps most; none where no answer holds a text.

    InputError when an answer is missing and the model does not give it: the answers so far stay in the store.
    """
    model = Model(model_dir, task)
    written = _written(model, requests, backbones.get("decoder"), seed)
    prompts = _prompts(written)
    if short := sum(any(built.dropped.values()) for built in prompts):
        left = _dropped(prompts)
        print(
            f"note: coda: {short} of {len(prompts)} prompts exceeded the context: {left['exemplars']} exemplars and "
            f"{left['tags']} patterns were left out",
            file=sys.stderr,
        )
    for number, (label_set, request) in enumerate(zip(requests, written, strict=True)):
        if best := request.best(model.params.rank_by):
            text, kept = best
            made_of = request.built.constraints.record() | {"compliance": kept}
            yield Draft(number, text, tuple(label_set), made_of=made_of)


def account(model_dir: Path, requests: Requests, task, seed: int) -> dict[str, object]:
    """For the side-car: the model, the fates of its answers, what prompts left out, compliance, tokens and USD.

    Compliance is given for the chosen texts and for the first text of every request: the difference is what ranking
    gains.
    """
    model = Model(model_dir, task)
    params, written = model.params, _written(model, requests, None, seed)
    fates = Counter(fate for request in written for fate in request.fates)
    prompts = _prompts(written)
    ranked = {
        words: totals([best[1] for request in written if (best := request.best(rank_by))])
        for words, rank_by in (("kept", params.rank_by), ("first", "none"))
    }
    return {
        "model": params.model,
        "form": params.form,
        "answers": {fate: fates[fate] for fate in FATES},
        "n_failed": sum(not request.texts for request in written),
        "prompts": {"different": len(prompts), "dropped": _dropped(prompts)},
        "compliance": ranked,
        **bill((usage for request in written for usage in request.usage), params),
    }


def _prompts(written: Sequence[Written]) -> Collection[Built]:
    """The different ones."""
    return {request.built.prompt: request.built for request in written}.values()


def _dropped(prompts: Collection[Built]) -> dict[str, int]:
    return {part: sum(built.dropped[part] for built in prompts) for part in ("exemplars", "tags")}


def _written(model: Model, requests: Requests, decoder: Path | None, seed: int) -> list[Written]:
    """All requests are asked for at once, each `overgenerate` times."""
    params, prompts = model.params, build(model, requests, seed)
    common, tries = _decoding(params), range(params.overgenerate)
    queries = [
        common | _prompt(params.form, built.prompt) | {"seed": sub_seed(seed, "coda", number, which) % 2**31}
        for number, built in enumerate(prompts)
        for which in tries
    ]
    answers = iter(complete(queries, params.backend, vars(params), Path(params.store), decoder))
    written = []
    for built in prompts:
        of_request = [next(answers) for _ in tries]
        outcomes = [read(answer, params.form, model.seen_texts) for answer in of_request]
        texts = [text for fate, text in outcomes if fate == "parsed"]
        usage = [answer["usage"] for answer in of_request]
        written.append((built, [fate for fate, _ in outcomes], texts, usage))
    every = [text for _, _, texts, _ in written for text in texts]
    tags = dict(zip(every, tags_of(every), strict=True)) if params.syntactic else {}
    return [
        Written(
            built, fates, [(text, compliance(text, built.constraints, tags.get(text, ()))) for text in texts], usage
        )
        for built, fates, texts, usage in written
    ]


def _decoding(params) -> dict:
    """What all requests have in common."""
    names = ("model", "temperature", "top_p", "max_tokens", *(["top_k"] if params.backend == "local" else []))
    return {name: getattr(params, name) for name in names}


def _prompt(form: str, prompt: str) -> dict:
    if form == "list":
        return {"prompt": prompt, "stop": wording.END}
    return {"messages": [{"role": "user", "content": prompt}]}
