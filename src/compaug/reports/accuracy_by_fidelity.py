"""Accuracy by fidelity: what synthetic texts are worth by the share of them that says what was asked for."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from compaug.evaluation.longtable import pick, summaries
from compaug.evaluation.statistics import Summary
from compaug.experiments.cells import ORACLE
from compaug.reports import figures
from compaug.reports.entries import Entry, Figure, Table, entry
from compaug.reports.queries import Results

EXPERIMENT = "fidelity"


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        curve, points, flat = _curve_and_points(rows)
        if not curve:
            continue
        covered = summaries(pick(rows, split="unseen", metric="quality_coverage", selection="top_k"), "generator")
        of_all = {name: entry(covered[name]) if name in covered else Entry() for name in points}
        lines = [["`none`", Entry(words="no texts"), Entry(), entry(flat)]] if flat else []
        lines += [[f"`oracle`, {share:.0f} % right", Entry(share), Entry(), entry(acc)] for share, acc in curve.items()]
        lines += [
            [f"`{name}`", entry(points[name][0]), of_all[name], entry(points[name][1])]
            for name in results.ordered(points)
        ]
        yield Table(benchmark, results.setting(rows), ["texts", "fidelity", "coverage", "Acc"], lines)


def _curve_and_points(
    rows: pd.DataFrame,
) -> tuple[dict[float, Summary], dict[str, tuple[Summary, Summary]], Summary | None]:
    """The oracle's curve {percent right: Acc}, the generators {name: (fidelity, Acc)}, Acc without texts."""
    acc = summaries(pick(rows, split="unseen", metric="acc", decoding="threshold", selection="top_k"), "generator")
    fidelity = summaries(pick(rows, split="unseen", metric="fidelity_kept", selection="top_k"), "generator")
    curve, points = {}, {}
    for name, summary in acc.items():
        word, _, share = name.partition("+right=")
        if word == ORACLE:
            curve[100 * float(share or 1)] = summary
        elif name in fidelity:
            points[name] = fidelity[name], summary
    return dict(sorted(curve.items())), points, acc.get("none")


def figures_of(results: Results) -> Iterator[Figure]:
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        curve, points, flat = _curve_and_points(rows)
        if curve:
            points = {name: points[name] for name in results.ordered(points)}
            draw = partial(figures.accuracy_by_fidelity, benchmark, curve, points, flat)
            yield Figure(f"fidelity-{benchmark}", f"Accuracy by fidelity, {benchmark}", draw)
