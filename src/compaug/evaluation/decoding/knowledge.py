"""What a classifier knows of unseen combinations, apart from its operating point between these and seen ones.

docs/spec/acceptance.md, E1 and E2. A constant on the scores of all unseen candidates costs nothing and moves a
classifier along its seen-unseen curve (Chao et al. 2016). So Acc at 0.5 says two things at once: where on its curve a
classifier stands, and how good the curve is. All classifiers rank the same candidates, the compositions of D_train and
of the unseen test rows, since a longer list is no better reading. Three measures tell the two things apart:

    ausuc           the area under the curve
    acc_at_seen     Acc on unseen rows where Acc on seen rows is that of the classifier without texts at its best
                    constant
    best constant   Acc on both sides and H at the classifier's best constant, chosen on one half of the test rows and
                    applied to the other, both ways

The gap on unseen combinations, in points of H, is what separates the classifier without texts at 0.5 from the matched
arm at its best constant. The matched arm has learned half of the test set's own texts once. The gap has two parts:

    operating point   H without texts at the best constant, over H without texts at 0.5: decoding closes it, by the list
                      of candidates and one constant
    knowledge         H of the matched arm at its best constant, over H without texts at the best constant: only texts
                      could close it

A classifier of the matched arm has its constant from a quarter of the unseen rows, the others from half of them: that
is against the matched arm, if anything.

The best constant looks at labels of the target, as the matched arm does: it measures the gap and is no decoding that a
method may use. That one, `stacking`, has its constant from folds of training and support rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compaug.core.records import halves
from compaug.evaluation.decoding.composition_prior import Fold, ausuc, seen_unseen_curve
from compaug.evaluation.decoding.prior_controls import Ranked, best_constant, held_out_scores

SIDES = ("seen", "unseen")


@dataclass(frozen=True, eq=False)
class Ranking:
    """How one classifier ranks its candidates for its test rows: ids and `seen_unseen_scores` of these rows by side."""

    ids: Mapping[str, Sequence[str]]
    ranked: Mapping[str, Ranked]

    def accuracy_at(self, seen: float) -> float | None:
        """Acc on unseen rows at the largest constant that leaves Acc on seen rows at `seen` or above.

        Both are in [0, 1]; None where no constant does.
        """
        _, curve = seen_unseen_curve(self.ranked["seen"], self.ranked["unseen"])
        reached = curve[curve[:, 0] >= seen - 1e-12, 1]
        return float(reached.max()) if len(reached) else None

    def part(self, rows: Mapping[str, np.ndarray]) -> Ranking:
        """Of these rows, bool [n], by side."""
        ids = {
            side: [row_id for row_id, is_in in zip(self.ids[side], rows[side], strict=True) if is_in] for side in SIDES
        }
        return Ranking(ids, {side: tuple(values[rows[side]] for values in self.ranked[side]) for side in SIDES})

    def right(self, constant: float) -> dict[str, np.ndarray]:
        """Which rows are right by side, bool [n], with that constant on all unseen candidates."""
        return {
            side: np.where(margin < constant, unseen_right, seen_right)
            for side, (margin, seen_right, unseen_right) in self.ranked.items()
        }


def right_at_best_constant(ranking: Ranking) -> dict[str, np.ndarray]:
    """Which test rows are right at the best constant, by side in the order of its ids, bool [n].

    It is chosen on the one half of the rows and applied to the other, so that no row has a part in its own.
    """
    upper = {side: np.zeros(len(ranking.ids[side]), dtype=bool) for side in SIDES}
    for side, rows in upper.items():
        rows[halves(ranking.ids[side], 0, "half")[0]] = True
    lower = {side: ~rows for side, rows in upper.items()}
    right = {side: np.zeros(len(ranking.ids[side]), dtype=bool) for side in SIDES}
    for rows, others in ((upper, lower), (lower, upper)):
        chosen_on = ranking.part(others).ranked
        for side, values in ranking.part(rows).right(best_constant(chosen_on["seen"], chosen_on["unseen"])).items():
            right[side][rows[side]] = values
    return right


def fold_ausuc(folds: Sequence[Fold]) -> float:
    """AUSUC on the held-out rows of all folds, in [0, 1]: support rows are unseen, training rows seen.

    No constant moves it, so what it chooses, it chooses by knowledge. A generator has learned from the whole support
    set, so that its texts look better here than they are.
    """
    area, _ = ausuc(*held_out_scores(folds))
    return area


def chosen(values: Sequence[Sequence[float]]) -> int:
    """Which of several settings a method may use (rule E5).

    It is the first whose mean is within one standard error of the best mean.

    Args: `fold_ausuc` of each setting by seed, the cheapest setting first; the same seeds for all. The error is that of
    the best one's difference from the setting, paired by seed. With one seed, which has no error, the first.
    """
    table = np.array(values, dtype=float)  # [settings, seeds]
    if table.shape[1] < 2:
        return 0
    best = table[table.mean(axis=1).argmax()]
    apart = best - table
    errors = apart.std(axis=1, ddof=1) / table.shape[1] ** 0.5
    return int(np.flatnonzero(apart.mean(axis=1) <= errors + 1e-12)[0])
