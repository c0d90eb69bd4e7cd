"""The grid's table: mean and spread over seeds, paired gains, the paper's values (spec section 11, X2)."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.metrics import DECIMALS
from compaug.records import InputError, read_json
from compaug.reports import METRICS, NOT_REPORTED, markdown_table, number
from compaug.reports.paper import IID, printed
from compaug.statistics import Summary, summarise

CONTROLS = (
    "none",
    "oversample",
)  # a generator has to beat both: more text, and more of the right compositions
ALL_METRICS = (*METRICS, "corr_set", "micro_f1", "macro_f1")

Rows = dict[str, dict[str, list[dict]]]  # benchmark -> generator -> result rows in the order of the seeds
Summaries = dict[str, dict[str, dict[str, Summary]]]  # benchmark -> generator -> metric


def result_row(metrics: Mapping, **coordinates: object) -> dict:
    """One cell's result row: its coordinates (benchmark, generator, seed, ...) beside its metrics."""
    return {
        **coordinates,
        "split": "iid" if coordinates["generator"] == IID else "cg",
        "metrics": dict(metrics),
    }


def cell_name(benchmark: str, generator: str, generator_seed: int | None, seed: int) -> str:
    """File of a cell; the iid reference has no generator and hence no seed of one."""
    seeds = [seed] if generator == IID else [generator_seed, seed]
    return "-".join(map(str, [benchmark, generator, *seeds])) + ".json"


def read_cells(
    folder: Path | str,
    benchmarks: Sequence[str],
    generators: Sequence[str],
    generator_seeds: Sequence[int],
    seeds: Sequence[int],
) -> Rows:
    """Result rows of every cell of the axes; InputError names the first that is missing or wrong."""
    return {
        benchmark: {
            generator: [
                _read_cell(Path(folder), benchmark, generator, generator_seed, seed)
                for generator_seed in ([None] if generator == IID else generator_seeds)
                for seed in seeds
            ]
            for generator in generators
        }
        for benchmark in benchmarks
    }


def _read_cell(folder: Path, benchmark: str, generator: str, generator_seed: int | None, seed: int) -> dict:
    path = folder / cell_name(benchmark, generator, generator_seed, seed)
    if not path.exists():
        raise InputError(f"{path}: this cell of the axes has no result; `dvc repro` the grid or shorten the axis")
    row = read_json(path)
    found = tuple(row.get(name) for name in ("benchmark", "generator", "generator_seed", "seed"))
    if found != (benchmark, generator, generator_seed, seed) or "metrics" not in row:
        raise InputError(
            f"{path}: holds the cell {found}, not the one its name says; delete it and run its stage again"
        )
    return row


def summaries(rows: Rows) -> Summaries:
    """Summary over seeds of every metric, of the counts, and of the Acc gains over the controls."""
    return {benchmark: _of_benchmark(generators) for benchmark, generators in rows.items()}


def _of_benchmark(generators: Mapping[str, list[dict]]) -> dict[str, dict[str, Summary]]:
    table = {}
    for generator, cells in generators.items():
        table[generator] = {name: summarise([cell["metrics"][name] for cell in cells]) for name in ALL_METRICS}
        table[generator]["n_aug"] = summarise([cell["n_aug"] for cell in cells])
        if all(cell["fidelity"] is not None for cell in cells):
            table[generator]["fidelity"] = summarise([cell["fidelity"] for cell in cells])
        for control in CONTROLS:
            if control in generators and generator not in (control, "none", IID):
                pairs = zip(cells, generators[control], strict=False)
                gains = [cell["metrics"]["acc"] - other["metrics"]["acc"] for cell, other in pairs]
                table[generator][f"gain_over_{control}"] = summarise(gains)
    return table


def metrics_tree(table: Summaries) -> dict:
    """{benchmark: {generator: {metric: {mean, std, ci95}}}}, rounded; ci95: half width, none for one seed."""

    def numbers(summary: Summary) -> dict:
        values = {"mean": summary.mean, "std": summary.std, "ci95": summary.ci95}
        return {name: round(value, DECIMALS) for name, value in values.items() if value is not None}

    return {
        benchmark: {
            generator: {metric: numbers(summary) for metric, summary in metrics.items()}
            for generator, metrics in generators.items()
        }
        for benchmark, generators in table.items()
    }


def render_markdown(table: Summaries, rows: Rows, paper: Mapping) -> str:
    """The page of the grid: one section per benchmark."""
    parts = [
        "# Generators compared",
        (
            "Percent on the compositional test split: mean ± standard deviation over seeds, then the 95 % t "
            "interval of the mean. Gains are in points of Acc and paired by seed. Intervals are not corrected "
            "for the number of comparisons."
        ),
    ]
    for benchmark, generators in table.items():
        first = next(iter(rows[benchmark].values()))[0]
        cells = next(iter(rows[benchmark].values()))
        parts += [
            f"## {benchmark}",
            claim(generators),
            _our_table(generators),
            (
                f"{_which_seeds(cells)}; classifier `{first['classifier']}`; backbones "
                f"{', '.join(f'{role} `{name}`' for role, name in sorted(first['backbones'].items()))}."
            ),
            _paper_table(generators, rows[benchmark], paper),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _which_seeds(cells: Sequence[Mapping]) -> str:
    """Which seeds the spread covers: one generator seed means that the generator's own luck is not in it."""
    generator, classifier = (list(dict.fromkeys(cell[k] for cell in cells)) for k in ("generator_seed", "seed"))
    text = f"Classifier seeds {', '.join(map(str, classifier))}"
    if len(generator) == 1:
        return f"{text}; every generator was trained and sampled once (seed {generator[0]}), so the spread leaves its luck out"
    return f"{text}; generator seeds {', '.join(map(str, generator))}"


def claim(generators: Mapping[str, Mapping[str, Summary]]) -> str:
    """What the intervals allow to say: which generators beat each control, which do not, which lose."""
    sentences = []
    for control in CONTROLS:
        gains = {
            name: metrics[f"gain_over_{control}"]
            for name, metrics in generators.items()
            if f"gain_over_{control}" in metrics
        }
        if not gains:
            continue
        if any(gain.ci95 is None for gain in gains.values()):
            sentences.append(f"One seed has no interval, so no generator can be said to beat `{control}`.")
            continue
        better = [name for name, gain in gains.items() if gain.excludes_zero and gain.mean > 0]
        worse = [name for name, gain in gains.items() if gain.excludes_zero and gain.mean < 0]
        unclear = [name for name in gains if name not in better + worse]
        parts = [f"lies above zero for {_names(better) if better else 'no generator'}"]
        parts += [f"includes zero for {_names(unclear)}"] if unclear else []
        parts += [f"lies below zero for {_names(worse)}"] if worse else []
        sentences.append(f"Against `{control}`, the 95 % interval of the Acc gain {', '.join(parts)}.")
    return " ".join(sentences)


def _names(generators: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in generators)


def _display(generator: str) -> str:
    return "none, iid split" if generator == IID else generator


def _spread(summary: Summary | None, sign: bool = False) -> str:
    if summary is None:
        return NOT_REPORTED
    mean = number(summary.mean, sign)
    if summary.ci95 is None:
        return mean
    low, high = (number(summary.mean + side * summary.ci95, sign) for side in (-1, 1))
    return f"{mean} ± {number(summary.std)} [{low}, {high}]"


def _our_table(generators: Mapping[str, Mapping[str, Summary]]) -> str:
    judged = any("fidelity" in metrics for metrics in generators.values())
    gains = {f"gain_over_{control}": f"Acc over {control}" for control in CONTROLS if control in generators}
    header = ["generator", "n aug", *(["fidelity"] if judged else []), *METRICS.values(), *gains.values()]
    rows = []
    for generator, metrics in generators.items():
        fidelity = number(metrics["fidelity"].mean) if "fidelity" in metrics else NOT_REPORTED
        rows.append(
            [
                _display(generator),
                f"{metrics['n_aug'].mean:.0f}",
                *([fidelity] if judged else []),
                *(_spread(metrics[name]) for name in METRICS),
                *(_spread(metrics.get(name), sign=True) for name in gains),
            ]
        )
    return markdown_table(header, rows)


def _paper_table(
    generators: Mapping[str, Mapping[str, Summary]], cells: Mapping[str, list[dict]], paper: Mapping
) -> str:
    rows = []
    for generator, metrics in generators.items():
        values = _printed(cells[generator][0], paper)
        if any(value is not None for value in values.values()):
            pairs = [(values.get(name), metrics[name].mean) for name in METRICS]
            rows.append([_display(generator), *(_beside(theirs, ours) for theirs, ours in pairs)])
    if not rows:
        return ""
    column = next(iter(cells.values()))[0]["paper_column"]
    intro = (
        f"The paper's values for {column} ({paper['setting']}; iid from table 1, generators from tables 2 "
        "and 3), in brackets ours minus the paper's:"
    )
    return f"{intro}\n\n{markdown_table(['generator', *METRICS.values()], rows)}"


def _printed(cell: Mapping, paper: Mapping) -> dict[str, float | None]:
    return printed(paper, cell["paper_column"], cell["generator"], cell["classifier"])


def _beside(theirs: float | None, ours: float) -> str:
    return NOT_REPORTED if theirs is None else f"{number(theirs)} ({number(ours - theirs, sign=True)})"


def _seeds(cell: Mapping) -> tuple[int | None, int]:
    return cell["generator_seed"], cell["seed"]


def filter_gains(rows: Rows, random_rows: Rows) -> Summaries:
    """Acc of top K, of random selection and their difference paired by seed (table 5), per benchmark and generator."""
    table: Summaries = {}
    for benchmark, generators in random_rows.items():
        table[benchmark] = {}
        for generator, cells in generators.items():
            by_seed = {_seeds(cell): cell["metrics"]["acc"] for cell in rows[benchmark][generator]}
            if missing := [_seeds(cell) for cell in cells if _seeds(cell) not in by_seed]:
                raise InputError(
                    f"random: the seeds {missing[0]} have no filtered cell of {generator} on {benchmark} to compare with; "
                    "add it to the grid's seeds or take it out"
                )
            filtered, drawn = [by_seed[_seeds(c)] for c in cells], [c["metrics"]["acc"] for c in cells]
            differences = [top - random for top, random in zip(filtered, drawn, strict=True)]
            values = {"top_k": filtered, "random": drawn, "gain": differences}
            table[benchmark][generator] = {name: summarise(numbers) for name, numbers in values.items()}
            if all(cell["fidelity"] is not None for cell in cells):
                table[benchmark][generator]["fidelity_random"] = summarise([cell["fidelity"] for cell in cells])
    return table


def render_filter(table: Summaries) -> str:
    """The section of table 5: filtered against random selection."""
    parts = [
        "# Filter against random selection",
        (
            "Acc with the top K synthetic texts and with as many drawn at random; the gain is paired by seed. `fidelity` is the "
            "oracle's verdict on the random texts (the filtered ones are in the table above)."
        ),
    ]
    for benchmark, generators in table.items():
        rows = [
            [name, *(_spread(m[key]) for key in ("top_k", "random")), _spread(m["gain"], sign=True)]
            + [number(m["fidelity_random"].mean) if "fidelity_random" in m else NOT_REPORTED]
            for name, m in generators.items()
        ]
        header = ["generator", "Acc, top K", "Acc, random", "gain", "fidelity, random"]
        parts += [f"## {benchmark}", markdown_table(header, rows)]
    return "\n\n".join(parts) + "\n"


def render_csv(table: Summaries, rows: Rows, paper: Mapping) -> str:
    """Long form: one line per benchmark, generator and metric."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["benchmark", "generator", "metric", "n_seeds", "mean", "std", "ci95", "paper", "difference"])
    for benchmark, generators in table.items():
        for generator, metrics in generators.items():
            theirs = _printed(rows[benchmark][generator][0], paper)
            for metric, summary in metrics.items():
                paper_value = theirs.get(metric)
                difference = None if paper_value is None else summary.mean - paper_value
                values = [summary.mean, summary.std, summary.ci95, paper_value, difference]
                rounded = ["" if value is None else round(value, DECIMALS) for value in values]
                writer.writerow([benchmark, generator, metric, summary.n, *rounded])
    return stream.getvalue()
