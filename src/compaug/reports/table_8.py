"""Table 8: the VAE with a conditional and with a standard normal prior."""

from __future__ import annotations

from compaug.reports import METRICS
from compaug.reports.cells import Table, cell, metrics
from compaug.reports.longtable import Results, difference, pick, summaries

TITLE = "Table 8: conditional against standard priors"
EXPERIMENT = "paper"
PRINTED = {"ld_vae": "LD-VAE", "vae": "VAE"}


def tables(results: Results) -> list[Table]:
    printed, dataset = (results.paper["tables"]["table_8"][key] for key in ("rows", "dataset"))
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        rows = pick(rows, split="unseen", decoding="threshold", selection="top_k", metric=METRICS, generator=PRINTED)
        found, lines = summaries(rows, "generator", "metric"), []
        for name in results.ordered(rows["generator"]):
            own = {metric: found.get((name, metric)) for metric in METRICS}
            lines.append([name, *metrics(own, METRICS, printed[PRINTED[name]], results.column(benchmark) != dataset)])
        if len(lines) == len(PRINTED):
            pairs = [[pick(rows, generator=name, metric=metric) for name in PRINTED] for metric in METRICS]
            lines.append(["ld_vae over vae", *(cell(difference(*pair), sign=True) for pair in pairs)])
        made.append(
            Table(f"{benchmark} (paper: {dataset})", results.setting(rows), ["prior", *METRICS.values()], lines)
        )
    return [table for table in made if table.rows]
