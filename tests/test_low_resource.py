"""Single-label tasks with few training texts: how they are drawn, and how their predictions are scored."""

from __future__ import annotations

from types import SimpleNamespace

import longtables
import numpy as np
import pytest
import worlds
from graph import ROOT

from compaug.core.files import InputError, read_json, read_yaml, write_json
from compaug.core.records import Example, Labels, read_jsonl, read_label_sets, text_key, write_jsonl
from compaug.evaluation import predictions
from compaug.generators.baselines import oversample
from compaug.reports import contents
from compaug.stages import draw_few_texts, one_label
from compaug.tasks.few_texts import accuracy, draw, few_texts_cells, parameters

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
    draw_few_texts.main(
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
    cell = {"benchmark": "comments", "scale": "tiny", "generator": "coda"}
    words = [word for name, value in cell.items() for word in (f"--{name}", value)]
    one_label.main([*words, "--split", "task", "--predictions", "p.jsonl.gz", "--out", "score.json"])
    counts = {"texts": 20, "seed": 7, "accuracy": 96.6667, "n": 30, "n_train": 20, "n_aug": 40}
    assert read_json("score.json") == cell | counts
    assert "accuracy 96.67 on 30 texts; 20 real and 40 synthetic ones" in capsys.readouterr().out


def test_where_there_are_no_support_texts_the_few_texts_are_repeated(tmp_path):
    rows, task = corpus()[:12], SimpleNamespace(labels=LABELS)
    oversample.train(rows, task, None, {}, tmp_path / "model", 1)
    requests = [row.labels for row in rows for _ in "xx"] + [(0, 1)]
    drafts = list(oversample.generate(tmp_path / "model", requests, task, None, {}, 1))
    assert [draft.request for draft in drafts] == list(range(24))  # no text has both labels
    texts = {row.text: row.labels for row in rows}
    assert all(texts[draft.text] == requests[draft.request] for draft in drafts)


def test_the_grid_has_every_task_and_generator_and_nothing_is_written_for_none():
    study, planned = parameters.load(ROOT / parameters.FILE), few_texts_cells.plan(ROOT / parameters.FILE)
    tasks = len(study.texts) * len(study.seeds)
    assert set(planned) == set(few_texts_cells.KINDS) and len(planned["low_resource"]) == tasks
    assert len(planned["one_label"]) == len(planned["train_classifier"]) == tasks * len(study.generators)
    assert len(planned["synthesize"]) == len(planned["train_generator"]) == tasks * (len(study.generators) - 1)
    of = "goemotions-pretrained-none-100-42"
    assert planned["train_classifier"][of]["synthetic"] == "data/low_resource/goemotions-100-42/no_texts.jsonl"
    assert planned["train_generator"][of.replace("none", "coda")]["more"] == "--set generators.coda.anchors=0"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"texts": []}, "texts: "),
        ({"seeds": [-1]}, "seeds"),
        ({"generator": {}}, "generator: "),
        ({"generators": {"codaa": ""}}, "generators: "),
        ({"n_aug": 0}, "n_aug: "),
    ],
)
def test_a_wrong_value_of_its_file_is_one_line_that_names_the_key(tmp_path, edit, message):
    path = tmp_path / "low_resource.yaml"
    write_json(path, read_yaml(ROOT / parameters.FILE) | edit)  # JSON is YAML
    with pytest.raises(InputError, match=f"low_resource.yaml: {message}") as caught:
        few_texts_cells.plan(path)
    assert "\n" not in str(caught.value)


def test_the_table_compares_generators_with_real_texts_alone_seed_by_seed(tmp_path):
    folder = longtables.reports(tmp_path / "reports", longtables.paper_rows())
    numbers = {"none": (40.0, 50.0, 60.0), "coda": (43.0, 52.0, 64.0), "aeda": (41.0, 49.0)}
    for generator, values in numbers.items():
        for seed, value in enumerate(values):
            facts = {"benchmark": "goemotions", "scale": "tiny", "generator": generator, "texts": 100, "seed": seed}
            facts |= {"accuracy": value, "n": 1000, "n_train": 100, "n_aug": 0 if generator == "none" else 480 + seed}
            worlds.write_measure(folder, "low_resource", f"{generator}-{seed}", facts)
    (table,) = contents.tables("low_resource", longtables.load(folder))
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert next(iter(rows)) == "none" and rows["none"]["over none, 100"].ours is None
    assert (rows["coda"]["100 texts"].ours, rows["coda"]["written, 100"].ours) == (53.0, 481)
    assert rows["coda"]["over none, 100"].ours == pytest.approx(3.0)
    assert rows["aeda"]["over none, 100"].ours == pytest.approx(0.0)  # of the two seeds that both have
    assert "1,000 test texts" in table.note and "encoder" in table.note
