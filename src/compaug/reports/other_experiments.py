"""Every experiment that no table of the paper has: the small one, and your own."""

from collections.abc import Iterator

from compaug.evaluation.longtable import pick, rows_by
from compaug.experiments.cells import NONE
from compaug.reports import METRICS
from compaug.reports.entries import Table, gained
from compaug.reports.queries import SPLITS, UNSEEN, Results

EXPERIMENT = "small"
# shown by reports of their own, as are all that choose a prior
ELSEWHERE = (
    "paper",
    "classifiers",
    "prior",
    "support",
    "ablations",
    "pretrained",
    "pretrained_full",
    "pretrained_full_open",
    "emphasis",
    "emphasis_pretrained",
    "guidance",
    "guidance_pretrained",
    "cartography",
    "mixout",
    "mixout_pretrained",
    "metrics",
    "linda",
    "linda_pretrained",
    "linda_reading",
    "joint",
    "joint_pretrained",
)
VARIED = ("split", "generator", "selection", "classifier", "decoding")


def tables(results: Results) -> Iterator[Table]:
    for experiment, benchmark, rows in results.of(
        *sorted(set(results.frame["experiment"]) - results.choosing() - set(ELSEWHERE))
    ):
        rows = pick(rows, metric=METRICS)
        gains = pick(results.gains, experiment=experiment, benchmark=benchmark, metric="acc")
        # what is done to it stands behind its name
        over = NONE if NONE in set(gains["over"]) else min(rows["classifier"], key=len)
        of = rows_by(pick(gains, over=over), *VARIED)
        columns = [name for name in VARIED if name in ("split", "generator") or rows[name].nunique() > 1]
        lines = []
        for line in results.by_split(rows, VARIED, METRICS, SPLITS):
            key, entries = tuple(line[: len(VARIED)]), line[len(VARIED) :]
            words = [word for name, word in zip(VARIED, key, strict=True) if name in columns]
            lines.append([*words, *entries, *([gained(of.get(key))] if of else [])])
        more = [f"Acc over {over}"] if of else []
        header = ["test", *columns[1:], *UNSEEN, *more]
        yield Table(f"{experiment}: {benchmark}", results.setting(rows), header, lines)
