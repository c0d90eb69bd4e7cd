"""Oversample: the control that repeats support texts, to tell better text from more of the right compositions.

A task without support texts, such as one of few texts, repeats those that it has.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from compaug.core.records import Draft, Example, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.shared.real_rows import by_composition, examples_of, train

COPIES = True
__all__ = ["COPIES", "feasible", "generate", "train"]


def feasible(model_dir: Path, requests: Requests, task) -> list[bool]:
    """Those compositions that the support set has.

    Requests beyond them are drawn again among them, so that the control adds as many texts as the generators do.
    """
    repeated = _repeated(model_dir, task)
    return [tuple(sorted(label_set)) in repeated for label_set in requests]


def _repeated(model_dir: Path, task) -> dict[tuple[int, ...], list[Example]]:
    examples = examples_of(model_dir, task)
    return by_composition([e for e in examples if e.source == "support"] or examples)


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """A support text with exactly the requested composition; no draft where the support set has none, for a text
    with other labels would be a wrong row and not a repeated one."""
    repeated = _repeated(model_dir, task)
    for number, label_set in enumerate(requests):
        if choices := repeated.get(tuple(sorted(label_set))):
            at = np.random.default_rng(sub_seed(seed, "oversample", number)).integers(len(choices))
            yield Draft(number, choices[at].text, tuple(label_set))
