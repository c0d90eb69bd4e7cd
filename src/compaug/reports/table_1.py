"""Table 1: what the classifiers lose from an iid split to a compositional one."""

from __future__ import annotations

from compaug.reports.cells import Cell, Table, cell, printed_only
from compaug.reports.longtable import Results, difference, pick, summaries

TITLE = "Table 1: six classifiers, iid and compositional split"
EXPERIMENT = "classifiers"
INTRO = (
    "Acc, mean and 95 % t interval over seeds. iid: training and test split at random; CG: the test has compositions that training (almost) "
    "never shows, no augmentation."
)


def tables(results: Results) -> list[Table]:
    names = results.paper["row_of_classifier"]
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        column = results.column(benchmark)
        acc = pick(rows, generator="none", decoding="threshold", metric="acc", split=("iid", "unseen"))
        found = summaries(acc, "classifier", "split")
        lines = []
        for name in results.ordered({*acc["classifier"], *(names if column else ())}):
            own = pick(acc, classifier=name)
            gap = difference(pick(own, split="iid"), pick(own, split="unseen"))
            printed = _printed(results, name).get(column, {})
            pair = [(found.get((name, split)), printed.get(key)) for split, key in (("iid", "iid"), ("unseen", "cg"))]
            lines.append(
                [
                    name,
                    *(cell(ours, theirs) if ours else Cell(words="not run yet", paper=theirs) for ours, theirs in pair),
                ]
            )
            lines[-1].append(cell(gap))
        made.append(Table(benchmark, results.setting(acc), ["classifier", "iid Acc", "CG Acc", "gap"], lines))
    for corpus in results.not_run(EXPERIMENT):
        lines = [
            [name, *(Cell(words="–", paper=_printed(results, name)[corpus][key]) for key in ("iid", "cg"))]
            for name in names
        ]
        made.append(printed_only(corpus, ["classifier", "iid Acc", "CG Acc"], lines))
    return made


def _printed(results: Results, classifier: str) -> dict:
    return results.paper["tables"]["table_1"]["rows"].get(results.paper["row_of_classifier"].get(classifier), {})
