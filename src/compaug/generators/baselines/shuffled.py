"""Shuffled: the control with real texts under other labels, to tell what mere volume does."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from compaug.core.records import Draft, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.shared.drafts import one_each
from compaug.generators.shared.real_rows import examples_of, train

COPIES = True
__all__ = ["COPIES", "generate", "train"]


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """Real texts of D_cg in random order, each at most once more often than any other, whatever the labels."""
    texts = [example.text for example in examples_of(model_dir, task)]
    rng = np.random.default_rng(sub_seed(seed, "shuffled"))
    rounds = -(-len(requests) // len(texts))
    order = [at for _ in range(rounds) for at in rng.permutation(len(texts))]
    return one_each(requests, [texts[at] for at in order[: len(requests)]])
