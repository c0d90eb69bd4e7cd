"""The classifiers' page: kinds of error, Tables 1 and 3, the paper's observations, one figure per benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.evaluation import errors
from compaug.evaluation.metrics import evaluate, label_matrix
from compaug.records import Labels, write_rows
from compaug.reports.paper import read_paper_values

ROOT = Path(__file__).parents[1]
PAPER = read_paper_values(ROOT / "reports" / "paper_values.yaml")
LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
SEEDS = [13, 21, 42]
GOLD = [(0, 1), (0, 1), (1, 2), (0,), (0, 1, 2)]
matrices = st.lists(st.tuples(st.sets(st.integers(0, 2)), st.sets(st.integers(0, 2))), min_size=1, max_size=8)


def matrix(label_sets):
    return label_matrix(label_sets, 3)


# ---------------------------------------------------------------- error analysis


@given(matrices)
def test_every_row_is_of_exactly_one_kind_and_the_kinds_agree_with_the_metrics(rows):
    gold, predicted = (matrix(column) for column in zip(*rows, strict=True))
    kinds = errors.kinds(gold, predicted)
    assert list(kinds) == list(errors.KINDS)
    assert (sum(mask.astype(int) for mask in kinds.values()) == 1).all()
    shares = errors.analyse(gold, predicted, LABELS)["kinds"]
    metrics = evaluate(gold, predicted, LABELS)
    assert shares["exact"] == metrics["acc"]
    assert shares["subset"] + shares["empty"] == pytest.approx(metrics["strict_subset"], abs=1e-3)
    assert shares["superset"] == pytest.approx(metrics["strict_superset"], abs=1e-3)


def test_the_kinds_by_hand():
    gold = matrix([(0, 1)] * 6)
    predicted = matrix([(0, 1), (0,), (), (0, 1, 2), (0, 2), (2,)])
    kinds = errors.kinds(gold, predicted)
    assert [int(np.flatnonzero(kinds[kind])[0]) for kind in errors.KINDS] == [0, 1, 2, 3, 4, 5]
    assert errors.kinds(matrix([()]), matrix([()]))["exact"].all()
    assert errors.kinds(matrix([()]), matrix([(1,)]))["superset"].all()


def test_confusions_sizes_and_support():
    predicted = matrix([(0, 1, 2), (0, 1, 2), (1, 2), (0, 1), (0, 1, 2)])
    made = errors.analyse(matrix(GOLD), predicted, LABELS, {(0, 1)})
    assert made["confusions"] == [["joy+love", "joy+love+fear", 2], ["joy", "joy+love", 1]]
    assert made["by_size"] == {"1": {"n": 1, "acc": 0.0}, "2": {"n": 3, "acc": 33.3333}, "3": {"n": 1, "acc": 100.0}}
    assert made["by_support"] == {"in support": {"n": 2, "acc": 0.0}, "not in support": {"n": 3, "acc": 66.6667}}
    assert "by_support" not in errors.analyse(matrix(GOLD), predicted, LABELS)


def test_answers_that_do_not_parse_are_counted_on_the_test_rows_alone(tmp_path):
    rows = [("v", "validation", 3), ("a", "test", 0), ("b", "test", 2), ("c", "test", 1)]
    write_rows(tmp_path / "p.jsonl", [{"id": i, "split": split, "unparsed": n} for i, split, n in rows])
    assert errors.unparsed(tmp_path / "p.jsonl") == {"rows": 2, "pieces": 3}
    write_rows(tmp_path / "p.jsonl", [{"id": "a", "split": "test"}])
    assert errors.unparsed(tmp_path / "p.jsonl") is None


AXES = {"benchmarks": ["toy"], "generators": ["none", "oversample", "ld_vae"], "seeds": SEEDS}
NAMES = ["bert", "bert_p", "magnet", "sgm", "dbloss", "t5_clp"]
