"""Records: every bad row is named by file and line, files appear whole or not at all, seeds come from names."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.core.files import (
    WRITTEN,
    InputError,
    atomic_dir,
    atomic_path,
    digest,
    file_digest,
    iter_rows,
    read_json,
    write_json,
    write_rows,
)
from compaug.core.records import EMPTY_KEY, Example, Labels, read_jsonl, sub_seed, text_key, write_jsonl

GOOD = {"id": "a", "text": "so happy today", "labels": [0, 2]}
LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "great fear"))


def one_line(error) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------- rows


BAD_ROWS = {
    "not JSON": ('{"id": "b", ', "not a JSON object"),
    "an empty line": ("", "not a JSON object"),
    "a list": ("[1, 2]", "not a JSON object"),
    "a missing id": ({"text": "x", "labels": []}, "'id'"),
    "a missing text": ({"id": "b", "labels": []}, "'text'"),
    "missing labels": ({"id": "b", "text": "x"}, "'labels'"),
    "a number as id": (GOOD | {"id": 7}, "'id' is missing or not a str"),
    "a text that is null": (GOOD | {"id": "b", "text": None}, "'text' is missing or not a str"),
    "labels as a string": (GOOD | {"id": "b", "labels": "02"}, "'labels' is missing or not a list"),
    "a blank text": (GOOD | {"id": "b", "text": " \t"}, "empty text (id 'b')"),
    "a repeated id": (GOOD, "duplicate id 'a'"),
    "a label too high": (
        GOOD | {"id": "b", "labels": [3]},
        "unknown label 3; label ids are whole numbers between 0 and 2",
    ),
    "a negative label": (GOOD | {"id": "b", "labels": [-1]}, "unknown label -1"),
    "a label name": (GOOD | {"id": "b", "labels": ["joy"]}, "unknown label 'joy'"),
    "a label that is true": (GOOD | {"id": "b", "labels": [True]}, "unknown label True"),
    "a label that is 1.0": (GOOD | {"id": "b", "labels": [1.0]}, "unknown label 1.0"),
    "a repeated label": (GOOD | {"id": "b", "labels": [1, 1]}, "a label is repeated in [1, 1]"),
    "an unknown field": (GOOD | {"id": "b", "lables": [1]}, "unknown field 'lables'"),
    "a bad requested label": (GOOD | {"id": "b", "requested_labels": [9]}, "unknown label 9"),
    "a soft label that is NaN": (
        '{"id": "b", "text": "x", "labels": [], "soft_labels": [0, 0, NaN]}',
        "NaN is no number",
    ),
    "a filter score that is NaN": (GOOD | {"id": "b", "filter_jacc": math.nan}, "NaN is no number"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_one_line_that_names_file_line_and_fault(tmp_path, case):
    row, fault = BAD_ROWS[case]
    path = tmp_path / "rows.jsonl"
    bad = row if isinstance(row, str) else json.dumps(row)
    path.write_text(json.dumps(GOOD) + "\n" + bad + "\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_jsonl(path, n_labels=3)
    message = one_line(error)
    assert message.startswith(f"{path}:2: ") and fault in message


def test_a_file_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(json.dumps(GOOD).encode() + b'\n{"id": "b", "text": "caf\xe9", "labels": []}\n')
    with pytest.raises(InputError) as error:
        read_jsonl(path)
    assert f"{path}: not UTF-8" in one_line(error)


def test_a_missing_file_says_what_to_run(tmp_path):
    for read in (read_jsonl, read_json, Labels.read):
        with pytest.raises(InputError) as error:
            read(tmp_path / "absent.json")
        assert "absent.json: no such file; run the stage" in one_line(error)


def test_labels_are_sorted_and_an_unknown_number_of_labels_allows_any_id(tmp_path):
    write_rows(tmp_path / "rows.jsonl", [GOOD | {"labels": [99, 5]}])
    assert read_jsonl(tmp_path / "rows.jsonl")[0].labels == (5, 99)


label_sets = st.lists(st.integers(0, 5), unique=True).map(sorted).map(tuple)
examples = st.builds(
    Example,
    id=st.text(),
    text=st.text(min_size=1).filter(str.strip),
    labels=label_sets,
    source=st.sampled_from(["train", "support", "synthetic"]),
    requested_labels=st.none() | label_sets,
    seed=st.none() | st.integers(0, 2**31 - 1),
    filter_jacc=st.none() | st.floats(0, 1),
    soft_labels=st.none() | st.tuples(*[st.floats(0, 1)] * 6),
    made_of=st.none() | st.dictionaries(st.text(), st.lists(st.text())),
)


@given(rows=st.lists(examples, unique_by=lambda example: example.id))
def test_examples_survive_a_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    assert write_jsonl(path, iter(rows)) == len(rows)
    assert read_jsonl(path, n_labels=6) == rows
    assert [number for number, _ in iter_rows(path)] == list(range(1, len(rows) + 1))


def test_optional_fields_that_are_absent_are_left_out_of_the_file(tmp_path):
    write_jsonl(tmp_path / "rows.jsonl", [Example("a", "Größe 🎉", (1,))])
    text = (tmp_path / "rows.jsonl").read_text(encoding="utf-8")
    assert text == '{"id": "a", "labels": [1], "source": "train", "text": "Größe 🎉"}\n'


# ---------------------------------------------------------------- atomic writing


def test_an_exception_inside_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    for fault in (RuntimeError, KeyboardInterrupt, SystemExit):
        with pytest.raises(fault), atomic_path(path) as temporary:
            temporary.write_text("half of the n")
            raise fault
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_exception_inside_leaves_the_old_folder_and_nothing_else(tmp_path):
    folder = tmp_path / "model"
    with atomic_dir(folder) as temporary:
        (temporary / "old").write_text("old")
    for fault in (RuntimeError, KeyboardInterrupt, SystemExit):
        with pytest.raises(fault), atomic_dir(folder) as temporary:
            (temporary / "new").write_text("half of the n")
            raise fault
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    assert {p.name for p in folder.iterdir()} == {"old", WRITTEN}


def test_a_finished_folder_replaces_the_old_one_and_is_readable_by_others(tmp_path):
    for name in ("old", "new"):
        with atomic_dir(tmp_path / "deep" / "model") as temporary:
            (temporary / name).touch()
            assert not (tmp_path / "deep" / "model" / name).exists()
    assert {p.name for p in (tmp_path / "deep" / "model").iterdir()} == {"new", WRITTEN}
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["model"]
    assert (tmp_path / "deep" / "model").stat().st_mode & 0o777 == 0o755
    write_json(tmp_path / "value.json", {})
    assert (tmp_path / "value.json").stat().st_mode & 0o777 == 0o644


def test_an_iterable_that_fails_halfway_writes_no_rows(tmp_path):
    def rows():
        yield GOOD
        raise InputError("the source ran dry")

    with pytest.raises(InputError, match="ran dry"):
        write_rows(tmp_path / "rows.jsonl", rows())
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_line_that_names_the_file(tmp_path):
    with pytest.raises(InputError) as error, atomic_path(tmp_path / "file.txt"):
        raise OSError(28, "No space left on device")
    assert (
        one_line(error) == f"cannot write {tmp_path}/file.txt: No space left on device; nothing was left half-written"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_does_not_have_are_refused(tmp_path, value):
    with pytest.raises(ValueError):
        write_json(tmp_path / "value.json", {"loss": value})
    with pytest.raises(ValueError):
        write_rows(tmp_path / "rows.jsonl", [{"loss": value}])
    assert not list(tmp_path.iterdir())


def test_json_is_written_with_sorted_keys_and_read_back(tmp_path):
    write_json(tmp_path / "value.json", {"b": "é", "a": [1]})
    assert (tmp_path / "value.json").read_text(encoding="utf-8") == '{\n  "a": [\n    1\n  ],\n  "b": "é"\n}\n'
    (tmp_path / "value.json").write_text("{")
    with pytest.raises(InputError, match="value.json: not valid JSON"):
        read_json(tmp_path / "value.json")


# ---------------------------------------------------------------- seeds, keys, digests


def test_a_sub_seed_depends_on_its_names_and_not_on_calls_before_it():
    first = sub_seed(13, "filter", 2)
    assert [sub_seed(13, "selection"), sub_seed(13, "filter", 2)][1] == first
    assert len({first, sub_seed(14, "filter", 2), sub_seed(13, "filter", 3), sub_seed(13, "filter"), sub_seed(13)}) == 5


@given(st.integers(0, 2**31 - 1), st.text())
def test_a_sub_seed_fits_every_generator(seed, name):
    assert 0 <= sub_seed(seed, name) < 2**31


def test_texts_are_the_same_when_only_space_and_case_differ():
    assert text_key("  So\tHAPPY \n today ") == text_key("so happy today") == "so happy today"
    assert text_key("so happy") != text_key("sohappy")


def test_digests_follow_content_and_names(tmp_path):
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})
    for folder, name in (("one", "x"), ("two", "x"), ("three", "y")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("same")
    assert file_digest(tmp_path / "one") == file_digest(tmp_path / "two") != file_digest(tmp_path / "three")
    assert file_digest(tmp_path / "one" / "x") == file_digest(tmp_path / "three" / "y")


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize("names", [("c++", "c", "c+"), ("+", "++"), ("a;b", "a", "b")])
def test_a_plus_in_a_name_is_wide_in_keys_so_that_they_can_be_read_back(names):
    labels = Labels(names, names)
    for size in range(len(names) + 1):
        key = labels.key(range(size))
        assert labels.composition(key) == tuple(range(size)) and key.count("+") == max(0, size - 1)
    with pytest.raises(InputError, match="collide"):
        Labels(("c+", "c\uff0b"), ("c+", "c\uff0b"))


def test_a_composition_has_a_readable_key_and_back():
    assert LABELS.key((2, 0)) == "joy+fear" and LABELS.key(()) == EMPTY_KEY
    assert LABELS.composition("fear+joy") == (0, 2) and LABELS.composition(EMPTY_KEY) == ()
    assert LABELS.phrase((2, 0), ", ") == "joy, great fear"
    with pytest.raises(InputError, match="unknown label 'hope'; the labels are joy, love, fear"):
        LABELS.index("hope")


@pytest.mark.parametrize(
    ("names", "phrases", "fault"),
    [
        ((), (), "0 names"),
        (("a", "b"), ("a",), "2 names but 1 phrases"),
        (("joy", "Joy "), ("a", "b"), "names 'joy' and 'Joy ' collide"),
        (
            ("a", "b"),
            ("Computer Science", "computer science"),
            "phrases 'Computer Science' and 'computer science' collide",
        ),
        (("a", " "), ("a", "b"), "empty label name"),
        (("a", "b"), ("a", ""), "empty label phrase"),
    ],
)
def test_labels_that_cannot_be_told_apart_are_refused(names, phrases, fault):
    with pytest.raises(InputError) as error:
        Labels(names, phrases)
    assert fault in one_line(error)


def test_a_phrase_with_the_separator_in_it_is_refused():
    labels = Labels(("stat", "os"), ("statistics, theory", "operating systems"))
    labels.check_separator(" | ")
    with pytest.raises(InputError) as error:
        labels.check_separator(", ")
    assert "'statistics, theory' contains the separator ', '" in one_line(error)


def test_labels_survive_a_round_trip_and_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "labels.json"
    LABELS.write(path)
    assert Labels.read(path) == LABELS
    for damaged in ([], {"names": ["a"]}, {"names": [1], "phrases": [2]}, {"names": 1, "phrases": 1}):
        write_json(path, damaged)
        with pytest.raises(InputError) as error:
            Labels.read(path)
        assert str(path) in one_line(error)
