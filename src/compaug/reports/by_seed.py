"""Measures by seed of experiments that are not made of cells.

They leave a file for each run. A measure is taken by seed, over seeds, and over other runs seed by seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compaug.evaluation.statistics import Summary, summarise
from compaug.reports.entries import Entry, entry

Runs = Mapping[int, Mapping]  # seed -> what its file says


def values(runs: Runs | None, key: str) -> dict[int, float]:
    return {seed: facts[key] for seed, facts in (runs or {}).items() if key in facts}


def summary(scores: Mapping[int, float]) -> Summary | None:
    return summarise([*scores.values()]) if scores else None


def over(scores: Mapping[int, float], others: Mapping[int, float]) -> Summary | None:
    """Differences seed by seed; None where no seed has both."""
    both = sorted(set(scores) & set(others))
    return summarise([scores[seed] - others[seed] for seed in both]) if both else None


def count(counts: Mapping[int, float]) -> Entry:
    """The mean of what is counted, as a count."""
    average = summary(counts)
    return Entry(round(average.mean)) if average else entry(None)


def listed(numbers: Iterable[float]) -> str:
    """Different numbers in words: 34 or 130."""
    return " or ".join(f"{number:,}" for number in sorted(set(numbers)))
