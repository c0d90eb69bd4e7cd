"""Table 2: the generators, their gains over no augmentation and over repetition, and the texts themselves."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from compaug.evaluation.longtable import pick, rows_by
from compaug.reports import METRICS
from compaug.reports.entries import Entry, Table, gained
from compaug.reports.queries import UNSEEN, Results

EXPERIMENT = "paper"
EXPERIMENTS = (EXPERIMENT, "pretrained", "pretrained_full", "real_reading")
CONTROLS = ("none", "oversample")
FACTS = {
    "texts": ("unseen", "n_aug"),
    "fidelity, all": ("unseen", "fidelity_raw"),
    "fidelity, kept": ("unseen", "fidelity_kept"),
}
REFERENCES = {  # generator, decoding, split
    "none, iid split": ("none", "threshold", "iid"),
    "ceiling: Bayes, iid split": ("bayes", "training_prior", "iid"),
    "ceiling: Bayes, combinations of training": ("bayes", "training_prior", "unseen"),
    "ceiling: Bayes, combinations of the test set": ("bayes", "target_prior", "unseen"),
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
    "The kept texts: share that says all requested labels and no other by the filter's reading, variety, copying from "
    "the training texts (equal texts; words in a row shared with one of them, where runs below four count as 0, and "
    "the share of texts with eight or more), length (mean, 5 and 95 % quantile of the words), perplexity under the "
    "decoder backbone."
)


def tables(results: Results) -> Iterator[Table]:
    for experiment, benchmark, rows in results.of(*EXPERIMENTS, classifier=("bert", "bayes")):
        where = {"experiment": experiment, "benchmark": benchmark, "selection": "top_k", "classifier": "bert"}
        yield from [
            _generators(results, benchmark, rows),
            _gains(results, benchmark, pick(results.gains, **where, decoding="threshold", metric="acc")),
            _quality(results, benchmark, pick(rows, selection="top_k", decoding="any")),
        ]

    def theirs(corpus: str) -> list:
        return [[name, *_printed(results, corpus, name)] for name in results.paper["row_of_generator"]]

    yield from results.printed_only(EXPERIMENTS, ["generator", *UNSEEN], theirs)


def _printed(results: Results, column: str | None, generator: str) -> list[Entry]:
    """The paper's numbers alone."""
    theirs = results.printed("table_2", generator).get(column) or {}
    return [Entry(paper=theirs.get(metric)) for metric in METRICS]


def _generators(results: Results, benchmark: str, rows: pd.DataFrame) -> Table:
    """Of a benchmark that the paper has, also the paper's generators without a result."""
    column, selected = results.column(benchmark), pick(rows, selection="top_k")
    facts = {words: which for words, which in FACTS.items() if which[1] in set(selected["metric"])}
    none = [Entry()] * len(facts)
    fact_entries = results.entries(pick(selected, decoding="any"), ["generator"], facts)
    shown = {}
    for (name,), entries in results.entries(pick(selected, decoding="threshold"), ["generator"], UNSEEN).items():
        pairs = zip(entries, _printed(results, column, name), strict=True)
        shown[name] = [*fact_entries.get((name,), none), *(replace(ours, paper=theirs.paper) for ours, theirs in pairs)]
    for name in results.paper["row_of_generator"] if column else ():
        why = Entry(words="no endpoint" if name == "llm" else "not run yet")
        shown.setdefault(name, [why, *none[1:], *_printed(results, column, name)])
    lines = [[name, *shown[name]] for name in results.ordered(shown)]
    iid = results.printed("table_1", "bert").get(column, {}).get("iid")
    for words, (generator, decoding, split) in REFERENCES.items():
        columns = {name: (split, metric) for metric, name in METRICS.items()}
        printed = {"acc": iid} if generator == "none" else {}
        cells = pick(rows, generator=generator, decoding=decoding)
        reference = results.lines(cells, ["generator"], columns, lambda _, printed=printed: printed)
        lines += [[words, *none, *entries] for _, *entries in reference]
    return Table(benchmark, results.setting(selected), ["generator", *facts, *UNSEEN], lines)


def _gains(results: Results, benchmark: str, gains: pd.DataFrame) -> Table:
    of, names = rows_by(gains, "generator", "over"), results.ordered(gains["generator"])
    shown = [control for control in CONTROLS if control in set(gains["over"])]
    lines = [[name, *(gained(of.get((name, control))) for control in shown)] for name in names]
    return Table(f"{benchmark}: gains", "", ["generator", *(f"Acc over {control}" for control in shown)], lines)


def _quality(results: Results, benchmark: str, rows: pd.DataFrame) -> Table:
    factors = {f"quality_{metric}": factor for metric, factor in QUALITY.values()}
    rows = rows.assign(value=rows["value"] * rows["metric"].map(factors).fillna(1))
    columns = {words: ("unseen", f"quality_{metric}") for words, (metric, _) in QUALITY.items()}
    cells = results.lines(rows, ["generator"], columns)
    lines = [[name, *(replace(value, ci95=None) for value in entries)] for name, *entries in cells]
    return Table(f"{benchmark}: the kept texts", QUALITY_NOTE, ["texts of", *QUALITY], lines)
