"""No JSON file is read without its type: what is cut, empty, of another kind or of other types is one line that names
the place."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from graph import SRC
from hypothesis import given, settings
from hypothesis import strategies as st

from compaug.core import shapes
from compaug.core.records import InputError, read_json

WHOLE = {  # a file of each type, with every key whose value the readers use
    shapes.LabelNames: {"names": ["joy"], "phrases": ["joy"]},
    shapes.Reference: {"train": ["a"], "test": ["b"]},
    shapes.SplitFacts: {"mode": "generate", "ids": {"train": "0f"}, "test_compositions": {"joy": {}}},
    shapes.GoldFacts: {"labels": ["joy"], "counts": {"n_test": 3}, "bayes": {"iid": {"training_prior": {"acc": 1.5}}}},
    shapes.GeneratorFacts: {"generator": "x", "params": {"lr": 0.1}, "median_words": 5.5},
    shapes.ClassifierFacts: {
        "classifier": "bert",
        "n_labels": 1,
        "phrases": ["joy"],
        "settings": {"lr": 1},
        "rows": 3,
        "positives": [2],
        "pairs": [[2.0]],
    },
    shapes.History: {"epochs": [{"epoch": 1, "trained_parameters": 5, "train": {"loss": 0.5}}]},
    shapes.WeightsIndex: {"weight_map": {"w": "model-00001.safetensors"}},
    shapes.Answer: {
        "request": {"seed": 3},
        "content": "a",
        "refusal": None,
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 3, "completion_tokens": None},
    },
    shapes.Requests: {"requested": 3, "rejected": {"empty": 0}, "rejection_rate": 0.5},
    shapes.SideCar: {
        "requested": 3,
        "kept": 2,
        "dropped": {"blank": 1},
        "per_composition": {"joy": {"kept": 2, "mean_filter_jacc": None}},
        "histogram": {"kept": {"1.0": 2}},
        "mean_filter_jacc": 0.5,
    },
    shapes.Quality: {"selection": {"requested": 3}, "copied": {"exact": None}, "perplexity": 3.5, "n": 2},
    shapes.Judged: {"judged": {"oracle": {"acc": 5.0}}},
    shapes.Representations: {"views": {"latent": {"points": [[0.5, 1]], "silhouette": None, "probe": 1.0}}},
    shapes.RatingKey: {
        "labels": {"names": ["joy"], "phrases": ["joy"]},
        "items": [{"text_id": "a", "requested": [0], "text": "t", "generator": "g"}],
    },
    shapes.Measures: {"augmented": {"acc": 1.5, "n": 3}},
    shapes.Details: {
        "acc_gain": {"mean": 1.0, "low": 0, "high": 2.0, "n": 3},
        "per_composition": {"augmented": {"joy": {"n": 3, "acc": 5.0, "wrong": None, "n_wrong": 0}}},
    },
    shapes.Cost: {"seconds": 1.5, "cores": 2, "machine": "x86_64", "device": "cpu", "versions": {"torch": "2"}},
    shapes.Provenances: {"paper": {"commit": "abc", "seconds": 3, "hardware": ["2 cores"]}},
    shapes.Golden: {"version": 1, "variants": {"default": {"file": [1]}}},
}
FREE = {"settings", "params", "request", "train", "file", "test_compositions"}  # below these anything may stand
names = pytest.mark.parametrize("shape", WHOLE, ids=lambda shape: getattr(shape, "__name__", str(shape)))


def written(tmp_path: Path, value: object) -> Path:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@names
def test_a_whole_file_is_read_as_it_is(tmp_path, shape):
    assert read_json(written(tmp_path, WHOLE[shape]), shape) == WHOLE[shape]
    if isinstance(WHOLE[shape], dict) and shape in (shapes.SideCar, shapes.Quality, shapes.GoldFacts):
        more = WHOLE[shape] | {"a later version's": [1]}
        assert read_json(written(tmp_path, more), shape) == more


@names
@pytest.mark.parametrize("other", [[], 5, "text", None, [{}]], ids=repr)
def test_a_file_of_another_kind_is_one_line(tmp_path, shape, other):
    path = written(tmp_path, other)
    with pytest.raises(InputError) as refused:
        read_json(path, shape, "mend it")
    message = str(refused.value)
    assert message.startswith(f"{path}: the file: ") and message.endswith("; mend it") and "\n" not in message


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Where something stands in a file, but for what is free."""
    inner_places = []
    if isinstance(value, dict):
        for key, inner in value.items():
            inner_places += [(*path, key)] + ([] if key in FREE else places(inner, (*path, key)))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            inner_places += [(*path, at), *places(inner, (*path, at))]
    return inner_places


WRONG = st.sampled_from([True, {"a": [1]}, [[["a"]]]])  # what no place has


@names
@settings(max_examples=25)
@given(data=st.data())
def test_a_value_of_another_type_is_named_by_its_place(tmp_path_factory, shape, data):
    value = json.loads(json.dumps(WHOLE[shape]))
    place = data.draw(st.sampled_from(places(value)))
    wrong = data.draw(WRONG)
    *parents, last = place
    inner = value
    for key in parents:
        inner = inner[key]
    if last in FREE or (isinstance(inner[last], dict) and isinstance(wrong, dict)):
        return
    inner[last] = wrong
    path = written(tmp_path_factory.mktemp("shape"), value)
    with pytest.raises(InputError) as refused:
        read_json(path, shape)
    message = str(refused.value)
    assert message.startswith(f"{path}: {place[0]}") and "\n" not in message and message.endswith("run its stage again")


def test_every_reader_in_the_sources_names_a_type():
    """And nothing else reads JSON, but the rows of files that have readers of their own."""
    others = {"records.py", "numerics.py"}
    for file in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called == "read_json":
                assert len(node.args) >= 2, f"{file}:{node.lineno}: read_json without a type"
            if called in ("json.load", "json.loads"):
                assert {file.name, file.parent.name} & others, f"{file}:{node.lineno}: {called}"
