"""How a classifier fails: kinds of answers, accuracy by number of labels and by support, confused compositions."""

import re
from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np

from compaug.core.records import Labels
from compaug.evaluation.metrics import label_matrix, percent, rows_among

GROUP = re.compile(r"n|n_size_\d+|n_(not_)?in_support")  # metrics that count test rows


def analyse(gold: np.ndarray, predicted: np.ndarray, supported: np.ndarray | None = None) -> dict[str, float]:
    """Metrics of one test set by name, rates in percent; gold and predicted are boolean [n, n_labels].

    kind_<kind>                 share of the rows
    acc_size_<k>, n_size_<k>    accuracy on rows with k gold labels, and their number
    acc_in_support, n_in_support, acc_not_in_support, n_not_in_support
                                the same by `supported` [n], whether the support set shows the row's composition; left
                                out when it is None
    """
    sizes, right = gold.sum(1), (gold == predicted).all(1)  # [n]
    groups = {f"size_{size}": sizes == size for size in np.unique(sizes).tolist()}
    if supported is not None:
        groups |= {"in_support": supported, "not_in_support": ~supported}
    metrics = {f"kind_{kind}": percent(rows.mean()) for kind, rows in kinds(gold, predicted).items()}
    for name, rows in groups.items():
        metrics[f"n_{name}"] = int(rows.sum())
        if rows.any():
            metrics[f"acc_{name}"] = percent(right[rows].mean())
    return metrics


def of_both(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """Numbers of rows and accuracies of groups (`analyse`) of two test sets together, by those of each."""
    n = {name: first.get(name, 0) + second.get(name, 0) for name in first | second if GROUP.fullmatch(name)}
    metrics: dict[str, float] = dict(n)
    for name, rows in n.items():
        group = f"acc_{name.removeprefix('n_')}"
        if group in first or group in second:
            right = sum(half.get(group, 0) * half.get(name, 0) for half in (first, second))
            metrics[group] = percent(right / rows / 100)
    return metrics


def kinds(gold: np.ndarray, predicted: np.ndarray) -> dict[str, np.ndarray]:
    """Which rows are of which kind, boolean [n] each; every row is of exactly one.

    A prediction p of the set g is exact; a strict subset that is not empty; empty; a strict superset; overlapping, with
    right, wrong and missing labels; or disjoint.
    """
    both, wrong, missing = (gold & predicted).any(1), (predicted & ~gold).any(1), (gold & ~predicted).any(1)
    empty = ~predicted.any(1)
    return {
        "exact": ~wrong & ~missing,
        "subset": missing & ~wrong & ~empty,
        "empty": missing & empty,
        "superset": wrong & ~missing,
        "overlap": wrong & missing & both,
        "disjoint": wrong & missing & ~both,
    }


def among(matrix: np.ndarray, compositions: Collection[tuple[int, ...]]) -> np.ndarray:
    """Which rows [n, n_labels] are one of the compositions.  # bool [n]"""
    return rows_among(matrix, label_matrix(list(compositions), matrix.shape[1]))


def compositions(matrix: np.ndarray, labels: Labels) -> list[str]:
    """The key of every row's label set."""
    return [labels.key(np.flatnonzero(row).tolist()) for row in matrix]


def confusions(gold: np.ndarray, predicted: np.ndarray, labels: Labels) -> Counter[tuple[str, str]]:
    """Wrong rows by the keys of their gold and their predicted composition."""
    wrong = (gold != predicted).any(1)
    return Counter(zip(compositions(gold[wrong], labels), compositions(predicted[wrong], labels), strict=True))


def per_composition(gold: np.ndarray, predicted: np.ndarray, labels: Labels) -> dict[str, dict]:
    """{gold composition: n, acc, its most frequent wrong prediction `wrong`, its number of rows `n_wrong`}.

    Of equally frequent ones the first in alphabetical order; None when nothing is wrong.
    """
    confused, by_composition = confusions(gold, predicted, labels), {}
    for key, n in sorted(Counter(compositions(gold, labels)).items()):
        wrong = Counter({other: count for (truth, other), count in confused.items() if truth == key})
        worst = min(wrong, key=lambda other: (-wrong[other], other), default=None)
        by_composition[key] = {
            "n": n,
            "acc": percent((n - wrong.total()) / n),
            "wrong": worst,
            "n_wrong": wrong.get(worst, 0),
        }
    return by_composition
