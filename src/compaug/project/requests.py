"""Which label combinations to write texts for when nothing is held out: those listed, and those that are rare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from compaug.core.files import InputError
from compaug.core.records import Example, Labels


def combinations(
    examples: Sequence[Example], labels: Labels, rare: int, listed: Sequence[str]
) -> list[tuple[int, ...]]:
    """Sorted label sets to write texts for.

    The `listed` ones, keys such as joy+love, and those of two labels or more that have fewer than `rare` rows, but at
    least one. InputError for an unknown name, and where there is nothing to ask for.
    """
    times = Counter(example.labels for example in examples)
    label_sets = {combination for combination, n in times.items() if len(combination) >= 2 and n < rare}
    for key in listed:
        try:
            label_set = labels.composition(key)
        except InputError as error:
            raise InputError(f"repair.combinations: {key!r}: {error}") from None
        if not label_set:
            raise InputError(f"repair.combinations: {key!r} names no label")
        label_sets.add(label_set)
    if not label_sets:
        several = [(n, labels.key(combination)) for combination, n in times.items() if len(combination) >= 2]
        if not several:
            raise InputError("repair.combinations: no row has two labels or more; list the combinations to write for")
        fewest, rarest = min(several)
        raise InputError(
            f"repair.rare: no combination of two labels or more has fewer than {rare} rows; {rarest} has "
            f"{fewest}, the fewest: `dvc exp run repair/dvc.yaml -S repair.rare={fewest + 1}`, "
            "or list some in repair.combinations"
        )
    return sorted(label_sets)


def rows(label_sets: Sequence[tuple[int, ...]], each: int) -> Iterator[dict]:
    """`each` requests for every combination, in turns, so that a head of the file has them all."""
    for _ in range(each):
        for label_set in label_sets:
            yield {"requested_labels": list(label_set)}
