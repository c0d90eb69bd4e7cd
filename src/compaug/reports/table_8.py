"""Table 8: the VAE with a conditional and with a standard normal prior."""

from collections.abc import Iterator

from compaug.evaluation.longtable import difference, pick
from compaug.reports import METRICS
from compaug.reports.entries import Table, entry
from compaug.reports.queries import UNSEEN, Results

EXPERIMENT = "paper"
PRINTED = {"ld_vae": "LD-VAE", "vae": "VAE"}


def tables(results: Results) -> Iterator[Table]:
    printed, dataset = (results.paper["tables"]["table_8"][key] for key in ("rows", "dataset"))
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert"):
        rows = pick(rows, split="unseen", decoding="threshold", selection="top_k", metric=METRICS, generator=PRINTED)
        other = results.column(benchmark) != dataset
        lines = results.lines(rows, ["generator"], UNSEEN, lambda name: printed[PRINTED[name]], other)
        pairs = [[pick(rows, generator=name, metric=metric) for name in PRINTED] for metric in METRICS]
        lines += [["ld_vae over vae", *(entry(difference(*pair), sign=True) for pair in pairs)]] if lines else []
        yield Table(f"{benchmark} (paper: {dataset})", results.setting(rows), ["prior", *UNSEEN], lines)
