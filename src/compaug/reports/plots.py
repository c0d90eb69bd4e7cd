"""Data series for `dvc plots`: validation loss by epoch, and accuracy by composition before and after augmentation."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.records import read_json, write_text


def write(folder: Path, predictions: Mapping[str, Path], arms: Mapping[str, Mapping]) -> None:
    """training.csv and compositions.csv; the history of an arm stands beside its predictions, `arms` are its metrics."""
    histories = {arm: read_json(path.parent / "history.json")["epochs"] for arm, path in predictions.items()}
    write_text(folder / "training.csv", training(histories))
    write_text(folder / "compositions.csv", compositions(arms))


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
