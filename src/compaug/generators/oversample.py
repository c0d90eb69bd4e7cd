"""Oversample: the control that repeats support texts, to tell better text from more of the right compositions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.generators.controls import examples_of, train
from compaug.records import Draft, sub_seed

COPIES = True
__all__ = ["COPIES", "generate", "train"]


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """A support text with exactly the requested composition; no draft where the support set has none, for a text
    with other labels would be a wrong row and not a repeated one."""
    by_composition: dict[tuple[int, ...], list[str]] = {}
    for example in examples_of(model_dir, task):
        if example.source == "support":
            by_composition.setdefault(example.labels, []).append(example.text)
    for request, label_set in enumerate(requests):
        if choices := by_composition.get(tuple(sorted(label_set))):
            chosen = np.random.default_rng(sub_seed(seed, "oversample", request)).integers(len(choices))
            yield Draft(request, choices[chosen], tuple(label_set))
