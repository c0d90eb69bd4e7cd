"""Thresholds tuned on validation rows (SCut), and where those rows come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.evaluation.decoding import DECODINGS, decode, read_validation, tune_thresholds
from compaug.records import Example, InputError, write_rows


def f1(scores, truth, threshold):
    said = scores > threshold
    return 2 * (said & truth).sum() / (said.sum() + truth.sum())


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0]), st.booleans()), min_size=1, max_size=12)
)
def test_no_threshold_has_a_better_f1_than_the_tuned_one(rows):
    scores, truth = (np.array(column) for column in zip(*rows, strict=True))
    (tuned,) = tune_thresholds(scores[:, None], truth[:, None], 0.5)
    if not truth.any():
        assert tuned == 0.5
        return
    best = max(f1(scores, truth, threshold) for threshold in np.linspace(0, 1, 101))
    assert f1(scores, truth, tuned) == pytest.approx(best)
    if f1(scores, truth, 0.5) == pytest.approx(best):
        assert tuned == 0.5  # nothing to gain: the paper's threshold stays


def test_a_threshold_lies_half_way_between_the_scores_that_it_separates():
    scores, truth = np.array([[0.1], [0.2], [0.3]]), np.array([[0], [0], [1]])
    assert tune_thresholds(scores, truth, 0.5).tolist() == [pytest.approx(0.25)]
    test = np.array([[0.24], [0.26]])
    assert decode("tuned_thresholds", 0.5, test, scores, truth).tolist() == [[False], [True]]
    assert decode("threshold", 0.5, test, scores, truth).tolist() == [[False], [False]]


def test_without_validation_rows_the_threshold_is_the_default():
    none = np.zeros((0, 3))
    test = np.random.default_rng(0).random((20, 3))
    assert np.array_equal(decode("tuned_thresholds", 0.4, test, none, none), test > 0.4)


def test_an_unknown_decoding_is_refused():
    with pytest.raises(InputError, match=f"choose from {', '.join(DECODINGS)}"):
        decode("argmax", 0.5, *[np.zeros((1, 1))] * 3)


def test_validation_rows_are_read_with_the_gold_of_the_file_they_came_from(tmp_path):
    rows = [("a", "validation", 0.2), ("t", "test", 0.3), ("s", "validation", 0.9)]
    rows = [{"id": i, "split": split, "probabilities": [p, 1 - p]} for i, split, p in rows]
    write_rows(tmp_path / "p.jsonl", rows)
    known = [Example("a", "x", (1,)), Example("b", "x", ()), Example("s", "x", (0, 1))]
    probabilities, gold = read_validation(tmp_path / "p.jsonl", known, 2)
    assert probabilities.tolist() == [[0.2, 0.8], [0.9, pytest.approx(0.1)]]
    assert gold.tolist() == [[False, True], [True, True]]
    with pytest.raises(InputError, match="validation row 's' is in no training file"):
        read_validation(tmp_path / "p.jsonl", known[:2], 2)
