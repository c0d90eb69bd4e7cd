"""Metrics against hand-worked cases, set identities and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score, hamming_loss

from compaug.core.records import Labels
from compaug.evaluation.metrics import instance_scores, label_matrix
from compaug.evaluation.root_cell import evaluate

LABELS = Labels(("anger", "joy", "love", "trust"), ("anger", "joy", "love", "trust"))

# gold, predicted -> jacc, acc, corr, corr_set, comp; only two empty sets depend on the convention
CASES = {
    "prediction empty, gold not": ([1, 2], [], (0, 0, 0, 1, 0)),
    "gold empty, prediction not": ([], [1], (0, 0, 0, 0, 1)),
    "equal": ([1, 2], [1, 2], (1, 1, 1, 1, 1)),
    "strict subset": ([0, 1, 2], [1], (1 / 3, 0, 1, 1, 0)),
    "strict superset": ([1], [0, 1, 2], (1 / 3, 0, 0, 0, 1)),
    "overlap": ([0, 1], [1, 2], (1 / 3, 0, 0, 0, 0)),
    "disjoint": ([0, 1], [2, 3], (0, 0, 0, 0, 0)),
}
TABLE = [(name, empty_both, *case) for name, case in CASES.items() for empty_both in ("one", "reference")]
TABLE += [
    ("both empty", "one", [], [], (1, 1, 1, 1, 1)),
    ("both empty", "reference", [], [], (0, 1, 0, 0, 0)),
]


def matrices():
    """Pairs of boolean matrices of one shape with 4 labels."""
    pair = st.integers(1, 12).map(lambda n: arrays(bool, (n, 4)))
    return pair.flatmap(lambda matrix: st.tuples(matrix, matrix))


@pytest.mark.parametrize(("case", "empty_both", "gold", "predicted", "expected"), TABLE)
def test_every_empty_and_non_empty_case_scores_as_in_the_table(case, empty_both, gold, predicted, expected):
    scores = instance_scores(label_matrix([gold], 4), label_matrix([predicted], 4), empty_both)
    assert [scores[name][0] for name in ("jacc", "acc", "corr", "corr_set", "comp")] == pytest.approx(expected)


@given(matrices())
def test_an_exact_prediction_is_never_better_than_correct_and_complete(pair):
    scores = instance_scores(*pair, "one")
    assert (scores["acc"] <= np.minimum(scores["corr_set"], scores["comp"])).all()
    assert (scores["acc"] <= scores["corr"]).all() and (scores["corr"] <= scores["corr_set"]).all()


@given(matrices())
def test_subset_and_superset_rates_complete_accuracy_to_correctness_and_completeness(pair):
    result = evaluate(*pair, LABELS)
    assert result["corr_set"] == pytest.approx(result["acc"] + result["strict_subset"], abs=3e-4)
    assert result["comp"] == pytest.approx(result["acc"] + result["strict_superset"], abs=3e-4)


@given(matrices())
def test_f1_and_hamming_agree_with_scikit_learn(pair):
    gold, predicted = pair
    result = evaluate(gold, predicted, LABELS)
    for average in ("micro", "macro"):
        expected = 100 * f1_score(gold, predicted, average=average, zero_division=0)
        assert result[f"{average}_f1"] == pytest.approx(expected, abs=1e-4)
    assert result["hamming"] == pytest.approx(100 * hamming_loss(gold, predicted), abs=1e-4)


@given(matrices())
def test_the_compositions_partition_the_instances(pair):
    result = evaluate(*pair, LABELS)
    rows = result["per_composition"].values()
    assert sum(row["n"] for row in rows) == result["n"] == len(pair[0])
    assert sum(row["n"] * row["acc"] for row in rows) / result["n"] == pytest.approx(result["acc"], abs=1e-3)
    assert all((row["wrong"] is None) == (row["acc"] == 100) for row in rows)


def test_the_most_frequent_wrong_composition_is_named_and_ties_are_alphabetical():
    gold = label_matrix([[1, 2]] * 6 + [[0]] * 2 + [[3]], 4)
    predicted = label_matrix([[1], [1], [1, 2], [2], [2], []] + [[1], [3]] + [[3]], 4)
    result = evaluate(gold, predicted, LABELS)
    assert result["per_composition"] == {
        "anger": {"n": 2, "acc": 0.0, "wrong": "joy", "n_wrong": 1},
        "joy+love": {"n": 6, "acc": 16.6667, "wrong": "joy", "n_wrong": 2},
        "trust": {"n": 1, "acc": 100.0, "wrong": None, "n_wrong": 0},
    }
    assert result["empty_rate"] == 11.1111
