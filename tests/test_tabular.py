"""A user's own table: every kind of file, every way to write labels, all faults in one line, a split of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameters import written

from compaug.core.files import InputError, read_json
from compaug.core.records import read_jsonl
from compaug.data import corpus
from compaug.data.readers import literals, tabular
from compaug.stages import audit_split, raw, split

ROWS = [("so glad", ["joy", "love"]), ("line\nbreak", []), ("so sad", ["love", "sadness"]), ("größer, 你好", ["joy"])]
CORPUS = [(text, tuple(labels)) for text, labels in ROWS]


def corpus_of(path: Path, **options: object) -> corpus.Corpus:
    return tabular.read({}, {"path": str(path), "label_column": "tags", **options})


def shown(read: corpus.Corpus) -> list[tuple[str, tuple[str, ...]]]:
    return [(e.text, tuple(read.labels.names[label] for label in e.labels)) for e in read.examples]


def lines_of(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def dataset():
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict({"text": [t for t, _ in ROWS], "tags": [labels for _, labels in ROWS]})


def classes(dataset):
    """The same with `List(ClassLabel)`, numbers in the file."""
    from datasets import ClassLabel, Features, List, Value

    names = ["sadness", "love", "joy"]
    rows = {"text": dataset["text"], "tags": [[names.index(name) for name in labels] for labels in dataset["tags"]]}
    return type(dataset).from_dict(rows, Features({"text": Value("string"), "tags": List(ClassLabel(names=names))}))


WAYS = {
    "a.parquet": lambda data, path: data.to_parquet(path),
    "a.jsonl": lambda data, path: data.to_json(path),
    "a.json": lambda data, path: Path(path).write_text(json.dumps(list(data)), encoding="utf-8"),
    "lines.json": lambda data, path: data.to_json(path),
    "folder": lambda data, path: data.save_to_disk(path),
}


@pytest.mark.parametrize("name", WAYS)
def test_every_kind_of_file_gives_the_same_corpus(tmp_path, dataset, name):
    WAYS[name](dataset, str(tmp_path / name))
    assert shown(corpus_of(tmp_path / name)) == CORPUS


def test_both_formats_of_arrow_are_read(tmp_path, dataset):
    import pyarrow

    table = dataset.data.table
    for name, new in (("stream.arrow", pyarrow.ipc.new_stream), ("file.arrow", pyarrow.ipc.new_file)):
        with new(str(tmp_path / name), table.schema) as writer:
            writer.write_table(table)
        assert shown(corpus_of(tmp_path / name)) == CORPUS


@pytest.mark.parametrize("name", ["a.parquet", "folder"])
def test_class_numbers_are_read_as_the_names_that_the_data_set_gives_them(tmp_path, dataset, name):
    WAYS[name](classes(dataset), str(tmp_path / name))
    read = corpus_of(tmp_path / name)
    assert [(text, set(labels)) for text, labels in shown(read)] == [(text, set(labels)) for text, labels in CORPUS]


def test_numbers_without_names_need_the_inventory(tmp_path):
    path = lines_of(tmp_path / "a.jsonl", '{"text": "x", "tags": [1, 0]}', '{"text": "y", "tags": [1]}')
    with pytest.raises(
        InputError, match="labels are numbers from 0 to 1, 2 of them .*: give their names with --labels"
    ):
        corpus_of(path)
    assert shown(corpus_of(path, labels=["joy", "love"])) == [("x", ("joy", "love")), ("y", ("love",))]


def test_a_data_set_of_the_hub_is_asked_for_at_its_revision_and_its_absence_is_one_line(dataset, monkeypatch):
    import datasets

    calls = []

    def load(*name: str, revision: str):
        if revision == "b" * 40:
            raise ConnectionError("no route\nto host")
        calls.append((*name, revision))
        return datasets.DatasetDict({"train": dataset, "test": dataset})

    monkeypatch.setattr(datasets, "load_dataset", load)
    options = {"hub": "someone/mine", "config": "simple", "revision": "a" * 40, "label_column": "tags"}
    assert shown(tabular.read({}, options)) == CORPUS * 2
    assert calls == [("someone/mine", "simple", "a" * 40)]
    read = tabular.read({}, options | {"keep_split": True})
    assert list(read.own_split.values()) == ["train"] * 4 + ["test"] * 4
    with pytest.raises(InputError, match=r"someone/mine at revision b+ cannot be had \(no route to host\)"):
        tabular.read({}, options | {"revision": "b" * 40})
    with pytest.raises(InputError, match="options.*: hub needs `revision`, the 40 digits of a commit"):
        tabular.read({}, options | {"revision": "main"})


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "cell", ['["joy","love"]', "['joy', 'love']", " [ 'joy' , \"love\" ] ", "['joy' 'love']", "joy;love", "joy; love;"]
)
def test_a_cell_that_holds_a_list_as_text_is_that_list(tmp_path, cell):
    quoted = '"' + cell.replace('"', '""') + '"'
    path = lines_of(tmp_path / "a.csv", "text,tags", f"x,{quoted}", "y,[]")
    assert shown(corpus_of(path, label_delimiter=";")) == [("x", ("joy", "love")), ("y", ())]


@pytest.mark.parametrize("cell", ["['joy' 'love', 'fear']", "[joy, love]", "['joy'", "[__import__('os')]"])
def test_what_only_looks_like_a_list_is_never_a_label(tmp_path, cell):
    """Python would read two strings without a comma as one name."""
    path = lines_of(tmp_path / "a.csv", "text,tags", f'x,"{cell}"')
    if cell.endswith("]"):
        with pytest.raises(InputError, match="a.csv:2: .*(look like a list and are none|neither a string nor a list)"):
            corpus_of(path, label_delimiter=";")


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8), max_size=4))
def test_any_names_written_as_a_json_or_python_list_come_back(names):
    for written_list in (json.dumps(names), json.dumps(names, ensure_ascii=False), repr(names), repr(tuple(names))):
        assert literals.parse(written_list) == names


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("True", "False"), ("true", "FALSE"), ("1.0", "0.0")])
def test_truth_is_written_in_several_ways(tmp_path, yes, no):
    path = lines_of(tmp_path / "a.csv", "text,a,b", f"x,{yes},{no}", f"y,{no},{yes}")
    read = corpus_of(path, label_column=None, label_columns=["a", "b"])
    assert shown(read) == [("x", ("a",)), ("y", ("b",))]


def test_true_and_false_in_parquet_are_read_and_null_is_not(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = {"text": ["x", "y"], "a": [True, False], "b": [False, None]}
    datasets.Dataset.from_dict(rows).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="a.parquet:2: the value None of label 'b' is neither 0 nor 1"):
        corpus_of(tmp_path / "a.parquet", label_column=None, label_columns=["a", "b"])


def test_ids_and_texts_are_what_stands_in_the_file(tmp_path):
    """A reader that guesses types would make 7 of 007 and nothing of NA."""
    path = lines_of(tmp_path / "a.csv", "id,text,tags", "007,NA,a", "7,null,a", "1e3,3.10,a")
    read = corpus_of(path, id_column="id")
    assert [(e.id, e.text) for e in read.examples] == [("007", "NA"), ("7", "null"), ("1e3", "3.10")]


# ---------------------------------------------------------------- faults


def faulty(folder: Path) -> Path:
    bad = ["only one column", ",a", '"x",a', "good,a", ",b", " ,c", '"good too",[a b]']
    return lines_of(folder / "a.csv", "text,tags", *bad, *[",a"] * 20)


def test_all_faults_are_one_line_with_kinds_counts_and_first_lines(tmp_path):
    with pytest.raises(InputError) as refused:
        corpus_of(faulty(tmp_path))
    message = str(refused.value)
    assert "\n" not in message and len(message) < 700
    assert message.startswith(f"{tmp_path / 'a.csv'}: 25 of 27 rows cannot be used: 23 x empty text")
    assert "lines 3, 6, 7, 9, 10, ..." in message
    assert "1 x another number of columns than the header (line 2: 1 columns, the header has 2" in message
    assert "1 x labels that look like a list and are none (line 8: the labels '[a b]'" in message
    assert message.endswith("Mend them, or check the options that say how the file is read")


def test_dropped_rows_are_counted_and_leave_the_ids_of_the_others_as_they_are(tmp_path, capsys):
    read = corpus_of(faulty(tmp_path), on_bad_rows="drop")
    assert [e.id for e in read.examples] == ["row-000003", "row-000004"]
    assert sum(read.dropped.values()) == 25 and any("23 rows are left out: empty text" in note for note in read.notes)


def test_a_file_of_bad_rows_alone_is_refused_even_when_they_may_be_dropped(tmp_path):
    with pytest.raises(InputError, match="no rows; give the file at least one text that can be used"):
        corpus_of(lines_of(tmp_path / "a.jsonl", "{", "[]", '{"tags": "x"}'), on_bad_rows="drop")


def test_rows_without_labels_are_counted_left_out_or_refused(tmp_path):
    path = lines_of(tmp_path / "a.csv", "text,tags", "x,a", "y,", "z,")
    assert any("2 of 3 rows have no label" in note for note in corpus_of(path).notes)
    assert shown(corpus_of(path, unlabelled="drop")) == [("x", ("a",))]
    with pytest.raises(InputError, match="2 of 3 rows cannot be used: 2 x no label"):
        corpus_of(path, unlabelled="stop")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "folder"])
def test_a_damaged_table_is_one_line(tmp_path, name):
    pytest.importorskip("datasets")
    path = tmp_path / name
    with pytest.raises(InputError, match="no such file|unknown kind of file"):
        corpus_of(path)
    if name == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"PAR1 this is none")
    with pytest.raises(InputError, match="cannot be opened as a table") as refused:
        corpus_of(path)
    assert "\n" not in str(refused.value)


def test_a_column_that_a_table_lacks_is_named(tmp_path, dataset):
    dataset.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="a.parquet: no column 'labels'; there are: text, tags"):
        corpus_of(tmp_path / "a.parquet", label_column="labels")


# ---------------------------------------------------------------- a split of one's own


def test_an_own_split_is_a_column_or_further_files(tmp_path):
    path = lines_of(tmp_path / "a.csv", "text,tags,part", "u,a,train", "v,a,dev", "w,b,Test", "x,b,train")
    by_column = corpus_of(path, split_column="part")
    assert list(by_column.own_split.values()) == ["train", "validation", "test", "train"]
    lines_of(tmp_path / "more.csv", "text,tags", "w,b")
    by_file = corpus_of(path, test_path=str(tmp_path / "more.csv"))
    assert list(by_file.own_split.items())[-1] == ("test-row-000001", "test") and len(by_file.examples) == 5
    assert corpus_of(path).own_split is None
    lines_of(path, "text,tags,part", "u,a,train", "v,a,trian")
    with pytest.raises(InputError, match="a.csv:3: the split 'trian' is none of train, validation and test"):
        corpus_of(path, split_column="part")
    with pytest.raises(InputError, match="your own split has no row for test"):
        corpus_of(path, split_column="part", on_bad_rows="drop")
    with pytest.raises(InputError, match="split_column, test_path or keep_split, one of them"):
        corpus_of(path, split_column="part", test_path="more.csv")


def test_the_stages_test_on_the_users_test_rows_alone(tmp_path):
    rows = [f"{text} {i},{labels},{part}" for part, n in (("train", 30), ("test", 12)) for i in range(n)
            for text, labels in ((f"x {part}", "a"), (f"y {part}", "a;b"), (f"z {part}", "b;c"))]  # fmt: skip
    path = lines_of(tmp_path / "a.csv", "text,labels,part", *rows)
    options = {"path": str(path), "label_column": "labels", "label_delimiter": ";", "split_column": "part"}
    facts = {"mode": "generate", "compositions": 1, "seed": 0, "min_count": 5, "test_share": [0.1, 0.9]}
    params = written(tmp_path, {"own:options": options, "own:split": facts, "own:sizes": {"support_size": 4}})
    common = ["--params", str(params), "--benchmark", "own"]
    raw.main([*common, "--out", str(tmp_path / "raw"), "--downloads", str(tmp_path / "dl")])
    split.main([*common, "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "split")])
    parts = {name: read_jsonl(tmp_path / f"split/{name}.jsonl") for name in ("train", "support", "test", "iid_test")}
    assert {name: len(part_rows) for name, part_rows in parts.items()} == {
        "train": 60,
        "support": 4,
        "test": 8,
        "iid_test": 36,
    }
    assert all(" test " in e.text for name in ("support", "test", "iid_test") for e in parts[name])
    assert read_json(tmp_path / "split/split.json")["unused_of_own_split"] == {"train": 30, "test": 24}
    audit_split.main([*common, "--split", str(tmp_path / "split"), "--out", str(tmp_path / "audit.json")])
