"""Table 10: what a reader finds in the kept texts; proxies in the place of the paper's three students."""

from __future__ import annotations

from compaug.reports import number
from compaug.reports.cells import Cell, Table, cell
from compaug.reports.longtable import Results, pick, summaries

TITLE = "Table 10: human evaluation, by proxies"
EXPERIMENT = "ablations"
INTRO = (
    "Kept texts against what was asked of their generator, read by the oracle of the grammar and by a classifier that has seen every composition "
    "(that of the iid split). Proxies: no person has rated these texts; `python -m stages.rating_sheet` exports a blind sheet for people. "
    "The paper's numbers are those of three students."
)
READERS, ASKED = ("oracle", "classifier"), {"acc": "Acc", "corr": "Corr", "comp": "Comp"}


def tables(results: Results) -> list[Table]:
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        found = summaries(pick(rows, decoding="any", selection="top_k"), "generator", "metric")
        readers = [reader for reader in READERS if any(metric == f"judged_{reader}_acc" for _, metric in found)]
        judged = results.ordered(name for name, metric in found if metric.startswith("judged_"))
        columns = {f"{reader}: {words}": f"judged_{reader}_{key}" for reader in readers for key, words in ASKED.items()}
        lines = [[name, *(cell(found.get((name, metric))) for metric in columns.values())] for name in judged]
        own = [summary.mean for (_, metric), summary in found.items() if metric == "reader_acc"]
        note = (
            f"The classifier is itself right on {number(sum(own) / len(own))} % of the real texts of these compositions. "
            if own
            else ""
        )
        made += [Table(benchmark, note + results.setting(rows), ["generator", *columns], lines)] if lines else []
    printed = results.paper["tables"]["table_10"]["rows"]
    names = {name: row for name, row in results.paper["row_of_generator"].items() if row in printed}
    for corpus in next(iter(printed.values())):
        keys = {**ASKED, "avg_rank": "mean rank"}
        lines = [
            [name, *(Cell(words="–", paper=printed[row][corpus][key]) for key in keys)] for name, row in names.items()
        ]
        made.append(
            Table(corpus, "Three students, 50 texts; no people have rated ours.", ["generator", *keys.values()], lines)
        )
    return made
