"""AEDA: a real text with punctuation marks put between its words (Karimi et al. 2021)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from compaug.core.records import Draft, Example, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.shared.real_rows import edited, feasible, train

MARKS = (".", ";", "?", ":", "!", ",")
__all__ = ["feasible", "generate", "train"]


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """A row with exactly the requested labels, marked anew at each of its turns; no draft where there is none."""

    def edit(row: Example, turn: int, number: int) -> str:
        return punctuated(row.text, np.random.default_rng(sub_seed(seed, "aeda", number)))

    return edited(edit, model_dir, requests, task, seed)


def punctuated(text: str, rng: np.random.Generator) -> str:
    """1 to n/3 marks, at least one, each in front of another one of the n words."""
    words = text.split()
    how_many = int(rng.integers(1, max(1, len(words) // 3) + 1))
    places = set(rng.permutation(len(words))[:how_many].tolist())
    tokens = []
    for at, word in enumerate(words):
        tokens += [MARKS[rng.integers(len(MARKS))], word] if at in places else [word]
    return " ".join(tokens)
