"""Table 8: the VAE with a conditional and with a standard normal prior."""

from __future__ import annotations

from compaug.reports import METRICS
from compaug.reports.cells import Table, cell
from compaug.reports.longtable import UNSEEN, Results, difference, pick

TITLE = "Table 8: conditional against standard priors"
EXPERIMENT = "paper"
PRINTED = {"ld_vae": "LD-VAE", "vae": "VAE"}


def tables(results: Results) -> list[Table]:
    printed, dataset = (results.paper["tables"]["table_8"][key] for key in ("rows", "dataset"))
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        rows = pick(rows, split="unseen", decoding="threshold", selection="top_k", metric=METRICS, generator=PRINTED)
        other = results.column(benchmark) != dataset
        found = results.cells(rows, ["generator"], UNSEEN, lambda name: printed[PRINTED[name]], other)
        lines = [[name, *cells] for (name,), cells in found.items()]
        pairs = [[pick(rows, generator=name, metric=metric) for name in PRINTED] for metric in METRICS]
        lines.append(["ld_vae over vae", *(cell(difference(*pair), sign=True) for pair in pairs)])
        if found:
            made.append(Table(f"{benchmark} (paper: {dataset})", results.setting(rows), ["prior", *UNSEEN], lines))
    return made
