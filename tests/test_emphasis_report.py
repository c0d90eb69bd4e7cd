"""The table of the experiment `emphasis`, from a made-up long table."""

from __future__ import annotations

import longtables
import pytest
from longtables import lines

from compaug.reports import emphasis

OF = {"experiment": "emphasis"}
OFTEN = {"classifier": "bert+synthetic_repeat=4"}


def every(values, generator="none", **more) -> list[dict]:
    return [row for metric in longtables.METRICS for row in lines(metric, values, generator, **OF, **more)]


@pytest.fixture
def results(tmp_path):
    rows = every((10.0, 11.0, 12.0)) + every((20.0, 21.0, 22.0), "ls_pt") + every((30.0, 31.0, 32.0), "ls_pt", **OFTEN)
    rows += every((40.0, 40.0, 40.0), "real_texts")
    rows += lines("held_out_train_acc", (60.0,) * 3, **OF, decoding="any")
    for more in ({}, OFTEN):
        for metric, value in (("n_aug", 100), ("n_train", 300), ("held_out_train_acc", 50.0)):
            rows += lines(metric, (value,) * 3, "ls_pt", **OF, decoding="any", **more)
    gains = [longtables.gain(10.0, "ls_pt", **OF), longtables.gain(20.0, "ls_pt", **OF, **OFTEN)]
    gains.append(longtables.gain(10.0, "ls_pt", over="bert", **OF, **OFTEN))
    return longtables.load(longtables.reports(tmp_path / "reports", rows, gains))


def test_a_row_says_how_often_and_what_part_of_an_epoch_that_is(results):
    (table,) = emphasis.tables(results)
    shown = [[row[0], row[1].shown, row[2], row[3].shown] for row in table.rows]
    assert shown == [
        ["none", "–", "–", "–"],
        ["ls_pt", "100", "1", "25.00"],
        ["ls_pt", "100", "4", "57.14"],  # 400 of 700
        ["real_texts", "–", "1", "–"],
    ]


def test_gains_stand_under_what_they_are_over(results):
    (table,) = emphasis.tables(results)
    shown = {(row[0], row[2]): dict(zip(table.header, row, strict=True)) for row in table.rows}
    once, often = shown["ls_pt", "1"], shown["ls_pt", "4"]
    assert (once["over no texts"].ours, often["over no texts"].ours, often["over once"].ours) == (10.0, 20.0, 10.0)
    assert str(often["over once"]) == "+10.00 [+9.00, +11.00]" and once["over once"].words == "–"
    assert often["Acc, seen (validation)"].ours == 50.0 and "H" not in table.header
    assert shown["real_texts", "1"]["Acc"].ours == 40.0 and shown["real_texts", "1"]["over no texts"].words == "–"


def test_more_texts_stand_after_fewer_and_those_drawn_at_random_nowhere(tmp_path):
    many = {"generator": "ls_pt+requested=8000", "selection": "k=4000"}
    rows = every((10.0, 11.0, 12.0)) + every((30.0, 31.0, 32.0), **many) + every((20.0, 21.0, 22.0), "ls_pt")
    rows += every((90.0, 91.0, 92.0), "ls_pt", selection="mode=random") + every((60.0,) * 3, split="iid")
    rows += [
        row for split in ("unseen", "iid") for row in lines("n_train", (300,) * 3, **OF, split=split, decoding="any")
    ]
    gains = [longtables.gain(20.0, low_rows=18.5, **many, **OF) | {"seeds": 1, "std": "", "ci95": ""}]
    (table,) = emphasis.tables(longtables.load(longtables.reports(tmp_path / "reports", rows, gains)))
    shown = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert list(shown) == ["none", "ls_pt", "ls_pt+requested=8000"]
    assert shown["ls_pt"]["Acc"].ours == 21.0
    assert str(shown["ls_pt+requested=8000"]["over no texts"]) == "+20.00 [+18.50, +21.00] over rows"


def test_the_figure_sets_both_accuracies_against_the_part_of_an_epoch(results, tmp_path):
    assert not list(emphasis.figures_of(results))  # validation rows are others in every cell
    rows = [
        row
        for split, moved in (("unseen", 0.0), ("seen", 40.0))
        for mean, cell in ((11.0, {}), (21.0, {"generator": "ls_pt"}), (31.0, {"generator": "ls_pt", **OFTEN}))
        for row in lines("acc", [mean + moved + at for at in (-1, 0, 1)], split=split, **OF, **cell)
    ]
    for more in ({}, OFTEN):
        for metric, value in (("n_aug", 100), ("n_train", 300)):
            rows += lines(metric, (value,) * 3, "ls_pt", **OF, decoding="any", **more)
    (figure,) = emphasis.figures_of(longtables.load(longtables.reports(tmp_path / "seen", rows)))
    assert figure.name == "emphasis-diagnostic"
    _, curves, without, words = figure.draw.args
    assert [estimate.mean for estimate in without] == [11.0, 51.0] and words[1] == "seen combinations"
    (curve,) = curves["ls_pt"].values()
    assert {round(share): [estimate.mean for estimate in both] for share, both in curve.items()} == {
        25: [21.0, 61.0],
        57: [31.0, 71.0],
    }
    figure.draw(tmp_path / "figure")
    assert {path.suffix for path in tmp_path.glob("figure.*")} == {".png"}


def folds(generator: str, values, **more) -> list[dict]:
    rows = lines("fold_ausuc", values, generator, **OF, **more)
    for metric, value in (("n_aug", 100), ("n_train", 300)):
        rows += lines(metric, (value,) * 3, generator, **OF, decoding="any", **more)
    return rows


@pytest.mark.parametrize(
    ("often", "times"),
    [((20.5, 19.5, 21.0), 1), ((25.0, 24.0, 26.5), 4)],  # within one standard error of the best; clearly better
)
def test_the_table_says_how_often_texts_are_to_be_shown_by_folds_alone(tmp_path, often, times):
    rows = every((10.0, 11.0, 12.0)) + every((20.0, 21.0, 22.0), "ls_pt") + every((90.0, 91.0, 92.0), "ls_pt", **OFTEN)
    rows += folds("ls_pt", (20.0, 20.0, 20.5)) + folds("ls_pt", often, **OFTEN)
    (table,) = emphasis.tables(longtables.load(longtables.reports(tmp_path / "reports", rows)))
    assert f"Chosen on folds, by AUSUC on support and training rows: of `ls_pt` 100 texts, {times} times" in table.note
