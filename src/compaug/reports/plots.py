"""Data series of the root cell, for `dvc plots` and the figures: validation loss by epoch, accuracy by composition before and after
augmentation, and how many texts of each composition there are."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.evaluation.gold import Gold
from compaug.records import write_text

PARTS = ("train", "support", "requested", "kept", "test")


def write(
    folder: Path, losses: Mapping[str, Sequence[float]], arms: Mapping[str, Mapping], gold: Gold, side_car: Mapping
) -> None:
    """training.csv, compositions.csv and counts.csv; `losses` of every arm by epoch, `arms` are their metrics."""
    write_text(folder / "training.csv", training(losses))
    write_text(folder / "compositions.csv", compositions(arms))
    real = {part: gold.compositions(part) for part in ("train", "support", "test")}
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


def training(losses: Mapping[str, Sequence[float]]) -> str:
    """CSV with a row for every epoch and a column of validation losses for every arm; empty where an arm had stopped."""
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
