"""Table 3: every classifier with and without augmentation, and thresholds tuned per label.

With what the paper observes of the classifiers.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import pandas as pd

from compaug.evaluation.longtable import difference, pick, rows_by
from compaug.evaluation.statistics import holm, t_test
from compaug.reports import METRICS
from compaug.reports.entries import LEVEL, Entry, Table, entry, gained
from compaug.reports.queries import UNSEEN, Results

EXPERIMENT = "classifiers"
ARMS = {"none": "without_aug", "ld_vae": "with_aug"}
WIDER = {"magnet": 1, "sgm": 1, "dbloss": -1}  # the paper: Corr stays and Comp falls, or the reverse
LOWEST, BASELINE = "t5_clp", "bert"
TUNED = (
    "Instead of 0.5, for every label the threshold of the best F1 on the validation rows; these are rows of the "
    "training distribution. The answers of `sgm` and `t5_clp` are sets, so thresholds hardly move them."
)


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(EXPERIMENT, selection="top_k"):
        yield from [_arms(results, benchmark, rows), _observations(benchmark, rows), _tuned(results, benchmark, rows)]

    def theirs(corpus: str) -> list:
        printed = {key: _printed(results, corpus, *key) for key in product(results.paper["row_of_classifier"], ARMS)}
        return [
            [*key, *(Entry(paper=numbers[metric]) for metric in METRICS)] for key, numbers in printed.items() if numbers
        ]

    yield from results.printed_only([EXPERIMENT], ["classifier", "generator", *UNSEEN], theirs)


def _printed(results: Results, column: str | None, classifier: str, generator: str) -> dict:
    has_column = column == results.paper["tables"]["table_3"]["dataset"]
    return results.printed("table_3", classifier).get(ARMS.get(generator), {}) if has_column else {}


def _arms(results: Results, benchmark: str, rows: pd.DataFrame) -> Table:
    where = {"decoding": "threshold", "selection": "top_k", "split": "unseen"}
    gains = pick(results.gains, experiment=EXPERIMENT, benchmark=benchmark, metric="acc", **where)
    over = {name: rows_by(pick(gains, over=name), "classifier", "generator") for name in ("none", "oversample")}
    rows = pick(rows, metric=METRICS, **where)
    printed = partial(_printed, results, results.column(benchmark))
    cells = results.entries(rows, ["classifier", "generator"], UNSEEN, printed)
    lines = []
    for key, entries in cells.items():
        lines.append([*key, *entries, *(gained(gains.get(key)) for gains in over.values())])
    header = ["classifier", "generator", *UNSEEN, *(f"Acc over {control}" for control in over)]
    return Table(benchmark, results.setting(rows), header, lines)


def _observations(benchmark: str, rows: pd.DataFrame) -> Table:
    """Each of the paper's observations with our number and what it allows to say."""
    rows = pick(rows, generator="none", split="unseen", decoding="threshold")
    wide = rows.pivot(index=["classifier", "seed"], columns="metric", values="value").reset_index()
    apart, acc = wide.assign(value=wide["corr"] - wide["comp"]), wide.assign(value=wide["acc"])
    others = acc[acc["classifier"] != LOWEST].groupby("classifier")["value"].mean()
    lowest = others.idxmin() if len(others) else ""
    claims = {1: "Corr stays, Comp falls", -1: "Comp stays, Corr falls"}
    seen = [
        (f"{name}: {claims[sign]} (Corr - Comp against {BASELINE})", apart, name, BASELINE, sign)
        for name, sign in WIDER.items()
    ]
    seen.append((f"{LOWEST}: lowest CG Acc (against {lowest}, the lowest other)", acc, LOWEST, lowest, -1))
    moves = {
        words: (moved, sign)
        for words, measure, name, other, sign in seen
        if (moved := difference(pick(measure, classifier=name), pick(measure, classifier=other)))
    }
    tests = holm({words: t_test(moved.mean, moved.std, moved.n) for words, (moved, _) in moves.items()})
    lines = [
        [words, entry(moved, sign=True), verdict(moved.mean * sign, tests[words])]
        for words, (moved, sign) in moves.items()
    ]
    title = f"{benchmark}: what the paper says of the classifiers"
    return Table(title, "", ["the paper's observation", "here, points", "verdict"], lines)


def verdict(moved: float, p: float | None) -> str:
    """`moved`: positive where the paper saw it; `p`: corrected."""
    if p is None or p >= LEVEL:
        return "not shown"
    return "appears" if moved > 0 else "the reverse"


def _tuned(results: Results, benchmark: str, rows: pd.DataFrame) -> Table:
    by = ["classifier", "split", "generator"]
    lines = results.by_split(pick(rows, decoding="tuned_thresholds"), by, METRICS, ("iid", "unseen"))
    for line in lines:
        acc = pick(rows, metric="acc", **dict(zip(by, line, strict=False)))
        moved = difference(*(pick(acc, decoding=name) for name in ("tuned_thresholds", "threshold")))
        line.append(entry(moved, sign=True))
    lines.sort(key=lambda line: results.rank(line[0]))
    header = ["classifier", "test", "generator", *UNSEEN, "Acc over 0.5"]
    return Table(f"{benchmark}: thresholds tuned per label", TUNED, header, lines)
