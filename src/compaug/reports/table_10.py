"""Table 10: what a reader finds in the kept texts; proxies in the place of the paper's three students."""

from __future__ import annotations

from compaug.evaluation.longtable import pick
from compaug.reports import number
from compaug.reports.entries import Entry, Table
from compaug.reports.queries import Results

TITLE = "Table 10: human evaluation, by proxies"
EXPERIMENT = "ablations"
EXPERIMENTS = (EXPERIMENT, "pretrained", "pretrained_full")
INTRO = (
    "Kept texts against what was asked of their generator, read by the oracle of the grammar and by a classifier that has "
    "seen every composition (that of the iid split). Proxies: no person has rated these texts; `python -m "
    "stages.rating_sheet` exports a blind sheet for people. The paper's numbers are those of three students."
)
ASKED = {"acc": "Acc", "corr": "Corr", "comp": "Comp"}
COLUMNS = {
    f"{reader}: {words}": ("unseen", f"judged_{reader}_{metric}")
    for reader in ("oracle", "classifier")
    for metric, words in ASKED.items()
}


def tables(results: Results) -> list[Table]:
    made = []
    for _, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert"):
        rows = pick(rows, decoding="any", selection="top_k")
        own = pick(rows, metric="reader_acc")["value"]
        note = f"The classifier is itself right on {number(own.mean())} % of the real texts of these compositions. "
        note = (note if len(own) else "") + results.setting(rows)
        made.append(Table(benchmark, note, ["generator", *COLUMNS], results.lines(rows, ["generator"], COLUMNS)))
    printed = {name: results.printed("table_10", name) for name in results.paper["row_of_generator"]}
    for corpus in printed["ld_vae"]:
        keys = {**ASKED, "avg_rank": "mean rank"}
        lines = [[name, *(Entry(paper=own[corpus][key]) for key in keys)] for name, own in printed.items() if own]
        note = "Three students, 50 texts; no people have rated ours."
        made.append(Table(corpus, note, ["generator", *keys.values()], lines))
    return made
