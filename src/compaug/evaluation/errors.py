"""How a classifier fails: kinds of error, confused compositions, accuracy by size and by support (from predictions alone)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from compaug.evaluation.metrics import percent
from compaug.records import Labels, iter_rows

KINDS = ("exact", "subset", "empty", "superset", "overlap", "disjoint")  # they add up to all rows
CONFUSIONS = 12  # pairs that are kept


def analyse(
    gold: np.ndarray, predicted: np.ndarray, labels: Labels, support: Collection[tuple[int, ...]] | None = None
) -> dict:
    """The error analysis of one cell; gold and predicted are boolean [n, n_labels], rates in percent.

    kinds: shares of the rows; by_size: accuracy by the number of gold labels; by_support: by whether the gold composition is
    in `support` (left out when None); confusions: the most frequent [gold composition, predicted one, rows].
    """
    sizes, right = gold.sum(1), (gold == predicted).all(1)  # [n]
    made = {
        "kinds": {kind: percent(rows.mean()) for kind, rows in kinds(gold, predicted).items()},
        "by_size": {str(size): _accuracy(right, sizes == size) for size in np.unique(sizes).tolist()},
        "confusions": _confusions(gold, predicted, right, labels),
    }
    if support is not None:
        known = np.array([tuple(np.flatnonzero(row).tolist()) in support for row in gold])
        made["by_support"] = {"in support": _accuracy(right, known), "not in support": _accuracy(right, ~known)}
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


def _accuracy(right: np.ndarray, rows: np.ndarray) -> dict:
    n = int(rows.sum())
    return {"n": n, "acc": percent(right[rows].mean()) if n else None}


def _confusions(gold: np.ndarray, predicted: np.ndarray, right: np.ndarray, labels: Labels) -> list[list]:
    keys = lambda rows: [labels.key(np.flatnonzero(row).tolist()) for row in rows]
    pairs = Counter(zip(keys(gold[~right]), keys(predicted[~right]), strict=True))
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return [[*pair, count] for pair, count in ranked[:CONFUSIONS]]


def unparsed(path: Path | str, split: str = "test") -> dict | None:
    """Of a classifier that writes its answers: rows with a piece that is no label, and such pieces; None for another."""
    counts = [row["unparsed"] for _, row in iter_rows(path) if row.get("split") == split and "unparsed" in row]
    return {"rows": sum(count > 0 for count in counts), "pieces": sum(counts)} if counts else None


def mean(cells: Collection[Mapping]) -> dict[str, float]:
    """Shares of the kinds, averaged over the error analyses of several seeds."""
    return {kind: float(np.mean([cell["kinds"][kind] for cell in cells])) for kind in KINDS}
