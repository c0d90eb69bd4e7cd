"""Metrics of label sets: Jacc, Acc, Corr, Comp, F1s (paper, Eqs. 1, 2, 15, 16).

Everything works on boolean matrices [n, n_labels], row = instance, column = label id. Rates are in percent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

DECIMALS = 4


def label_matrix(label_sets: Sequence[Iterable[int]], n_labels: int) -> np.ndarray:
    """Label sets as a boolean matrix [n, n_labels]."""
    matrix = np.zeros((len(label_sets), n_labels), dtype=bool)
    for row, label_set in enumerate(label_sets):
        matrix[row, list(label_set)] = True
    return matrix


def rows_among(matrix: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which rows [n, n_labels] are also rows of `others` [m, n_labels].  # bool [n]"""
    patterns = set(map(bytes, np.packbits(others, axis=1)))
    return np.array([bytes(row) in patterns for row in np.packbits(matrix, axis=1)], dtype=bool)


def instance_scores(gold: np.ndarray, predicted: np.ndarray, empty_both: str = "one") -> dict[str, np.ndarray]:
    """Scores of every instance in [0, 1], each an array [n], for gold g and prediction p.

    jacc = |p & g| / |p | g|; acc = 1[p = g]; corr_set = 1[p subset of g]; comp = 1[g subset of p];
    corr = corr_set, but an empty p for a non-empty g scores 0 (the headline: abstaining is not correct).
    When both sets are empty, `empty_both` decides: "one" scores 1 everywhere (set theory), "reference" scores
    0 except for acc (the reference code).
    """
    both = (gold & predicted).sum(axis=1)  # [n]
    either = (gold | predicted).sum(axis=1)  # [n]
    n_gold, n_predicted = gold.sum(axis=1), predicted.sum(axis=1)  # [n]
    both_empty = either == 0
    no_false_positive = both == n_predicted
    scores = {
        "jacc": both / np.maximum(either, 1),
        "acc": both == either,
        "corr": no_false_positive & (n_predicted > 0),
        "corr_set": no_false_positive,
        "comp": both == n_gold,
    }
    scores = {name: score.astype(float) for name, score in scores.items()}
    for name, score in scores.items():
        if name != "acc":  # equal sets in either convention
            score[both_empty] = float(empty_both == "one")
    return scores


def rates(gold: np.ndarray, predicted: np.ndarray, empty_both: str = "one") -> dict[str, float]:
    """All metrics of a prediction by name, percentages rounded to 4 places, and the number of rows `n`.

    `strict_subset` counts p strictly inside g (empty p too), `strict_superset` the reverse: in mode "one"
    corr_set = acc + strict_subset and comp = acc + strict_superset. F1 without any positive is 0, as in
    scikit-learn.
    """
    scores = instance_scores(gold, predicted, empty_both)
    subset, superset = ~(predicted & ~gold).any(axis=1), ~(gold & ~predicted).any(axis=1)  # [n]
    true_positive = (gold & predicted).sum(axis=0)  # [n_labels]
    wrong = (gold ^ predicted).sum(axis=0)  # false positives and false negatives [n_labels]
    means = {name: score.mean() for name, score in scores.items()}
    means |= {
        "micro_f1": _f1(true_positive.sum(), wrong.sum()),
        "macro_f1": _f1(true_positive, wrong).mean(),
        "hamming": (gold ^ predicted).mean(),
        "empty_rate": (~predicted.any(axis=1)).mean(),
        "strict_subset": (subset & ~superset).mean(),
        "strict_superset": (superset & ~subset).mean(),
    }
    return {name: percent(rate) for name, rate in means.items()} | {"n": len(gold)}


def percent(rate: float) -> float:
    """A rate in [0, 1] as a rounded percentage."""
    return round(100 * float(rate), DECIMALS)


def rounded(value: object) -> object:
    """Measures as they are written: every float of a value, however deep in mappings, at `DECIMALS`."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return round(value, DECIMALS) if isinstance(value, float) else value


def _f1(true_positive: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """F1 = 2 TP / (2 TP + FP + FN), 0 where nothing is gold or predicted."""
    return 2 * true_positive / np.maximum(2 * true_positive + wrong, 1)
