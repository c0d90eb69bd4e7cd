"""Table 1: what the classifiers lose from an iid split to a compositional one."""

from __future__ import annotations

from compaug.reports.cells import Cell, Table, cell, printed_only
from compaug.reports.longtable import Results, difference, pick

TITLE = "Table 1: six classifiers, iid and compositional split"
EXPERIMENT = "classifiers"
INTRO = (
    "Acc, mean and 95 % t interval over seeds. iid: training and test split at random; CG: the test has compositions "
    "that training (almost) never shows, no augmentation."
)
COLUMNS = {"iid Acc": ("iid", "acc"), "CG Acc": ("unseen", "acc")}


def tables(results: Results) -> list[Table]:
    printed, names = results.paper["tables"]["table_1"]["rows"], results.paper["row_of_classifier"]
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        acc = pick(rows, generator="none", decoding="threshold", metric="acc", split=("iid", "unseen"))
        lines = []
        for (name,), cells in results.cells(acc, ["classifier"], COLUMNS).items():
            theirs = printed.get(names.get(name), {}).get(results.column(benchmark), {})
            own = pick(acc, classifier=name)
            gap = difference(pick(own, split="iid"), pick(own, split="unseen"))
            lines.append([name, cells[0].beside(theirs.get("iid")), cells[1].beside(theirs.get("cg")), cell(gap)])
        made.append(Table(benchmark, results.setting(acc), ["classifier", *COLUMNS, "gap"], lines))
    for corpus in results.not_run(EXPERIMENT):
        lines = [
            [name, *(Cell(paper=printed[row][corpus][key]) for key in ("iid", "cg"))] for name, row in names.items()
        ]
        made.append(printed_only(corpus, ["classifier", *COLUMNS], lines))
    return made
