"""Synthetic texts that an epoch has several times: what that gains on unseen combinations and costs on seen ones."""

import re
from collections.abc import Iterator
from functools import partial

import pandas as pd

from compaug.core.markdown import NOT_REPORTED
from compaug.evaluation.decoding.knowledge import chosen
from compaug.evaluation.longtable import pick, rows_by, summaries
from compaug.experiments.cells import NONE, REAL_TEXTS, REPEATED
from compaug.reports import figures
from compaug.reports.entries import Entry, Figure, Table, gained
from compaug.reports.queries import Results

EXPERIMENT = "emphasis"
EXPERIMENTS = (EXPERIMENT, "emphasis_pretrained", "pretrained_full", "pretrained_full_open")
VALIDATION = "held_out_train_acc"
TESTED, VALIDATED = "Acc, seen (test)", "Acc, seen (validation)"
LEAKING = "concat"  # its committed cells learned from texts that hold their validation rows
COLUMNS = {
    "Jacc": ("unseen", "jacc"),
    "Acc": ("unseen", "acc"),
    "Corr": ("unseen", "corr"),
    "Comp": ("unseen", "comp"),
    TESTED: ("seen", "acc"),
    VALIDATED: ("unseen", VALIDATION),
    "H": ("unseen", "harmonic"),
    "AUSUC": ("unseen", "ausuc"),
    "AUSUC (validation)": ("unseen", "held_out_ausuc"),
}
OVER = {"once": "bert", "no texts": NONE, "repeating": "oversample"}


def tables(results: Results) -> Iterator[Table]:
    nothing = Entry(words=NOT_REPORTED)
    for experiment, benchmark, rows in results.of(*EXPERIMENTS):
        rows = _compared(rows)
        where = {"experiment": experiment, "benchmark": benchmark, "selection": set(rows["selection"])}
        gains = pick(results.gains, **where, metric="acc", decoding="threshold")
        of = rows_by(gains, "generator", "classifier", "over")
        columns = _columns(rows)
        cells, counts = results.entries(rows, ["generator", "classifier"], columns), _counts(rows)
        lines = []
        for (generator, classifier), entries in sorted(cells.items(), key=lambda item: _order(results, *item[0])):
            rows_of = (of.get((generator, classifier, over)) for over in OVER.values())
            moved = [nothing if row is None else gained(row) for row in rows_of]
            count, share = counts.get((generator, classifier), (nothing, nothing))
            times = str(_times(classifier)) if generator != NONE else NOT_REPORTED
            if generator.partition("+")[0] == LEAKING:
                pairs = zip(columns, entries, strict=True)
                entries = [nothing if "validation" in words else value for words, value in pairs]
            lines.append([generator, count, times, share, *entries, *moved])
        header = ["texts of", "texts", "times an epoch", "% of an epoch", *columns, *(f"over {over}" for over in OVER)]
        yield Table(benchmark, f"{_choice(results, rows)} {results.setting(rows)}".strip(), header, lines)


def _choice(results: Results, rows: pd.DataFrame) -> str:
    """How often each generator's texts are to be shown and how many there are, by a rule that uses no test label.

    "" without folds.
    """
    folds = pick(rows, metric="fold_ausuc", decoding="threshold")
    counts, words = _counts(rows), []
    families: dict[str, list[tuple[str, str]]] = {}
    for generator, classifier in sorted(set(zip(folds["generator"], folds["classifier"], strict=True))):
        if (generator, classifier) in counts:
            families.setdefault(generator.partition("+")[0], []).append((generator, classifier))
    for family, settings in families.items():
        if len(settings) < 2:
            continue
        settings.sort(key=lambda setting: counts[setting][1].ours)  # the smallest part of an epoch first
        by_seed = [
            pick(folds, generator=generator, classifier=classifier).set_index("seed")["value"].sort_index()
            for generator, classifier in settings
        ]
        common = by_seed[0].index[by_seed[0].index.isin(set.intersection(*(set(values.index) for values in by_seed)))]
        generator, classifier = settings[chosen([values[common].tolist() for values in by_seed])]
        words.append(f"of `{family}` {counts[generator, classifier][0]} texts, {_times(classifier)} times an epoch")
    return f"Chosen on folds, by AUSUC on support and training rows: {'; '.join(words)}." if words else ""


def figures_of(results: Results) -> Iterator[Figure]:
    """Of benchmarks with three seeds or more and test rows of seen combinations."""
    for _, benchmark, rows in results.of(*EXPERIMENTS):
        rows = _compared(rows)
        means = summaries(pick(rows, metric="acc"), "generator", "classifier", "split")
        both = {key[:2]: (means[*key[:2], "unseen"], means[key]) for key in means if key[2] == "seen"}
        counts, curves = _counts(rows), {}
        for generator, classifier in sorted(both.keys() & counts.keys(), key=lambda pair: _order(results, *pair)):
            count, share = counts[generator, classifier]
            by_number = curves.setdefault(generator.partition("+")[0], {})
            by_number.setdefault(f"{count} texts", {})[share.ours] = both[generator, classifier]
        without = both.get((NONE, "bert"))
        if without and without[0].n > 2 and curves:
            words = ("unseen combinations", "seen combinations")
            draw = partial(figures.accuracy_by_share, benchmark, curves, without, words)
            caption = f"Accuracy by the part of an epoch that synthetic texts make up, {benchmark}"
            yield Figure(f"emphasis-{benchmark}", caption, draw, on_page=False)  # the table says it


def _compared(rows: pd.DataFrame) -> pd.DataFrame:
    """What stands in the table: texts that the filter ranked, no iid split."""
    best = [rule for rule in rows["selection"].unique() if not rule.startswith("mode=")]
    return pick(rows, decoding=("threshold", "any"), selection=best, split=("unseen", "seen"))


def _columns(rows: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Those of COLUMNS that there are.

    Seen combinations are by test rows, where the split holds out none by validation rows.
    """
    there = set(rows[["split", "metric"]].itertuples(index=False, name=None))
    is_tested = COLUMNS[TESTED] in there
    return {
        words: column
        for words, column in COLUMNS.items()
        if column in there and not (is_tested and words.endswith("(validation)"))
    }


def _times(classifier: str) -> int:
    """How often an epoch has each text, of a value of the column `classifier`."""
    match = re.search(rf"{REPEATED}(\d+)", classifier)
    return int(match[1]) if match else 1


def _counts(rows: pd.DataFrame) -> dict[tuple, tuple[Entry, Entry]]:
    """How many texts there are and what part of an epoch they make up, in percent, by generator and classifier."""
    means = summaries(pick(rows, metric=("n_aug", "n_train")), "generator", "classifier", "metric")
    counts = {}
    for generator, classifier, metric in means:
        if metric == "n_aug" and generator != NONE:
            texts = means[generator, classifier, "n_aug"].mean
            shown = _times(classifier) * texts
            share = 100 * shown / (shown + means[generator, classifier, "n_train"].mean)
            counts[generator, classifier] = Entry(round(texts)), Entry(share)
    return counts


def _order(results: Results, generator: str, classifier: str) -> tuple:
    """By generator, the matched arm last, by how many texts it wrote, and by how often they are shown."""
    return generator == REAL_TEXTS, results.rank(generator.partition("+")[0]), generator, _times(classifier)
