"""The stages that make data maps, on the toys of the fingerprints (cartography, Eqs. 1 to 8)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graph import ROOT
from tools.golden import runs, workplace

from compaug.cartography import map_files, maps
from compaug.core.files import file_digest, read_json
from compaug.core.records import Example, Labels, read_jsonl

STEPS = {"map_classifier": runs.map_classifier, "ls_pt": runs.map_generator, "ld_vae": runs.map_generator}


@pytest.fixture(scope="module")
def toys():
    with workplace.prepared(ROOT / "params.yaml") as folder:
        yield folder


def step(name: str, out: str) -> runs.Step:
    return STEPS[name](out) if name == "map_classifier" else STEPS[name](name, out)


@pytest.mark.parametrize("name", STEPS)
def test_a_map_has_a_line_for_every_row_and_every_measure(name, toys):
    workplace.run_step(step(name, f"maps/{name}"))
    parts = ("train", "support", "synthetic") if name == "map_classifier" else ("train", "support")
    rows = [e for part in parts for e in read_jsonl(f"toys/split/{part}.jsonl")]
    rows = rows if name == "map_classifier" else [e for e in rows if e.labels]
    measures = maps.MEASURES if name == "map_classifier" else maps.GENERATED
    folder = Path("maps") / name
    assert {path.stem for path in folder.glob("*.csv")} == set(measures)
    data_map = maps.map_of(folder)
    assert data_map.ids == [e.id for e in rows] and ((data_map.correctness * 2) % 1 == 0).all()  # of two epochs
    report = read_json(Path(f"maps/{name}.json"))
    assert report["rows"] == len(rows) and report["epochs"] == [1, 2] and report["measure"] == next(iter(measures))
    assert set(report["points"]["texts"]) == {e.text for e in rows}  # a corpus of the project's own
    assert report["regions"]["all"]["confidence"] == pytest.approx(data_map.confidence.mean(), abs=1e-4)
    assert not list(Path(".checkpoints/maps").iterdir())  # the model was needed for the map alone


@pytest.mark.parametrize("name", ["map_classifier", "ls_pt"])
def test_a_map_that_was_killed_while_it_was_written_does_not_train_again(name, toys, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    workplace.run_step(step(name, f"whole/{name}"))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(map_files, "leave", killed)
        workplace.run_step(step(name, f"again/{name}"))
    assert not Path(f"again/{name}").exists()
    workplace.run_step(step(name, f"again/{name}"))
    assert file_digest(Path(f"whole/{name}")) == file_digest(Path(f"again/{name}"))


def test_texts_are_shown_where_the_corpus_allows_it_alone():
    rows = [Example("a", "secret", (0,)), Example("b", "words", ())]
    numbers = np.array([0.25, 0.5])
    data_map = maps.DataMap(["b", "a"], numbers, numbers, numbers)  # in another order than the data
    labels = Labels(("joy",), ("joy",))
    assert "texts" not in map_files.shown(data_map, rows, labels, 1, texts=False)["points"]
    points = map_files.shown(data_map, rows, labels, 1, texts=True)["points"]
    plotted = zip(points["texts"], points["labels"], points["confidence"], strict=True)
    assert sorted(plotted) == [("secret", "joy", 0.5), ("words", "<none>", 0.25)]
