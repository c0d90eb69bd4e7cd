"""Table 1: the classifiers on an iid split and on a compositional one."""

from collections.abc import Iterator
from dataclasses import replace

from compaug.evaluation.longtable import difference, pick
from compaug.reports.entries import Entry, Table, entry
from compaug.reports.queries import Results

EXPERIMENT = "classifiers"
EXPERIMENTS = (EXPERIMENT, "pretrained")
HELD_OUT = "iid Acc, combinations of CG"
COLUMNS = {"iid Acc": ("iid", "acc"), HELD_OUT: ("iid", "acc_held_out"), "CG Acc": ("unseen", "acc")}
DIFFERENCE = "iid minus CG"


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(*EXPERIMENTS):
        acc = pick(
            rows, generator="none", decoding="threshold", metric=("acc", "acc_held_out"), split=("iid", "unseen")
        )
        lines = []
        for (name,), (iid, held_out, cg) in results.entries(acc, ["classifier"], COLUMNS).items():
            scores = pick(acc, classifier=name, metric="acc")
            if scores["split"].nunique() < 2:
                continue
            theirs = results.printed("table_1", name).get(results.column(benchmark), {})
            apart = entry(difference(pick(scores, split="iid"), pick(scores, split="unseen")))
            both = replace(iid, paper=theirs.get("iid")), held_out, replace(cg, paper=theirs.get("cg"))
            lines.append([name, *both, apart])
        if lines:
            yield Table(benchmark, results.setting(acc), ["classifier", *COLUMNS, DIFFERENCE], lines)

    def theirs(corpus: str) -> list:
        printed = {name: results.printed("table_1", name)[corpus] for name in results.paper["row_of_classifier"]}
        return [[name, Entry(paper=acc["iid"]), Entry(), Entry(paper=acc["cg"])] for name, acc in printed.items()]

    yield from results.printed_only(EXPERIMENTS, ["classifier", *COLUMNS], theirs)
