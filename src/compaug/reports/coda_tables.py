"""CoDa: how well its texts keep each constraint, with and without the others, and what they are worth."""

from collections.abc import Iterator

from compaug.experiments.cells import NONE
from compaug.reports import METRICS
from compaug.reports.entries import Entry, Table
from compaug.reports.queries import Query, Results

EXPERIMENT = "coda"
KEPT = {
    words: f"quality_compliance_raw_{part}"
    for words, part in {
        "keywords": "coverage",
        "length": "length",
        "pattern": "tags",
        "violations": "violations",
        "all": "score",
    }.items()
}
QUERY = Query(
    experiments=(EXPERIMENT, "coda_pretrained", "coda_ablation"),
    rows={"split": "unseen", "decoding": ("threshold", "any")},
    columns=KEPT | {"fidelity": "fidelity_kept"} | {words: metric for metric, words in METRICS.items()},
    shares=KEPT.values(),
    over=NONE,
)


def tables(results: Results) -> Iterator[Table]:
    for table in QUERY.tables(results):
        for line in table.rows:
            if all(entry.ours is None for entry in line[1 : len(KEPT)]):
                line[len(KEPT)] = Entry()  # nothing was asked for, so nothing was kept
        yield table
