"""The tables of the experiments `guidance`, from a made-up long table."""

from __future__ import annotations

import longtables
import pytest
from longtables import lines

from compaug.reports import guidance_tables

OF = {"experiment": "guidance"}


def every(values, generator, **more) -> list[dict]:
    return [row for metric in longtables.METRICS for row in lines(metric, values, generator, **OF, **more)]


def test_guided_texts_are_compared_with_the_controls_and_with_those_written_without(tmp_path):
    rows = every((2.0, 3.0, 4.0), "none") + every((4.0, 4.0, 4.0), "oversample") + every((5.0, 6.0, 7.0), "ls_pt")
    rows += every((7.0, 9.0, 11.0), "ls_pt+guidance=2") + every((6.0, 7.0, 8.0), "ls_pt+guidance=1")
    rows += every((1.0, 1.0, 1.0), "ls_pt", selection="mode=random")
    rows += every((2.0, 2.0, 2.0), "ls_pt+guidance=2", selection="mode=random")
    rows += lines("quality_filter_exact", (0.25, 0.5, 0.75), "ls_pt+guidance=2", decoding="any", **OF)
    rows += every((9.0, 9.0, 9.0), "ld_vae")  # nothing guided to compare it with
    (table,) = guidance_tables.tables(longtables.load(longtables.reports(tmp_path / "reports", rows)))
    assert table.title == "diagnostic: ls_pt"
    assert table.header[0] == "texts" and table.header[-3:] == ["filter", "over w = 0", "over oversample"]
    shown = {row[0]: row[1:] for row in table.rows}
    assert list(shown) == [
        "w = 0",
        "none",
        "oversample",
        "w = 1",
        "w = 2",
        "w = 0, chosen at random",
        "w = 2, chosen at random",
    ]
    filtered, *over = shown["w = 2"][-3:]
    assert filtered.ours == 50.0 and [entry.ours for entry in over] == [3.0, 5.0]
    assert over[0].ci95 == pytest.approx(2.484, abs=1e-3)  # 2, 3, 4
    assert shown["w = 2, chosen at random"][-2].ours == 1.0  # over those chosen alike
    assert shown["w = 0"][-2].words == shown["none"][-2].words == "–"


def test_without_guided_texts_there_is_no_table(tmp_path):
    rows = every((2.0, 3.0, 4.0), "none") + every((5.0, 6.0, 7.0), "ls_pt")
    assert not list(guidance_tables.tables(longtables.load(longtables.reports(tmp_path / "reports", rows))))
