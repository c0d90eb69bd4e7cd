"""Measures by seed of experiments that are not made of cells: each run leaves a file of its own."""

import functools
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from compaug.evaluation.statistics import Summary, summarise
from compaug.reports.entries import Entry, entry

NONE = "none"  # the arm that all others are compared with
Facts = Mapping  # what the file of a run says
BySize = Mapping[float, Mapping[int, Facts]]  # size -> seed


def by_cell(files: Iterable[Facts], *keys: str) -> list[tuple[tuple[str, ...], list[Facts]]]:
    """The files with the same words under these keys, by them."""
    cell = lambda facts: tuple(facts[key] for key in keys)
    return [(words, list(group)) for words, group in itertools.groupby(sorted(files, key=cell), cell)]


def tree(files: Iterable[Facts], *keys: str) -> dict:
    """{value of the first key: {value of the second: ... {of the last: the file}}}."""
    root: dict = {}
    for facts in files:
        *path, last = (facts[key] for key in keys)
        functools.reduce(lambda place, value: place.setdefault(value, {}), path, root)[last] = facts
    return root


def sizes_of(arms: Mapping[str, BySize]) -> list[float]:
    return sorted({size for by_size in arms.values() for size in by_size})


def values(runs: Mapping[int, Facts] | None, key: str) -> dict[int, float]:
    return {seed: facts[key] for seed, facts in (runs or {}).items() if key in facts}


def levels(
    by_size: BySize, key: str, sizes: Sequence[float], paper: Mapping[float, float] | None = None
) -> list[Entry]:
    """A measure at each size, beside the `paper`'s numbers, which are of another corpus."""
    numbers, other = paper or {}, paper is not None
    return [entry(summary(values(by_size.get(n), key)), numbers.get(n), other_corpus=other) for n in sizes]


def gains(arms: Mapping[str, BySize], arm: str, key: str, sizes: Sequence[float]) -> list[Entry]:
    """A measure at each size over that of the arm NONE, seed by seed."""
    others = {} if arm == NONE else arms.get(NONE, {})
    pairs = ([values(of.get(n), key) for of in (arms[arm], others)] for n in sizes)
    return [entry(over(*pair), sign=True) for pair in pairs]


def counts(by_size: BySize, key: str, sizes: Sequence[float]) -> list[Entry]:
    return [count(values(by_size.get(n), key)) for n in sizes]


def summary(scores: Mapping[int, float]) -> Summary | None:
    return summarise([*scores.values()]) if scores else None


def over(scores: Mapping[int, float], others: Mapping[int, float]) -> Summary | None:
    """Differences seed by seed; None where no seed has both."""
    both = sorted(set(scores) & set(others))
    return summarise([scores[seed] - others[seed] for seed in both]) if both else None


def count(numbers: Mapping[int, float]) -> Entry:
    """The mean of what is counted, as a count."""
    average = summary(numbers)
    return Entry(round(average.mean)) if average else entry(None)


def note(files: Collection[Facts], words: str, *keys: str) -> str:
    """The seeds of the files, and `words` with the different numbers that they have under each of the keys."""
    seeds, *numbers = (sorted({facts[key] for facts in files}) for key in ("seed", *keys))
    shown = (" or ".join(f"{number:,}" for number in several) for several in numbers)
    return f"Seeds {', '.join(map(str, seeds))}; {words.format(*shown)}"
