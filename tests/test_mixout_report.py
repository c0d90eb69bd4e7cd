"""The tables of the experiment `mixout`, from a made-up long table."""

from __future__ import annotations

import longtables
import pytest
from longtables import lines

from compaug.reports import mixout_tables

OF = {"experiment": "mixout"}


def every(values, generator="none", **more) -> list[dict]:
    return [row for metric in longtables.METRICS for row in lines(metric, values, generator, **OF, **more)]


@pytest.fixture
def results(tmp_path):
    rows = every((10.0, 11.0, 12.0)) + every((9.0, 9.0, 9.0), classifier="bert+dropout=0.0")
    rows += every((12.0, 14.0, 16.0), classifier="bert+mixout=0.7")
    rows += every((8.0, 8.0, 8.0), classifier="bert+mixout=0.05")
    rows += every((11.0, 12.0, 13.0), classifier="bert+mixout=0.05,mixout_mask=column")
    rows += every((20.0, 21.0, 22.0), "ld_vae")  # nothing to compare it with
    return longtables.load(longtables.reports(tmp_path / "reports", rows))


def test_mixout_is_compared_with_dropout_and_with_neither_seed_by_seed(results):
    (table,) = mixout_tables.tables(results)
    assert table.title == "diagnostic: no synthetic texts" and table.header[-2:] == ["over dropout", "over neither"]
    shown = {row[0]: row[-2:] for row in table.rows}
    assert list(shown) == [
        "dropout (the default)",
        "neither",
        "`mixout=0.05`",
        "`mixout=0.7`",
        "`mixout=0.05,mixout_mask=column`",
    ]
    over_dropout, over_neither = shown["`mixout=0.7`"]
    assert (over_dropout.ours, over_neither.ours) == (3.0, 5.0)  # 2, 3, 4 and 3, 5, 7
    assert over_dropout.ci95 == pytest.approx(2.484, abs=1e-3)  # t of 0.975 and 2: 4.303, times 1 / sqrt(3)
    assert shown["dropout (the default)"][0].words == "–" and shown["neither"][1].words == "–"
    assert shown["neither"][0].ours == -2.0


def test_without_mixout_there_is_no_table(tmp_path):
    rows = every((10.0, 11.0, 12.0)) + every((20.0, 21.0, 22.0), "ld_vae")
    assert not list(mixout_tables.tables(longtables.load(longtables.reports(tmp_path / "reports", rows))))


def test_one_seed_has_its_interval_over_test_rows(tmp_path):
    """10 % without mixout, 12 % with it, one seed; gains.csv has +2 [1, 3] over test rows."""
    cells = {"bert": 10.0, "bert+dropout=0.0": 11.0, "bert+mixout=0.3": 12.0}
    at = {"experiment": "mixout_pretrained", "benchmark": "semeval"}
    rows = [row | at for name, value in cells.items() for row in every((value,), classifier=name)]
    tested = longtables.gain(2.0, "none", over="bert", classifier="bert+mixout=0.3") | at
    tested |= {"seeds": 1, "std": "", "ci95": ""}
    (table,) = mixout_tables.tables(longtables.load(longtables.reports(tmp_path / "reports", rows, [tested])))
    over_dropout, over_neither = {row[0]: row[-2:] for row in table.rows}["`mixout=0.3`"]
    assert table.title == "semeval: no synthetic texts"
    assert str(over_dropout) == "+2.00 [+1.00, +3.00] over rows" and over_neither.ours == 1.0
