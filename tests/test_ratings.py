"""Human evaluation: blind sheets out, filled sheets in, Krippendorff's alpha against published values, the form in a
browser."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from browser import needs_browser, text_of

from compaug.core.files import InputError, read_json, write_json
from compaug.core.records import Example, Labels, write_jsonl
from compaug.evaluation.metrics import label_matrix
from compaug.evaluation.text_quality import ratings
from compaug.stages import rating_sheet
from compaug.stages import read_ratings as ratings_stage

LABELS = Labels(("joy", "love", "fear"), ("joy", "love & care", "fear"))

WORDS = {"good": "=she laughed", "bad": "it rained"}  # of each generator; nothing in them tells which


def kept(name: str, *requested) -> list[Example]:
    return [Example(f"{name}{i}", f"{WORDS[name]} <b>{i}</b>", y, "synthetic", y) for i, y in enumerate(requested)]


@pytest.fixture
def exported(tmp_path):
    """Two generators with three texts each."""
    LABELS.write(tmp_path / "labels.json")
    for name in ("good", "bad"):
        write_jsonl(tmp_path / f"{name}.jsonl", kept(name, (0,), (0, 1), (2,)))
    words = ["--labels", str(tmp_path / "labels.json"), "--texts", "3", "--seed", "1", "--out", str(tmp_path / "out")]
    rating_sheet.main([*words, "--selected", *(f"{name}={tmp_path / name}.jsonl" for name in ("good", "bad"))])
    return tmp_path


def fill(folder, name: str, answer) -> str:
    """A sheet filled by `answer(item)`, which gives the text of the cell."""
    items, _ = ratings.read_key(folder / "out" / "key.json")
    of = {item.text_id: item for item in items}
    with (folder / "out" / "sheet.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with (folder / name).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ratings.COLUMNS)
        writer.writeheader()
        writer.writerows(row | {"labels": answer(of[row["text_id"]])} for row in rows)
    return str(folder / name)


def faithful(item) -> str:
    """The requested labels of "good" texts, nothing in "bad" ones."""
    return ";".join(LABELS.names[label] for label in item.requested) if item.generator == "good" else "None"


def test_the_sheet_is_blind_and_the_same_seed_draws_it_again(exported):
    sheet = (exported / "out" / "sheet.csv").read_text(encoding="utf-8-sig")
    page = (exported / "out" / "sheet.html").read_text()
    items, labels = ratings.read_key(exported / "out" / "key.json")
    assert labels == LABELS and sorted(item.generator for item in items) == ["bad"] * 3 + ["good"] * 3
    assert [item.generator for item in items] != sorted(item.generator for item in items)
    for shown in (sheet, page):
        assert all(word not in shown for word in ("requested", "generator", "good", "bad"))
    assert "'=she laughed <b>" in sheet and ",=she" not in sheet  # no formula for a spreadsheet
    assert "http" not in page and "<b>0</b>" not in page.replace("\\u003cb>0\\u003c/b>", "")
    selected = {name: kept(name, (0,), (0, 1), (2,)) for name in ("good", "bad")}
    assert ratings.draw(selected, 3, 1) == items != ratings.draw(selected, 3, 2)
    with pytest.raises(InputError, match="bad: 4 texts are to be rated but it has 3"):
        ratings.draw({"bad": selected["bad"]}, 4, 1)


def test_what_lies_beside_an_export_is_not_lost_and_a_sheet_of_another_is_refused(exported):
    """The folder of an export collects filled sheets; ids are those of one export alone."""
    items, labels = ratings.read_key(exported / "out" / "key.json")
    words = ["--labels", str(exported / "labels.json"), "--texts", "2", "--seed", "2"]
    words += ["--selected", f"good={exported / 'good.jsonl'}"]
    with pytest.raises(InputError, match="out: exists; give another --out"):
        rating_sheet.main([*words, "--out", str(exported / "out")])
    rating_sheet.main([*words, "--out", str(exported / "second")])
    with pytest.raises(InputError, match="the sheet belongs to another export"):
        ratings.read(exported / "second" / "sheet.csv", items, labels)
    for name in ("key.json", "labels.json"):
        (exported / name).write_text("[]" if name == "key.json" else (exported / name).read_text())
        with pytest.raises(InputError, match=f"{name}: .*`python -m compaug.stages.rating_sheet` writes one"):
            ratings.read_key(exported / name)


@pytest.mark.parametrize("raw", ["text_id,text,labels\n".encode("utf-16"), b"text_id,text,labels\n\xe9,x,joy\n"])
def test_a_sheet_in_another_encoding_says_how_to_save_it(exported, raw):
    items, labels = ratings.read_key(exported / "out" / "key.json")
    (exported / "sheet.csv").write_bytes(raw)
    with pytest.raises(InputError, match="sheet.csv: not a CSV in UTF-8; save the sheet again"):
        ratings.read(exported / "sheet.csv", items, labels)


def test_only_texts_that_were_asked_for_can_be_rated(exported):
    with pytest.raises(InputError, match="good: a row without `requested_labels`"):
        ratings.draw({"good": [Example("t0", "a text", (0,))]}, 1, 1)
    with pytest.raises(InputError, match="--texts 0: at least one text"):
        ratings.draw({"good": kept("good", (0,))}, 0, 1)
    sheet = fill(exported, "a.csv", faithful)
    with pytest.raises(InputError, match="a.csv is given twice; one sheet for each rater"):
        ratings_stage.main(["--key", str(exported / "out" / "key.json"), "--sheets", sheet, sheet, "--out", "r.json"])


def test_filled_sheets_give_scores_ranks_and_agreement(exported, capsys):
    sheets = [fill(exported, "a.csv", faithful), fill(exported, "b.csv", faithful)]
    out = exported / "ratings.json"
    ratings_stage.main(["--key", str(exported / "out" / "key.json"), "--sheets", *sheets, "--out", str(out)])
    summary = read_json(out)
    assert summary["generators"]["good"] == {"acc": 100.0, "corr": 100.0, "comp": 100.0, "avg_rank": 1.0, "n": 6}
    assert summary["generators"]["bad"] == {"acc": 0.0, "corr": 0.0, "comp": 0.0, "avg_rank": 2.0, "n": 6}
    assert summary["alpha"] == 1.0 and "2 raters, 6 texts; Krippendorff's alpha 1.00" in capsys.readouterr().out


def test_a_rater_who_adds_a_label_is_complete_but_not_correct(exported):
    items, _ = ratings.read_key(exported / "out" / "key.json")
    sheet = {item.text_id: (0, 1, 2) for item in items if item.generator == "good"}
    summary = ratings.summary(items, [sheet], LABELS)
    assert summary["generators"]["good"] == {"acc": 0.0, "corr": 0.0, "comp": 100.0, "avg_rank": 1.0, "n": 3}
    assert summary["generators"]["bad"]["acc"] is None and summary["alpha"] is None  # nobody rated it


def test_generators_with_the_same_scores_in_another_order_share_a_rank():
    """Their means differ by a rounding error."""
    ticked = {"a": ((0,), (0, 1), (0,)), "b": ((0,), (0,), (0, 1))}
    # Jaccard 1/3, 2/3, 1/2 in some order
    requested = {"a": ((0, 1, 2), (0, 1, 2), (0, 2)), "b": ((0, 2), (0, 1, 2), (0, 1, 2))}
    items = [
        ratings.Item(f"{g}{i}", "text", g, label_set)
        for g, sets in requested.items()
        for i, label_set in enumerate(sets)
    ]
    sheet = {f"{g}{i}": labels for g, sets in ticked.items() for i, labels in enumerate(sets)}
    by_generator = ratings.summary(items, [sheet], LABELS)["generators"]
    assert [by_generator[g]["avg_rank"] for g in "ab"] == [1.5, 1.5]


def test_empty_rows_of_a_spreadsheet_are_skipped_and_a_broken_key_is_named(exported):
    items, labels = ratings.read_key(exported / "out" / "key.json")
    path = fill(exported, "a.csv", faithful)
    whole = ratings.read(exported / "a.csv", items, labels)
    with open(path, "a", encoding="utf-8") as stream:
        stream.write(",,\n  ,,\n")
    assert ratings.read(exported / "a.csv", items, labels) == whole
    key = read_json(exported / "out" / "key.json")
    key["items"][0]["requested"] = [4]
    write_json(exported / "out" / "key.json", key)
    with pytest.raises(InputError, match="key.json: .*unknown label 4"):
        ratings.read_key(exported / "out" / "key.json")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("joy;lvoe", "unknown label 'lvoe'; write joy, love, fear or none"),
        ("none;joy", "'none' stands beside other labels"),
        ("", "no text is rated; fill the column `labels`"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_one_line_with_file_and_remedy(exported, cell, message):
    items, labels = ratings.read_key(exported / "out" / "key.json")
    path = exported / fill(exported, "bad.csv", lambda item: cell)
    with pytest.raises(InputError, match=message) as error:
        ratings.read(path, items, labels)
    assert str(path) in str(error.value)


def test_rows_of_another_export_and_repeated_rows_are_refused(exported):
    items, labels = ratings.read_key(exported / "out" / "key.json")
    path, first = exported / "x.csv", items[0].text_id
    path.write_text("text_id,text,labels\nT999,x,joy\n")
    with pytest.raises(InputError, match="x.csv:2: 'T999' is not in the key"):
        ratings.read(path, items, labels)
    path.write_text(f"text_id,text,labels\n{first},x,joy\n{first},x,joy\n")
    with pytest.raises(InputError, match=f"x.csv:3: '{first}' comes twice"):
        ratings.read(path, items, labels)
    path.write_text("id,labels\nT001,joy\n")
    with pytest.raises(InputError, match="has no column 'text_id'"):
        ratings.read(path, items, labels)
    with pytest.raises(InputError, match="no such file; give the sheets"):
        ratings.read(exported / "none.csv", items, labels)


def test_alpha_is_that_of_krippendorffs_examples():
    """Krippendorff, Computing Krippendorff's Alpha-Reliability (2011): two coders of ten binary units; four coders with
    gaps."""
    binary = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], dtype=float)
    assert ratings.alpha(binary) == pytest.approx(0.095, abs=5e-4)
    x = np.nan
    gaps = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, x, x, x],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, x, 3],
        [x, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, x],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, x],
    ]
    assert ratings.alpha(np.array(gaps)) == pytest.approx(0.743, abs=5e-4)
    assert ratings.alpha(np.array([[1.0, x], [x, 1.0]])) is None and ratings.alpha(np.ones((2, 3))) == 1.0


def test_the_proxies_of_people_by_hand():
    requested = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    read = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=bool)
    assert ratings.shares(requested, read) == {"acc": 25.0, "corr": 50.0, "comp": 50.0}
    readings = {"exact": [(0,), (0, 1)], "less": [(0,)], "more": [(0, 1, 2)], "noise": []}
    examples = [Example(text, text, (0, 1), "synthetic", (0, 1)) for text in readings]
    assert ratings.oracle_shares(readings.__getitem__, examples) == {"acc": 25.0, "corr": 50.0, "comp": 50.0}


def test_real_texts_count_as_often_as_texts_of_their_combination_were_kept():
    """Of five unseen texts two are right, 40 %: a quarter where 60 texts were kept, all where 20 were."""
    label_sets = [(0, 1), (0, 1), (0, 1), (0, 1), (0, 2), (0,), (1, 2)]
    answers = [(0, 1), (0,), (0, 1, 2), (2,), (0, 2), (0,), (1, 2)]
    read = label_matrix(answers, 3)
    kept = {
        (0, 1): 60,
        (0, 2): 20,
        (0,): 10,
        (1,): 10,
    }  # of D_train is (0,); (1, 2) was never requested, of (1,) no text is real
    real = ratings.shares_of_real(label_sets, read, {(0,), (0, 1, 2)}, kept)
    # 1 in 4 of (0, 1) and all of (0, 2), at 60 to 20: (60 / 4 + 20) / 80; correct are 2 in 4, complete too
    assert real == {"acc": 43.75, "corr": 62.5, "comp": 62.5, "n": 5, "covered": 80.0}
    unseen = label_matrix(label_sets[:5], 3)
    assert ratings.shares(unseen, read[:5])["acc"] == 40.0
    assert ratings.shares(unseen, read[:5], np.full(5, 0.5)) == ratings.shares(unseen, read[:5])


def test_real_texts_of_training_combinations_alone_say_nothing():
    read = label_matrix([(0,), (1,)], 3)
    assert ratings.shares_of_real([(0,), (1,)], read, {(0,)}, {(0,): 5, (2,): 5}) == {}
    assert ratings.shares_of_real([], label_matrix([], 3), {(0,)}, {(0, 1): 5}) == {}


@needs_browser
def test_the_form_makes_a_sheet_that_can_be_read_back(exported):
    """Ticks in a real browser, the CSV that its button would save, read by the stage's reader."""
    page = (exported / "out" / "sheet.html").read_text()
    clicks = """
    const shown = document.querySelectorAll("ol > li"), boxes = shown[0].querySelectorAll("input");
    boxes[3].click(); boxes[0].click(); boxes[1].click();
    shown[1].querySelectorAll("input")[3].click();
    document.body.innerHTML = "<pre id=made></pre>";
    document.getElementById("made").textContent = JSON.stringify(sheet());
    """
    (exported / "clicked.html").write_text(page.replace("show();\n</script>", f"show();{clicks}</script>"))
    clicked = text_of(exported / "clicked.html", "made")
    (exported / "ratings.csv").write_text(json.loads(clicked), newline="")
    items, labels = ratings.read_key(exported / "out" / "key.json")
    assert ratings.read(exported / "ratings.csv", items, labels) == {items[0].text_id: (0, 1), items[1].text_id: ()}
