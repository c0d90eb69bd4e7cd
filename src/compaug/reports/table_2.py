"""Table 2: the generators, their gains over no augmentation and over repetition, and the texts themselves."""

from __future__ import annotations

import pandas as pd

from compaug.reports import METRICS
from compaug.reports.cells import LEVEL, Cell, Table, cell, count, gain, metrics, printed_only
from compaug.reports.longtable import Results, pick, summaries

TITLE = "Table 2: generators compared"
EXPERIMENT = "paper"
INTRO = (
    "Percent on the compositional test split, classifier `bert`: mean and 95 % t interval over seeds; a seed is that of filter, generator, "
    "samples and classifier together. Fidelity: texts with all requested labels and no other by the oracle of a known grammar, of all written "
    "and of those kept. Gains are points of Acc, paired by seed with the t interval, and over test rows (averaged over the seeds) with the "
    "bootstrap interval; p values are of the paired t test over seeds and the sign-flip test over rows, Holm-corrected over the generators."
)
CONTROLS = ("none", "oversample")
CEILINGS = {
    ("iid", "training_prior"): "ceiling: Bayes, iid split",
    ("unseen", "training_prior"): "ceiling: Bayes, compositions of training",
    ("unseen", "target_prior"): "ceiling: Bayes, compositions of the test set",
}
QUALITY = {  # column: metric, factor
    "filter": ("filter_exact", 100),
    "distinct-1": ("distinct_1", 100),
    "distinct-2": ("distinct_2", 100),
    "self-BLEU": ("self_bleu", 1),
    "copies": ("copied_exact", 100),
    "shared run": ("copied_mean_run", 1),
    "run ≥ 8": ("copied_long_run", 100),
    "words": ("words_mean", 1),
    "5 %": ("words_p5", 1),
    "95 %": ("words_p95", 1),
    "perplexity": ("perplexity", 1),
}
QUALITY_NOTE = (
    "The kept texts: share that says all requested labels and no other by the filter's reading, variety, copying from the training texts (equal "
    "texts; words in a row shared with one of them, where runs below four count as 0, and the share of texts with eight or more), length (mean, "
    "5 and 95 % quantile of the words), perplexity under the decoder backbone."
)


def tables(results: Results) -> list[Table]:
    made = []
    for experiment, benchmark, rows in results.of(EXPERIMENT, "pretrained"):
        gains = pick(
            results.gains,
            experiment=experiment,
            benchmark=benchmark,
            selection="top_k",
            decoding="threshold",
            metric="acc",
        )
        ceilings, rows = pick(rows, generator="bayes"), pick(rows, selection="top_k", decoding=("threshold", "any"))
        made += [
            _generators(results, benchmark, rows, ceilings),
            _gains(results, benchmark, gains),
            _quality(results, benchmark, rows),
        ]
    for corpus in results.not_run(EXPERIMENT):
        lines = [
            [name, *metrics({}, METRICS, _printed(results, name, corpus))] for name in results.paper["row_of_generator"]
        ]
        made.append(printed_only(corpus, ["generator", *METRICS.values()], lines))
    return [table for table in made if table.rows]


def _generators(results: Results, benchmark: str, rows: pd.DataFrame, ceilings: pd.DataFrame) -> Table:
    """Of a benchmark that the paper has, also the paper's generators without a result."""
    column, found = results.column(benchmark), summaries(pick(rows, split="unseen"), "generator", "metric")
    judged = any(metric == "fidelity_kept" for _, metric in found)
    lines = []
    for name in results.ordered({*rows["generator"], *(results.paper["row_of_generator"] if column else ())}):
        own = {metric: summary for (generator, metric), summary in found.items() if generator == name}
        fidelity = [cell(own.get(f"fidelity_{which}")) for which in ("raw", "kept")] if judged else []
        words = count(own.get("n_aug")) if own else Cell(words="no endpoint" if name == "llm" else "not run yet")
        lines.append([name, words, *fidelity, *metrics(own, METRICS, _printed(results, name, column))])
    if iid := summaries(pick(rows, split="iid", metric=METRICS), "metric"):
        printed = results.paper["tables"]["table_1"]["rows"]["BERT"].get(column, {})
        empty = [Cell(words="–")] * (3 if judged else 1)
        lines.append(["none, iid split", *empty, *metrics(iid, METRICS, {"acc": printed.get("iid")})])
    for (split, given), words in CEILINGS.items():
        if bayes := summaries(pick(ceilings, split=split, decoding=given, metric=METRICS), "metric"):
            lines.append([words, *[Cell(words="–")] * (3 if judged else 1), *metrics(bayes, METRICS)])
    header = ["generator", "texts", *(["fidelity, all", "fidelity, kept"] if judged else []), *METRICS.values()]
    return Table(benchmark, results.setting(rows), header, lines)


def _gains(results: Results, benchmark: str, gains: pd.DataFrame) -> Table:
    of = {(row["generator"], row["over"]): row for _, row in gains.iterrows()}
    names = results.ordered(gains["generator"])
    shown = [control for control in CONTROLS if any((name, control) in of for name in names)]
    lines = [[name, *(part for control in shown for part in gain(of.get((name, control))))] for name in names]
    columns = ("Acc over {}", "{}: over rows", "{}: p, seeds", "{}: p, rows")
    note = " ".join(claim(pick(gains, over=control), control, names) for control in shown)
    return Table(
        f"{benchmark}: gains", note, ["generator", *(c.format(name) for name in shown for c in columns)], lines
    )


def claim(gains: pd.DataFrame, control: str, names: list[str]) -> str:
    """What the tests allow to say: which generators beat the control, which lose, which do neither."""
    if gains["p_seeds"].isna().any():
        return f"One seed has no interval, so no generator can be said to beat `{control}`."
    groups: dict[str, list[str]] = {}
    for _, row in sorted(gains.iterrows(), key=lambda pair: names.index(pair[1]["generator"])):
        which = {
            (True, True): "both tests",
            (True, False): "the test over seeds alone",
            (False, True): "the test over rows alone",
        }
        by = which.get((bool(row["p_seeds"] < LEVEL), bool(row["p_rows"] < LEVEL)))
        way = "higher" if row["mean"] > 0 else "lower"
        groups.setdefault(f"{way} by {by}" if by else "not shown to differ", []).append(f"`{row['generator']}`")
    said = "; ".join(f"{key} for {', '.join(those)}" for key, those in sorted(groups.items()))
    return f"Against `{control}`, Acc is {said}."


def _quality(results: Results, benchmark: str, rows: pd.DataFrame) -> Table:
    found = summaries(pick(rows, metric=[f"quality_{metric}" for metric, _ in QUALITY.values()]), "generator", "metric")
    lines = []
    for name in results.ordered(generator for generator, _ in found):
        own = [(found.get((name, f"quality_{metric}")), factor) for metric, factor in QUALITY.values()]
        lines.append([name, *(Cell(summary.mean * factor) if summary else Cell() for summary, factor in own)])
    return Table(f"{benchmark}: the kept texts", QUALITY_NOTE, ["texts of", *QUALITY], lines)


def _printed(results: Results, generator: str, column: str | None) -> dict:
    row = results.paper["tables"]["table_2"]["rows"].get(results.paper["row_of_generator"].get(generator), {})
    return row.get(column) or {}
