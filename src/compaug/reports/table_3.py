"""Table 3: every classifier with and without augmentation, what the paper observes of them, and thresholds tuned per label."""

from __future__ import annotations

import pandas as pd

from compaug.evaluation.statistics import Summary
from compaug.reports import METRICS
from compaug.reports.cells import Cell, Table, cell, gain, metrics, printed_only
from compaug.reports.longtable import Results, difference, pick, summaries

TITLE = "Table 3: classifiers with and without augmentation"
EXPERIMENT = "classifiers"
INTRO = (
    "Percent on the compositional test split: mean and 95 % t interval over seeds. Gains over no augmentation as in Table 2, p values "
    "Holm-corrected."
)
ARMS = {"none": "without_aug", "ld_vae": "with_aug"}
WIDER = {"magnet": 1, "sgm": 1, "dbloss": -1}  # the paper: Corr stays and Comp falls, or the reverse
LOWEST, BASELINE = "t5_clp", "bert"
TUNED = (
    "Instead of 0.5, for every label the threshold of the best F1 on the validation rows; these are rows of the training distribution. The "
    "answers of `sgm` and `t5_clp` are sets, so thresholds hardly move them."
)


def tables(results: Results) -> list[Table]:
    made, printed = [], results.paper["tables"]["table_3"]
    for _, benchmark, rows in results.of(EXPERIMENT):
        theirs = printed["rows"] if results.column(benchmark) == printed["dataset"] else {}
        made += [
            _arms(results, benchmark, rows, theirs),
            _observations(benchmark, rows),
            _tuned(results, benchmark, rows),
        ]
    if printed["dataset"] in results.not_run(EXPERIMENT):
        names = {name: row for name, row in results.paper["row_of_classifier"].items() if row in printed["rows"]}
        lines = [
            [name, arm, *metrics({}, METRICS, printed["rows"][row][key])]
            for name, row in names.items()
            for arm, key in ARMS.items()
        ]
        made.append(printed_only(printed["dataset"], ["classifier", "generator", *METRICS.values()], lines))
    return [table for table in made if table.rows]


def _arms(results: Results, benchmark: str, rows: pd.DataFrame, printed: dict) -> Table:
    rows = pick(rows, split="unseen", decoding="threshold", metric=METRICS)
    found = summaries(rows, "classifier", "generator", "metric")
    gains = pick(
        results.gains, experiment=EXPERIMENT, benchmark=benchmark, decoding="threshold", metric="acc", over="none"
    )
    of = {(row["classifier"], row["generator"]): row for _, row in gains.iterrows()}
    lines = []
    for classifier in results.ordered(rows["classifier"]):
        theirs = printed.get(results.paper["row_of_classifier"].get(classifier), {})
        for arm in results.ordered(pick(rows, classifier=classifier)["generator"]):
            own = {metric: found.get((classifier, arm, metric)) for metric in METRICS}
            lines.append(
                [
                    classifier,
                    arm,
                    *metrics(own, METRICS, theirs.get(ARMS.get(arm), {})),
                    *gain(of.get((classifier, arm))),
                ]
            )
    header = ["classifier", "generator", *METRICS.values(), "Acc over none", "over rows", "p, seeds", "p, rows"]
    return Table(benchmark, results.setting(rows), header, lines)


def _observations(benchmark: str, rows: pd.DataFrame) -> Table:
    """Each of the paper's observations with our number and what it allows to say."""
    rows = pick(rows, generator="none", split="unseen", decoding="threshold")
    wide = rows.pivot(index=["classifier", "seed"], columns="metric", values="value").reset_index()
    apart, acc = wide.assign(value=wide["corr"] - wide["comp"]), wide.assign(value=wide["acc"])
    lines = []
    for name, sign in WIDER.items():
        if found := difference(pick(apart, classifier=name), pick(apart, classifier=BASELINE)):
            said = "Corr stays, Comp falls" if sign > 0 else "Comp stays, Corr falls"
            lines.append(
                [f"{name}: {said} (Corr - Comp against {BASELINE})", cell(found, sign=True), _verdict(found, sign)]
            )
    others = acc[acc["classifier"] != LOWEST].groupby("classifier")["value"].mean()
    if len(others) and (found := difference(pick(acc, classifier=LOWEST), pick(acc, classifier=others.idxmin()))):
        said = f"{LOWEST}: lowest CG Acc (against {others.idxmin()}, the lowest other)"
        lines.append([said, cell(found, sign=True), _verdict(found, -1)])
    return Table(
        f"{benchmark}: what the paper says of the classifiers",
        "",
        ["the paper's observation", "here, points", "verdict"],
        lines,
    )


def _verdict(found: Summary, sign: int) -> str:
    if not found.excludes_zero:
        return "not shown"
    return "appears" if found.mean * sign > 0 else "the reverse"


def _tuned(results: Results, benchmark: str, rows: pd.DataFrame) -> Table:
    rows = pick(rows, metric=METRICS, split=("iid", "unseen"))
    tuned = pick(rows, decoding="tuned_thresholds")
    found, lines = summaries(tuned, "classifier", "split", "generator", "metric"), []
    for classifier in results.ordered(tuned["classifier"]):
        for split in ("iid", "unseen"):
            own = pick(rows, classifier=classifier, split=split)
            for arm in results.ordered(pick(own, decoding="tuned_thresholds")["generator"]):
                acc = pick(own, generator=arm, metric="acc")
                moved = difference(pick(acc, decoding="tuned_thresholds"), pick(acc, decoding="threshold"))
                numbers: list[Cell] = [cell(found.get((classifier, split, arm, metric))) for metric in METRICS]
                lines.append([classifier, results.arm(split, arm), *numbers, cell(moved, sign=True)])
    header = ["classifier", "arm", *METRICS.values(), "Acc over 0.5"]
    return Table(f"{benchmark}: thresholds tuned per label", TUNED, header, lines)
