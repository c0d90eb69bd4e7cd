"""Tables 4 and 7: one module at a time has another number of support texts."""

from collections.abc import Iterator

import pandas as pd

from compaug.evaluation.longtable import difference, pick
from compaug.reports import METRICS
from compaug.reports.entries import Table, entry
from compaug.reports.queries import UNSEEN, Results

EXPERIMENT = "support"
MODULES = {  # words: key in the paper's table, column, what it adds to the word there
    "label generator": ("label_generator", "generator", "label_support"),
    "text generator": ("text_generator", "generator", "text_support"),
    "classifier": ("classifier", "classifier", "support"),
}
GENERATOR, CLASSIFIER = "ld_vae", "bert"


def tables(results: Results) -> Iterator[Table]:
    dataset = results.paper["tables"]["table_7"]["dataset"]
    for _, benchmark, rows in results.of(EXPERIMENT, selection="top_k"):
        rows = pick(rows, split="unseen", decoding="threshold", metric=METRICS)
        default = results.counts.get(benchmark, {}).get("n_support", 0)
        header = ["module", "support texts", *UNSEEN, f"Acc over {default}"]
        lines = _lines(results, rows, default, other=results.column(benchmark) != dataset)
        yield Table(f"{benchmark} (paper: {dataset})", results.setting(rows), header, lines)


def _lines(results: Results, rows: pd.DataFrame, default: int, other: bool) -> list:
    usual = {"generator": GENERATOR, "classifier": CLASSIFIER}
    cells = [("no augmentation", "", "", usual | {"generator": "none"})]
    for words, (module, column, word) in MODULES.items():
        start = f"{usual[column]}+{word}="
        sizes = {int(name.removeprefix(start)): name for name in rows[column] if name.startswith(start)}
        sizes |= {default: usual[column]}
        cells += [(words, module, f"{size}", usual | {column: name}) for size, name in sorted(sizes.items())]
    printed, lines = results.paper["tables"]["table_7"]["rows"], []
    for words, module, size, which in cells:
        theirs = printed.get(size, {}).get(module, {})
        scores = results.lines(pick(rows, **which), ["generator"], UNSEEN, lambda _, theirs=theirs: theirs, other)
        moved = difference(*(pick(rows, metric="acc", **cell) for cell in (which, usual))) if which != usual else None
        lines += [[words, size, *entries, entry(moved, sign=True)] for _, *entries in scores]
    return lines
