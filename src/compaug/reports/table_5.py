"""Table 5: texts kept by the filter against as many drawn at random."""

from __future__ import annotations

from compaug.reports.cells import Cell, Table, cell, printed_only
from compaug.reports.longtable import Results, difference, pick

TITLE = "Table 5: filter against random selection"
EXPERIMENT = "paper"
INTRO = (
    "Acc with the K synthetic texts that the filter scores highest and with as many drawn at random; the gain is paired by "
    "seed. Fidelity: kept texts with all requested labels and no other by the oracle of a known grammar."
)
RULES = {"top_k": "filter", "mode=random": "random"}  # and their keys in the paper's table
HEADER = ["generator", "Acc, top K", "Acc, random", "gain", "fidelity, top K", "fidelity, random"]


def tables(results: Results) -> list[Table]:
    printed, names = results.paper["tables"]["table_5"]["rows"], results.paper["row_of_generator"]
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        rows = pick(rows, generator=set(pick(rows, selection="mode=random")["generator"]), split="unseen")
        rows = pick(rows, decoding=("threshold", "any"), metric=("acc", "fidelity_kept"), selection=RULES)
        columns = {"acc": ("unseen", "acc"), "fidelity": ("unseen", "fidelity_kept")}
        found = results.cells(rows.assign(decoding=""), ["generator", "selection"], columns)
        lines = []
        for name in results.ordered(rows["generator"]):
            theirs = printed.get(names.get(name), {}).get(results.column(benchmark), {})
            pair = [(found.get((name, rule), [Cell()] * 2), theirs.get(key)) for rule, key in RULES.items()]
            acc = [pick(rows, generator=name, metric="acc", selection=rule) for rule in RULES]
            own = [cells[0].beside(paper) for cells, paper in pair]
            lines.append([name, *own, cell(difference(*acc), sign=True), *(cells[1] for cells, _ in pair)])
        made += [Table(benchmark, results.setting(rows), HEADER, lines)] if lines else []
    for corpus in results.not_run(EXPERIMENT):
        theirs = {name: printed[row].get(corpus) for name, row in names.items() if row in printed}
        lines = [[name, *(Cell(paper=both[key]) for key in RULES.values())] for name, both in theirs.items() if both]
        made += [printed_only(corpus, HEADER[:3], lines)] if lines else []
    return made
