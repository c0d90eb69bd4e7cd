"""Tables 4 and 7: one module at a time has another number of support texts."""

from __future__ import annotations

from compaug.reports import METRICS
from compaug.reports.cells import Table, cell, metrics
from compaug.reports.longtable import Results, difference, pick, summaries

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
    printed, dataset = (results.paper["tables"]["table_7"][key] for key in ("rows", "dataset"))
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        rows = pick(rows, split="unseen", decoding="threshold", metric=METRICS)
        found, default = (
            summaries(rows, "generator", "classifier", "metric"),
            results.counts.get(benchmark, {}).get("n_support", 0),
        )
        usual = {"generator": GENERATOR, "classifier": CLASSIFIER}
        other = results.column(benchmark) != dataset

        def line(words: str, size: str, cells: dict, theirs: dict) -> list:
            own = {metric: found.get((*cells.values(), metric)) for metric in METRICS}
            acc = [pick(rows, metric="acc", **which) for which in (cells, usual)]
            moved = None if cells == usual else difference(*acc)
            return [words, size, *metrics(own, METRICS, theirs, other), cell(moved, sign=True)]

        lines = [line("no augmentation", "", usual | {"generator": "none"}, {})]
        for words, (module, column, word) in MODULES.items():
            start = f"{usual[column]}+{word}="
            sizes = {int(name.removeprefix(start)): name for name in rows[column] if name.startswith(start)}
            for size, name in sorted((sizes | {default: usual[column]}).items()):
                lines.append(line(words, f"{size}", usual | {column: name}, printed.get(str(size), {}).get(module, {})))
        header = ["module", "support texts", *METRICS.values(), f"Acc over {default}"]
        made.append(Table(f"{benchmark} (paper: {dataset})", results.setting(rows), header, lines))
    return made
