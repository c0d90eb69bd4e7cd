"""What an epoch of a classifier has of each kind of text."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from compaug import classifiers
from compaug.evaluation import predictions
from compaug.records import InputError, Labels
from stages import train_classifier

ROOT = Path(__file__).parents[1]


def learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *changes: str) -> tuple[Counter, list, dict]:
    """How often each row is among those learned from; the rows that are held out; how many rows the predictions say that there were."""
    seen = {}

    def train(rows, labels, settings, backbone, out, seed, title, validation):
        seen.update(rows=Counter(row.id for row in rows), validation=validation)
        return [{"epoch": 1, "train": {"loss": 1.0}, "trained_parameters": 1}]

    fake = SimpleNamespace(ROLES=("encoder",), train=train, predict=lambda _, texts: np.zeros((len(texts), 2)))
    monkeypatch.setattr(classifiers, "load", lambda _: fake)
    Labels(("a", "b"), ("a", "b")).write(tmp_path / "labels.json")
    for source in ("train", "support", "synthetic"):
        rows = [
            {"id": f"{source}-{n}", "text": f"{source} {n}", "labels": [n % 2], "source": source} for n in range(10)
        ]
        (tmp_path / f"{source}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {name: str(tmp_path / f"{name}.jsonl") for name in ("train", "support", "synthetic")}
    sets = [word for change in changes for word in ("--set", change)]
    train_classifier.main(
        ["--params", str(ROOT / "params.yaml"), "--benchmark", "diagnostic", "--classifier", "bert", "--seed", "1"]
        + ["--labels", str(tmp_path / "labels.json"), "--test-inputs", files["train"], "--backbone", str(tmp_path)]
        + [word for name, file in files.items() for word in (f"--{name}", file)]
        + ["--out", str(tmp_path / "out"), "--predictions", str(tmp_path / "p.jsonl.gz"), *sets]
    )
    counts = predictions.read(tmp_path / "p.jsonl.gz", 2).learned
    return seen["rows"], seen["validation"], counts


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ((), {"train": 1, "support": 1, "synthetic": 1}),
        (("classifiers.shared.synthetic_repeat=3",), {"train": 1, "support": 1, "synthetic": 3}),
        (
            ("classifiers.shared.synthetic_repeat=2", "classifiers.shared.support_repeat=4"),
            {"train": 1, "support": 4, "synthetic": 2},
        ),
    ],
)
def test_an_epoch_has_each_text_as_often_as_its_source_says(
    tmp_path, monkeypatch, in_a_temporary_folder, changes, times
):
    rows, validation, counts = learned(tmp_path, monkeypatch, *changes)
    held = {example.id for example in validation}
    expected = {
        f"{source}-{n}": many for source, many in times.items() for n in range(10) if f"{source}-{n}" not in held
    }
    assert held and rows == expected
    assert sum(counts.values()) == 20 + 10 * times["synthetic"]  # the prior of training, which decoding corrects


def test_texts_cannot_be_learned_from_less_than_once(tmp_path, monkeypatch, in_a_temporary_folder):
    with pytest.raises(InputError, match="synthetic_repeat"):
        learned(tmp_path, monkeypatch, "classifiers.shared.synthetic_repeat=0")
