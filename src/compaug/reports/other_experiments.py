"""Every experiment that no table of the paper has: the small one, and your own."""

from __future__ import annotations

from compaug.reports import METRICS
from compaug.reports.cells import Table, gain, metrics
from compaug.reports.longtable import Results, pick, summaries

TITLE = "Other experiments"
EXPERIMENT = "small"
INTRO = (
    "Percent: mean and 95 % t interval over seeds; where an experiment has no augmentation, gains over it in points of Acc, tested as in Table 2. "
    "The experiments are lines of `configs/experiments.yaml`."
)
ELSEWHERE = ("paper", "classifiers", "prior", "support", "ablations", "pretrained")
VARIED = ("generator", "selection", "classifier", "decoding")


def tables(results: Results) -> list[Table]:
    made = []
    for experiment, benchmark, rows in results.of(*sorted(set(results.frame["experiment"]) - set(ELSEWHERE))):
        rows = pick(rows, metric=METRICS)
        found = summaries(rows, "split", *VARIED, "metric")
        gains = pick(results.gains, experiment=experiment, benchmark=benchmark, over="none", metric="acc")
        of = {("unseen", *(row[name] for name in VARIED)): row for _, row in gains.iterrows()}
        order = {name: at for at, name in enumerate(results.ordered({*rows["generator"], *rows["classifier"]}))}
        keys = sorted(
            {key[:-1] for key in found},
            key=lambda key: (key[0] != "unseen", order[key[1]], key[2], order[key[3]], key[4]),
        )
        told = [name for at, name in enumerate(VARIED, 1) if name == "generator" or len({key[at] for key in keys}) > 1]
        lines = []
        for key in keys:
            own = {metric: found.get((*key, metric)) for metric in METRICS}
            words = [key[0], *(key[1 + VARIED.index(name)] for name in told)]
            lines.append([*words, *metrics(own, METRICS), *(gain(of.get(key)) if of else [])])
        header = ["test", *told, *METRICS.values()] + (
            ["Acc over none", "over rows", "p, seeds", "p, rows"] if of else []
        )
        made.append(Table(f"{experiment}: {benchmark}", results.setting(rows), header, lines))
    return made
