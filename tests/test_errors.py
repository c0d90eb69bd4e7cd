"""How a classifier fails: every answer is of one kind, and the kinds agree with the metrics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.core.records import Labels
from compaug.evaluation import errors
from compaug.evaluation.metrics import label_matrix, rates

KINDS = ["exact", "subset", "empty", "superset", "overlap", "disjoint"]
LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
GOLD = [(0, 1), (0, 1), (1, 2), (0,), (0, 1, 2)]
matrices = st.lists(st.tuples(st.sets(st.integers(0, 2)), st.sets(st.integers(0, 2))), min_size=1, max_size=8)


def matrix(label_sets):
    return label_matrix(label_sets, 3)


@given(matrices)
def test_every_row_is_of_exactly_one_kind_and_the_kinds_agree_with_the_metrics(rows):
    gold, predicted = (matrix(column) for column in zip(*rows, strict=True))
    kinds = errors.kinds(gold, predicted)
    assert list(kinds) == KINDS
    assert (sum(mask.astype(int) for mask in kinds.values()) == 1).all()
    shares, metrics = errors.analyse(gold, predicted), rates(gold, predicted)
    assert shares["kind_exact"] == metrics["acc"]
    assert shares["kind_subset"] + shares["kind_empty"] == pytest.approx(metrics["strict_subset"], abs=1e-3)
    assert shares["kind_superset"] == pytest.approx(metrics["strict_superset"], abs=1e-3)


@given(matrices, matrices)
def test_rows_and_accuracies_of_two_test_sets_are_those_of_all_their_rows(first, second):
    def measured(rows):
        gold, predicted = (matrix(column) for column in zip(*rows, strict=True))
        analysis = errors.analyse(gold, predicted, errors.among(gold, {(0, 1)}))
        return {"n": len(rows)} | {name: value for name, value in analysis.items() if not name.startswith("kind_")}

    both = errors.of_both(measured(first), measured(second))
    assert both == pytest.approx(measured(first + second), abs=0.011)


def test_the_kinds_by_hand():
    gold = matrix([(0, 1)] * 6)
    predicted = matrix([(0, 1), (0,), (), (0, 1, 2), (0, 2), (2,)])
    kinds = errors.kinds(gold, predicted)
    assert [int(np.flatnonzero(kinds[kind])[0]) for kind in KINDS] == [0, 1, 2, 3, 4, 5]
    assert errors.kinds(matrix([()]), matrix([()]))["exact"].all()
    assert errors.kinds(matrix([()]), matrix([(1,)]))["superset"].all()


def test_confusions_sizes_and_support():
    gold, predicted = matrix(GOLD), matrix([(0, 1, 2), (0, 1, 2), (1, 2), (0, 1), (0, 1, 2)])
    assert errors.confusions(gold, predicted, LABELS) == {("joy+love", "joy+love+fear"): 2, ("joy", "joy+love"): 1}
    assert errors.confusions(gold, gold, LABELS) == {}
    supported = errors.among(gold, {(0, 1), (2,)})
    assert supported.tolist() == [True, True, False, False, False]
    analysis = errors.analyse(gold, predicted, supported)
    assert {name: value for name, value in analysis.items() if not name.startswith("kind_")} == {
        "acc_size_1": 0.0,
        "acc_size_2": 33.3333,
        "acc_size_3": 100.0,
        "n_size_1": 1,
        "n_size_2": 3,
        "n_size_3": 1,
        "acc_in_support": 0.0,
        "n_in_support": 2,
        "acc_not_in_support": 66.6667,
        "n_not_in_support": 3,
    }
    assert not [name for name in errors.analyse(gold, predicted) if "support" in name]
    assert "acc_in_support" not in errors.analyse(gold, predicted, errors.among(gold, []))  # no row, no accuracy
