"""Curricula: in which order the rows of a training are unlocked (cartography, §3.3).

Rows stand in the order in which they are unlocked; an epoch has as many steps as one without a curriculum.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from compaug.core.records import sub_seed

POOL = 50  # batches whose rows are sorted by length together
Batches = Callable[[int, int], list[list[int]]]
START, GROWTH = 0.04, 1.9  # of exponential pacing (Hacohen and Weinshall 2019)
BINS, FULL_WHEN = 10, 0.5  # of linear pacing (Zhang et al. 2018): all bins are there after that share of the training


def exponential(step: int, steps: int) -> float:
    """The share of the rows that is unlocked at a step, from 0, of so many: START, then GROWTH times as much, to 1.

    Each of the stages lasts int(steps / number of stages) steps, and the last one what is left.
    """
    stages = 1 + math.ceil(math.log(1 / START, GROWTH))
    return min(1.0, START * GROWTH ** min(step // max(1, steps // stages), stages - 1))


def linear(step: int, steps: int) -> float:
    """One of BINS bins more at equal distances; the last one before FULL_WHEN of the steps is over."""
    return min(BINS, 1 + int(BINS * step / (FULL_WHEN * steps))) / BINS


def everything(step: int, steps: int) -> float:
    """No curriculum, for as many steps: what others are compared with."""
    return 1.0


PACINGS = {"exponential": exponential, "linear": linear, "all": everything}


def batches(pacing: str, lengths: Sequence[int], batch_size: int, epochs: int) -> Batches:
    """The order of a training over rows of these `lengths` (tokens), the first to be unlocked standing first.

    The unlocked rows are gone through again and again, so that each is as likely as another. A batch has rows of
    similar length and the order of batches is shuffled; linear pacing sorts all unlocked rows by length, the others do
    so within pools, as `batching.batches_by_length`.
    """
    per_epoch = max(1, math.ceil(len(lengths) / batch_size))
    steps = epochs * per_epoch

    def of_epoch(epoch: int, seed: int) -> list[list[int]]:
        unlocked = [
            max(1, round(PACINGS[pacing](step, steps) * len(lengths)))
            for step in range(epoch * per_epoch, (epoch + 1) * per_epoch)
        ]
        epoch_batches = []
        for size in dict.fromkeys(unlocked):  # they only grow
            rng = np.random.default_rng(sub_seed(seed, pacing, size))
            count = unlocked.count(size)
            while count > 0:
                rows, pool = rng.permutation(size).tolist(), size if pacing == "linear" else POOL * batch_size
                pools = (sorted(rows[at : at + pool], key=lengths.__getitem__) for at in range(0, size, pool))  # stable
                cut = [rows[at : at + batch_size] for rows in pools for at in range(0, len(rows), batch_size)]
                epoch_batches += [cut[at] for at in rng.permutation(len(cut))[:count]]
                count -= len(cut)
        return epoch_batches

    return of_epoch
