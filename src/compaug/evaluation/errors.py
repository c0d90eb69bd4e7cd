"""How a classifier fails: kinds of answers, accuracy by number of labels and by support, confused compositions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from compaug.evaluation.metrics import percent
from compaug.records import Labels

KINDS = ("exact", "subset", "empty", "superset", "overlap", "disjoint")  # they add up to all rows


def analyse(gold: np.ndarray, predicted: np.ndarray, supported: np.ndarray | None = None) -> dict[str, float]:
    """Metrics of one test set by name, rates in percent; gold and predicted are boolean [n, n_labels].

    kind_<kind>: shares of the rows; acc_size_<k>, n_size_<k>: accuracy on rows with k gold labels; acc_in_support, acc_not_in_support
    and their numbers of rows: by `supported` [n], whether the support set shows the row's composition (left out when None).
    """
    sizes, right = gold.sum(1), (gold == predicted).all(1)  # [n]
    groups = {f"size_{size}": sizes == size for size in np.unique(sizes).tolist()}
    if supported is not None:
        groups |= {"in_support": supported, "not_in_support": ~supported}
    made = {f"kind_{kind}": percent(rows.mean()) for kind, rows in kinds(gold, predicted).items()}
    for name, rows in groups.items():
        made[f"n_{name}"] = int(rows.sum())
        if rows.any():
            made[f"acc_{name}"] = percent(right[rows].mean())
    return made


def kinds(gold: np.ndarray, predicted: np.ndarray) -> dict[str, np.ndarray]:
    """Which rows are of which kind, boolean [n] each; every row is of exactly one. A prediction p of the set g is exact; a strict
    subset that is not empty; empty; a strict superset; overlapping, right and wrong labels and some missing; or disjoint."""
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
    wanted = np.zeros((len(compositions), matrix.shape[1]), dtype=bool)
    for row, composition in enumerate(compositions):
        wanted[row, list(composition)] = True
    known = set(map(bytes, np.packbits(wanted, axis=1)))
    return np.array([bytes(row) in known for row in np.packbits(matrix, axis=1)], dtype=bool)


def confusions(gold: np.ndarray, predicted: np.ndarray, labels: Labels) -> Counter[tuple[str, str]]:
    """Wrong rows by the keys of their gold and their predicted composition."""
    wrong = ~(gold == predicted).all(1)
    pairs, counts = np.unique(np.stack([gold[wrong], predicted[wrong]], axis=1), axis=0, return_counts=True)
    keys = ([labels.key(np.flatnonzero(row).tolist()) for row in pair] for pair in pairs)
    return Counter({tuple(pair): int(n) for pair, n in zip(keys, counts, strict=True)})
