"""Table 1: what the classifiers lose from an iid split to a compositional one."""

from __future__ import annotations

from dataclasses import replace

from compaug.evaluation.longtable import difference, pick
from compaug.reports.entries import Entry, Table, entry
from compaug.reports.queries import Results

TITLE = "Table 1: six classifiers, iid and compositional split"
EXPERIMENT = "classifiers"
EXPERIMENTS = (EXPERIMENT, "pretrained")
INTRO = (
    "Acc, mean and 95 % t interval over seeds. iid: training and test split at random; CG: the test has compositions "
    "that training (almost) never shows, no augmentation."
)
COLUMNS = {"iid Acc": ("iid", "acc"), "CG Acc": ("unseen", "acc")}


def tables(results: Results) -> list[Table]:
    made = []
    for _, benchmark, rows in results.of(*EXPERIMENTS):
        acc = pick(rows, generator="none", decoding="threshold", metric="acc", split=("iid", "unseen"))
        lines = []
        for (name,), (iid, cg) in results.entries(acc, ["classifier"], COLUMNS).items():
            own = pick(acc, classifier=name)
            if own["split"].nunique() < 2:
                continue  # one split alone has no gap
            theirs = results.printed("table_1", name).get(results.column(benchmark), {})
            gap = entry(difference(pick(own, split="iid"), pick(own, split="unseen")))
            lines.append([name, replace(iid, paper=theirs.get("iid")), replace(cg, paper=theirs.get("cg")), gap])
        if lines:
            made.append(Table(benchmark, results.setting(acc), ["classifier", *COLUMNS, "gap"], lines))

    def theirs(corpus: str) -> list:
        printed = {name: results.printed("table_1", name)[corpus] for name in results.paper["row_of_classifier"]}
        return [[name, Entry(paper=acc["iid"]), Entry(paper=acc["cg"])] for name, acc in printed.items()]

    return made + results.printed_only(EXPERIMENTS, ["classifier", *COLUMNS], theirs)
