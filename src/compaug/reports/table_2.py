"""Table 2: the generators, their gains over no augmentation and over repetition, and the texts themselves."""

from __future__ import annotations

from functools import partial

import pandas as pd

from compaug.reports import METRICS
from compaug.reports.cells import LEVEL, Cell, Table, gain, printed_only
from compaug.reports.longtable import UNSEEN, Results, pick

TITLE = "Table 2: generators compared"
EXPERIMENT = "paper"
INTRO = (
    "Percent on the compositional test split, classifier `bert`: mean and 95 % t interval over seeds; a seed is that of filter, generator, "
    "samples and classifier together. Fidelity: texts with all requested labels and no other by the oracle of a known grammar, of all written "
    "and of those kept. Gains are points of Acc, paired by seed with the t interval, and over test rows (averaged over the seeds) with the "
    "bootstrap interval; p values are of the paired t test over seeds and the sign-flip test over rows, Holm-corrected over the generators."
)
CONTROLS = ("none", "oversample")
FACTS = {
    "texts": ("unseen", "n_aug"),
    "fidelity, all": ("unseen", "fidelity_raw"),
    "fidelity, kept": ("unseen", "fidelity_kept"),
}
REFERENCES = {  # generator, decoding, split
    "none, iid split": ("none", "threshold", "iid"),
    "ceiling: Bayes, iid split": ("bayes", "training_prior", "iid"),
    "ceiling: Bayes, compositions of training": ("bayes", "training_prior", "unseen"),
    "ceiling: Bayes, compositions of the test set": ("bayes", "target_prior", "unseen"),
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
    for experiment, benchmark, rows in results.of(EXPERIMENT, "pretrained", classifier=("bert", "bayes")):
        own = {"experiment": experiment, "benchmark": benchmark, "selection": "top_k", "classifier": "bert"}
        made += [
            _generators(results, benchmark, rows),
            _gains(results, benchmark, pick(results.gains, **own, decoding="threshold", metric="acc")),
            _quality(results, benchmark, pick(rows, selection="top_k", decoding="any")),
        ]
    for corpus in results.not_run(EXPERIMENT):
        printed = {name: _printed(results, corpus, name) for name in results.paper["row_of_generator"]}
        lines = [[name, *(Cell(paper=theirs.get(metric)) for metric in METRICS)] for name, theirs in printed.items()]
        made.append(printed_only(corpus, ["generator", *UNSEEN], lines))
    return [table for table in made if table.rows]


def _generators(results: Results, benchmark: str, rows: pd.DataFrame) -> Table:
    """Of a benchmark that the paper has, also the paper's generators without a result."""
    column, own = results.column(benchmark), pick(rows, selection="top_k")
    facts = {words: which for words, which in FACTS.items() if which[1] in set(own["metric"])}
    none = [Cell()] * len(facts)
    known = results.cells(pick(own, decoding="any"), ["generator"], facts)
    ours = results.cells(pick(own, decoding="threshold"), ["generator"], UNSEEN, partial(_printed, results, column))
    shown = {name: [*known.get((name,), none), *cells] for (name,), cells in ours.items()}
    for name in results.paper["row_of_generator"] if column else ():
        why = Cell(words="no endpoint" if name == "llm" else "not run yet")
        theirs = [Cell(paper=_printed(results, column, name).get(metric)) for metric in METRICS]
        shown.setdefault(name, [why, *none[1:], *theirs])
    lines = [[name, *shown[name]] for name in results.ordered(shown)]
    iid = results.paper["tables"]["table_1"]["rows"]["BERT"].get(column, {}).get("iid")
    for words, (generator, decoding, split) in REFERENCES.items():
        some = pick(rows, generator=generator, decoding=decoding)
        columns = {name: (split, metric) for metric, name in METRICS.items()}
        printed = {"acc": iid} if generator == "none" else {}
        for cells in results.cells(some, ["generator"], columns, lambda _, printed=printed: printed).values():
            lines.append([words, *none, *cells])
    return Table(benchmark, results.setting(own), ["generator", *facts, *UNSEEN], lines)


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
    factors = {f"quality_{metric}": factor for metric, factor in QUALITY.values()}
    rows = rows.assign(value=rows["value"] * rows["metric"].map(factors).fillna(1))
    columns = {words: ("unseen", f"quality_{metric}") for words, (metric, _) in QUALITY.items()}
    found = results.cells(rows, ["generator"], columns)
    lines = [[name, *(cell.mean for cell in cells)] for (name,), cells in found.items()]
    return Table(f"{benchmark}: the kept texts", QUALITY_NOTE, ["texts of", *QUALITY], lines)


def _printed(results: Results, column: str | None, generator: str) -> dict:
    row = results.paper["tables"]["table_2"]["rows"].get(results.paper["row_of_generator"].get(generator), {})
    return row.get(column) or {}
