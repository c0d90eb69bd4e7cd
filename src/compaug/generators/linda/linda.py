"""LINDA: a text between two texts, by an encoder-decoder trained without labels (docs/spec/linda.md).

For a requested composition it takes two real texts that make it up and writes one between them; its labels are the
composition. With three or more labels and no such pair it goes over three texts. Which texts these are depends also on
how many earlier requests have the same composition. With pairs of `random` texts the request counts for nothing: plain
augmentation, one more text for every request, with the labels of both.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from compaug.core.records import Draft, Example, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.linda import interpolation, soft_labels
from compaug.generators.linda.pairs import KINDS, RANDOM, Pairs, Sources, random_pairs
from compaug.generators.shared.facts import facts_of
from compaug.generators.shared.real_rows import examples_of

ROLES = ("seq2seq",)
DIGITS = 4  # of alpha


def body_of(backbones: Backbones, params):
    """The encoder-decoder in the folder of that role."""
    from compaug.generators.linda.bodies import EncoderDecoder
    from compaug.models.loading import load_seq2seq

    return EncoderDecoder(*load_seq2seq(backbones["seq2seq"]))


def opened(model_dir: Path, params, backbones: Backbones) -> interpolation.Interpolation:
    """The trained model; its folder has all of it."""
    return interpolation.load(model_dir, params, body_of, {"seq2seq": model_dir})


train = partial(interpolation.train, "linda", body_of)


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One text per request, none where no texts make it up; the model is in `model_dir`, no backbone is opened."""
    return generate_with(opened, model_dir, requests, task, synthesis, backbones, seed)


def generate_with(
    open_model: Callable[..., interpolation.Interpolation],
    model_dir: Path,
    requests: Requests,
    task,
    synthesis,
    backbones: Backbones,
    seed: int,
) -> Iterator[Draft]:
    """`generate` with the model that `open_model` opens."""
    params, examples, chosen = _chosen(model_dir, requests, task, seed)
    numbers = [number for number, sources in enumerate(chosen) if sources]
    alphas = {number: _alphas(chosen[number], params, sub_seed(seed, "alpha", number)) for number in numbers}
    model = open_model(model_dir, params, backbones)
    text_of = {number: examples[chosen[number].rows[0]].text for number in numbers}
    for step in range(max((len(values) for values in alphas.values()), default=0)):
        active = [number for number in numbers if len(alphas[number]) > step]
        second = [examples[chosen[number].rows[step + 1]].text for number in active]
        weights = [alphas[number][step] for number in active]
        first = [text_of[number] or examples[chosen[number].rows[0]].text for number in active]
        texts = interpolation.write_between(model, first, second, weights, synthesis, sub_seed(seed, "step", step))
        text_of |= dict(zip(active, texts, strict=True))
    return _drafts(examples, chosen, alphas, text_of, requests, len(task.labels))


def _drafts(examples, chosen, alphas, text_of, requests, n_labels) -> Iterator[Draft]:
    for number, weights in alphas.items():
        rows, kind = chosen[number].rows, chosen[number].kind
        if not text_of[number]:
            continue
        labels, soft = tuple(requests[number]), None
        made_of = {"sources": [examples[row].id for row in rows], "alpha": list(weights), "pair": kind}
        if kind == RANDOM:  # nothing was asked for: those of the text that weighs more, and softly of both
            labels = examples[rows[0] if weights[0] >= 0.5 else rows[1]].labels
            soft = soft_labels.of_sources(made_of, {examples[row].id: examples[row].labels for row in rows}, n_labels)
        yield Draft(number, text_of[number], labels, soft, made_of)


def _alphas(sources: Sources, params, seed: int) -> list[float]:
    """The weight of the first text in every step, U(alpha_low, alpha_high)."""
    drawn = np.random.default_rng(seed).uniform(params.alpha_low, params.alpha_high, len(sources.rows) - 1)
    return [round(value, DIGITS) for value in drawn.tolist()]


def _chosen(
    model_dir: Path, requests: Requests, task, seed: int
) -> tuple[SimpleNamespace, list[Example], list[Sources | None]]:
    """(settings, texts, what is mixed for every request)."""
    _, params, task = facts_of(model_dir, task)
    examples = interpolation.written(examples_of(model_dir, task), task)
    if params.pairs == RANDOM:
        return params, examples, random_pairs(len(examples), len(requests), sub_seed(seed, "sources"))
    pairs = Pairs([example.labels for example in examples], params.pairs)
    return params, examples, pairs.for_requests(requests, sub_seed(seed, "sources"))


def feasible(model_dir: Path, requests: Requests, task) -> list[bool]:
    """Which label sets some texts make up."""
    _, params, task = facts_of(model_dir, task)
    if params.pairs == RANDOM:
        return [True] * len(requests)
    pairs = Pairs([e.labels for e in examples_of(model_dir, task)], params.pairs)
    return [bool(pairs.groups(tuple(sorted(request)))[0]) for request in requests]


def account(model_dir: Path, requests: Requests, task, seed: int) -> dict[str, object]:
    """For the side-car: how many requests were made up in which way, and how many choices of texts were used again."""
    _, _, chosen = _chosen(model_dir, requests, task, seed)
    kinds = Counter(sources.kind for sources in chosen if sources)
    uses = Counter(sources.rows for sources in chosen if sources)
    names = (RANDOM,) if kinds[RANDOM] else KINDS
    return {"pairs": {kind: kinds[kind] for kind in names}, "again": uses.total() - len(uses)}
