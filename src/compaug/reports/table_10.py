"""Table 10: what a reader finds in the kept texts; proxies in the place of the paper's three students."""

from __future__ import annotations

from compaug.reports import number
from compaug.reports.cells import Cell, Table
from compaug.reports.longtable import Results, pick

TITLE = "Table 10: human evaluation, by proxies"
EXPERIMENT = "ablations"
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
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        rows = pick(rows, decoding="any", selection="top_k")
        lines = [[name, *cells] for (name,), cells in results.cells(rows, ["generator"], COLUMNS).items()]
        own = pick(rows, metric="reader_acc")["value"]
        note = f"The classifier is itself right on {number(own.mean())} % of the real texts of these compositions. "
        note = (note if len(own) else "") + results.setting(rows)
        made += [Table(benchmark, note, ["generator", *COLUMNS], lines)] if lines else []
    printed = results.paper["tables"]["table_10"]["rows"]
    names = {name: row for name, row in results.paper["row_of_generator"].items() if row in printed}
    for corpus in next(iter(printed.values())):
        keys = {**ASKED, "avg_rank": "mean rank"}
        lines = [[name, *(Cell(paper=printed[row][corpus][key]) for key in keys)] for name, row in names.items()]
        note = "Three students, 50 texts; no people have rated ours."
        made.append(Table(corpus, note, ["generator", *keys.values()], lines))
    return made
