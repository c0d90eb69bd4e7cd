"""Which label combinations to write texts for when nothing is held out: those that a user lists, and those that are rare in the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from compaug.core.records import Example, InputError, Labels


def combinations(
    examples: Sequence[Example], labels: Labels, rare: int, listed: Sequence[str]
) -> list[tuple[int, ...]]:
    """Sorted label sets: `listed` ones, keys such as joy+love, and those of two labels or more that have fewer than `rare` rows, but at least one.
    InputError for an unknown name, and where there is nothing to ask for."""
    times = Counter(example.labels for example in examples)
    found = {labels_of for labels_of, n in times.items() if len(labels_of) >= 2 and n < rare}
    for key in listed:
        try:
            wanted = labels.composition(key)
        except InputError as error:
            raise InputError(f"repair.combinations: {key!r}: {error}") from None
        if not wanted:
            raise InputError(f"repair.combinations: {key!r} names no label")
        found.add(wanted)
    if not found:
        several = [(n, labels.key(labels_of)) for labels_of, n in times.items() if len(labels_of) >= 2]
        if not several:
            raise InputError("repair.combinations: no row has two labels or more; list the combinations to write for")
        fewest, rarest = min(several)
        raise InputError(
            f"repair.rare: no combination of two labels or more has fewer than {rare} rows; {rarest} has {fewest}, the fewest: "
            f"`dvc exp run repair/dvc.yaml -S repair.rare={fewest + 1}`, or list some in repair.combinations"
        )
    return sorted(found)


def rows(wanted: Sequence[tuple[int, ...]], each: int) -> Iterator[dict]:
    """`each` requests for every combination, as the label generator writes them; in turns, so that a head of the file has them all."""
    for _ in range(each):
        for label_set in wanted:
            yield {"requested_labels": list(label_set)}
