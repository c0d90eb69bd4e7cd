"""The split and the measures on plain lists and arrays, for any classifier: the pipeline's, without its files.

Measures are shares in [0, 1], as in scikit-learn; reports show them in percent. Label sets are indicator arrays
[n, labels], dense or sparse; a row is seen where `seen`, the label sets of the training rows, holds its own.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import ValidationError

from compaug.core.files import InputError
from compaug.core.records import Example, Labels, halves
from compaug.core.schema import first_problem
from compaug.data.splits import Split, split_corpus, with_seen
from compaug.evaluation import root_cell
from compaug.evaluation.cell_scores import Outcome, joined
from compaug.evaluation.decoding import composition_prior, knowledge
from compaug.evaluation.decoding.composition_prior import harmonic_mean, prior_of, seen_unseen_scores
from compaug.evaluation.decoding.knowledge import SIDES, Ranking
from compaug.evaluation.metrics import DECIMALS, instance_scores, label_matrix, percent, rows_among
from compaug.experiments.cells import NONE, REAL_TEXTS, Cell

SHARE_DECIMALS = DECIMALS + 2  # of a share, where a percentage has fewer

# ---------------------------------------------------------------- the split


@dataclass(frozen=True, eq=False)
class CompositionalSplit:
    """Row numbers of each part; no label set of `test` or `support` is in `train`, all of `seen_test` are.

    names: of the labels, in the order of the columns of `gold` [n, labels]; combinations: those that are held out.
    """

    names: tuple[str, ...]
    gold: np.ndarray
    ids: tuple[str, ...]
    combinations: tuple[tuple[str, ...], ...]
    train: np.ndarray
    support: np.ndarray
    test: np.ndarray
    seen_test: np.ndarray

    @property
    def learned(self) -> np.ndarray:
        """What a classifier learns from: training and support rows."""
        return np.concatenate([self.train, self.support])

    @property
    def tested(self) -> np.ndarray:
        """Rows of both test sets, unseen combinations first."""
        return np.concatenate([self.test, self.seen_test])

    @property
    def halves(self) -> tuple[np.ndarray, np.ndarray]:
        """Of `test`: each to be learned once and tested on the other, the matched arm of `gap`."""
        first, second = halves([self.ids[row] for row in self.test], 0, "ceiling")
        return self.test[first], self.test[second]


def split(
    texts: Sequence[str],
    labels,
    *,
    compositions: int = 20,
    support_size: int = 50,
    seen_test: int | None = None,
    seed: int = 0,
    min_count: int = 10,
    test_share: Sequence[float] = (0.02, 0.3),
    rule: Literal["hardest"] | None = None,
    names: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
) -> CompositionalSplit:
    """Hold out label combinations, as the stage split does.

    Args:
        texts: of the rows.
        labels: of each row its label names; or an indicator array [n, labels].
        compositions: how many combinations of two labels or more to hold out.
        support_size: rows of them to learn from.
        seen_test: rows of other combinations to test on; None: as many as unseen ones, at most a tenth of training; 0:
            none.
        seed: of every draw.
        min_count: rows that a combination needs to be held out.
        test_share: lowest and highest share of rows with held-out combinations.
        rule: "hardest" holds out combinations whose labels are read worst by classifiers that never saw them together,
            by a third of the rows, which are not tested; None: at random.
        names: of the labels, in their order; None: sorted, or the numbers of an array's columns.
        ids: of the rows; None: their numbers.

    InputError where the rows cannot give what is asked.
    """
    label_sets, names = _label_sets(labels, names)
    compositions, support_size, min_count, seed = map(_whole, (compositions, support_size, min_count, seed))
    if getattr(texts, "ndim", 1) != 1:
        raise InputError("texts: a table; give the column that has the texts")
    texts = list(texts)
    ids = tuple(map(str, range(len(texts)) if ids is None else ids))
    if not len(texts) == len(label_sets) == len(ids):
        raise InputError(
            f"texts, labels, ids: {len(texts)}, {len(label_sets)} and {len(ids)} rows; give as many of each"
        )
    _check_ids(ids)
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts: row {at} is no string")
    if all(len(label_set) < 2 for label_set in label_sets):
        raise InputError("labels: no row has two labels or more, so that there is no combination to hold out")
    rows = [Example(*row) for row in zip(ids, texts, label_sets, strict=True)]
    inventory = Labels(names, names)
    try:
        options = Split(
            mode="generate",
            compositions=compositions,
            support_size=support_size,
            seed=seed,
            min_count=min_count,
            test_share=list(test_share) if isinstance(test_share, Iterable) else test_share,
            seen_test=_whole(seen_test) or None,
            rule=rule,
        )
        parts = split_corpus(rows, inventory, options)
    except ValidationError as error:
        raise InputError(first_problem(error).removeprefix("the file: ")) from None
    except InputError as error:  # its keys are those of params.yaml
        raise InputError(str(error).replace("split.", "").replace("sizes.", "")) from None
    if seen_test is None:
        parts = with_seen(parts, rows, seed)
    part = {
        name: np.array(parts.positions.get(name, ()), dtype=int) for name in ("train", "support", "test", "seen_test")
    }
    held = tuple(tuple(names[label] for label in combination) for combination in parts.choice.compositions)
    return CompositionalSplit(names, label_matrix(label_sets, len(names)), ids, held, **part)


def _whole(number):
    """A number of numpy's as one of Python's; what is no whole number stays, for the schema to refuse."""
    return operator.index(number) if hasattr(number, "__index__") and not isinstance(number, bool) else number


def _label_sets(labels, names: Sequence[str] | None) -> tuple[list[tuple[int, ...]], tuple[str, ...]]:
    """Sorted label ids of each row, and the names of all labels."""
    if getattr(labels, "ndim", 1) == 2:
        matrix = _sets("labels", labels)
        columns = getattr(labels, "columns", range(matrix.shape[1]))  # a data frame's have names
        names = tuple(map(str, columns if names is None else names))
        if len(names) != matrix.shape[1]:
            raise InputError(f"names: {len(names)} names for {matrix.shape[1]} columns of labels; give one a column")
        return [tuple(np.flatnonzero(row).tolist()) for row in matrix], names
    labels = list(labels)
    for at, row in enumerate(labels):
        if isinstance(row, str):
            raise InputError("labels: a row is one string; give each row a list of label names")
        if not isinstance(row, Iterable) or isinstance(row, Mapping):
            raise InputError(f"labels: row {at} is not a list of label names")
        if strange := [name for name in row if not isinstance(name, str)]:
            raise InputError(
                f"labels: row {at} holds {strange[0]!r}, which is no name; make an indicator of zeros and ones an array"
            )
    names = tuple(sorted({name for row in labels for name in row}) if names is None else names)
    if not names:
        raise InputError("labels: no row has a label")
    inventory = Labels(names, names)
    place = {name: label for label, name in enumerate(names)}
    return [tuple(sorted({place[n] if n in place else inventory.index(n) for n in row})) for row in labels], names


# ---------------------------------------------------------------- measures of label sets


def jaccard(gold, predicted, empty_both: str = "one") -> float:
    """Mean over rows of the labels that are right, of those that are right or were answered (paper, Eq. 1)."""
    return _mean("jacc", gold, predicted, empty_both)


def accuracy(gold, predicted) -> float:
    """Share of rows whose label set is exactly right."""
    return _mean("acc", gold, predicted)


def correctness(gold, predicted, empty_both: str = "one") -> float:
    """Share of rows without a wrong label; an empty answer where there are labels is not correct (paper, Eq. 15)."""
    return _mean("corr", gold, predicted, empty_both)


def completeness(gold, predicted, empty_both: str = "one") -> float:
    """Share of rows without a missing label (paper, Eq. 16)."""
    return _mean("comp", gold, predicted, empty_both)


def harmonic(gold, predicted, seen) -> float:
    """H: harmonic mean of accuracy on rows of seen combinations and on the others."""
    gold, predicted = _alike(gold=gold, predicted=predicted)
    right = (gold == predicted).all(axis=1)
    return float(harmonic_mean(*(right[rows].mean() for rows in _sides(gold, seen).values())))


def _mean(measure: str, gold, predicted, empty_both: str = "one") -> float:
    gold, predicted = _alike(gold=gold, predicted=predicted)
    if empty_both not in ("one", "reference"):
        raise InputError(f"empty_both: {empty_both!r} is neither 'one' nor 'reference'")
    return float(instance_scores(gold, predicted, empty_both)[measure].mean())


# ---------------------------------------------------------------- knowledge apart from the operating point


def ausuc(probabilities, gold, seen) -> float:
    """Area under the curve of accuracy on seen over accuracy on unseen combinations: no constant moves it.

    The label sets that may be answered are those of the training rows and of the test rows.

    Args:
        probabilities: of every label for the rows of both test sets [n, labels].
        gold: their label sets.
        seen: label sets of the training rows [m, labels].
    """
    ranked = _ranking(probabilities, gold, seen, gold).ranked
    return composition_prior.ausuc(ranked["seen"], ranked["unseen"])[0]


def best_harmonic(probabilities, gold, seen, ids: Sequence[str] | None = None) -> float:
    """H where one constant, the best, is added to the scores of unseen combinations.

    It is chosen on the one half of the rows and applied to the other; halves follow from `ids`, by default numbers.
    The other arguments are those of `ausuc`.
    """
    right = knowledge.right_at_best_constant(_ranking(probabilities, gold, seen, gold, ids))
    return float(harmonic_mean(right["seen"].mean(), right["unseen"].mean()))


def gap(
    probabilities, matched: Sequence, gold, seen, threshold: float = 0.5, ids: Sequence[str] | None = None
) -> dict[str, dict[str, float]]:
    """What a classifier lacks on unseen combinations, in H, and its two parts.

    operating_point: what the best constant gives; knowledge: what only texts can add, up to the matched arm.

    Args:
        probabilities: as in `ausuc`, of the classifier without texts of the test set.
        matched: the same of two classifiers that learned half of the unseen rows each, NaN in the rows that they did.
        gold: label sets of the rows.
        seen: label sets of the training rows.
        threshold: above it a label is answered.
        ids: of the rows; None: their numbers.

    Returns: {total, operating_point, knowledge: {mean, low, high}}, with 95 % bootstrap intervals over test rows.
    """
    if len(matched) != 2:
        raise InputError(f"matched: probabilities of {len(matched)} classifiers; give those of two")
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold: {threshold:g} is not between 0 and 1")
    gold = _sets("gold", gold)
    ids = _ids(gold, ids)
    outcomes = {"baseline": _outcome(NONE, probabilities, gold, seen, gold, threshold, ids)}
    seen_rows = _sides(gold, seen)["seen"]
    halves = []
    for values in (_probabilities(values, "matched") for values in matched):
        if values.shape != gold.shape:
            raise InputError(f"matched: shape {values.shape}; gold has {gold.shape}")
        learned = np.isnan(values).any(axis=1)
        if learned[seen_rows].any():
            raise InputError("matched: a row with a seen label set is NaN; only unseen ones were learned")
        halves.append(_outcome(REAL_TEXTS, values[~learned], gold[~learned], seen, gold, threshold, ids[~learned]))
    rows = outcomes["baseline"].ids["unseen"]
    if sorted(row for half in halves for row in half.ids["unseen"]) != sorted(rows):
        raise InputError("matched: each unseen row must be NaN in exactly one of the two arrays")
    outcomes[root_cell.MATCHED] = joined(halves[0].cell, halves, rows)
    _, parts = root_cell.knowledge(outcomes, outcomes)
    return {
        part: {name: round(value / 100, SHARE_DECIMALS) for name, value in values.items()}
        for part, values in parts.items()
    }


def _outcome(generator: str, probabilities, gold, seen, tested, threshold: float, ids: np.ndarray) -> Outcome:
    ranking = _ranking(probabilities, gold, seen, tested, ids)
    right = (gold == (_probabilities(probabilities) > threshold)).all(axis=1)
    of_side = {side: right[rows] for side, rows in _sides(gold, seen).items()}
    metrics = {side: {"acc": percent(rows.mean()), "n": len(rows)} for side, rows in of_side.items()}
    metrics["unseen"]["harmonic"] = percent(harmonic_mean(of_side["seen"].mean(), of_side["unseen"].mean()))
    return Outcome(Cell("run", 0, generator=generator), "threshold", metrics, of_side, ranking.ids, rankings=(ranking,))


def _ranking(probabilities, gold, seen, tested, ids: Sequence[str] | None = None) -> Ranking:
    """How a classifier ranks the label sets of training and of all test rows (`tested`), as `decodings` prepares it."""
    values, gold = _alike(probabilities=probabilities, gold=gold)
    ids, sides = _ids(gold, ids), _sides(gold, seen)
    of_seen, of_tested = _compositions("seen", seen), _compositions("gold", tested)
    prior = prior_of(of_seen, dict.fromkeys(of_tested, 1.0), gold.shape[1], seen=set(of_seen))
    nothing = np.zeros(len(prior.train))
    ranked = {side: seen_unseen_scores(values[rows], prior, gold[rows], nothing) for side, rows in sides.items()}
    return Ranking({side: ids[rows].tolist() for side, rows in sides.items()}, ranked)


def _sides(gold: np.ndarray, seen) -> dict[str, np.ndarray]:
    """Which rows are of either side, bool [n]. InputError where a side has none."""
    of_training = _sets("seen", seen)
    if of_training.shape[1] != gold.shape[1]:
        raise InputError(f"seen: {of_training.shape[1]} columns, gold has {gold.shape[1]}; give one for each label")
    is_seen = rows_among(gold, of_training)
    sides = dict(zip(SIDES, (is_seen, ~is_seen), strict=True))
    for side, rows in sides.items():
        if not rows.any():
            raise InputError(f"gold: no row has {side} label sets; give the rows of both test sets")
    return sides


# ---------------------------------------------------------------- arrays as they come


def _sets(name: str, values) -> np.ndarray:
    """An indicator array, dense or sparse, as bool [n, labels]."""
    matrix = _matrix(name, values)
    if matrix is None or not np.isin(matrix, (0, 1)).all():
        raise InputError(
            f"{name}: not an indicator array [rows, labels] of zeros and ones; scikit-learn's MultiLabelBinarizer "
            "makes one of label lists"
        )
    return matrix.astype(bool)


def _probabilities(values, name: str = "probabilities") -> np.ndarray:
    """As float [n, labels]; of `matched`, NaN in whole rows."""
    matrix = _matrix(name, values)
    if matrix is None or matrix.dtype.kind not in "fiub":
        raise InputError(f"{name}: not an array [rows, labels] of numbers")
    matrix = matrix.astype(float)
    missing = np.isnan(matrix)
    if missing.any() and (name != "matched" or (missing.any(axis=1) != missing.all(axis=1)).any()):
        raise InputError(f"{name}: row {int(missing.any(axis=1).argmax())} is NaN")
    if len(outside := matrix[(matrix < 0) | (matrix > 1)]):
        raise InputError(f"{name}: {outside[0]:g} is not between 0 and 1; give no scores")
    return matrix


def _matrix(name: str, values) -> np.ndarray | None:
    """As an array of two dimensions, None where it is none. InputError without rows."""
    try:
        matrix = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    except ValueError:  # lists of several lengths
        return None
    if not len(matrix):
        raise InputError(f"{name}: no rows")
    return matrix if matrix.ndim == 2 else None


def _alike(**arrays) -> list[np.ndarray]:
    """These arrays [n, labels]. InputError unless they have one shape."""
    read = [_probabilities(v) if name == "probabilities" else _sets(name, v) for name, v in arrays.items()]
    if len({array.shape for array in read}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in zip(arrays, read, strict=True))
        raise InputError(f"shapes differ: {shapes}; give a row and a column for each")
    return read


def _compositions(name: str, values) -> list[tuple[int, ...]]:
    return [tuple(np.flatnonzero(row).tolist()) for row in _sets(name, values)]


def _ids(gold: np.ndarray, ids: Sequence[str] | None) -> np.ndarray:
    names = [str(row) for row in (range(len(gold)) if ids is None else ids)]
    if len(names) != len(gold):
        raise InputError(f"ids: {len(names)} for {len(gold)} rows; give one a row")
    _check_ids(names)
    return np.array(names, dtype=object)


def _check_ids(ids: Sequence[str]) -> None:
    if again := next((name for name, n in Counter(ids).items() if n > 1), None):
        raise InputError(f"ids: {again!r} stands in several rows; give each row an id")
