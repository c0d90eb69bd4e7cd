"""The audit passes on what the split stage writes and names every leak that is planted in it."""

from __future__ import annotations

import itertools

import pytest

from compaug.core.files import InputError, iter_rows, read_json, write_json, write_rows
from compaug.core.records import Example, Labels
from compaug.data.splits import Split, split_corpus
from compaug.stages import audit_split, split

LABELS = Labels(tuple("abcde"), tuple("abcde"))
PAIRS = list(itertools.combinations(range(5), 2))


@pytest.fixture
def folder(tmp_path):
    """Five labels alone 20 times, every pair 6 times; three test compositions, a support set of four."""
    compositions = [(label,) for label in range(5) for _ in range(20)] + [pair for pair in PAIRS for _ in range(6)]
    examples = [Example(f"x{i:03d}", f"Text {i}", labels) for i, labels in enumerate(compositions)]
    options = Split(mode="generate", compositions=3, support_size=4, seed=7, min_count=6, test_share=[0.07, 0.14])
    split.write(tmp_path / "split", split_corpus(examples, LABELS, options), examples, LABELS, options)
    return tmp_path / "split"


def run_audit(folder):
    out = folder.parent / "audit.json"
    audit_split.main(["--benchmark", "toy", "--split", str(folder), "--out", str(out)])
    return read_json(out)


def rows_of(path):
    return [row for _, row in iter_rows(path)]


def change(path, **fields):
    """Overwrite fields of the first row."""
    rows = rows_of(path)
    rows[0] |= fields
    write_rows(path, rows)


def test_a_sound_split_passes_and_every_check_is_counted(folder):
    report = run_audit(folder)
    scanned = {"shared_ids": 0, "shared_texts": 0, "near_duplicates": 0}
    assert report == {
        "benchmark": "toy",
        "test": {"examples": 14, "compositions": 3},
        "inputs": {
            f"{folder.as_posix()}/train.jsonl": {"rows": 142, "ids": 142, "texts": 142, **scanned},
            f"{folder.as_posix()}/support.jsonl": {"rows": 4, "ids": 4, "texts": 4, **scanned},
        },
        "split": {
            "train_compositions": 12,
            "test_compositions": 3,
            "support_compositions": len({tuple(row["labels"]) for row in rows_of(folder / "support.jsonl")}),
            "shared_compositions": 0,
            "labels_in_train": 5,
        },
        "test_inputs": {"rows": 14, "labelled": 0},
        "iid": {"train": 146, "test": 14, "shared_ids": 0, "train_texts_in_test": 0},
        "iid_test_inputs": {"rows": 14, "labelled": 0},
    }


def test_the_split_folder_holds_every_file_in_the_documented_form(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        ".written", "iid_support.jsonl", "iid_test.jsonl", "iid_test_inputs.jsonl", "iid_train.jsonl", "labels.json",
        "no_texts.jsonl", "split.json", "support.jsonl", "test.jsonl", "test_inputs.jsonl", "train.jsonl",
    ]  # fmt: skip
    gold, inputs = rows_of(folder / "test.jsonl"), rows_of(folder / "test_inputs.jsonl")
    assert inputs == [row | {"labels": []} for row in gold]
    sources = {"train": "train", "support": "support", "test": "test", "iid_train": "train", "iid_test": "test"}
    for part, source in sources.items():
        assert {row["source"] for row in rows_of(folder / f"{part}.jsonl")} == {source}


@pytest.mark.parametrize("part", ["train", "support"])
def test_a_test_id_in_a_training_part_fails(folder, part):
    leaked = rows_of(folder / "test.jsonl")[3]["id"]
    change(folder / f"{part}.jsonl", id=leaked)
    with pytest.raises(InputError, match=rf"{part}\.jsonl:1: '{leaked}' is in D_test"):
        run_audit(folder)
    assert not (folder.parent / "audit.json").exists()


@pytest.mark.parametrize("part", ["train", "support"])
def test_a_test_text_in_a_training_part_fails_whatever_its_white_space_and_case(folder, part):
    text = rows_of(folder / "test.jsonl")[3]["text"]
    identifier = rows_of(folder / f"{part}.jsonl")[0]["id"]
    change(folder / f"{part}.jsonl", text=f" {text.replace(' ', '  ').upper()}")
    with pytest.raises(InputError, match=rf"{part}\.jsonl:1: the text of '{identifier}' is in D_test"):
        run_audit(folder)


def test_near_duplicates_of_a_published_split_are_counted_and_verbatim_ones_fail(folder):
    text = rows_of(folder / "test.jsonl")[3]["text"]
    write_json(folder / "split.json", read_json(folder / "split.json") | {"mode": "reference"})
    change(folder / "train.jsonl", text=text.replace(" ", "  "))
    assert run_audit(folder)["inputs"][f"{folder.as_posix()}/train.jsonl"]["near_duplicates"] == 1
    change(folder / "train.jsonl", text=text)
    with pytest.raises(InputError, match=r"train\.jsonl:1: the text of 'x000' is in D_test"):
        run_audit(folder)


def test_a_test_composition_in_training_fails(folder):
    test = rows_of(folder / "test.jsonl")[0]["labels"]
    change(folder / "train.jsonl", labels=test)
    with pytest.raises(InputError, match=r"train\.jsonl: 'x000' has the test composition \w\+\w"):
        run_audit(folder)


@pytest.mark.parametrize("part", ["support", "test"])
def test_a_held_out_row_of_a_composition_that_was_not_chosen_fails(folder, part):
    identifier = rows_of(folder / f"{part}.jsonl")[0]["id"]
    change(folder / f"{part}.jsonl", labels=[0])
    with pytest.raises(InputError, match=rf"{part}\.jsonl: '{identifier}' has a, which is no test composition"):
        run_audit(folder)


@pytest.mark.parametrize("part", ["test", "iid_test"])
def test_labels_in_the_inputs_that_classifiers_see_fail(folder, part):
    row = rows_of(folder / f"{part}.jsonl")[0]
    change(folder / f"{part}_inputs.jsonl", labels=row["labels"])
    with pytest.raises(InputError, match=rf"{part}_inputs\.jsonl: '{row['id']}' carries labels"):
        run_audit(folder)


def test_inputs_in_another_order_than_the_gold_rows_fail(folder):
    write_rows(folder / "test_inputs.jsonl", reversed(rows_of(folder / "test_inputs.jsonl")))
    with pytest.raises(InputError, match=r"test_inputs\.jsonl: ids and texts differ from the gold file"):
        run_audit(folder)


def test_a_label_without_a_training_example_fails(folder):
    rows = [row for row in rows_of(folder / "train.jsonl") if 2 not in row["labels"]]
    write_rows(folder / "train.jsonl", rows)
    with pytest.raises(InputError, match="no example has the label 'c'"):
        run_audit(folder)


@pytest.mark.parametrize("part", ["train", "support", "iid_train"])
def test_a_part_that_is_not_the_one_described_fails(folder, part):
    write_rows(folder / f"{part}.jsonl", rows_of(folder / f"{part}.jsonl")[1:])
    with pytest.raises(InputError, match=rf"{part}\.jsonl: ids differ from split\.json"):
        run_audit(folder)


def test_an_id_in_both_parts_of_the_iid_split_fails(folder):
    shared = rows_of(folder / "iid_test.jsonl")[0]["id"]
    change(folder / "iid_train.jsonl", id=shared)
    with pytest.raises(InputError, match=rf"'{shared}' is in iid_test too"):
        run_audit(folder)


def test_an_empty_test_part_fails(folder):
    write_rows(folder / "test.jsonl", [])
    with pytest.raises(InputError, match=r"test\.jsonl: no rows"):
        run_audit(folder)


def test_the_same_audit_writes_the_same_bytes(folder):
    run_audit(folder)
    first = (folder.parent / "audit.json").read_bytes()
    run_audit(folder)
    assert (folder.parent / "audit.json").read_bytes() == first


# ---------------------------------------------------------------- the seen test set


@pytest.fixture
def generalised(tmp_path):
    """The same corpus with ten training rows held out as the seen test set."""
    compositions = [(label,) for label in range(5) for _ in range(20)] + [pair for pair in PAIRS for _ in range(6)]
    examples = [Example(f"x{i:03d}", f"Text {i}", labels) for i, labels in enumerate(compositions)]
    options = Split(
        mode="generate", compositions=3, support_size=4, seed=7, min_count=6, test_share=[0.07, 0.14], seen_test=10
    )
    split.write(tmp_path / "split", split_corpus(examples, LABELS, options), examples, LABELS, options)
    return tmp_path / "split"


def test_a_seen_test_set_is_checked_too(generalised):
    assert run_audit(generalised)["seen_test"] == {"rows": 10, "labelled": 0}
    seen = rows_of(generalised / "seen_test.jsonl")
    assert {row["source"] for row in seen} == {"test"}
    change(generalised / "train.jsonl", text=seen[0]["text"])
    with pytest.raises(InputError, match=r"train\.jsonl: 'x\d+' is in seen_test too"):
        run_audit(generalised)


def test_a_seen_test_composition_that_training_lacks_is_found(generalised):
    change(generalised / "seen_test.jsonl", labels=[0, 1, 2, 3, 4])
    with pytest.raises(InputError, match="has a[+]b[+]c[+]d[+]e, which D_train lacks"):
        run_audit(generalised)
