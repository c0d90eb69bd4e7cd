"""Labels and text written at once: whether it can be read, says what was asked for, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator

from compaug.evaluation.longtable import pick
from compaug.experiments.cells import NONE
from compaug.reports.entries import Entry, Table, gained
from compaug.reports.queries import UNSEEN, Results

TITLE = "Labels and text written at once"
EXPERIMENT = "joint"
EXPERIMENTS = (EXPERIMENT, "joint_pretrained")
INTRO = (
    "Percent, mean and 95 % t interval over seeds, classifier `bert`, threshold 0.5; of one seed the gain has the "
    "interval over test rows. The model writes the labels and then the text, from the labels and a real text of the "
    "nearest combination in which is hidden: words (the default), one span (`mode=span`), several (`mode=multi_spans`) "
    "or all of it (`mode=labels`), and in any case the words that speak most for other labels. `spans=mi`: words that "
    "speak for a label are marked in the text. Readable: of the requests, those answered by a sentence of the "
    "augmented language; other labels: those answered by one under labels that were not asked for, which is dropped, "
    "or keeps what it says (`relabel=generated`). Fidelity: of all texts that were written, and of those that the "
    "label filter kept, those with all requested labels and no other, where the grammar is known; filter: kept texts "
    "in which the label filter finds just those; reader: those in which a classifier does that learned from the iid "
    "split; real texts: those of the classifier's own test set in which it finds just their labels, weighted as in "
    "Table 10."
)
WRITTEN = {
    "readable": "written_readable",
    "other labels": "written_other",
    "fidelity": "fidelity_raw",
    "fidelity, kept": "fidelity_kept",
    "filter": "quality_filter_exact",
    "reader": "judged_classifier_acc",
    "reader, real texts": "reader_acc",
}
OVER = "Acc over none"


def tables(results: Results) -> Iterator[Table]:
    for experiment, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert"):
        rows = pick(rows, split="unseen", decoding=("threshold", "any"))
        rows = rows.assign(value=rows["value"].where(rows["metric"] != WRITTEN["filter"], 100 * rows["value"]))
        measures = {words: metric for words, metric in WRITTEN.items() if metric in set(rows["metric"])}
        columns = {words: ("unseen", metric) for words, metric in measures.items()} | UNSEEN
        lines = results.lines(rows, ["generator"], columns)
        over = results.tested(experiment, benchmark, "generator", classifier="bert", over=NONE)
        lines = [[name, *entries, gained(over[name]) if name in over else Entry()] for name, *entries in lines]
        yield Table(f"{experiment}: {benchmark}", results.setting(rows), ["generator", *columns, OVER], lines)
