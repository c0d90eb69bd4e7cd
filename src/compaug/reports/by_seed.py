"""Experiments that are not made of cells leave a file for each run. One measure of them: by seed, over seeds, and over other runs seed by seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compaug.evaluation.statistics import Summary, summarise
from compaug.reports.entries import Entry, entry

Runs = Mapping[int, Mapping]  # seed -> what its file says


def values(runs: Runs | None, key: str) -> dict[int, float]:
    return {seed: facts[key] for seed, facts in (runs or {}).items() if key in facts}


def summary(own: Mapping[int, float]) -> Summary | None:
    return summarise([*own.values()]) if own else None


def over(own: Mapping[int, float], others: Mapping[int, float]) -> Summary | None:
    """Differences seed by seed; None where no seed has both."""
    both = sorted(set(own) & set(others))
    return summarise([own[seed] - others[seed] for seed in both]) if both else None


def count(own: Mapping[int, float]) -> Entry:
    """The mean of what is counted, as a count."""
    found = summary(own)
    return Entry(round(found.mean)) if found else entry(None)


def listed(numbers: Iterable[float]) -> str:
    """Different numbers in words: 34 or 130."""
    return " or ".join(f"{number:,}" for number in sorted(set(numbers)))
