"""Table 10: what a reader finds in kept and in real texts; proxies in the place of the paper's three students."""

from collections.abc import Iterator

import pandas as pd

from compaug.core.markdown import number
from compaug.evaluation.longtable import pick
from compaug.reports.entries import Entry, Table
from compaug.reports.queries import Results

EXPERIMENT = "ablations"
EXPERIMENTS = (EXPERIMENT, "pretrained", "pretrained_full", "real_reading")
ASKED = {"acc": "Acc", "corr": "Corr", "comp": "Comp"}
READERS = {"oracle": "judged_oracle", "classifier": "judged_classifier", "real texts": "reader"}  # words: metrics
COLUMNS = {
    f"{words}: {name}": ("unseen", f"{prefix}_{metric}")
    for words, prefix in READERS.items()
    for metric, name in ASKED.items()
}


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert"):
        rows = pick(rows, decoding="any", selection="top_k")
        columns = {words: column for words, column in COLUMNS.items() if column[1] in set(rows["metric"])}
        if not columns:
            continue
        note = _counted(rows) + results.setting(rows)
        yield Table(benchmark, note, ["generator", *columns], results.lines(rows, ["generator"], columns))
    printed = {name: results.printed("table_10", name) for name in results.paper["row_of_generator"]}
    for corpus in printed["ld_vae"]:
        keys = {**ASKED, "avg_rank": "mean rank"}
        lines = [
            [name, *(Entry(paper=by_corpus[corpus][key]) for key in keys)]
            for name, by_corpus in printed.items()
            if by_corpus
        ]
        note = "Three students, 50 texts; no people have rated ours."
        yield Table(corpus, note, ["generator", *keys.values()], lines)


def _counted(rows: pd.DataFrame) -> str:
    """How many real texts count, and for how many of the kept texts; "" without any."""
    counts, covered = (pick(rows, metric=f"reader_{name}")["value"] for name in ("n", "covered"))
    if not len(counts):
        return ""
    return (
        f"For each generator and seed {_span(counts, 0)} real texts count; {_span(covered, 1)} % of its kept texts "
        "were asked for their combinations. "
    )


def _span(values: pd.Series, digits: int) -> str:
    """Least and greatest of them, or the one that all are."""
    ends = (number(value, digits=digits) for value in (values.min(), values.max()))
    return " to ".join(dict.fromkeys(ends))
