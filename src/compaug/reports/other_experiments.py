"""Every experiment that no table of the paper has: the small one, and your own."""

from __future__ import annotations

from compaug.evaluation.longtable import pick, rows_by
from compaug.reports import METRICS
from compaug.reports.entries import Table, gain
from compaug.reports.queries import SPLITS, UNSEEN, Results

TITLE = "Other experiments"
EXPERIMENT = "small"
INTRO = (
    "Percent: mean and 95 % t interval over seeds; where an experiment has no augmentation, gains over it in points of Acc, tested as in Table 2. "
    "The experiments are lines of `configs/experiments.yaml`."
)
ELSEWHERE = (
    "paper",
    "classifiers",
    "prior",
    "support",
    "ablations",
    "pretrained",
    "guidance",
    "guidance_pretrained",
    "cartography",
    "mixout",
    "metrics",
    "linda",
    "linda_pretrained",
)  # and all that choose a prior
VARIED = ("split", "generator", "selection", "classifier", "decoding")


def tables(results: Results) -> list[Table]:
    made = []
    for experiment, benchmark, rows in results.of(
        *sorted(set(results.frame["experiment"]) - results.choosing() - set(ELSEWHERE))
    ):
        rows = pick(rows, metric=METRICS)
        gains = pick(results.gains, experiment=experiment, benchmark=benchmark, over="none", metric="acc")
        of = rows_by(gains, *VARIED)
        told = [name for name in VARIED if name in ("split", "generator") or rows[name].nunique() > 1]
        lines = []
        for line in results.by_split(rows, VARIED, METRICS, SPLITS):
            key, entries = tuple(line[: len(VARIED)]), line[len(VARIED) :]
            words = [word for name, word in zip(VARIED, key, strict=True) if name in told]
            lines.append([*words, *entries, *(gain(of.get(key)) if of else [])])
        more = ["Acc over none", "over rows", "p, seeds", "p, rows"] if of else []
        header = ["test", *told[1:], *UNSEEN, *more]
        made.append(Table(f"{experiment}: {benchmark}", results.setting(rows), header, lines))
    return made
