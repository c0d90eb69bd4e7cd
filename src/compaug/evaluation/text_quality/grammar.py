"""What only a corpus made from a known grammar offers: Bayes ceilings, fidelity of generated texts, judged samples.

No method may use any of it. It needs texts: the stages `gold` and `quality` compute it once, the results read their
files.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from compaug.core.records import Composition, Example, Labels
from compaug.evaluation.decoding.composition_prior import WEIGHTS, harmonic_mean
from compaug.evaluation.metrics import label_matrix, percent, rates

CEILING_METRICS = ("jacc", "acc", "corr", "corr_set", "comp", "n")


class KnownGrammar(Protocol):
    """What `compaug.data.readers.oracle_for` returns."""

    oracle: Callable[[str], Collection[Composition]]
    fidelity: Callable[[str, Composition], bool]
    compose: Callable[..., str]  # (composition, rng=random.Random) -> a text of it
    bayes_predictions: Callable[[Sequence[str], Mapping[Composition, float]], Sequence[Composition]]


def prior(examples: Iterable[Example]) -> dict[Composition, float]:
    """Relative frequency of every composition."""
    counts = Counter(example.labels for example in examples)
    return {composition: count / counts.total() for composition, count in sorted(counts.items())}


def bayes(grammar: KnownGrammar, parts: Mapping[str, Sequence[Example]], labels: Labels, empty_both: str) -> dict:
    """Metrics of the exact Bayes classifier by test set and by its prior: {split: {prior: metrics}}.

    iid             training_prior, that of the iid training rows
    unseen          training_prior, of D_train and support; target_prior, of the test set
    seen, unseen    where there is a seen test set: training_prior, and mixed_prior, the training prior mixed with that
                    of the unseen test set at the weight of the best harmonic mean; `harmonic` stands under unseen
    """

    def metrics(part: str, frequencies: Mapping[Composition, float]) -> dict[str, float]:
        predicted = label_matrix(grammar.bayes_predictions([e.text for e in parts[part]], frequencies), len(labels))
        scores = rates(label_matrix([e.labels for e in parts[part]], len(labels)), predicted, empty_both)
        return {name: scores[name] for name in CEILING_METRICS}

    train, target = prior([*parts["train"], *parts["support"]]), prior(parts["test"])
    by_split = {
        "iid": {"training_prior": metrics("iid_test", prior(parts["iid_train"]))},
        "unseen": {"training_prior": metrics("test", train), "target_prior": metrics("test", target)},
    }
    if not parts.get("seen_test"):
        return by_split

    def both(weight: float) -> dict[str, dict[str, float]]:
        mixed = {c: (1 - weight) * train.get(c, 0.0) + weight * target.get(c, 0.0) for c in train | target}
        scores = {"seen": metrics("seen_test", mixed), "unseen": metrics("test", mixed)}
        harmonic = harmonic_mean(*(scores[split]["acc"] for split in scores))
        scores["unseen"]["harmonic"] = percent(harmonic / 100)
        return scores

    best = max((both(weight) for weight in WEIGHTS), key=lambda scores: scores["unseen"]["harmonic"])
    for name, scores in (("training_prior", both(0.0)), ("mixed_prior", best)):
        for split, values in scores.items():
            by_split.setdefault(split, {})[name] = values
    return by_split


def requested_of(example: Example) -> Composition:
    """The composition a synthetic row was asked for (controls that copy real rows ask for their labels)."""
    return example.labels if example.requested_labels is None else example.requested_labels


def fidelity(grammar: KnownGrammar, examples: Iterable[Example]) -> float | None:
    """Percentage of texts that express all requested labels and no other; None without a text."""
    verdicts = [grammar.fidelity(example.text, requested_of(example)) for example in examples]
    return percent(np.mean(verdicts)) if verdicts else None


def judged_samples(grammar: KnownGrammar, selected: Sequence[Example], labels: Labels, n: int = 10) -> list[dict]:
    """n texts, evenly spaced through the selection, with what was asked and what the oracle reads."""
    rows = np.unique(np.linspace(0, len(selected) - 1, min(n, len(selected))).round().astype(int))
    return [
        {
            "text": example.text,
            "requested": labels.key(requested_of(example)),
            "faithful": bool(grammar.fidelity(example.text, requested_of(example))),
            "readings": sorted(labels.key(reading) for reading in grammar.oracle(example.text)),
        }
        for example in (selected[row] for row in rows)
    ]
