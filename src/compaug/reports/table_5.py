"""Table 5: texts kept by the filter against as many drawn at random."""

from collections.abc import Iterator
from dataclasses import replace

from compaug.evaluation.longtable import difference, pick
from compaug.reports.entries import Entry, Table, entry
from compaug.reports.queries import Results

EXPERIMENT = "paper"
EXPERIMENTS = (EXPERIMENT, "pretrained", "pretrained_full")
RULES = {"top_k": "filter", "mode=random": "random"}  # and their keys in the paper's table
HEADER = ["generator", "Acc, top K", "Acc, random", "gain", "fidelity, top K", "fidelity, random"]


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert"):
        rows = pick(rows, generator=set(pick(rows, selection="mode=random")["generator"]), split="unseen")
        rows = pick(rows, decoding=("threshold", "any"), metric=("acc", "fidelity_kept"), selection=RULES)
        columns = {"acc": ("unseen", "acc"), "fidelity": ("unseen", "fidelity_kept")}
        cells = results.entries(rows.assign(decoding=""), ["generator", "selection"], columns)
        lines = []
        for name in results.ordered(rows["generator"]):
            theirs = results.printed("table_5", name).get(results.column(benchmark), {})
            acc, fidelity = zip(*(cells.get((name, rule), [Entry()] * 2) for rule in RULES), strict=True)
            ours = [replace(value, paper=theirs.get(key)) for value, key in zip(acc, RULES.values(), strict=True)]
            moved = difference(*(pick(rows, generator=name, metric="acc", selection=rule) for rule in RULES))
            lines.append([name, *ours, entry(moved, sign=True), *fidelity])
        yield Table(benchmark, results.setting(rows), HEADER, lines)

    def theirs(corpus: str) -> list:
        printed = {name: results.printed("table_5", name).get(corpus) for name in results.paper["row_of_generator"]}
        return [[name, *(Entry(paper=acc[key]) for key in RULES.values())] for name, acc in printed.items() if acc]

    yield from results.printed_only(EXPERIMENTS, HEADER[:3], theirs)
