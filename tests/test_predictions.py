"""Predictions and gold label sets as files: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from compaug.core.files import InputError, read_json, write_rows
from compaug.core.records import Example, Labels, write_jsonl
from compaug.evaluation import gold, predictions
from compaug.stages import train_classifier

LABELS = Labels(("joy", "fear", "love"), ("joy", "fear", "love"))
HEADER = {
    "learned": {"": 1, "0": 2, "0,2": 3},
    "train": {"0": 2},
    "support": {"0,2": 1},
    "n_train": 3,
    "n_synthetic": 3,
}
VALIDATION = {"id": "v", "split": "validation", "probabilities": [0.5, 0.25, 0], "labels": [0, 2], "source": "support"}
TEST = [{"id": name, "split": "test", "probabilities": [p, 1, 0.125]} for name, p in (("b", 0.75), ("a", 0.5))]


def test_what_is_written_is_read_again(tmp_path):
    predictions.write(tmp_path / "p.jsonl.gz", HEADER | {"drawn": {"2": 5}, "losses": [0.5, 0.25]}, [VALIDATION, *TEST])
    read = predictions.read(tmp_path / "p.jsonl.gz", 3)
    assert read.learned == Counter({(): 1, (0,): 2, (0, 2): 3}) and read.drawn == Counter({(2,): 5})
    assert (read.train, read.support, read.n_train, read.n_synthetic) == ({(0,): 2}, {(0, 2): 1}, 3, 3)
    assert read.losses == (0.5, 0.25) and read.source.tolist() == ["support"] and read.unparsed is None
    assert read.validation.tolist() == [[0.5, 0.25, 0]] and read.validation_gold.tolist() == [[True, False, True]]
    assert read.ids == ("b", "a") and read.of(["a", "b"]).tolist() == [[0.5, 1, 0.125], [0.75, 1, 0.125]]
    assert predictions.counts([(0, 2), (), (0, 2)]) == {"": 1, "0,2": 2}


def test_the_bytes_depend_on_the_content_alone(tmp_path, monkeypatch):
    predictions.write(tmp_path / "one.jsonl.gz", HEADER, [VALIDATION, *TEST])
    monkeypatch.setattr("time.time", lambda: 1e9)
    predictions.write(tmp_path / "two.jsonl.gz", dict(reversed(HEADER.items())), [VALIDATION, *TEST])
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"probabilities": [0.1, 0.2]}, ":3: not a prediction"),
        ({"probabilities": [0.1, float("nan"), 0]}, ":3: not a JSON object .NaN is no number."),
        ({"probabilities": [0.1, "high", 0]}, ":3: not a prediction"),
        ({"id": ["c"]}, ":3: not a prediction"),
        ({"split": "training"}, ":3: not a prediction"),
        ({"split": "validation", "labels": [7], "source": "train"}, ":3: unknown label 7"),
    ],
)
def test_a_row_that_is_no_prediction_is_named_with_its_line(tmp_path, row, message):
    rows = [HEADER, TEST[1], TEST[0] | row]
    with gzip.open(tmp_path / "p.jsonl.gz", "wt") as stream:
        stream.writelines(json.dumps(value) + "\n" for value in rows)
    with pytest.raises(InputError, match=message) as error:
        predictions.read(tmp_path / "p.jsonl.gz", 3)
    assert "\n" not in str(error.value)


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "p.jsonl.gz"
    with pytest.raises(InputError, match="p.jsonl.gz: no such file"):
        predictions.read(path, 3)
    path.write_bytes(b"not gzip")
    with pytest.raises(InputError, match="not a whole gzip file"):
        predictions.read(path, 3)
    predictions.write(path, HEADER, TEST)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match="not a whole gzip file"):
        predictions.read(path, 3)


@pytest.mark.parametrize("at", [12, 40, 60, -6])
def test_a_byte_that_changed_in_a_gzip_file_is_one_line(tmp_path, at):
    path = tmp_path / "p.jsonl.gz"
    predictions.write(path, HEADER, [VALIDATION, *TEST])
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match="p.jsonl.gz.*; take it from Git again or train again") as refused:
        predictions.read(path, 3)
    assert "\n" not in str(refused.value)
    for header in ({}, HEADER | {"train": {"9": 1}}, HEADER | {"train": {"x": 1}}, HEADER | {"n_train": None}):
        predictions.write(path, header, TEST)
        with pytest.raises(InputError, match="p.jsonl.gz:1: "):
            predictions.read(path, 3)


def test_rows_that_are_not_those_of_the_gold_file_are_named(tmp_path):
    predictions.write(tmp_path / "p.jsonl.gz", HEADER, TEST)
    read = predictions.read(tmp_path / "p.jsonl.gz", 3)
    read.check_covers(["a", "b"])
    with pytest.raises(InputError, match="1 of 3 gold ids have no prediction, first 'c'"):
        read.check_covers(["a", "b", "c"])
    with pytest.raises(InputError, match="id 'b' is not in the gold file"):
        read.check_covers(["a"])


# ---------------------------------------------------------------- gold


def test_gold_label_sets_are_read_again_in_their_order(tmp_path):
    parts = {"train": [Example("t", "x", (0,))], "test": [Example("b", "x y", (1, 2)), Example("a", "x", ())]}
    gold.write(tmp_path / "own.jsonl.gz", LABELS, parts, {"counts": {"n_test": 2}})
    gold_sets = gold.read(tmp_path / "own.jsonl.gz")
    assert gold_sets.labels.names == LABELS.names and gold_sets.facts["counts"] == {"n_test": 2}
    assert list(gold_sets.parts["test"].items()) == [("b", (1, 2)), ("a", ())]
    assert gold_sets.matrix("test", ["a", "b"]).tolist() == [[False] * 3, [False, True, True]]
    assert gold_sets.compositions("test") == {"fear+love": 1, "<none>": 1}
    assert "x y" not in gzip.decompress((tmp_path / "own.jsonl.gz").read_bytes()).decode()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"labels": [5]}, ":2: unknown label 5"),
        ({"labels": None}, ":2: not a row"),
    ],
)
def test_a_wrong_gold_row_is_named(tmp_path, row, message):
    gold.write(tmp_path / "own.jsonl.gz", LABELS, {"test": [Example("a", "x", (0,))]}, {})
    rows = [{"id": "a", "part": "test", "labels": [0]}, {"id": "b", "part": "test", "labels": [1]} | row]
    predictions.write_lines(tmp_path / "own.jsonl.gz", rows)
    with pytest.raises(InputError, match=message):
        gold.read(tmp_path / "own.jsonl.gz")


# ---------------------------------------------------------------- the stage that writes them


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """Runs the stage with a classifier that says of every text how long it is, and returns what it was given and the
    predictions."""
    LABELS.write(tmp_path / "labels.json")
    parts = {"train": [(0,)] * 40, "support": [(0, 2), (1,)], "inputs": [(), (), ()]}
    for name, label_sets in parts.items():
        source = name if name != "inputs" else "test"
        write_jsonl(
            tmp_path / f"{name}.jsonl",
            [Example(f"{name}{i}", f"{name} {i}", y, source) for i, y in enumerate(label_sets)],
        )
    kept = [Example(f"y{i}", f"kept {i}", (2,), "ld_vae", (2,)) for i in range(5)]
    write_jsonl(tmp_path / "kept.jsonl", kept)
    write_rows(tmp_path / "drawn.jsonl", [{"requested_labels": [2, 0]}, {"requested_labels": [2, 0]}])
    examples_seen = []

    def train(examples, labels, settings, backbone, out, seed, title, validation):
        examples_seen.extend([*examples, *validation])
        return [{"train": {"loss": 1.0}, "valid": {"loss": 0.25}, "trained_parameters": 1}]

    model = SimpleNamespace(ROLES=("encoder",), train=train, predict=lambda _, texts: np.full((len(texts), 3), 1 / 3))
    monkeypatch.setattr("compaug.classifiers.load", lambda name: model)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[list[Example], predictions.Predictions]:
        examples_seen.clear()
        files = "--labels labels.json --train train.jsonl --test-inputs inputs.jsonl --backbones bb --out m"
        cell = "--benchmark diagnostic --classifier bert --seed 13 --predictions reports/p.jsonl.gz"
        settings = train_classifier.__file__.replace("src/compaug/stages/train_classifier.py", "params.yaml")
        train_classifier.main([*files.split(), *cell.split(), "--params", settings, *words])
        return list(dict.fromkeys(examples_seen)), predictions.read(tmp_path / "reports/p.jsonl.gz", 3)

    return run


def test_the_header_says_what_was_learned_from(trained, tmp_path):
    rows, read = trained("--support", "support.jsonl", "--synthetic", "kept.jsonl", "--compositions", "drawn.jsonl")
    assert len(rows) == 47 and sum(read.learned.values()) == 47
    assert read.train == {(0,): 40} and read.support == {(0, 2): 1, (1,): 1} and read.learned[(2,)] == 5
    assert read.drawn == {(0, 2): 2} and (read.n_train, read.n_synthetic) == (42, 5) and read.losses == (0.25,)
    assert read.ids == ("inputs0", "inputs1", "inputs2") and read.test[0, 0] == 0.333333
    held = {row.id: row for row in rows}
    assert len(read.source) and set(read.source) <= {"train", "support", "ld_vae"} and len(held) == 47
    assert not (tmp_path / "m" / "predictions.jsonl").exists()
    assert b'"text"' not in gzip.decompress((tmp_path / "reports/p.jsonl.gz").read_bytes())


def test_fewer_texts_are_the_head_of_the_ranked_list(trained):
    rows, read = trained("--synthetic", "kept.jsonl", "--texts", "2")
    assert sorted(e.id for e in rows if e.id.startswith("y")) == ["y0", "y1"] and read.n_synthetic == 2
    with pytest.raises(InputError, match=r"--texts 6: kept.jsonl has 5 texts; lower it or raise sizes.k"):
        trained("--synthetic", "kept.jsonl", "--texts", "6")


def test_an_empty_file_is_as_good_as_none(trained, tmp_path):
    (tmp_path / "empty.jsonl").touch()
    _, without = trained()
    bytes_without = (tmp_path / "reports/p.jsonl.gz").read_bytes()
    trained("--support", "empty.jsonl", "--synthetic", "empty.jsonl")
    assert (tmp_path / "reports/p.jsonl.gz").read_bytes() == bytes_without and without.drawn is None


@pytest.mark.parametrize("line", ['{"labels": [0]}', '{"requested_labels": [7]}', '{"requested_labels": null}'])
def test_a_broken_line_of_the_label_generator_is_named(trained, tmp_path, line):
    (tmp_path / "drawn.jsonl").write_text(f'{{"requested_labels": [0]}}\n{line}\n')
    with pytest.raises(InputError, match=r"drawn.jsonl:2: .*(unknown label|requested_labels)"):
        trained("--compositions", "drawn.jsonl")


def test_the_iid_split_and_generator_none_have_their_empty_files(tmp_path):
    from compaug.stages import raw, split

    settings = train_classifier.__file__.replace("src/compaug/stages/train_classifier.py", "params.yaml")
    words = ["--benchmark", "diagnostic", "--params", settings]
    raw.main([*words, "--out", str(tmp_path / "raw")])
    split.main([*words, "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "split")])
    assert [(tmp_path / "split" / f"{name}.jsonl").read_bytes() for name in ("iid_support", "no_texts")] == [b"", b""]
    assert read_json(tmp_path / "split" / "split.json")
