"""Tasks and drafts: what a new task or a new generator has to be, and that its drafts reach the classifier whole."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from parameters import written
from toys import LABELS, TASK, examples, flan_t5_params, linda_params, ls_pt_params, synthesis, vae_dprior_params

from compaug import classifiers, generators
from compaug.classifiers import body
from compaug.core.files import InputError, read_json, write_rows
from compaug.core.records import Draft, Example, Labels, read_jsonl, write_jsonl
from compaug.data.multi_label import Task
from compaug.data.task import TASKS
from compaug.reports import METRICS
from compaug.stages import select, synthesize, train_classifier

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

REQUESTS = [(0, 1), (2,), (0, 2, 3), (1,)]
PARAMS = {
    "flan_t5": flan_t5_params(epochs=60),
    "ls_pt": ls_pt_params(epochs=2),
    "vae_dprior": vae_dprior_params(epochs=2),
    "linda": linda_params(epochs=2),
}


# ---------------------------------------------------------------- tasks


def test_a_request_in_words_names_the_labels_in_their_order():
    assert TASK.source((0, 2)) == "A message with joy, anger :"
    assert TASK.phrase((1, 3)) == "fear, trust"
    assert TASK.target(Example("a", " it was so dark ", (1,))) == "it was so dark"


def test_a_model_folder_keeps_the_prompt_and_a_task_of_other_labels_is_refused(tmp_path):
    kept = json.loads(json.dumps(TASK.facts()))
    assert Task(LABELS).of_model(kept, tmp_path) == TASK
    with pytest.raises(InputError, match="trained for other labels than those of the split; train the generator again"):
        Task(Labels(("a", "b"), ("a", "b"))).of_model(kept, tmp_path)


def test_tables_show_the_metrics_of_the_task():
    assert TASKS["multi_label"](LABELS).metrics is METRICS
    assert list(METRICS) == ["jacc", "acc", "corr", "comp"]


@dataclass(frozen=True)
class Backwards:
    """A toy task: the request is the labels' numbers, the answer is the text with its words in reverse."""

    labels: Labels
    metrics: ClassVar = {"exact": "Exact match"}

    def source(self, label_set):
        return "want " + self.phrase(label_set)

    def target(self, example):
        return " ".join(reversed(example.text.split()))

    def phrase(self, label_set):
        return " ".join(map(str, label_set))

    def facts(self):
        return {"backwards": len(self.labels)}

    def of_model(self, facts, folder):
        if facts.get("backwards") != len(self.labels):
            raise InputError(f"{folder}: trained for another task")
        return self


def contract(name, task, params, folders, folder, requests=REQUESTS):
    """What the stages rely on: a generator learns any task and yields drafts, the same at every call."""
    generator = generators.load(name)
    generator.train(examples(), task, params, {role: folders[role] for role in generator.roles}, folder, 13)
    runs = [list(generator.generate(folder, requests, task, synthesis(), folders, 3)) for _ in range(2)]
    assert runs[0] == runs[1] and all(isinstance(draft, Draft) and draft.text for draft in runs[0])
    assert {draft.request for draft in runs[0]} <= set(range(len(requests)))
    for draft in runs[0]:
        assert draft.labels == tuple(sorted(draft.labels)) and set(draft.labels) <= set(range(len(task.labels)))
        assert draft.soft_labels is None or len(draft.soft_labels) == len(task.labels)
        json.dumps(draft.made_of)
    assert list(generator.generate(folder, [], task, synthesis(), folders, 3)) == []
    return runs[0]


CONTROLS = ("concat", "oversample", "shuffled", "none")


@pytest.mark.parametrize("name", ["ls_pt", "vae_dprior", "linda", *CONTROLS])
@pytest.mark.parametrize("task", ["multi_label", "backwards"])
def test_every_generator_keeps_the_contract_whatever_the_task(name, task, folders, tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "backwards", Backwards)
    task_type = TASK if task == "multi_label" else TASKS[task](LABELS)
    drafts = contract(name, task_type, PARAMS.get(name), folders, tmp_path / "m")
    assert bool(drafts) == (name != "none")


def test_a_generator_writes_what_another_task_wants(folders, tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "backwards", Backwards)
    drafts = contract("flan_t5", TASKS["backwards"](LABELS), PARAMS["flan_t5"], folders, tmp_path / "m")
    words = {" ".join(reversed(e.text.split())) for e in examples()}
    assert sum(draft.text in words for draft in drafts) >= 2
    with pytest.raises(InputError, match="trained for another task"):
        generators.load("flan_t5").generate(tmp_path / "m", REQUESTS, Backwards(Labels(("a",), ("a",))), None, {}, 3)


# ---------------------------------------------------------------- drafts, from a generator to the classifier

SOFT = (0.75, 0.5, 0.125, 0.0)


def drafts_of(model_dir, requests, task, settings, folders, seed):
    """Three drafts of the last request, none of the first, one of the others; the last request comes first."""
    last = len(requests) - 1
    yield Draft(last, "the cup is dark", requests[last], SOFT, {"sources": ["t1", "t4"]})
    yield Draft(last, "The  CUP is dark", requests[last])  # a repetition
    yield Draft(last, "their word shakes", (0,), made_of={"constraints": []})
    for number in range(1, last):
        yield Draft(number, f"they laughed {'all day ' * number}", requests[number])


@pytest.fixture
def toy_run(tmp_path, folders, monkeypatch):
    """Split, parameters and a generator named `toy` on disk; runs the stage."""
    (tmp_path / "split").mkdir()
    LABELS.write(tmp_path / "split" / "labels.json")
    for source in ("train", "support"):
        write_jsonl(tmp_path / "split" / f"{source}.jsonl", [e for e in examples() if e.source == source])
    write_rows(tmp_path / "wanted.jsonl", [{"requested_labels": list(labels)} for labels in REQUESTS])
    written(tmp_path, {"sizes.k": 3, "classifiers.bert": {"validation": 0.01, "epochs": 1, "max_length": 32}})
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_text("none")
    monkeypatch.setattr(
        generators, "load", lambda name: generators.Generator(None, drafts_of, (), False, True, False, None, None)
    )
    common = ["--params", "params.yaml", "--benchmark", "diagnostic", "--seed", "13"]
    more = "--generator toy --split split --model model --compositions wanted.jsonl"
    more += f" --backbones {folders['encoder'].parent}"
    synthesize.main([*common, *more.split(), "--out", "made.jsonl"])
    return common


def test_a_request_may_have_any_number_of_drafts_in_any_order(toy_run):
    rows = read_jsonl("made.jsonl", len(LABELS))
    assert [e.id for e in rows] == ["toy-000003", "toy-000003-2", "toy-000001", "toy-000002"]
    assert rows[0].soft_labels == SOFT and rows[0].made_of == {"sources": ["t1", "t4"]}
    assert (rows[1].labels, rows[1].requested_labels, rows[1].made_of) == ((0,), REQUESTS[3], {"constraints": []})
    assert rows[2].soft_labels is None and "made_of" not in rows[2].as_row()
    side_car = read_json("made.json")
    assert (side_car["requested"], side_car["produced"], side_car["kept"]) == (4, 5, 4)
    assert side_car["dropped"] == {"blank": 1, "duplicate": 1, "copied": 0}
    assert side_car["per_composition"]["fear"] == {"requested": 1, "kept": 2}


def test_soft_labels_and_records_reach_the_classifier(toy_run, folders, monkeypatch):
    """Synthesize, select, train: the soft-labelled row is trained on with its soft target, not with its label set."""
    agreeing = SimpleNamespace(predict=lambda _, texts: np.array([[0.1, 0.9, 0.1, 0.1]] * len(texts)))  # reads `fear`
    load = classifiers.load
    with monkeypatch.context() as patch:
        patch.setattr(classifiers, "load", lambda name: agreeing)
        more = "--classifier bert --synthetic made.jsonl --filter none"
        more += " --labels split/labels.json --train split/train.jsonl"
        paper = ["--set", "selection.score=jaccard,scope=global"]
        select.main([*toy_run, *more.split(), *paper, "--out", "kept.jsonl"])
    kept = {e.id: e for e in read_jsonl("kept.jsonl", len(LABELS))}
    synthetic = {e.id: e for e in read_jsonl("made.jsonl", len(LABELS))}
    assert len(kept) == 3 and {"toy-000003", "toy-000003-2"} < set(kept)  # best first
    assert kept["toy-000003"] == replace(synthetic["toy-000003"], filter_jacc=1.0)
    assert kept["toy-000003-2"].made_of == {"constraints": []}

    batches = []
    collate = body.collate
    monkeypatch.setattr(body, "collate", lambda rows, *more: batches.append(rows) or collate(rows, *more))
    monkeypatch.setattr(classifiers, "load", load)
    write_rows("test.jsonl", [Example("x", "so dark", ()).as_row()])
    more = "--classifier bert --labels split/labels.json --train split/train.jsonl --synthetic kept.jsonl"
    more += f" --test-inputs test.jsonl --backbones {folders['encoder'].parent}"
    more += " --out classifier --predictions predictions.jsonl.gz"
    train_classifier.main([*toy_run, *more.split()])
    trained = {row["id"]: row["targets"].tolist() for rows in batches for row in rows if "targets" in row}
    assert trained["toy-000003"] == list(SOFT)
    assert trained["toy-000003-2"] == [1.0, 0.0, 0.0, 0.0]
    assert set(kept) < set(trained)


@pytest.mark.parametrize(
    "options, message",
    [
        ("labels=soft", "made.jsonl: its texts do not say which of split/train.jsonl they were made of"),
        ("sharpening=0.5", "sharpening: goes with labels: soft or teacher"),
    ],
)
def test_soft_labels_need_to_know_their_sources(toy_run, monkeypatch, options, message):
    monkeypatch.setattr(
        classifiers, "load", lambda name: SimpleNamespace(predict=lambda _, texts: np.zeros((len(texts), 4)))
    )
    more = "--classifier bert --synthetic made.jsonl --filter none --labels split/labels.json --train split/train.jsonl"
    with pytest.raises(InputError, match=re.escape(message)):
        select.main([*toy_run, *more.split(), "--set", f"selection.{options}", "--out", "kept.jsonl"])


def test_a_teachers_labels_are_the_filters_probabilities_for_the_kept_texts(toy_run, monkeypatch):
    """In the place of what the generator gave; without the option the rows and the side-car are as ever."""
    synthetic = {e.id: e for e in read_jsonl("made.jsonl", len(LABELS))}
    probabilities = lambda texts: np.array([[0.1, 0.9, 0.1, len(text) / 100] for text in texts])
    monkeypatch.setattr(
        classifiers, "load", lambda name: SimpleNamespace(predict=lambda _, texts: probabilities(texts))
    )
    more = "--classifier bert --synthetic made.jsonl --filter none --labels split/labels.json --train split/train.jsonl"
    select.main([*toy_run, *more.split(), "--set", "selection.labels=teacher", "--out", "kept.jsonl"])
    kept = read_jsonl("kept.jsonl", len(LABELS))
    assert len(kept) == 3
    for e in kept:
        assert e.soft_labels == (0.1, 0.9, 0.1, round(len(e.text) / 100, 6))
        assert replace(e, soft_labels=None, filter_jacc=None) == replace(synthetic[e.id], soft_labels=None)
    assert read_json("kept.json")["selection"]["labels"] == "teacher"
    select.main([*toy_run, *more.split(), "--out", "plain.jsonl"])
    assert [e.soft_labels for e in read_jsonl("plain.jsonl", len(LABELS))] == [
        synthetic[e.id].soft_labels for e in kept
    ]
    assert "labels" not in read_json("plain.json")["selection"]
