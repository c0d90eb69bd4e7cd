"""Labels and text written at once: whether it can be read, says what was asked for, and what it is worth."""

from compaug.experiments.cells import NONE
from compaug.reports import METRICS
from compaug.reports.queries import Query

TITLE = "Labels and text written at once"
EXPERIMENT = "joint"
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
tables = Query(
    experiments=(EXPERIMENT, "joint_pretrained"),
    rows={"split": "unseen", "decoding": ("threshold", "any")},
    columns=WRITTEN | {words: metric for metric, words in METRICS.items()},
    optional=WRITTEN,
    shares=["quality_filter_exact"],
    over=NONE,
).tables
