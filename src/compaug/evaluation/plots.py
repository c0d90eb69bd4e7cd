"""Data series of the root cell, for `dvc plots` and the figures.

Validation loss by epoch, accuracy by composition before and after augmentation, and how many texts of each composition
there are.
"""

import csv
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.core.files import write_csv
from compaug.evaluation.gold import Gold
from compaug.evaluation.metrics import DECIMALS
from compaug.evaluation.predictions import refused

PARTS = ("train", "support", "requested", "kept", "test")


def write(
    folder: Path, losses: Mapping[str, Sequence[float]], arms: Mapping[str, Mapping], gold: Gold, side_car: Mapping
) -> None:
    """The three files; `arms` are the arms' metrics.

    training.csv        `losses` of every arm by epoch, empty where an arm had stopped
    compositions.csv    of D_test: texts, Acc in percent without and with synthetic texts, gain in points
    counts.csv          of every composition of support, requests or D_test: the texts of each of PARTS
    """
    epochs = enumerate(itertools.zip_longest(*losses.values(), fillvalue=""), start=1)
    write_csv(folder / "training.csv", ["epoch", *losses], ([epoch, *row] for epoch, row in epochs))

    before, after = (
        {key: row["acc"] for key, row in arms[arm]["per_composition"].items()} for arm in ("baseline", "augmented")
    )
    rows = (
        [key.replace("+", ", "), row["n"], before[key], after[key], round(after[key] - before[key], DECIMALS)]
        for key, row in arms["baseline"]["per_composition"].items()
    )
    write_csv(folder / "compositions.csv", ["composition", "texts", "baseline", "augmented", "gain"], rows)

    synthetic = side_car.get("per_composition", {})
    counts = {part: gold.compositions(part) for part in ("train", "support", "test")}
    counts |= {part: {key: row.get(part, 0) for key, row in synthetic.items()} for part in ("requested", "kept")}
    rows = {key: [counts[part].get(key, 0) for part in PARTS] for part in PARTS for key in counts[part]}
    rows = {key: row for key, row in rows.items() if any(row[1:])}
    order = sorted(rows, key=lambda key: (-rows[key][-1], -rows[key][2], key))
    write_csv(folder / "counts.csv", ["composition", *PARTS], ([key.replace("+", ", "), *rows[key]] for key in order))


def read(path: Path) -> list[dict[str, str | float]]:
    """Rows of one of these files, numbers as numbers."""
    with path.open(encoding="utf-8", newline="") as stream, refused(path, "plot data", "run the evaluate stage again"):
        return [
            {name: value if name == "composition" else float(value) for name, value in row.items()}
            for row in csv.DictReader(stream)
        ]
