"""Concat: for every label one real text that has this label alone, joined in random order (paper, Concat)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import Draft, Example, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.shared import real_rows
from compaug.generators.shared.real_rows import by_composition, examples_of


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Keep the single-label texts of D_train.

    InputError naming the labels without any when fewer than two labels have one.
    """
    single = [e for e in examples if len(e.labels) == 1 and e.source != "support"]
    covered = {e.labels[0] for e in single}
    if len(covered) < 2:
        missing = ", ".join(name for label, name in enumerate(task.labels.names) if label not in covered)
        raise InputError(
            f"concat needs training texts with exactly one label; there are none for {missing}; "
            "take `concat` out of the generators for this benchmark"
        )
    real_rows.train(single, task, params, backbones, out_dir, seed)


def feasible(model_dir: Path, requests: Requests, task) -> list[bool]:
    """Which label sets it can make: those whose every label has a text of its own."""
    texts = by_composition(examples_of(model_dir, task))
    return [all((label,) in texts for label in label_set) for label_set in requests]


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One text per request; none where a label has no text of its own."""
    texts = by_composition(examples_of(model_dir, task))
    for number, label_set in enumerate(requests):
        if not all((label,) in texts for label in label_set):
            continue
        rng = np.random.default_rng(sub_seed(seed, "concat", number))
        choices = [texts[(label,)] for label in rng.permutation(sorted(label_set)).tolist()]
        parts = [of_label[rng.integers(len(of_label))].text for of_label in choices]
        yield Draft(number, " ".join(parts), tuple(label_set))
