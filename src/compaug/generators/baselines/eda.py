"""EDA: a real text with words swapped or deleted (Wei and Zou 2019).

Two of its four operations, synonym replacement and random insertion, need a thesaurus, and no package of the index
brings one along: they are left out.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from compaug.core.records import Draft, Example, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.shared.real_rows import edited, feasible, train

ALPHA = 0.1  # share of the words that one operation changes
__all__ = ["feasible", "generate", "train"]


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """A row with exactly the requested labels, swapped and with words deleted in turns; no draft without such a row."""

    def edit(row: Example, turn: int, number: int) -> str:
        operation = OPERATIONS[turn % len(OPERATIONS)]
        return " ".join(operation(row.text.split(), np.random.default_rng(sub_seed(seed, "eda", number))))

    return edited(edit, model_dir, requests, task, seed)


def swapped(words: list[str], rng: np.random.Generator) -> list[str]:
    """Two words change places, as often as alpha of the words, at least once."""
    words = list(words)
    for _ in range(max(1, int(ALPHA * len(words))) if len(words) > 1 else 0):
        first, second = rng.choice(len(words), size=2, replace=False)
        words[first], words[second] = words[second], words[first]
    return words


def deleted(words: list[str], rng: np.random.Generator) -> list[str]:
    """Every word goes with probability alpha; of a text that would be empty one word stays."""
    kept = [word for word, keep in zip(words, rng.random(len(words)) >= ALPHA, strict=True) if keep]
    return kept or [words[rng.integers(len(words))]]


OPERATIONS = (swapped, deleted)
