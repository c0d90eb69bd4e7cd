"""Synthetic texts that an epoch of the classifier has several times: what that is worth on new combinations, and costs on known ones."""

from __future__ import annotations

import re
from functools import partial

import pandas as pd

from compaug.evaluation.longtable import pick, rows_by, summaries
from compaug.experiments import NONE, REAL_TEXTS, REPEATED
from compaug.reports import NOT_REPORTED, figures
from compaug.reports.entries import Entry, Figure, Table, gained
from compaug.reports.queries import Results

TITLE = "Texts that are learned from more often"
EXPERIMENT = "emphasis"
EXPERIMENTS = (EXPERIMENT, "emphasis_pretrained", "pretrained_full", "pretrained_full_open")
INTRO = (
    "Ours, not the paper's. Synthetic texts are a small part of what a classifier learns from, so it keeps to the combinations that it knows, whatever they say; "
    "`classifiers.shared.synthetic_repeat` shows them several times an epoch. Percent, threshold 0.5: mean and 95 % t interval over seeds; gains of Acc on new combinations in points, "
    "with the t interval over seeds, of fewer than three seeds with that over test rows, over the same texts shown once, over no texts, and over the support texts repeated, each text as often. "
    "Nothing was chosen by these numbers: all settings that were tried stand here. `requested=8000`: four times as many texts, written and kept. Known: Acc on combinations of D_train, of rows that the split holds out for testing (test), or where it holds out none, the classifier for validation (validation); H: harmonic mean of new and known. "
    "`real_texts`, a ceiling and in no comparison: half of the test set's own texts, tested on the other half, both ways."
)
VALIDATION = "held_out_train_acc"
TESTED, VALIDATED = "Acc, known (test)", "Acc, known (validation)"
COLUMNS = {
    "Jacc": ("unseen", "jacc"),
    "Acc": ("unseen", "acc"),
    "Corr": ("unseen", "corr"),
    "Comp": ("unseen", "comp"),
    TESTED: ("seen", "acc"),
    VALIDATED: ("unseen", VALIDATION),
    "H": ("unseen", "harmonic"),
}
OVER = {"once": "bert", "no texts": NONE, "repeating": "oversample"}


def tables(results: Results) -> list[Table]:
    made, nothing = [], Entry(words=NOT_REPORTED)
    for experiment, benchmark, rows in results.of(*EXPERIMENTS):
        rows = _compared(rows)
        own = {"experiment": experiment, "benchmark": benchmark, "selection": set(rows["selection"])}
        gains = pick(results.gains, **own, metric="acc", decoding="threshold")
        of = rows_by(gains, "generator", "classifier", "over")
        columns = _columns(rows)
        found, counts = results.entries(rows, ["generator", "classifier"], columns), _counts(rows)
        lines = []
        for (generator, classifier), entries in sorted(found.items(), key=lambda item: _order(results, *item[0])):
            rows_of = (of.get((generator, classifier, over)) for over in OVER.values())
            moved = [nothing if row is None else gained(row) for row in rows_of]
            count, share = counts.get((generator, classifier), (nothing, nothing))
            times = str(_times(classifier)) if generator != NONE else NOT_REPORTED
            lines.append([generator, count, times, share, *entries, *moved])
        header = ["texts of", "texts", "times an epoch", "% of an epoch", *columns, *(f"over {over}" for over in OVER)]
        made.append(Table(benchmark, results.setting(rows), header, lines))
    return made


def figures_of(results: Results) -> list[Figure]:
    """Of benchmarks with three seeds or more."""
    made = []
    for _, benchmark, rows in results.of(*EXPERIMENTS):
        rows = _compared(rows)
        found = summaries(pick(rows, metric=("acc", VALIDATION)), "generator", "classifier", "split", "metric")
        columns = _columns(rows)
        known = columns.get(TESTED) or columns.get(VALIDATED)
        both = {
            key[:2]: (found[*key[:2], "unseen", "acc"], found[*key[:2], *known]) for key in found if key[2:] == known
        }
        counts, curves = _counts(rows), {}
        for generator, classifier in sorted(both.keys() & counts.keys(), key=lambda pair: _order(results, *pair)):
            count, share = counts[generator, classifier]
            by_number = curves.setdefault(generator.partition("+")[0], {})
            by_number.setdefault(f"{count} texts", {})[share.ours] = both[generator, classifier]
        without = both.get((NONE, "bert"))
        if without and without[0].n > 2 and curves:
            words = ("new combinations", f"known combinations ({'test' if known[0] == 'seen' else 'validation'} rows)")
            draw = partial(figures.accuracy_by_share, benchmark, curves, without, words)
            caption = f"Accuracy by the part of an epoch that synthetic texts make up, {benchmark}"
            settings = max(len(curve) for by_number in curves.values() for curve in by_number.values())
            # on the page where a table does not show it as well
            made.append(Figure(f"emphasis-{benchmark}", caption, draw, on_page=settings > 2))
    return made


def _compared(rows: pd.DataFrame) -> pd.DataFrame:
    """What stands in the table: texts that the filter ranked, no iid split."""
    best = [rule for rule in rows["selection"].unique() if not rule.startswith("mode=")]
    return pick(rows, decoding=("threshold", "any"), selection=best, split=("unseen", "seen"))


def _columns(rows: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Those of COLUMNS that there are; known combinations by test rows, where the split holds out none by validation rows."""
    there = set(rows[["split", "metric"]].itertuples(index=False, name=None))
    unwanted = VALIDATED if COLUMNS[TESTED] in there else ""
    return {words: column for words, column in COLUMNS.items() if column in there and words != unwanted}


def _times(classifier: str) -> int:
    """How often an epoch has each text, of a value of the column `classifier`."""
    found = re.search(rf"{REPEATED}(\d+)", classifier)
    return int(found[1]) if found else 1


def _counts(rows: pd.DataFrame) -> dict[tuple, tuple[Entry, Entry]]:
    """How many texts there are and what part of an epoch they make up, in percent, by generator and classifier."""
    found = summaries(pick(rows, metric=("n_aug", "n_train")), "generator", "classifier", "metric")
    made = {}
    for generator, classifier, metric in found:
        if metric == "n_aug" and generator != NONE:
            texts = found[generator, classifier, "n_aug"].mean
            shown = _times(classifier) * texts
            share = 100 * shown / (shown + found[generator, classifier, "n_train"].mean)
            made[generator, classifier] = Entry(round(texts)), Entry(share)
    return made


def _order(results: Results, generator: str, classifier: str) -> tuple:
    """By generator, the ceiling last, by how many texts it wrote, and by how often they are shown."""
    return generator == REAL_TEXTS, results.rank(generator.partition("+")[0]), generator, _times(classifier)
