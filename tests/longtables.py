"""A small made-up long table, whose means and intervals can be counted by hand."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

from graph import ROOT

from compaug import params
from compaug.evaluation import gains, results
from compaug.records import write_json
from compaug.reports import queries

SEEDS = (13, 21, 42)
METRICS = ("jacc", "acc", "corr", "comp")


def lines(metric: str, values: Sequence[float], generator: str = "none", **more: str) -> list[dict]:
    """One line for each seed."""
    cell = {
        "experiment": "paper",
        "benchmark": "diagnostic",
        "scale": "tiny",
        "generator": generator,
        "selection": "top_k",
    }
    cell |= {"classifier": "bert", "decoding": "threshold", "split": "unseen", "metric": metric}
    seeds = SEEDS if len(values) > 1 else (0,)
    return [cell | more | {"seed": seed, "value": value} for seed, value in zip(seeds, values, strict=True)]


def gain(mean: float, generator: str, p_rows: float | str = 0.01, p_seeds: float | str = 0.2, **more: str) -> dict:
    """A line of gains.csv, over none in Acc unless it says otherwise."""
    cell = lines(more.pop("metric", "acc"), (0,), generator, **more)[0] | {
        "over": "none",
        "seeds": 3,
        "mean": mean,
        "std": 0.4,
        "ci95": 1.0,
    }
    cell |= {"low_rows": mean - 1, "high_rows": mean + 1, "p_seeds": p_seeds, "p_rows": p_rows}
    return cell | more


def write(path: Path, columns: Sequence[str], rows: Sequence[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def paper_rows() -> list[dict]:
    """Of two benchmarks, one of the project's own and one of the paper's: no augmentation, a control, a generator, the iid split."""
    made = []
    for benchmark in ("diagnostic", "semeval"):
        for metric in METRICS:
            made += lines(metric, (2.0, 3.0, 4.0), benchmark=benchmark)
            made += lines(metric, (7.0, 8.0, 9.0), "ld_vae", benchmark=benchmark)
            made += lines(metric, (6.0, 7.0, 8.0), "oversample", benchmark=benchmark)
            made += lines(metric, (26.0, 27.0, 28.0), split="iid", benchmark=benchmark)
        made += lines("acc", (5.0, 8.0, 8.0), "ld_vae", selection="mode=random", benchmark=benchmark)
        made += lines("n_aug", (600, 600, 600), "ld_vae", decoding="any", benchmark=benchmark)
    made += lines("fidelity_kept", (50.0, 51.0, 52.0), "ld_vae", decoding="any")
    return made


def paper_gains() -> list[dict]:
    made = []
    for benchmark in ("diagnostic", "semeval"):
        made += [gain(5.0, "ld_vae", benchmark=benchmark), gain(4.0, "oversample", p_seeds=0.01, benchmark=benchmark)]
        made += [gain(1.0, "ld_vae", p_rows=0.5, p_seeds=0.5, over="oversample", benchmark=benchmark)]
    return made


def reports(folder: Path, rows: Sequence[dict], gained: Sequence[dict] = (), archive: bool = False) -> Path:
    """A folder of results, or of archived ones, with the paper's numbers."""
    folder.mkdir(exist_ok=True)
    (folder / "paper_values.yaml").write_bytes((ROOT / "reports/paper_values.yaml").read_bytes())
    into = folder / "archive" if archive else folder
    write(into / "results.csv.gz", results.COLUMNS, rows)
    write(into / "gains.csv", gains.COLUMNS, gained)
    if archive:
        write_json(into / "provenance.json", {row["experiment"]: {"commit": "0ld5ha1"} for row in rows})
    return folder


def load(folder: Path) -> queries.Results:
    return queries.load(folder, params.every(ROOT / "params.yaml"))
