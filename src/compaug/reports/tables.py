"""The numbers of a grid: cells read along its axes, means and intervals over seeds, gains with tests (spec section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compaug.evaluation.metrics import DECIMALS
from compaug.records import InputError, read_json, sub_seed
from compaug.reports import METRICS
from compaug.reports.paper import IID
from compaug.evaluation.statistics import Summary, holm, paired_bootstrap, paired_t_test, sign_flip_test, summarise

CONTROLS = ("none", "oversample")  # a generator has to beat both: more text, and more of the right compositions
ALL_METRICS = (*METRICS, "corr_set", "micro_f1", "macro_f1")

Rows = dict[str, dict[str, list[dict]]]  # benchmark -> generator -> result rows in the order of the seeds
Summaries = dict[str, dict[str, dict[str, Summary]]]  # benchmark -> generator -> metric


@dataclass(frozen=True)
class Gain:
    """Gain in Acc (points) over a control.

    `seeds`: paired by seed; `low`, `high`: 95 % bootstrap interval over test rows, each row averaged over the seeds; the p
    values are of the paired t test over seeds and of the sign-flip test over rows, Holm-corrected over the
    generators of a benchmark. None: one seed has no test.
    """

    seeds: Summary
    low: float
    high: float
    p_seeds: float | None
    p_rows: float | None


Gains = dict[str, dict[str, dict[str, Gain]]]  # benchmark -> control -> generator


# ---------------------------------------------------------------- cells


def result_row(metrics: Mapping, **coordinates: object) -> dict:
    """One cell's result row: its coordinates (benchmark, generator, seed, ...) beside its metrics."""
    return {**coordinates, "split": "iid" if coordinates["generator"] == IID else "cg", "metrics": dict(metrics)}


def correct_rows(gold: np.ndarray, predicted: np.ndarray) -> str:
    """One digit per test row: 1 where the predicted set is the gold set; what paired tests over rows need."""
    return "".join("1" if right else "0" for right in (gold == predicted).all(axis=1))


def cell_name(benchmark: str, generator: str, seed: int) -> str:
    return f"{benchmark}-{generator}-{seed}.json"


def read_cells(folder: Path | str, benchmarks: Sequence[str], generators: Sequence[str], seeds: Sequence[int]) -> Rows:
    """Result rows of every cell of the axes; InputError names the first that is missing or wrong."""
    return {
        benchmark: {
            generator: [_read_cell(Path(folder), benchmark, generator, seed) for seed in seeds]
            for generator in generators
        }
        for benchmark in benchmarks
    }


def _read_cell(folder: Path, benchmark: str, generator: str, seed: int) -> dict:
    path = folder / cell_name(benchmark, generator, seed)
    row = _read(path)
    found = tuple(row.get(name) for name in ("benchmark", "generator", "seed"))
    if found != (benchmark, generator, seed) or "metrics" not in row:
        raise InputError(
            f"{path}: holds the cell {found}, not the one its name says; delete it and run its stage again"
        )
    return row


def read_quality(
    folder: Path | str, benchmarks: Sequence[str], generators: Sequence[str], seeds: Sequence[int]
) -> Rows:
    """The measures of the kept texts of every cell, in the order of the seeds."""
    return {
        benchmark: {
            generator: [_read(Path(folder) / cell_name(benchmark, generator, seed)) for seed in seeds]
            for generator in generators
        }
        for benchmark in benchmarks
    }


def _read(path: Path) -> dict:
    if not path.exists():
        raise InputError(f"{path}: this cell of the axes has no result; `dvc repro` the grid or shorten the axis")
    return read_json(path)


# ---------------------------------------------------------------- means, gains


def summaries(rows: Rows) -> Summaries:
    """Summary over seeds of every metric and of the counts."""
    return {
        benchmark: {generator: _of_cells(cells) for generator, cells in generators.items()}
        for benchmark, generators in rows.items()
    }


def _of_cells(cells: Sequence[Mapping]) -> dict[str, Summary]:
    made = {name: summarise([cell["metrics"][name] for cell in cells]) for name in ALL_METRICS}
    made["n_aug"] = summarise([cell["n_aug"] for cell in cells])
    if all(cell["fidelity"] is not None for cell in cells):
        made["fidelity"] = summarise([cell["fidelity"] for cell in cells])
    return made


def gains(rows: Rows) -> Gains:
    """Every generator against every control of the grid."""
    return {
        benchmark: {
            control: _against(generators, control, sub_seed(0, benchmark, control))
            for control in CONTROLS
            if control in generators
        }
        for benchmark, generators in rows.items()
    }


def _against(generators: Mapping[str, list[dict]], control: str, seed: int) -> dict[str, Gain]:
    differences = {
        name: np.array([digits(cell) - digits(other) for cell, other in zip(cells, generators[control], strict=True)])
        for name, cells in generators.items()
        if name not in (control, "none", IID)
    }  # [seeds, test rows] each
    by_seed = {name: 100 * d.mean(axis=1) for name, d in differences.items()}
    over_seeds = holm({name: paired_t_test(values) for name, values in by_seed.items()})
    over_rows = holm({name: sign_flip_test(d.mean(axis=0), sub_seed(seed, name)) for name, d in differences.items()})
    made = {}
    for name, difference in differences.items():
        low, high = paired_bootstrap(100 * difference.mean(axis=0), sub_seed(seed, "bootstrap", name))
        made[name] = Gain(summarise(by_seed[name]), low, high, over_seeds[name], over_rows[name])
    return made


def digits(cell: Mapping) -> np.ndarray:
    """`correct_rows` of a cell as numbers.  # [test rows]"""
    return np.frombuffer(cell["correct"].encode(), dtype=np.uint8).astype(float) - ord("0")


def filter_gains(rows: Rows, random_rows: Rows) -> Summaries:
    """Acc of top K, of random selection and their difference paired by seed (table 5), per benchmark and generator."""
    table: Summaries = {}
    for benchmark, generators in random_rows.items():
        table[benchmark] = {}
        for generator, cells in generators.items():
            by_seed = {cell["seed"]: cell["metrics"]["acc"] for cell in rows.get(benchmark, {}).get(generator, [])}
            if missing := [cell["seed"] for cell in cells if cell["seed"] not in by_seed]:
                raise InputError(
                    f"random: seed {missing[0]} has no filtered cell of {generator} on {benchmark} to compare with; "
                    "add it to the grid's axes or take it out"
                )
            filtered, drawn = [by_seed[cell["seed"]] for cell in cells], [cell["metrics"]["acc"] for cell in cells]
            differences = [top - random for top, random in zip(filtered, drawn, strict=True)]
            values = {"top_k": filtered, "random": drawn, "gain": differences}
            table[benchmark][generator] = {name: summarise(found) for name, found in values.items()}
            if all(cell["fidelity"] is not None for cell in cells):
                table[benchmark][generator]["fidelity_random"] = summarise([cell["fidelity"] for cell in cells])
    return table


# ---------------------------------------------------------------- metrics.json


def metrics_tree(table: Summaries, gained: Gains | None = None) -> dict:
    """{benchmark: {generator: {metric: {mean, std, ci95}}}}, rounded; ci95: half width, none for one seed. Gains also have the
    interval over rows and the corrected p values."""
    tree = {
        benchmark: {
            generator: {metric: numbers(summary) for metric, summary in metrics.items()}
            for generator, metrics in generators.items()
        }
        for benchmark, generators in table.items()
    }
    for benchmark, controls in (gained or {}).items():
        for control, generators in controls.items():
            for generator, gain in generators.items():
                values = {"low_rows": gain.low, "high_rows": gain.high, "p_seeds": gain.p_seeds, "p_rows": gain.p_rows}
                rounded = {name: round(value, DECIMALS) for name, value in values.items() if value is not None}
                tree[benchmark][generator][f"gain_over_{control}"] = numbers(gain.seeds) | rounded
    return tree


def numbers(summary: Summary) -> dict[str, float]:
    """mean, std, ci95 for a metrics file, rounded; what one seed has not is left out."""
    values = {"mean": summary.mean, "std": summary.std, "ci95": summary.ci95}
    return {name: round(value, DECIMALS) for name, value in values.items() if value is not None}


def quality_tree(measures: Rows) -> dict:
    """{benchmark: {generator: measures averaged over seeds}}; what no seed has is left out."""
    return {
        benchmark: {generator: _mean(cells) for generator, cells in generators.items() if cells[0]["sample"]}
        for benchmark, generators in measures.items()
    }


def _mean(cells: Sequence[Mapping]) -> dict:
    made = {}
    for name, first in cells[0].items():
        values = [cell[name] for cell in cells]
        if isinstance(first, Mapping):
            made[name] = _mean(values)
        elif found := [value for value in values if value is not None]:
            made[name] = round(float(np.mean(found)), DECIMALS)
    return made
