"""Decoding: from the probabilities in predictions.jsonl to label sets, without training again (spec section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from compaug.evaluation.metrics import label_matrix, read_predictions
from compaug.records import Example, InputError, iter_rows


def decode(
    name: str, threshold: float, test: np.ndarray, validation: np.ndarray, validation_gold: np.ndarray
) -> np.ndarray:
    """Label sets [n, n_labels] of the test probabilities [n, n_labels]; `name` is one of DECODINGS.

    What a decoding learns, it learns from the validation probabilities and gold sets [m, n_labels]: rows of the training data
    that the classifier was not trained on. InputError for another name.
    """
    if name not in DECODINGS:
        raise InputError(f"evaluation.decoding: unknown name {name!r}; choose from {', '.join(DECODINGS)}")
    return DECODINGS[name](threshold, test, validation, validation_gold)


def _at_one_threshold(threshold, test, validation, validation_gold) -> np.ndarray:
    return test > threshold


def _at_tuned_thresholds(threshold, test, validation, validation_gold) -> np.ndarray:
    return test > tune_thresholds(validation, validation_gold, threshold)


DECODINGS = {"threshold": _at_one_threshold, "tuned_thresholds": _at_tuned_thresholds}


def tune_thresholds(probabilities: np.ndarray, gold: np.ndarray, default: float) -> np.ndarray:
    """For every label the threshold of the best F1 on these rows (Yang 2001, "SCut"): half-way between two neighbouring
    probabilities, of equally good ones the nearest to `default`; `default` for a label that no row has.  # [n_labels]"""
    thresholds = np.full(probabilities.shape[1], default)
    for label, (scores, truth) in enumerate(zip(probabilities.T, gold.T.astype(bool), strict=True)):
        if not truth.any():
            continue
        cuts = np.unique(scores)
        candidates = np.concatenate([(cuts[1:] + cuts[:-1]) / 2, [0.0, default]])
        above = scores[:, None] > candidates  # [m, candidates]
        hits = (above & truth[:, None]).sum(0)
        f1 = 2 * hits / (above.sum(0) + truth.sum())
        best = np.flatnonzero(f1 >= f1.max() - 1e-12)
        thresholds[label] = candidates[best[np.abs(candidates[best] - default).argmin()]]
    return thresholds


def read_validation(path: Path | str, examples: Iterable[Example], n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and gold sets [m, n_labels] of the validation rows in predictions.jsonl; `examples` are the training rows
    that they were drawn from. InputError when one of them is not among these."""
    ids = [row.get("id") for _, row in iter_rows(path) if row.get("split") == "validation"]
    gold_of = {example.id: example.labels for example in examples}
    if unknown := [row_id for row_id in ids if row_id not in gold_of]:
        raise InputError(
            f"{path}: the validation row {unknown[0]!r} is in no training file of this cell; train the classifier again"
        )
    probabilities = read_predictions(path, ids, n_labels, "validation") if ids else np.zeros((0, n_labels))
    return probabilities, label_matrix([gold_of[row_id] for row_id in ids], n_labels)
