"""Synthetic texts that an epoch of the classifier has several times: what that is worth on new combinations, and costs on known ones."""

from __future__ import annotations

import re

import pandas as pd

from compaug.evaluation.longtable import pick, rows_by, summaries
from compaug.experiments import NONE, REAL_TEXTS, REPEATED
from compaug.reports.entries import Entry, Table, gain
from compaug.reports.queries import Results

TITLE = "Texts that are learned from more often"
EXPERIMENT = "emphasis"
EXPERIMENTS = (EXPERIMENT, "emphasis_pretrained")
INTRO = (
    "Ours, not the paper's. Synthetic texts are a small part of what a classifier learns from, so it keeps to the combinations that it knows, whatever they say; "
    "`classifiers.shared.synthetic_repeat` shows them several times an epoch. Percent, threshold 0.5: mean and 95 % t interval over seeds; gains of Acc on new combinations in points, "
    "with both intervals, over the same texts shown once, over no texts, and over as many texts, as often, that repeat the support texts. Nothing was chosen by these numbers: both "
    "settings stand here. Known: Acc on combinations of D_train, of rows that the split holds out for testing (test) or the classifier for validation (validation); H: harmonic mean of new and known. "
    "`real_texts`, a ceiling and in no comparison: half of the test set's own texts, tested on the other half, both ways."
)
COLUMNS = {
    "Jacc": ("unseen", "jacc"),
    "Acc": ("unseen", "acc"),
    "Corr": ("unseen", "corr"),
    "Comp": ("unseen", "comp"),
    "Acc, known (test)": ("seen", "acc"),
    "Acc, known (validation)": ("unseen", "held_out_train_acc"),
    "H": ("unseen", "harmonic"),
}
OVER = {"once": "bert", "no texts": NONE, "repeating": "oversample"}


def tables(results: Results) -> list[Table]:
    made = []
    for experiment, benchmark, rows in results.of(*EXPERIMENTS):
        rows = pick(rows, decoding=("threshold", "any"))
        gains = pick(results.gains, experiment=experiment, benchmark=benchmark, metric="acc", decoding="threshold")
        of = rows_by(gains, "generator", "classifier", "over")
        there = {tuple(pair) for pair in rows[["split", "metric"]].drop_duplicates().itertuples(index=False)}
        columns = {words: column for words, column in COLUMNS.items() if column in there}
        found, counts = results.entries(rows, ["generator", "classifier"], columns), _share(rows)
        lines = []
        for (generator, classifier), entries in sorted(found.items(), key=lambda item: _order(results, *item[0])):
            gained = [one for over in OVER.values() for one in gain(of.get((generator, classifier, over)))[:2]]
            share = counts.get((generator, classifier), Entry(words="–"))
            lines.append([generator, str(_times(classifier)) if generator != NONE else "–", share, *entries, *gained])
        header = ["texts of", "times an epoch", "% of an epoch", *columns]
        header += [word for over in OVER for word in (f"over {over}", f"over {over}, rows")]
        made.append(Table(benchmark, results.setting(rows), header, lines))
    return made


def _times(classifier: str) -> int:
    """How often an epoch has each text, of a value of the column `classifier`."""
    found = re.search(rf"{REPEATED}(\d+)", classifier)
    return int(found[1]) if found else 1


def _share(rows: pd.DataFrame) -> dict[tuple, Entry]:
    """What part of an epoch the texts are, in percent, by generator and classifier."""
    found = summaries(pick(rows, metric=("n_aug", "n_train")), "generator", "classifier", "metric")
    made = {}
    for generator, classifier, metric in found:
        if metric == "n_aug":
            texts = _times(classifier) * found[generator, classifier, "n_aug"].mean
            made[generator, classifier] = Entry(100 * texts / (texts + found[generator, classifier, "n_train"].mean))
    return made


def _order(results: Results, generator: str, classifier: str) -> tuple:
    """By generator, the ceiling last, and by how often."""
    return generator == REAL_TEXTS, results.rank(generator), _times(classifier)
