"""Whether measures of texts rank generators as classifiers' accuracy does (joint generation, §4.1)."""

import math
from collections.abc import Iterator

import pandas as pd
import scipy

from compaug.core.markdown import NOT_REPORTED
from compaug.evaluation.longtable import pick
from compaug.evaluation.statistics import summarise
from compaug.reports.entries import Entry, Table, entry
from compaug.reports.queries import FIRST, Results

EXPERIMENT = "metrics"
DISTANCES = {
    "FD": ("fd", "lower"),
    "FD, length 1": ("fd_unit", "lower"),
    "FD with labels": ("fda", "lower"),
    "FD with labels, length 1": ("fda_unit", "lower"),
    "precision": ("precision", "higher"),
    "recall": ("recall", "higher"),
    "precision with labels": ("precision_a", "higher"),
    "recall with labels": ("recall_a", "higher"),
    "BLEU": ("bleu", "higher"),
}
REAL = {"support": "support texts", "train": "D_train"}
MEASURES = {
    f"{words}, to {texts}": (f"distance_{real}_{name}", better)
    for real, texts in REAL.items()
    for words, (name, better) in DISTANCES.items()
} | {
    "Self-BLEU": ("quality_self_bleu", "lower"),
    "distinct 2-grams": ("quality_distinct_2", "higher"),
    "perplexity under the prompt": ("quality_perplexity", "lower"),
    "agreement with the filter": ("quality_filter_jacc", "higher"),
    "fidelity of all texts": ("fidelity_raw", "higher"),
    "fidelity of the kept texts": ("fidelity_kept", "higher"),
}
FEWEST = 3  # generators that a ranking needs


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(EXPERIMENT, classifier="bert", split="unseen", selection="top_k"):
        every = pick(rows, metric="acc", decoding="threshold")
        groups = [every, every[~every["generator"].isin(FIRST)]]
        lines = []
        for words, (metric, better) in MEASURES.items():
            measured = pick(rows, metric=metric)
            entries = [_tau(measured, group) for group in groups]
            if any(tau.ours is not None for tau in entries):
                lines.append([words, better, *entries])
        yield Table(benchmark, results.setting(every), ["measure", "better", "tau", "without controls"], lines)


def _tau(measured: pd.DataFrame, accuracies: pd.DataFrame) -> Entry:
    """Tau-b of the two over generators, seed by seed.

    None where no seed has `FEWEST` generators with both, or all of them have one value.
    """
    both = measured.merge(accuracies, on=["generator", "seed"], suffixes=("_of", ""))
    taus = [
        tau
        for _, group in both.groupby("seed")
        if len(group) >= FEWEST and (tau := _kendall(group["value_of"], group["value"])) is not None
    ]
    return entry(summarise(taus), sign=True) if taus else Entry(words=NOT_REPORTED)


def _kendall(measured: pd.Series, accuracies: pd.Series) -> float | None:
    tau = float(scipy.stats.kendalltau(measured, accuracies).statistic)
    return None if math.isnan(tau) else tau  # one of them is constant
