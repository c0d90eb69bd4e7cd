"""CoDa: how well its texts keep each constraint, with and without the others, and what they are worth."""

from collections.abc import Iterator

from compaug.experiments.cells import NONE
from compaug.reports import METRICS
from compaug.reports.entries import Entry, Table
from compaug.reports.queries import Query, Results

TITLE = "CoDa: constraints kept, and what the texts are worth"
EXPERIMENT = "coda"
INTRO = (
    "Percent, mean and 95 % t interval over seeds, classifier `bert`; of one seed the gain has that over test rows. Of "
    "all texts that were written, before the label filter: the keywords that they have, by lemma; texts within the "
    "range of words; likeness of their best sentence to the pattern of parts of speech; concepts expressed that were "
    "to be avoided (lower is better); the mean of these, by which answers are ranked. A constraint that was not asked "
    "for has no number. Fidelity: kept texts with all requested labels and no other, where the grammar is known."
)
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
