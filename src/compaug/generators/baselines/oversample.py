"""Oversample: the control that repeats support texts, to tell better text from more of the right compositions.

A task without support texts, such as one of few texts, repeats those that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.core.records import Draft, sub_seed
from compaug.generators.shared.real_rows import examples_of, train

COPIES = True
__all__ = ["COPIES", "feasible", "generate", "train"]


def feasible(model_dir: Path, requests: Sequence[Sequence[int]], task) -> list[bool]:
    """Those compositions that the support set has.

    Requests beyond them are drawn again among them, so that the control adds as many texts as the generators do.
    """
    texts = _texts(model_dir, task)
    return [tuple(sorted(label_set)) in texts for label_set in requests]


def _texts(model_dir: Path, task) -> dict[tuple[int, ...], list[str]]:
    examples, texts = examples_of(model_dir, task), {}
    for example in [e for e in examples if e.source == "support"] or examples:
        texts.setdefault(example.labels, []).append(example.text)
    return texts


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """A support text with exactly the requested composition; no draft where the support set has none, for a text
    with other labels would be a wrong row and not a repeated one."""
    by_composition = _texts(model_dir, task)
    for request, label_set in enumerate(requests):
        if choices := by_composition.get(tuple(sorted(label_set))):
            chosen = np.random.default_rng(sub_seed(seed, "oversample", request)).integers(len(choices))
            yield Draft(request, choices[chosen], tuple(label_set))
