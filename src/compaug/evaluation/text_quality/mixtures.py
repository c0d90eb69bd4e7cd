"""Texts of a known grammar of which a given share says what was asked for: what fidelity is worth to a classifier.

All are fluent and new. A wrong one errs as generators do: it leaves a label out, or says another in its place. Report
only: no method may use a grammar.
"""

import random
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import Composition, Example, sub_seed, text_key
from compaug.evaluation.text_quality.grammar import KnownGrammar

SOURCE = "oracle"
MAX_DRAWS = 10_000  # of one text before the grammar counts as exhausted


def mixture(
    grammar: KnownGrammar,
    requests: Sequence[Composition],
    n_labels: int,
    right: float,
    known_keys: Collection[str],
    seed: int,
) -> Iterator[Example]:
    """A text for every request, `round(right n)` of which say exactly what was asked for.

    None has a key (`text_key`) of `known_keys`. Mixtures of one seed differ in nothing else: a larger share is the same
    texts with fewer of them replaced.
    """
    order = np.random.default_rng(sub_seed(seed, "mixture")).permutation(len(requests))
    faithful = set(order[: round(right * len(requests))].tolist())
    seen: set[str] = set()
    for number, labels in enumerate(requests):
        kind = "right" if number in faithful else "wrong"
        rng = random.Random(sub_seed(seed, kind, number))
        text = _new_text(grammar, labels, n_labels, kind == "right", rng, known_keys, seen)
        seen.add(text_key(text))
        yield Example(f"{SOURCE}-{number:06d}", text, labels, source=SOURCE, requested_labels=labels, seed=seed)


def _new_text(
    grammar: KnownGrammar,
    labels: Composition,
    n_labels: int,
    faithful: bool,
    rng: random.Random,
    known_keys: Collection[str],
    seen: Collection[str],
) -> str:
    for _ in range(MAX_DRAWS):
        text = grammar.compose(labels if faithful else _wrong(labels, n_labels, rng), rng=rng)
        key = text_key(text)
        if grammar.fidelity(text, labels) == faithful and key not in known_keys and key not in seen:
            return text
    raise InputError(f"mixture: the grammar has no further text for the labels {labels}; lower sizes.k")


def _wrong(labels: Composition, n_labels: int, rng: random.Random) -> Composition:
    """Without one of the labels, or with another in its place; half of each where both can be."""
    gone = rng.choice(labels)
    left = tuple(label for label in labels if label != gone)
    if left and rng.random() < 0.5:
        return left
    return tuple(sorted((*left, rng.choice([label for label in range(n_labels) if label not in labels]))))
