"""Labels by combination: of a list of those that occur, the best for a text, those without training rows raised by a
constant.

That is what an audit calls decoding (`compaug.evaluation.decoding.knowledge`). The constant is the one that is best on
the audit's test rows, whose labels it has looked at; what it is worth on others, the audit says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from typing_extensions import TypedDict

from compaug.core.files import InputError, read_json
from compaug.core.records import Labels
from compaug.evaluation.decoding.composition_prior import Composition, Prior, seen_unseen_scores
from compaug.evaluation.decoding.prior_controls import best_candidates, best_constant, stacking_correction
from compaug.evaluation.gold import Gold
from compaug.evaluation.metrics import label_matrix
from compaug.evaluation.predictions import Predictions
from compaug.project.names import COMBINATIONS

DIGITS = 4  # of the constant


class Listed(TypedDict):
    """combinations.json, label sets by their keys, such as joy+love"""

    constant: float
    seen: list[str]
    unseen: list[str]


@dataclass(frozen=True)
class Combinations:
    """Label sets that a text may have, with training rows and without; the constant is added to scores of the latter.

    A score is the log probability of the whole label set.
    """

    seen: tuple[Composition, ...]
    unseen: tuple[Composition, ...]
    constant: float

    def label_sets(self, probabilities: np.ndarray) -> np.ndarray:
        """The best combination for each row of probabilities [n, n_labels].  # bool [n, n_labels]"""
        prior = _candidates(self.seen, self.unseen, probabilities.shape[1])
        return best_candidates(probabilities, prior, stacking_correction(prior, self.constant))

    def named(self, names: Sequence[str]) -> Listed:
        keys = lambda label_sets: [*map(Labels(tuple(names), tuple(names)).key, label_sets)]
        return {"constant": round(self.constant, DIGITS), "seen": keys(self.seen), "unseen": keys(self.unseen)}


def of_audit(predicted: Predictions, gold: Gold) -> Combinations | None:
    """Those of the corpus, with the best constant on both sides' test rows; None without test rows of seen ones."""
    if not gold.parts.get("seen_test"):
        return None
    seen = {*gold.parts["train"].values()}
    unseen = {label_set for part in ("support", "test") for label_set in gold.parts.get(part, {}).values()} - seen
    prior = _candidates(seen, unseen, len(gold.labels))
    zeros = np.zeros(len(prior.candidates))
    sides = (
        seen_unseen_scores(predicted.of(list(gold.parts[part])), prior, gold.matrix(part), zeros)
        for part in ("seen_test", "test")
    )
    return Combinations(tuple(sorted(seen)), tuple(sorted(unseen)), best_constant(*sides))


def of_repair(audited: Combinations, rows: Collection[Composition], requested: Collection[Composition]) -> Combinations:
    """Of a classifier that learned from all rows, with the constant of the audit's.

    Args: label sets of the corpus's rows, and those that texts were written for.
    """
    seen = {*rows}
    return Combinations(tuple(sorted(seen)), tuple(sorted({*requested} - seen)), audited.constant)


def read(path: Path, names: Sequence[str]) -> Combinations:
    """A person may add to `unseen`, and change the constant. InputError for what is no label or stands twice."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; `compaug export` writes {COMBINATIONS} into the classifier's folder")
    listed = read_json(path, Listed, f"give the {COMBINATIONS} that `compaug export` writes")
    labels = Labels(tuple(names), tuple(names))
    try:
        seen, unseen = (tuple(_label_set(key, labels) for key in listed[side]) for side in ("seen", "unseen"))
    except InputError as error:
        raise InputError(f"{path}: {error}; mend it or leave it out") from None
    often, times = Counter((*seen, *unseen)).most_common(1)[0] if seen or unseen else ((), 0)
    if times > 1:
        raise InputError(f"{path}: {labels.key(often)} stands there twice; leave it in seen or in unseen")
    if not times:
        raise InputError(f"{path}: no combinations; list those that a text may have in seen and unseen")
    return Combinations(seen, unseen, listed["constant"])


def _label_set(key: str, labels: Labels) -> Composition:
    return tuple(sorted({*labels.composition(key)}))


def _candidates(seen: Collection[Composition], unseen: Collection[Composition], n_labels: int) -> Prior:
    """All as likely as each other."""
    candidates = label_matrix([*sorted(seen), *sorted(unseen)], n_labels)
    alike = np.full(len(candidates), 1 / len(candidates))
    return Prior(candidates, alike, alike, np.arange(len(candidates)) < len(seen))
