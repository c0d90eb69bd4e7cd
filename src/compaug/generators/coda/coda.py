"""CoDa: a language model writes what keeps simple constraints, taken from real texts (Evuru et al. 2024).

Nothing is trained: `train` extracts the constraints from D_cg, once for each text, and has the model name the
concepts to avoid. A request then gets anchors, real texts with its labels, from which its prompt is built: keywords for
every label, which make the text compositional, the labels with exemplars, a pattern of tags, a length, and concepts to
leave out. Each draft records its constraints and how well it keeps them (`Draft.made_of`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from compaug.core.records import Draft, Example, InputError, atomic_dir, sub_seed, write_json, write_jsonl
from compaug.generators.coda.constraints import lengths, wording
from compaug.generators.coda.constraints.compliance import compliance, totals
from compaug.generators.coda.constraints.concepts import Concept, distinct, groups, name_in, question
from compaug.generators.coda.constraints.reading import FATES, read
from compaug.generators.coda.constraints.syntactic import tags_of
from compaug.generators.coda.prompts import Built, Model, build
from compaug.generators.shared import keywords
from compaug.generators.shared.keywords import association
from compaug.models.language_models import complete, model_of

ROLES = ("encoder", "decoder")  # keywords; the back end `local`
NAME_TOKENS = 24  # of the answer that names a concept


# ---------------------------------------------------------------- constraints of D_cg


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
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
    facts["concepts"] = [
        [{"name": concept.name, "phrases": list(concept.phrases)} for concept in of_label] for of_label in concepts
    ]
    with atomic_dir(out_dir) as folder:
        if params.backend == "local":
            from compaug.models.loading import load_decoder, quiet
            from compaug.models.prefix_decoder import shape

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
    records: dict[str, dict] = {example.id: {} for example in pool}
    if params.lexical:
        ngrams = [keywords.ngrams(example.text, params.longest) for example in pool]
        if params.keywords_by == "document":
            pairs = [(candidates, e.text) for candidates, e in zip(ngrams, pool, strict=True)]
            scores = [[of_text] for of_text in keywords.similarities(pairs, backbones["encoder"])]
        else:
            pairs = [
                (candidates, task.labels.phrases[y])
                for candidates, e in zip(ngrams, pool, strict=True)
                for y in e.labels
            ]
            of_labels = iter(keywords.similarities(pairs, backbones["encoder"]))
            scores = [[next(of_labels) for _ in e.labels] for e in pool]
        for example, candidates, by_label in zip(pool, ngrams, scores, strict=True):
            spoken = [_shares(speaks[y], candidates) for y in example.labels]
            records[example.id] = {"ngrams": candidates, "scores": by_label, "association": spoken}
    if params.syntactic:
        for example, sentences in zip(pool, tags_of([example.text for example in pool]), strict=True):
            records[example.id]["tags"] = sentences
    return records


def _shares(speaks: Mapping[str, float], ngrams: Sequence[str]) -> list[float]:
    """Mutual information of n-grams with a label, over the highest of any; 0 for one that does not speak for it."""
    most = max(speaks.values(), default=1.0)
    return [round(speaks.get(ngram, 0.0) / most, keywords.DECIMALS) for ngram in ngrams]


def _concepts(texts: Sequence[str], speaks, params, backbones: Mapping[str, Path]) -> list[list[Concept]]:
    """Of every label; the model names each group of n-grams, or its best n-gram does."""
    grouped = [groups(scores) for scores in speaks]
    flat = [group for members in grouped for group in members]
    if params.naming == "phrase":
        names = [name_in(group[0]) for group in flat]
    else:
        common = _decoding(params) | {"temperature": 0.0, "max_tokens": NAME_TOKENS, "seed": 0}
        queries = [common | {"messages": [{"role": "user", "content": question(group, texts)}]} for group in flat]
        answers = complete(queries, params.backend, params.model_dump(), Path(params.store), backbones.get("decoder"))
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


def feasible(model_dir: Path, requests: Sequence[Sequence[int]], task) -> list[bool]:
    """Those label sets whose every label some text has, from which constraints can be taken."""
    having = {label for example in Model(model_dir, task).texts for label in example.labels}
    return [having.issuperset(label_set) for label_set in requests]


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """One text per request, the first of its answers or the one that keeps most; none where no answer holds a text.

    InputError when an answer is missing and the model does not give it: the answers so far stay in the store.
    """
    model = Model(model_dir, task)
    written = _written(model, requests, backbones.get("decoder"), seed)
    _say_dropped(written)
    for number, (label_set, request) in enumerate(zip(requests, written, strict=True)):
        if best := request.best(model.params["rank_by"]):
            text, kept = best
            made_of = request.built.constraints.record() | {"compliance": kept}
            yield Draft(number, text, tuple(label_set), made_of=made_of)


def account(model_dir: Path, requests: Sequence[Sequence[int]], task, seed: int) -> dict[str, object]:
    """For the side-car: the model, the fates of its answers, what prompts left out, compliance, tokens and USD.

    Compliance is given for the chosen texts and for the first text of every request: the difference is what ranking
    gains. Tokens are as the model counted them.
    """
    model = Model(model_dir, task)
    params, written = model.params, _written(model, requests, None, seed)
    fates = Counter(fate for request in written for fate in request.fates)
    prompts = {request.built.prompt: request.built for request in written}.values()
    tokens = {
        kind: sum(usage[f"{kind}_tokens"] or 0 for request in written for usage in request.usage)
        for kind in ("prompt", "completion")
    }
    ranked = {
        words: totals([best[1] for request in written if (best := request.best(rank_by))])
        for words, rank_by in (("kept", params["rank_by"]), ("first", "none"))
    }
    return {
        "model": params["model"],
        "form": params["form"],
        "answers": {fate: fates[fate] for fate in FATES},
        "n_failed": sum(not request.texts for request in written),
        "prompts": {"different": len(prompts), "dropped": _dropped(prompts)},
        "compliance": ranked,
        "tokens": tokens,
        "usd": round(sum(tokens[kind] * params[f"price_{kind}"] for kind in tokens) / 1e6, 4),
    }


def _written(model: Model, requests: Sequence[Sequence[int]], decoder: Path | None, seed: int) -> list[Written]:
    """All requests are asked for at once, each `overgenerate` times."""
    params, prompts = model.params, build(model, requests, seed)
    common, tries = _decoding(model.params), range(params["overgenerate"])
    queries = [
        common | _prompt(params["form"], built.prompt) | {"seed": sub_seed(seed, "coda", number, which) % 2**31}
        for number, built in enumerate(prompts)
        for which in tries
    ]
    answers = iter(complete(queries, params["backend"], params, Path(params["store"]), decoder))
    answered = [(built, [next(answers) for _ in tries]) for built in prompts]
    read_ = [[read(answer, params["form"], model.seen_texts) for answer in answers_of] for _, answers_of in answered]
    texts = [text for outcomes in read_ for fate, text in outcomes if fate == "parsed"]
    tags = dict(zip(texts, tags_of(texts), strict=True)) if params["syntactic"] else {}
    return [
        Written(
            built,
            [fate for fate, _ in outcomes],
            [
                (text, compliance(text, built.constraints, tags.get(text, ())))
                for fate, text in outcomes
                if fate == "parsed"
            ],
            [answer["usage"] for answer in answers_of],
        )
        for (built, answers_of), outcomes in zip(answered, read_, strict=True)
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
    return {part: sum(built.dropped[part] for built in prompts) for part in ("exemplars", "tags")}


def _say_dropped(written: Sequence[Written]) -> None:
    """A line on standard error where prompts did not fit."""
    prompts = {request.built.prompt: request.built for request in written}.values()
    if short := sum(any(built.dropped.values()) for built in prompts):
        left = _dropped(prompts)
        print(
            f"note: coda: {short} of {len(prompts)} prompts exceeded the context: {left['exemplars']} exemplars and "
            f"{left['tags']} patterns were left out",
            file=sys.stderr,
        )
