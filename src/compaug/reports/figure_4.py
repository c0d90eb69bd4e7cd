"""Figure 4: accuracy by the number of synthetic texts."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from compaug.core.markdown import number
from compaug.evaluation.longtable import pick, summaries
from compaug.evaluation.statistics import Summary
from compaug.reports import figures
from compaug.reports.entries import Figure, Table, entry
from compaug.reports.queries import Results

EXPERIMENT = "ablations"


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        if curves := _curves(results, rows):
            sizes = sorted({size for curve in curves.values() for size in curve})
            lines = [[name, *(entry(curve.get(size)) for size in sizes)] for name, curve in curves.items()]
            note = f"{results.setting(pick(rows, generator=['none', *curves]))} {_printed(results)}"
            yield Table(benchmark, note, ["generator", *(f"{size}" for size in sizes)], lines)


def _curves(results: Results, rows: pd.DataFrame) -> dict[str, dict[int, Summary]]:
    """{generator: {number of texts: Acc}} of those with more than one number.

    Every curve starts from no augmentation.
    """
    rows = pick(rows, split="unseen", metric=("acc", "n_aug"), decoding=("threshold", "any"))
    means = summaries(rows, "generator", "selection", "metric")
    start = means.get(("none", "top_k", "acc"))
    curves: dict[str, dict[int, Summary]] = {}
    for (name, selection, metric), acc in means.items():
        size = selection.removeprefix("top_k+texts=")
        if selection == "top_k" and (name, selection, "n_aug") in means:
            size = f"{means[name, selection, 'n_aug'].mean:.0f}"
        if metric == "acc" and name != "none" and size.isdigit():
            curves.setdefault(name, {0: start} if start else {})[int(size)] = acc
    several = [name for name in results.ordered(curves) if len(set(curves[name]) - {0}) > 1]
    return {name: dict(sorted(curves[name].items())) for name in several}


def _printed(results: Results) -> str:
    facts = results.paper["figures"]["figure_4"]["facts"]
    statements = [
        f"{name} {number(value)} with {size} texts ({corpus})"
        for corpus, generators in facts.items()
        for name, points in generators.items()
        for size, value in points.items()
    ]
    return f"Of its curves the paper states: {', '.join(statements)}."


def figures_of(results: Results) -> Iterator[Figure]:
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        if curves := _curves(results, rows):
            caption = f"Accuracy by number of synthetic texts, {benchmark}"
            yield Figure(f"synthetic-size-{benchmark}", caption, partial(figures.accuracy_by_size, benchmark, curves))
