"""Data series of the root cell, for `dvc plots` and the figures: validation loss by epoch, accuracy by composition before and after
augmentation, and how many texts of each composition there are."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.records import Labels, iter_jsonl, read_json, write_text

PARTS = ("train", "support", "requested", "kept", "test")


def write(
    folder: Path,
    predictions: Mapping[str, Path],
    arms: Mapping[str, Mapping],
    splits: Path,
    side_car: Mapping,
    labels: Labels,
) -> None:
    """training.csv, compositions.csv and counts.csv; the history of an arm stands beside its predictions, `arms` are its metrics."""
    histories = {arm: read_json(path.parent / "history.json")["epochs"] for arm, path in predictions.items()}
    write_text(folder / "training.csv", training(histories))
    write_text(folder / "compositions.csv", compositions(arms))
    real = {
        part: Counter(labels.key(e.labels) for e in iter_jsonl(splits / f"{part}.jsonl", len(labels)))
        for part in ("train", "support", "test")
    }
    write_text(folder / "counts.csv", counts(real, side_car.get("per_composition", {})))


def counts(real: Mapping[str, Mapping[str, int]], synthetic: Mapping[str, Mapping[str, int]]) -> str:
    """CSV with a row for every composition of support, requests or D_test and a column of texts for each of PARTS."""
    asked = {part: {key: row.get(part, 0) for key, row in synthetic.items()} for part in ("requested", "kept")}
    found = {part: {**real, **asked}[part] for part in PARTS}
    keys = {key for part in PARTS[1:] for key, n in found[part].items() if n}
    order = sorted(keys, key=lambda key: (-found["test"].get(key, 0), -found["requested"].get(key, 0), key))
    return _csv(
        ["composition", *PARTS],
        [[key.replace("+", ", "), *(found[part].get(key, 0) for part in PARTS)] for key in order],
    )


def read(path: Path) -> list[dict[str, str | float]]:
    """Rows of one of these files, numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            {name: value if name == "composition" else float(value or "nan") for name, value in row.items()}
            for row in csv.DictReader(stream)
        ]


def training(histories: Mapping[str, Sequence[Mapping]]) -> str:
    """CSV with a row for every epoch and a column of validation losses for every arm; empty where an arm had stopped."""
    losses = {
        arm: [epoch.get("valid", epoch["train"])["loss"] for epoch in epochs] for arm, epochs in histories.items()
    }
    rows = itertools.zip_longest(*losses.values(), fillvalue="")
    return _csv(["epoch", *losses], [[number, *row] for number, row in enumerate(rows, start=1)])


def compositions(arms: Mapping[str, Mapping]) -> str:
    """CSV with a row for every composition of D_test: texts, Acc (percent) without and with synthetic texts, gain in points."""
    before, after = (arms[arm]["per_composition"] for arm in ("baseline", "augmented"))
    rows = [
        [key.replace("+", ", "), row["n"], row["acc"], after[key]["acc"], round(after[key]["acc"] - row["acc"], 4)]
        for key, row in before.items()
    ]
    return _csv(["composition", "texts", "baseline", "augmented", "gain"], rows)


def _csv(header: Sequence[str], rows: Sequence[Sequence]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue()
