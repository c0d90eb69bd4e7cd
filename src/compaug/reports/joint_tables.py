"""Labels and text written at once: whether it can be read, says what was asked for, and what it is worth."""

from compaug.experiments.cells import NONE
from compaug.reports import METRICS
from compaug.reports.queries import Query

EXPERIMENT = "joint"
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
