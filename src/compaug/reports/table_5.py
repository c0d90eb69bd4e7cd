"""Table 5: texts kept by the filter against as many drawn at random."""

from __future__ import annotations

from compaug.reports.cells import Cell, Table, cell, printed_only
from compaug.reports.longtable import Results, difference, pick, summaries

TITLE = "Table 5: filter against random selection"
EXPERIMENT = "paper"
INTRO = "Acc with the K synthetic texts that the filter scores highest and with as many drawn at random; the gain is paired by seed."
TOP, RANDOM = "top_k", "mode=random"


def tables(results: Results) -> list[Table]:
    printed, made = results.paper["tables"]["table_5"]["rows"], []
    header = ["generator", "Acc, top K", "Acc, random", "gain"]
    for _, benchmark, rows in results.of(EXPERIMENT):
        drawn = set(pick(rows, selection=RANDOM)["generator"])
        rows = pick(
            rows, split="unseen", decoding=("threshold", "any"), metric=("acc", "fidelity_kept"), generator=drawn
        )
        found = summaries(rows, "generator", "selection", "metric")
        judged, lines = any(metric == "fidelity_kept" for *_, metric in found), []
        for name in results.ordered(drawn):
            acc = pick(rows, generator=name, metric="acc")
            gain = difference(pick(acc, selection=TOP), pick(acc, selection=RANDOM))
            theirs = printed.get(results.paper["row_of_generator"].get(name), {}).get(results.column(benchmark), {})
            pair = [
                cell(found.get((name, way, "acc")), theirs.get(key))
                for way, key in ((TOP, "filter"), (RANDOM, "random"))
            ]
            fidelity = [cell(found.get((name, way, "fidelity_kept"))) for way in (TOP, RANDOM)] if judged else []
            lines.append([name, *pair, cell(gain, sign=True), *fidelity])
        more = ["fidelity, top K", "fidelity, random"] if judged else []
        made += [Table(benchmark, results.setting(rows), header + more, lines)] if lines else []
    names = {name: row for name, row in results.paper["row_of_generator"].items() if row in printed}
    for corpus in results.not_run(EXPERIMENT):
        theirs = {name: printed[row].get(corpus) for name, row in names.items()}
        lines = [
            [name, *(Cell(words="–", paper=both[key]) for key in ("filter", "random"))]
            for name, both in theirs.items()
            if both
        ]
        made += [printed_only(corpus, header[:-1], lines)] if lines else []
    return made
