"""Single-label tasks with few training texts: how they are drawn, and how their predictions are scored."""

from __future__ import annotations

import numpy as np
import pytest

from compaug.evaluation import predictions
from compaug.low_resource import accuracy, draw
from compaug.records import Example, InputError, Labels, read_json, read_jsonl, read_label_sets, text_key, write_jsonl
from stages import low_resource, one_label

LABELS = Labels(("a", "b", "c"), ("a", "b", "c"))


def corpus() -> list[Example]:
    rows = [Example(f"r{at}", f"text number {at}", (0 if at % 10 else 1 + at % 20 // 10,)) for at in range(200)]
    rows += [Example("two", "two labels", (0, 1)), Example("none", "no label", ())]
    rows += [Example("again", "Text  number 0", rows[0].labels)]  # once
    return [*rows, Example("other", "text number 1", (2,))]  # under two labels: not at all


def test_rows_have_one_label_each_text_is_there_once_and_no_test_text_is_trained_on():
    train, test = draw(corpus(), 50, 100, 7)
    assert (len(train), len(test)) == (50, 100)
    keys = [text_key(row.text) for row in [*train, *test]]
    assert len(set(keys)) == 150 and "text number 1" not in keys
    assert all(len(row.labels) == 1 for row in [*train, *test])
    assert {row.labels for row in train[:3]} == {(0,), (1,), (2,)}  # every label, rare ones too


def test_training_rows_are_nested_and_test_rows_the_same_for_all_sizes_and_seeds():
    small, tested = draw(corpus(), 10, 100, 7)
    large, same = draw(corpus(), 60, 100, 7)
    other, again = draw(corpus(), 60, 100, 8)
    assert large[:10] == small and tested == same == again and other != large
    assert draw(corpus(), 60, 100, 7)[0] == large


def test_a_corpus_that_is_too_small_is_one_line():
    with pytest.raises(
        InputError, match="199 different texts have exactly one label, fewer than 150 to train on and 50 to"
    ):
        draw(corpus(), 150, 50, 7)


def test_accuracy_is_of_the_most_probable_label():
    gold = [Example("x", "x", (0,)), Example("y", "y", (2,)), Example("z", "z", (1,)), Example("w", "w", (1,))]
    probabilities = np.array([[0.2, 0.1, 0.1], [0.1, 0.9, 0.8], [0.4, 0.5, 0.1], [0.0, 0.01, 0.0]])
    assert accuracy(probabilities, gold) == 75


def test_the_stages_write_a_split_with_requests_and_score_predictions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw").mkdir()
    LABELS.write("raw/labels.json")
    write_jsonl("raw/examples.jsonl", corpus())
    low_resource.main(
        ["--raw", "raw", "--texts", "20", "--tested", "30", "--n-aug", "2", "--seed", "7", "--out", "task"]
    )
    train, test = (read_jsonl(tmp_path / "task" / f"{name}.jsonl", 3) for name in ("train", "test"))
    assert [row.labels for row in train for _ in "xx"] == read_label_sets(tmp_path / "task" / "requests.jsonl", 3)
    inputs = read_jsonl(tmp_path / "task" / "test_inputs.jsonl", 3)
    assert [row.id for row in inputs] == [row.id for row in test] and not any(row.labels for row in inputs)
    header = {name: {} for name in predictions.COUNTS} | {"n_train": 20, "n_synthetic": 40, "losses": [0.5]}
    rows = [{"id": "v", "split": "validation", "probabilities": [1, 0, 0], "labels": [0], "source": "train"}]
    for at, row in enumerate(test):
        right = row.labels[0] if at else (row.labels[0] + 1) % 3  # the first one is wrong
        rows.append({"id": row.id, "split": "test", "probabilities": [0.4 * (label == right) for label in range(3)]})
    predictions.write("p.jsonl.gz", header, rows)
    one_label.main(["--split", "task", "--predictions", "p.jsonl.gz", "--out", "score.json"])
    assert read_json("score.json") == {"accuracy": 96.6667, "n": 30, "n_train": 20, "n_aug": 40}
    assert "accuracy 96.67 on 30 texts; 20 real and 40 synthetic ones" in capsys.readouterr().out
