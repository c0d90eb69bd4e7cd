"""The Python API computes what the pipeline does, is loaded late, and refuses in one line."""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from graph import ROOT

import compaug
from compaug.core.files import InputError, read_json, read_yaml
from compaug.data import readers
from compaug.evaluation import gold as golds
from compaug.evaluation import predictions
from compaug.evaluation.packs import Packs

WITHIN = 1e-6  # committed numbers have four digits of a percentage


def test_the_package_is_loaded_at_once_and_without_what_is_slow():
    code = "import sys, time; t = time.perf_counter(); import compaug; print(time.perf_counter() - t, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True
    )
    seconds, *modules = done.stdout.split()
    assert float(seconds) < 0.3 and not {"torch", "numpy", "pydantic", "transformers"} & set(modules)


def test_names_of_the_api_are_listed_and_others_are_not_there():
    assert {"load", "split", "Audit", "gap", "ausuc"} <= set(dir(compaug))
    assert all(callable(getattr(compaug, name)) for name in compaug.API)
    with pytest.raises(AttributeError, match="has no attribute 'splits'"):
        _ = compaug.splits


# ---------------------------------------------------------------- the split


COMMITTED = {"quick": "run/gold", "diagnostic": "gold/diagnostic+seen_test=1600"}


@pytest.mark.parametrize(("corpus", "seen_test"), [("quick", None), ("diagnostic", 1600)])
def test_a_split_of_lists_is_that_of_the_pipeline(corpus, seen_test):
    benchmark = read_yaml(ROOT / f"configs/benchmarks/{corpus}.yaml")
    rows = readers.READERS["diagnostic"]({}, benchmark["options"])
    names, options = rows.labels.names, benchmark["split"]
    split = compaug.split(
        [e.text for e in rows.examples],
        [[names[label] for label in e.labels] for e in rows.examples],
        support_size=benchmark["sizes"]["support_size"],
        seen_test=seen_test,
        ids=[e.id for e in rows.examples],
        **{key: options[key] for key in ("compositions", "seed", "min_count", "test_share")},
    )
    gold = golds.read(ROOT / f"reports/{COMMITTED[corpus]}.jsonl.gz")
    assert split.names == gold.labels.names and len(split.combinations) == options["compositions"]
    for part in ("train", "support", "test", "seen_test"):
        ids = [split.ids[row] for row in getattr(split, part)]
        assert ids == list(gold.parts[part]), part
        assert (split.gold[getattr(split, part)] == gold.matrix(part, ids)).all()
    learned, held = (set(half.tolist()) for half in split.halves)
    assert learned | held == set(split.test.tolist()) and not learned & held


TOY = [["a", "b"]] * 4 + [["a", "c"]] * 4 + [["a"]] * 9 + [["b"]] * 9 + [["c"]] * 9
TOY_TEXTS = [f"text {row}" for row in range(len(TOY))]
SMALL = {"compositions": 1, "support_size": 1, "min_count": 2, "seen_test": 3}


def test_names_and_indicators_give_the_same_split_and_every_part_is_apart():
    by_name = compaug.split(TOY_TEXTS, TOY, **SMALL)
    by_column = compaug.split(TOY_TEXTS, by_name.gold, names=by_name.names, **SMALL)
    of_numpy = {name: np.int64(value) for name, value in SMALL.items() if isinstance(value, int)}
    assert compaug.split(TOY_TEXTS, TOY, **SMALL | of_numpy).test.tolist() == by_name.test.tolist()
    sparse = compaug.split(TOY_TEXTS, scipy.sparse.csr_array(by_name.gold.astype(int)), **SMALL)
    for part in ("train", "support", "test", "seen_test"):
        assert (getattr(by_name, part) == getattr(by_column, part)).all(), part
        assert (getattr(by_name, part) == getattr(sparse, part)).all(), part
    assert sparse.names == ("0", "1", "2") and len(by_name.tested) == len(by_name.test) + 3
    assert sorted([*by_name.learned, *by_name.tested]) == list(range(len(TOY)))
    assert compaug.split(TOY_TEXTS, TOY, **SMALL | {"seen_test": 0}).seen_test.tolist() == []


@pytest.mark.parametrize(
    ("texts", "labels", "options", "message"),
    [
        (
            TOY_TEXTS,
            TOY,
            {"compositions": 3},
            "only 2 compositions have at least 2 labels",
        ),
        (TOY_TEXTS, TOY, {"support_size": 4}, "^support_size is 4 but"),
        (TOY_TEXTS, TOY[1:], {}, "35 rows|34"),
        (TOY_TEXTS, ["a;b"] * len(TOY), {}, "labels: a row is one string; give each row a list of label names"),
        (TOY_TEXTS, np.full((len(TOY), 3), 2), {}, "labels: not an indicator array"),
        (TOY_TEXTS, TOY, {"compositions": 0}, "^compositions: "),
        (TOY_TEXTS, TOY, {"names": ["a", "b"]}, "unknown label 'c'"),
        (TOY_TEXTS, [["a"]] * len(TOY), {}, "^labels: no row has two labels or more"),
        ([], [], {}, "^labels: no row has a label"),
        (TOY_TEXTS, [{"a": 1, "b": 0}] * len(TOY), {}, "labels: row 0 is not a list of label names"),
        (pd.DataFrame({"text": TOY_TEXTS}), TOY, {}, "^texts: a table; give the column that has the texts"),
        (TOY_TEXTS, TOY, {"ids": ["x"] * len(TOY)}, "ids: 'x' stands in several rows"),
        (TOY_TEXTS, TOY, {"test_share": (0.5, 0.1)}, "^test_share must be "),
        (TOY_TEXTS, TOY, {"test_share": 0.1}, "^test_share: "),
    ],
)
def test_what_cannot_be_split_is_one_line(texts, labels, options, message):
    with pytest.raises(InputError, match=message) as caught:
        compaug.split(texts, labels, **SMALL | options)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- the measures


def sides_of(gold: golds.Gold) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Ids of both test sets, their label sets, and those of training rows."""
    ids = [*gold.parts["test"], *gold.parts["seen_test"]]
    sets = np.vstack([gold.matrix("test"), gold.matrix("seen_test")])
    return ids, sets, gold.matrix("train")


def test_the_measures_of_arrays_are_those_of_the_root_cell():
    gold = golds.read(ROOT / "reports/run/gold.jsonl.gz")
    ids, sets, seen = sides_of(gold)
    arms = {arm: predictions.read(ROOT / f"reports/run/{arm}.jsonl.gz", len(gold.labels))
            for arm in ("baseline", "matched_a", "matched_b")}  # fmt: skip
    p = arms["baseline"].of(ids)
    matched = []
    for arm in ("matched_a", "matched_b"):
        row_of = {row_id: row for row, row_id in enumerate(arms[arm].ids)}
        nothing = np.full(len(gold.labels), np.nan)
        matched.append(np.array([arms[arm].test[row_of[i]] if i in row_of else nothing for i in ids]))
    parts = compaug.gap(p, matched, sets, seen, ids=ids)
    expected = read_json(ROOT / "reports/details.json")["gap"]
    for part, values in parts.items():
        assert values == pytest.approx({name: expected[part][name] / 100 for name in values}, abs=WITHIN), part
    measures, test = read_json(ROOT / "reports/measures.json")["baseline"], slice(len(gold.parts["test"]))
    unseen = sets[test], p[test] > 0.5
    values = {
        "jacc": compaug.jaccard(*unseen),
        "acc": compaug.accuracy(*unseen),
        "corr": compaug.correctness(*unseen),
        "comp": compaug.completeness(*unseen),
        "harmonic": compaug.harmonic(sets, p > 0.5, seen),
        "ausuc": compaug.ausuc(p, sets, seen),
        "best_harmonic": compaug.best_harmonic(p, sets, seen, ids),
    }
    assert values == pytest.approx({name: measures[name] / 100 for name in values}, abs=WITHIN)


def test_the_measures_of_arrays_are_those_of_a_committed_cell_of_diagnostic():
    name = "diagnostic+seen_test=1600"
    gold = golds.read(ROOT / f"reports/gold/{name}.jsonl.gz")
    ids, sets, seen = sides_of(gold)
    p = Packs(ROOT / "reports/predictions").read(f"{name}-none-bert-42", len(gold.labels)).of(ids)
    with gzip.open(ROOT / "reports/results.csv.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["benchmark"] == name and row["generator"] == "none"
                and row["seed"] == "42" and row["classifier"] == "bert" and row["split"] == "unseen"]  # fmt: skip
    expected = {(row["decoding"], row["metric"]): float(row["value"]) / 100 for row in rows}
    assert compaug.ausuc(p, sets, seen) == pytest.approx(expected["threshold", "ausuc"], abs=WITHIN)
    assert compaug.harmonic(sets, p > 0.5, seen) == pytest.approx(expected["threshold", "harmonic"], abs=WITHIN)
    best = compaug.best_harmonic(p, sets, seen, ids)
    assert best == pytest.approx(expected["best_constant", "harmonic"], abs=WITHIN)


EYE = np.eye(3, dtype=int)


def test_arrays_that_do_not_fit_are_one_line():
    seen, gold = EYE, np.vstack([EYE, EYE[:1] + EYE[1:2]])
    assert compaug.ausuc(np.where(gold, 0.9, 0.1), gold, seen) == 1.0
    half = np.where([[False], [False], [False], [True]], np.nan, gold)
    partly, of_seen, no_number = gold.astype(float), gold.astype(float), gold.astype(float)
    partly[3, 0] = of_seen[0] = no_number[0, 0] = np.nan
    faults = {
        "gold: not an indicator array .*MultiLabelBinarizer": lambda: compaug.accuracy(
            [["a"], ["a", "b"]], [["a"], ["b"]]
        ),
        "gold: no rows": lambda: compaug.accuracy(np.zeros((0, 3)), np.zeros((0, 3))),
        "empty_both: 'onee'": lambda: compaug.jaccard(gold, gold, "onee"),
        "seen: 2 columns, gold has 3": lambda: compaug.harmonic(gold, gold, np.eye(2)),
        "seen: 4 columns, gold has 3": lambda: compaug.ausuc(gold, gold, np.eye(4)),
        "probabilities: row 0 is NaN": lambda: compaug.ausuc(no_number, gold, seen),
        "probabilities: row 3 is NaN": lambda: compaug.gap(half, [gold, half], gold, seen),
        "matched: row 3 is NaN": lambda: compaug.gap(gold, [gold, partly], gold, seen),
        "matched: a row with a seen label set is NaN": lambda: compaug.gap(gold, [of_seen, half], gold, seen),
        "matched: shape \\(3, 3\\); gold has \\(4, 3\\)": lambda: compaug.gap(gold, [gold[:3], half], gold, seen),
        "threshold: 5 is not between 0 and 1": lambda: compaug.gap(gold, [gold, half], gold, seen, threshold=5),
        "ids: 1 for 4 rows": lambda: compaug.best_harmonic(gold, gold, seen, ids=["x"]),
        "ids: 'x' stands in several rows": lambda: compaug.gap(gold, [gold, half], gold, seen, ids=["x"] * 4),
        "shapes differ: gold \\(4, 3\\), predicted \\(3, 3\\)": lambda: compaug.accuracy(gold, EYE),
        "gold: no row has unseen label sets": lambda: compaug.harmonic(EYE, EYE, seen),
        "matched: probabilities of 1 classifiers": lambda: compaug.gap(gold, [gold], gold, seen),
        "each unseen row must be NaN in exactly one": lambda: compaug.gap(gold, [gold, gold], gold, seen),
        "probabilities: 2 is not between 0 and 1; give no scores": lambda: compaug.ausuc(2 * gold, gold, seen),
        "labels: row 1 is not a list of label names": lambda: compaug.split("xy", [["a"], None]),
        "labels: row 0 holds 1, which is no name": lambda: compaug.split("xy", [[1, 0], ["a"]]),
        "texts: row 1 is no string": lambda: compaug.split(["x", float("nan")], [["a"], ["b"]]),
    }
    for message, call in faults.items():
        with pytest.raises(InputError, match=message):
            call()
