"""A small made-up long table, whose means and intervals can be counted by hand."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

from graph import ROOT

from compaug.evaluation import gains, longtable, results
from compaug.experiments import params
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


def gain(mean: float, generator: str, **more: float | str) -> dict:
    """A line of gains.csv, over none in Acc unless it says otherwise."""
    cell = lines(more.pop("metric", "acc"), (0,), generator, **more)[0] | {
        "over": "none",
        "seeds": 3,
        "mean": mean,
        "std": 0.4,
        "ci95": 1.0,
    }
    cell |= {"low_rows": mean - 1, "high_rows": mean + 1, "p_seeds": 0.2, "p_rows": 0.01}
    return cell | more


def write(path: Path, columns: Sequence[str], rows: Sequence[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def paper_rows() -> list[dict]:
    """Of two benchmarks, one of the project's own and one of the paper's: no augmentation, a control, a generator, the
    iid split."""
    rows = []
    for benchmark in ("diagnostic", "semeval"):
        for metric in METRICS:
            rows += lines(metric, (2.0, 3.0, 4.0), benchmark=benchmark)
            rows += lines(metric, (7.0, 8.0, 9.0), "ld_vae", benchmark=benchmark)
            rows += lines(metric, (6.0, 7.0, 8.0), "oversample", benchmark=benchmark)
            rows += lines(metric, (26.0, 27.0, 28.0), split="iid", benchmark=benchmark)
        rows += lines("acc", (5.0, 8.0, 8.0), "ld_vae", selection="mode=random", benchmark=benchmark)
        rows += lines("n_aug", (600, 600, 600), "ld_vae", decoding="any", benchmark=benchmark)
    rows += lines("fidelity_kept", (50.0, 51.0, 52.0), "ld_vae", decoding="any")
    return rows


def paper_gains() -> list[dict]:
    rows = []
    for benchmark in ("diagnostic", "semeval"):
        rows += [gain(5.0, "ld_vae", benchmark=benchmark), gain(4.0, "oversample", benchmark=benchmark)]
        rows += [gain(1.0, "ld_vae", std=2.0, over="oversample", benchmark=benchmark)]
    return rows


KNOWLEDGE = "diagnostic+seen_test=400"
# Acc on unseen and on seen combinations, H at 0.5; H with stacking, at the best constant; AUSUC; Acc at equal seen Acc
ARMS = {
    "none": (10.0, 70.0, 18.0, 40.0, 44.0, 30.0, 35.0),
    "oversample": (20.0, 68.0, 31.0, 43.0, 46.0, 32.0, 38.0),
    "ls_pt": (30.0, 66.0, 41.0, 45.0, 50.0, 36.0, 42.0),
    "real_texts": (50.0, 66.0, 57.0, 58.0, 60.0, 45.0, 55.0),
}
COLUMNS = (
    ("threshold", "unseen", "acc"),
    ("threshold", "seen", "acc"),
    ("threshold", "unseen", "harmonic"),
    ("stacking", "unseen", "harmonic"),
    ("best_constant", "unseen", "harmonic"),
    ("threshold", "unseen", "ausuc"),
    ("threshold", "unseen", "acc_at_seen"),
)


def knowledge_rows(seeds: int = 3) -> list[dict]:
    """Of one corpus every arm, its values a point or so apart from seed to seed; all at 60 % on seen combinations."""
    rows, at = [], {"experiment": "knowledge", "benchmark": KNOWLEDGE}
    for arm, values in ARMS.items():
        for value, (decoding, split, metric) in zip(values, COLUMNS, strict=True):
            apart = 1 + list(ARMS).index(arm) / 10
            by_seed = [value - apart, value, value + apart] if seeds == 3 else [value]
            rows += lines(metric, by_seed, arm, decoding=decoding, split=split, **at)
        by_seed = [59.0, 60.0, 61.0] if seeds == 3 else [60.0]
        for split in ("unseen", "seen"):
            rows += lines("acc", by_seed, arm, decoding="stacking", split=split, **at)
        rows += lines("acc", by_seed, arm, decoding="best_constant", split="seen", **at)
        rows += lines("n_train", [300] * len(by_seed), arm, decoding="any", **at)
    return [row | {"seed": 42} for row in rows] if seeds == 1 else rows


def knowledge_gains(seeds: int = 3, std: float = 0.4) -> list[dict]:
    """What stands between these arms; of one seed without interval and test over seeds."""
    rows, at = [], {"experiment": "knowledge", "benchmark": KNOWLEDGE}
    single = {} if seeds == 3 else {"seeds": 1, "std": "", "ci95": "", "p_seeds": ""}
    pairs = [(arm, over) for arm in ARMS for over in ("none", "oversample", "real_texts") if arm != over]
    pairs = [pair for pair in pairs if pair[0] != "none" and pair != ("oversample", "real_texts")]
    for value, (decoding, split, metric) in enumerate(COLUMNS):
        if split == "seen":
            continue
        more = {"decoding": decoding, "metric": metric, "std": std, **at}
        curve = {"low_rows": "", "high_rows": "", "p_rows": ""} if metric in ("ausuc", "acc_at_seen") else {}
        for arm, over in pairs:
            rows.append(gain(ARMS[arm][value] - ARMS[over][value], arm, **(more | {"over": over})) | curve | single)
        if decoding != "threshold":
            for arm, values in ARMS.items():
                rows.append(gain(values[value] - values[2], arm, **(more | {"over": "threshold"})) | single)
    return rows


def reports(folder: Path, rows: Sequence[dict], gained: Sequence[dict] = (), first: str = "") -> Path:
    """A folder of results, or of numbers of the first grids, made by the commit `first`, with the paper's numbers."""
    folder.mkdir(exist_ok=True)
    (folder / "paper_values.yaml").write_bytes((ROOT / "reports/paper_values.yaml").read_bytes())
    if first:
        write(folder / longtable.FIRST, [*results.COLUMNS, "commit"], [row | {"commit": first} for row in rows])
        return folder
    for name, columns, table_rows in (("results.csv.gz", results.COLUMNS, rows), ("gains.csv", gains.COLUMNS, gained)):
        write(folder / name, columns, table_rows)
    return folder


def load(folder: Path) -> queries.Results:
    return queries.load(folder, params.every(ROOT / "params.yaml"))
