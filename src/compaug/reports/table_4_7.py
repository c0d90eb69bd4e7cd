"""Tables 4 and 7: one module at a time has another number of support texts."""

from __future__ import annotations

import pandas as pd

from compaug.reports import METRICS
from compaug.reports.cells import Table, cell
from compaug.reports.longtable import UNSEEN, Results, difference, pick

TITLE = "Tables 4 and 7: size of the support set"
EXPERIMENT = "support"
INTRO = (
    "One module at a time has another number of support texts, the other two keep theirs. All rows share the test texts that none of the support "
    "sets has; the intervals are over seeds, and so few texts add some points of their own to each Acc. The paper's numbers are of another "
    "corpus with BERT-base and GPT-2: the trend may be compared, the level may not."
)
MODULES = {  # words: key in the paper's table, column, what it adds to the word there
    "label generator": ("label_generator", "generator", "label_support"),
    "text generator": ("text_generator", "generator", "text_support"),
    "classifier": ("classifier", "classifier", "support"),
}
GENERATOR, CLASSIFIER = "ld_vae", "bert"


def tables(results: Results) -> list[Table]:
    dataset = results.paper["tables"]["table_7"]["dataset"]
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT, selection="top_k"):
        rows = pick(rows, split="unseen", decoding="threshold", metric=METRICS)
        default = results.counts.get(benchmark, {}).get("n_support", 0)
        header = ["module", "support texts", *UNSEEN, f"Acc over {default}"]
        lines = _lines(results, rows, default, other=results.column(benchmark) != dataset)
        made.append(Table(f"{benchmark} (paper: {dataset})", results.setting(rows), header, lines))
    return made


def _lines(results: Results, rows: pd.DataFrame, default: int, other: bool) -> list:
    usual = {"generator": GENERATOR, "classifier": CLASSIFIER}
    cells = [("no augmentation", "", "", usual | {"generator": "none"})]
    for words, (module, column, word) in MODULES.items():
        start = f"{usual[column]}+{word}="
        sizes = {int(name.removeprefix(start)): name for name in rows[column] if name.startswith(start)}
        sizes |= {default: usual[column]}
        cells += [(words, module, f"{size}", usual | {column: name}) for size, name in sorted(sizes.items())]
    lines = []
    for words, module, size, which in cells:
        printed = results.paper["tables"]["table_7"]["rows"].get(size, {}).get(module, {})
        found = results.cells(pick(rows, **which), ["generator"], UNSEEN, lambda _, p=printed: p, other)
        moved = difference(*(pick(rows, metric="acc", **some) for some in (which, usual))) if which != usual else None
        lines += [[words, size, *own, cell(moved, sign=True)] for own in found.values()]
    return lines
