"""Which rows a batch has: of like lengths, a share of them in an epoch, or held out for validation."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from compaug.core.records import Example, sub_seed, text_key

SHARED_WORDS = 4  # in a row: fewer stand in two texts by chance (`SEED_WORDS` of evaluation/text_quality/quality.py)


def batches_by_length(
    lengths: Sequence[int], batch_size: int, seed: int | None = None, groups: Sequence | None = None
) -> list[list[int]]:
    """Row numbers in batches of similar length, so that little is padding.

    With a seed rows are shuffled, sorted within pools of 50 batches, and the batches shuffled; without one they are
    sorted by length, longest first (inference: an out-of-memory error shows at once). Rows of different `groups` never
    share a batch.
    """
    order = np.arange(len(lengths)) if seed is None else np.random.default_rng(seed).permutation(len(lengths))
    keys = [0] * len(lengths) if groups is None else groups
    by_group: dict = {}
    for row in order:
        by_group.setdefault(keys[row], []).append(int(row))
    batches = []
    for rows in by_group.values():
        pool = len(rows) if seed is None else 50 * batch_size
        for start in range(0, len(rows), max(pool, 1)):
            pooled = sorted(rows[start : start + pool], key=lambda row: -lengths[row])  # stable: ties keep their order
            batches += [pooled[at : at + batch_size] for at in range(0, len(pooled), batch_size)]
    if seed is not None:
        np.random.default_rng(sub_seed(seed, "batch order")).shuffle(order := np.arange(len(batches)))
        batches = [batches[at] for at in order]
    return batches


def batches_of(rows: Sequence[Mapping], batch_size: int, seed: int | None = None) -> list[list[int]]:
    """`batches_by_length` of rows for `loop.fit`, by their "length" and, where they have it, their "group"."""
    groups = [row["group"] for row in rows] if "group" in rows[0] else None
    return batches_by_length([row["length"] for row in rows], batch_size, seed, groups)


def shares(rows: Sequence[Mapping], share: float, batch_size: int, seed: int) -> Callable[[int, int], list[list[int]]]:
    """The order of training, as `fit` wants it, of epochs that see a share of the rows, all rows equally often.

    An epoch goes on where the last one stopped; after the last row they are shuffled and begun again.
    """
    count = max(1, round(share * len(rows)))

    def batches(epoch: int, seed_of_epoch: int) -> list[list[int]]:
        first, at = divmod(epoch * count, len(rows))
        passes = range(first, ((epoch + 1) * count - 1) // len(rows) + 1)
        order = [np.random.default_rng(sub_seed(seed, "pass", number)).permutation(len(rows)) for number in passes]
        chosen = np.concatenate(order)[at : at + count].tolist()
        numbers = batches_of([rows[row] for row in chosen], batch_size, seed_of_epoch)
        return [[chosen[at] for at in batch] for batch in numbers]

    return batches


def holdout(
    rows: Sequence, share: float, seed: int, group_of: Callable[[Any], Hashable] | None = None
) -> tuple[list, list]:
    """A random share of the rows for validation (at least one of two or more): (training rows, validation rows).

    Of rows that `group_of` finds alike either all are for training or one is for validation and the others for nothing,
    so that no validation row has a copy in training. The share is that of groups, each as likely as any other, however
    often its text occurs. Without two groups nothing is held out.
    """
    groups: dict[Hashable, int] = {}  # the number of the first of the rows that are alike
    firsts = [groups.setdefault(n if group_of is None else group_of(row), n) for n, row in enumerate(rows)]
    count = min(max(1, round(share * len(groups))), len(groups) - 1) if len(groups) > 1 and share > 0 else 0
    order = np.random.default_rng(sub_seed(seed, "validation")).permutation(len(rows)).tolist()
    held = set([number for number in order if firsts[number] == number][:count])
    return [r for r, first in zip(rows, firsts, strict=True) if first not in held], [rows[n] for n in sorted(held)]


def containing(examples: Sequence[Example], held_out: Sequence[Example]) -> list[Example]:
    """Those of the examples that have a held-out text in theirs: all its words in a row, white space and case aside.

    A held-out text of fewer than `SHARED_WORDS` words counts as contained in none, and so does one whose words were
    parted, left out or put in another order.
    """
    words_of = lambda example: tuple(text_key(example.text).split())
    runs = {words for words in map(words_of, held_out) if len(words) >= SHARED_WORDS}
    lengths: dict[tuple[str, ...], set[int]] = {}  # of the runs, by how they begin
    for run in runs:
        lengths.setdefault(run[:SHARED_WORDS], set()).add(len(run))

    def contains(words: tuple[str, ...]) -> bool:
        starts = ((at, lengths.get(words[at : at + SHARED_WORDS], ())) for at in range(len(words)))
        return any(words[at : at + length] in runs for at, fitting in starts for length in fitting)

    return [example for example in examples if contains(words_of(example))]
