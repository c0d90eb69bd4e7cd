"""The classifiers' page: kinds of error, Tables 1 and 3, the paper's observations, one figure per benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.evaluation.metrics import evaluate, label_matrix
from compaug.params import parse
from compaug.records import InputError, Labels, read_json, write_json, write_rows
from compaug.reports import classifiers, errors
from compaug.reports.paper import IID, read_paper_values
from compaug.reports.tables import correct_rows
from stages import classifier_tables

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


def test_a_confusion_that_a_cut_list_lacks_is_a_lower_bound():
    full = [["joy", f"read {i}", 20 - i] for i in range(errors.CONFUSIONS)]
    lists = [[["joy", "love", 30], *full[1:]], [["joy", "love", 5]], full]  # the second is whole, the third is cut
    arms = {"none": [{"errors": {"confusions": some}} for some in lists]}
    shown = [" ".join(line.split()) for line in classifiers._confusion_table({"bert": arms}).splitlines()]
    assert "| bert | joy | love | at least 35 |" in shown
    assert "| bert | joy | read 1 | 38 |" in shown


def test_answers_that_do_not_parse_are_counted_on_the_test_rows_alone(tmp_path):
    rows = [("v", "validation", 3), ("a", "test", 0), ("b", "test", 2), ("c", "test", 1)]
    write_rows(tmp_path / "p.jsonl", [{"id": i, "split": split, "unparsed": n} for i, split, n in rows])
    assert errors.unparsed(tmp_path / "p.jsonl") == {"rows": 2, "pieces": 3}
    write_rows(tmp_path / "p.jsonl", [{"id": "a", "split": "test"}])
    assert errors.unparsed(tmp_path / "p.jsonl") is None


# ---------------------------------------------------------------- the grid


def cell(benchmark, generator, classifier, seed, right) -> dict:
    """A result row whose first `right` of 40 predictions are right; the wrong ones say a label too many (bert, dbloss) or too few."""
    gold = matrix([(0, 1)] * 40)
    wrong = (0, 1, 2) if classifier in ("bert", "dbloss") else (0,)
    predicted = matrix([(0, 1)] * right + [wrong] * (40 - right))
    metrics = evaluate(gold, predicted, LABELS)
    return {
        "benchmark": benchmark,
        "generator": generator,
        "classifier": classifier,
        "seed": seed,
        "metrics": metrics,
        "tuned": metrics,
        "correct": correct_rows(gold, predicted),
        "errors": errors.analyse(gold, predicted, LABELS, None if generator == IID else {(0, 1)}),
        "unparsed": {"rows": 1, "pieces": 2} if classifier == "t5_clp" else None,
        "backbones": {"encoder": "tiny"},
        "paper_column": "SemEval",
    }


def write_grid(folder: Path, names=("bert_p", "magnet", "sgm", "dbloss", "t5_clp")) -> None:
    levels = {IID: 30, "none": 10, "oversample": 11, "ld_vae": 20}
    for generator, right in levels.items():
        for at, seed in enumerate(SEEDS):
            row = cell("toy", generator, "bert", seed, right + at % 2)
            write_json(folder / "paper" / f"toy-{generator}-{seed}.json", row)
            for name in names:
                fewer = 6 if name == "t5_clp" else 0
                row = cell("toy", generator, name, seed, right + (at + 1) % 2 - fewer)
                path = folder / "out" / "runs" / classifiers.classifier_cell_name("toy", generator, name, seed)
                write_json(path, row)


AXES = {"benchmarks": ["toy"], "generators": ["none", "oversample", "ld_vae"], "seeds": SEEDS}
NAMES = ["bert", "bert_p", "magnet", "sgm", "dbloss", "t5_clp"]


def grid(tmp_path):
    write_grid(tmp_path)
    return classifiers.read_cells(tmp_path / "out" / "runs", tmp_path / "paper", "bert", classifiers=NAMES, **AXES)


def test_the_page_has_both_tables_beside_the_papers(tmp_path):
    shown = classifiers.page(grid(tmp_path), PAPER)
    table_1 = shown[shown.index("### Table 1") : shown.index("### Table 3")]
    (line,) = (line for line in table_1.splitlines() if line.startswith("| bert "))
    assert "75.83 [72.25, 79.42]" in line and "25.83 [22.25, 29.42]" in line and "27.31 (+48.52)" in line
    table_3 = shown[shown.index("### Table 3") : shown.index("### What the paper")]
    (line,) = (line for line in table_3.splitlines() if line.startswith("| magnet, ld_vae"))
    assert "+25.00 [+25.00, +25.00]" in line and "30.02" in line
    assert "| t5_clp, CG + ld_vae" in shown and "| bert, CG, tuned" in shown
    assert "| bert       | joy+love    | joy+love+fear |   89 |" in shown
    assert "a piece that is no sentence" in shown and "| t5_clp, iid             |       3 |      6 |" in shown


def test_the_papers_observations_are_judged_by_interval(tmp_path):
    shown = classifiers.page(grid(tmp_path), PAPER)
    shown = shown[shown.index("### What the paper") : shown.index("### How they fail")]
    verdicts = {line[2:].split(":")[0]: line for line in shown.splitlines() if line.startswith("| ")}
    # magnet and sgm say too few labels here and bert too many: Corr far above Comp, as in the paper
    assert "appears" in verdicts["magnet"] and "appears" in verdicts["sgm"]
    assert "not shown" in verdicts["dbloss"]  # the same errors as bert
    assert "appears" in verdicts["t5_clp"]
    assert classifiers._verdict(classifiers.summarise([-3.0, -3.1, -3.2]), 1) == "the reverse"


def test_a_missing_or_foreign_cell_is_named(tmp_path):
    write_grid(tmp_path)
    path = tmp_path / "out" / "runs" / classifiers.classifier_cell_name("toy", "none", "sgm", 21)
    path.write_text((path.parent / classifiers.classifier_cell_name("toy", "none", "sgm", 13)).read_text())
    with pytest.raises(InputError, match="toy-none-sgm-21.json: holds another cell than toy, none, sgm, 21"):
        classifiers.read_cells(tmp_path / "out" / "runs", tmp_path / "paper", "bert", classifiers=NAMES, **AXES)
    path.unlink()
    with pytest.raises(InputError, match="toy-none-sgm-21.json: this cell of the axes has no result"):
        classifiers.read_cells(tmp_path / "out" / "runs", tmp_path / "paper", "bert", classifiers=NAMES, **AXES)
    some = classifiers.read_cells(
        tmp_path / "out" / "runs", tmp_path / "paper", "bert", classifiers=NAMES, **AXES, partial=True
    )
    assert list(some["toy"]) == [name for name in NAMES if name != "sgm"]
    assert "**Not run yet on toy: `sgm`.**" in classifiers.page(some, PAPER, NAMES)


def test_the_stage_writes_page_numbers_and_the_same_figure_twice(tmp_path, monkeypatch):
    write_grid(tmp_path)
    monkeypatch.setattr(
        "compaug.params.load", lambda *args, **kwargs: AXES | {"classifiers": NAMES[1:], "classifier": "bert"}
    )
    values = ["--axes", "by_classifier", "--out", str(tmp_path / "out"), "--shared", str(tmp_path / "paper")]
    values += ["--paper-values", str(ROOT / "reports" / "paper_values.yaml")]
    figure = tmp_path / "out" / "figures" / "errors-toy"
    classifier_tables.main(values)
    before = [figure.with_suffix(suffix).read_bytes() for suffix in (".png", ".svg")]
    classifier_tables.main(values)
    assert before == [figure.with_suffix(suffix).read_bytes() for suffix in (".png", ".svg")]
    tree = read_json(tmp_path / "out" / "metrics.json")["toy"]
    assert tree["sgm"]["ld_vae"]["acc"]["mean"] == pytest.approx(51.6667)
    assert sum(tree["bert"]["none"]["kinds"].values()) == pytest.approx(100)
    assert "Table 3" in (tmp_path / "out" / "table.md").read_text()


def test_the_committed_axes_lie_within_those_of_the_generators_grid():
    params = parse(ROOT / "params.yaml")
    assert set(params.by_classifier.generators) <= set(params.paper.generators)
