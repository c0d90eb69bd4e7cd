"""The pages of a grid: Markdown, CSV and LaTeX of the paper's Table 2 and Table 5, and the texts' quality."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from compaug.evaluation.metrics import DECIMALS
from compaug.reports import METRICS, NOT_REPORTED, markdown_table, number
from compaug.reports.paper import IID, printed, printed_selection
from compaug.reports.tables import Gain, Gains, Rows, Summaries
from compaug.evaluation.statistics import Summary

LEVEL = 0.05
NO_ENDPOINT = "llm"  # the row of the paper's GPT3.5, which joins the grid where an endpoint is configured


def render_markdown(table: Summaries, gained: Gains, quality: Mapping, rows: Rows, paper: Mapping) -> str:
    """One section per benchmark."""
    parts = [
        "# Generators compared",
        (
            "Percent on the compositional test split: mean and 95 % t interval over seeds. Gains are in points of Acc: paired "
            "by seed with its t interval, and over test rows (averaged over the seeds) with its bootstrap interval; p "
            "values are of the paired t test over seeds and the sign-flip test over rows, Holm-corrected over the generators."
        ),
    ]
    for benchmark, generators in table.items():
        cells = next(iter(rows[benchmark].values()))
        every = {role: name for some in rows[benchmark].values() for role, name in some[0]["backbones"].items()}
        backbones = ", ".join(f"{role} `{name}`" for role, name in sorted(every.items()))
        parts += [f"## {benchmark}", claim(gained[benchmark]), _our_table(generators), _setting(cells, backbones)]
        parts += [_paper_table(generators, rows[benchmark], paper)]
        parts += [_gain_table(control, made) for control, made in gained[benchmark].items()]
        parts += [_quality_table(generators, quality.get(benchmark, {}))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _setting(cells: Sequence[Mapping], backbones: str) -> str:
    seeds = ", ".join(str(cell["seed"]) for cell in cells)
    word = "Seeds" if len(cells) > 1 else "Seed"
    return f"{word} {seeds}: of filter, generator, samples and classifier together; classifier `{cells[0]['classifier']}`; backbones {backbones}."


def claim(controls: Mapping[str, Mapping[str, Gain]]) -> str:
    """What the tests allow to say: which generators beat each control, which lose, which do neither."""
    sentences = []
    for control, generators in controls.items():
        if not generators:
            continue
        if any(gain.p_seeds is None for gain in generators.values()):
            sentences.append(f"One seed has no interval, so no generator can be said to beat `{control}`.")
            continue
        groups: dict[str, list[str]] = {}
        for name, gain in generators.items():
            by_seeds, by_rows = gain.p_seeds < LEVEL, gain.p_rows < LEVEL
            which = {(True, True): "both tests", (True, False): "the test over seeds alone"}.get(
                (by_seeds, by_rows), "the test over rows alone"
            )
            way = "higher" if gain.seeds.mean > 0 else "lower"
            key = f"{way} by {which}" if by_seeds or by_rows else "not shown to differ"
            groups.setdefault(key, []).append(f"`{name}`")
        said = "; ".join(f"{key} for {', '.join(names)}" for key, names in sorted(groups.items()))
        sentences.append(f"Against `{control}`, Acc is {said}.")
    return " ".join(sentences)


# ---------------------------------------------------------------- tables of a benchmark


def display(generator: str) -> str:
    return "none, iid split" if generator == IID else generator


def spread(summary: Summary | None, sign: bool = False) -> str:
    """Mean and 95 % interval."""
    if summary is None:
        return NOT_REPORTED
    mean = number(summary.mean, sign)
    if summary.ci95 is None:
        return mean
    low, high = (number(summary.mean + side * summary.ci95, sign) for side in (-1, 1))
    return f"{mean} [{low}, {high}]"


def _our_table(generators: Mapping[str, Mapping[str, Summary]]) -> str:
    judged = any("fidelity" in metrics for metrics in generators.values())
    header = ["generator", "n aug", *(["fidelity"] if judged else []), *METRICS.values()]
    rows = []
    for generator, metrics in generators.items():
        fidelity = number(metrics["fidelity"].mean) if "fidelity" in metrics else NOT_REPORTED
        counts = [f"{metrics['n_aug'].mean:.0f}", *([fidelity] if judged else [])]
        rows.append([display(generator), *counts, *(spread(metrics[name]) for name in METRICS)])
    if NO_ENDPOINT not in generators and len(generators) > 2:
        rows.append([NO_ENDPOINT, "no endpoint", *[NOT_REPORTED] * (len(header) - 2)])
    return markdown_table(header, rows)


def _gain_table(control: str, generators: Mapping[str, Gain]) -> str:
    if not generators:
        return ""
    header = ["generator", f"Acc over {control}, by seed", "over rows", "p, seeds", "p, rows"]
    rows = [
        [
            name,
            spread(gain.seeds, sign=True),
            f"[{number(gain.low, sign=True)}, {number(gain.high, sign=True)}]",
            p_value(gain.p_seeds),
            p_value(gain.p_rows),
        ]
        for name, gain in generators.items()
    ]
    return markdown_table(header, rows)


def p_value(value: float | None) -> str:
    if value is None:
        return NOT_REPORTED
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _paper_table(
    generators: Mapping[str, Mapping[str, Summary]], cells: Mapping[str, list[dict]], paper: Mapping
) -> str:
    rows = []
    for generator, metrics in generators.items():
        values = _printed(cells[generator][0], paper)
        if any(value is not None for value in values.values()):
            pairs = [(values.get(name), metrics[name].mean) for name in METRICS]
            rows.append([display(generator), *(beside(theirs, ours) for theirs, ours in pairs)])
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


def beside(theirs: float | None, ours: float) -> str:
    return NOT_REPORTED if theirs is None else f"{number(theirs)} ({number(ours - theirs, sign=True)})"


def _quality_table(generators: Mapping[str, Mapping[str, Summary]], quality: Mapping[str, Mapping]) -> str:
    """Texts kept by the filter; percentages but for words and perplexity."""
    if not quality:
        return ""
    judged = any("fidelity" in metrics for metrics in generators.values())
    header = ["texts of", *(["oracle"] if judged else []), "filter", "distinct-1", "distinct-2", "self-BLEU", "copies"]
    header += ["shared run", "run ≥ 8", "words (5 to 95 %)", "perplexity"]
    rows = []
    for name, measures in quality.items():
        fidelity = generators.get(name, {}).get("fidelity")
        copied, words = measures.get("copied", {}), measures.get("words", {})
        rows.append(
            [
                name,
                *([number(fidelity.mean) if fidelity else NOT_REPORTED] if judged else []),
                percent(measures.get("filter", {}).get("exact")),
                percent(measures.get("distinct_1")),
                percent(measures.get("distinct_2")),
                number(measures.get("self_bleu")),
                percent(copied.get("exact")),
                number(copied.get("mean_run")),
                percent(copied.get("long_run")),
                f"{words['mean']:.1f} ({words['p5']:.0f} to {words['p95']:.0f})" if words else NOT_REPORTED,
                number(measures.get("perplexity")),
            ]
        )
    intro = (
        "The kept texts themselves: share that says all requested labels and no other by the oracle or by the filter's "
        "reading, variety, copying from the training texts (equal texts; words in a row shared with one of them, where runs below four count as 0, and the share of "
        "texts with eight or more), length, perplexity under the decoder backbone."
    )
    return f"{intro}\n\n{markdown_table(header, rows)}"


def percent(share: float | None) -> str:
    return NOT_REPORTED if share is None else number(100 * share)


# ---------------------------------------------------------------- filter against random


def render_filter(table: Summaries, rows: Rows, paper: Mapping) -> str:
    """The section of table 5: filtered against random selection."""
    parts = [
        "# Filter against random selection",
        (
            "Acc with the top K synthetic texts and with as many drawn at random; the gain is paired by seed. `fidelity` is the "
            "oracle's verdict on the random texts (the filtered ones are in the table above). In the last columns the paper's "
            "value, in brackets ours minus the paper's."
        ),
    ]
    for benchmark, generators in table.items():
        theirs = {name: printed_selection(paper, rows[benchmark][name][0]["paper_column"], name) for name in generators}
        shown, known = any("fidelity_random" in m for m in generators.values()), any(theirs.values())
        header = ["generator", "Acc, top K", "Acc, random", "gain", *(["fidelity, random"] if shown else [])]
        lines = [
            [name, *(spread(m[key]) for key in ("top_k", "random")), spread(m["gain"], sign=True)]
            + ([number(m["fidelity_random"].mean) if "fidelity_random" in m else NOT_REPORTED] if shown else [])
            + ([beside(theirs[name].get(key), m[key].mean) for key in ("top_k", "random")] if known else [])
            for name, m in generators.items()
        ]
        parts += [
            f"## {benchmark}",
            markdown_table(header + (["paper, top K", "paper, random"] if known else []), lines),
        ]
    return "\n\n".join(parts) + "\n"


# ---------------------------------------------------------------- other formats


def render_csv(table: Summaries, gained: Gains, rows: Rows, paper: Mapping) -> str:
    """Long form: one line per benchmark, generator and metric."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = ["benchmark", "generator", "metric", "n_seeds", "mean", "std", "ci95", "paper", "difference"]
    writer.writerow([*names, "low_rows", "high_rows", "p_seeds", "p_rows"])
    for benchmark, generators in table.items():
        for generator, metrics in generators.items():
            theirs = _printed(rows[benchmark][generator][0], paper)
            for metric, summary in metrics.items():
                value = theirs.get(metric)
                difference = None if value is None else summary.mean - value
                numbers = [summary.mean, summary.std, summary.ci95, value, difference, *[None] * 4]
                writer.writerow([benchmark, generator, metric, summary.n, *_rounded(numbers)])
            for control, made in gained.get(benchmark, {}).items():
                if gain := made.get(generator):
                    s = gain.seeds
                    numbers = [s.mean, s.std, s.ci95, None, None, gain.low, gain.high, gain.p_seeds, gain.p_rows]
                    writer.writerow([benchmark, generator, f"gain_over_{control}", s.n, *_rounded(numbers)])
    return stream.getvalue()


def _rounded(values: Sequence[float | None]) -> list[float | str]:
    return ["" if value is None else round(value, DECIMALS) for value in values]


def render_latex(table: Summaries, rows: Rows, paper: Mapping) -> str:
    """Table 2 for every benchmark, for `booktabs`: ours with its interval, below it the paper's value and the difference."""
    parts = ["% made by stages.tables; needs \\usepackage{booktabs}"]
    for benchmark, generators in table.items():
        lines = []
        for generator, metrics in generators.items():
            theirs = _printed(rows[benchmark][generator][0], paper)
            name = display(generator).replace("_", "\\_")
            lines.append(" & ".join([name, *(_latex(spread(metrics[key])) for key in METRICS)]) + " \\\\")
            if any(value is not None for value in theirs.values()):
                values = [beside(theirs.get(key), metrics[key].mean) for key in METRICS]
                lines.append(" & ".join(["\\quad paper", *map(_latex, values)]) + " \\\\")
        head = " & ".join(["generator", *METRICS.values()]) + " \\\\"
        parts += [
            f"% {benchmark}",
            "\n".join(
                ["\\begin{tabular}{lrrrr}", "\\toprule", head, "\\midrule", *lines, "\\bottomrule", "\\end{tabular}"]
            ),
        ]
    return "\n".join(parts) + "\n"


def _latex(cell: str) -> str:
    mean, bracket, rest = cell.partition(" [")
    small = f" {{\\scriptsize [{rest}}}" if bracket else ""
    return (mean + small).replace("–", "--")
