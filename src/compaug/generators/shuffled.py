"""Shuffled: the control with real texts under other labels, to tell what mere volume does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.generators.controls import examples_of, train
from compaug.records import Labels, sub_seed

COPIES = True
__all__ = ["COPIES", "generate", "train"]


def generate(
    model_dir: Path,
    label_sets: Sequence[Sequence[int]],
    labels: Labels,
    synthesis,
    backbones: Mapping[str, Path],
    seed: int,
) -> list[str]:
    """Real texts of D_cg in random order, each at most once more often than any other, whatever the labels."""
    texts = [example.text for example in examples_of(model_dir, labels)]
    rng = np.random.default_rng(sub_seed(seed, "shuffled"))
    rounds = -(-len(label_sets) // len(texts)) if texts else 0
    order = [at for _ in range(rounds) for at in rng.permutation(len(texts))]
    return [texts[at] for at in order[: len(label_sets)]]
