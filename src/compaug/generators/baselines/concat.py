"""Concat: for every label one real text that has this label alone, joined in random order (paper, Concat)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.core.records import Draft, Example, InputError, Labels, atomic_dir, read_jsonl, sub_seed, write_jsonl

EXAMPLES = "examples.jsonl"


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
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
    with atomic_dir(out_dir) as folder:
        write_jsonl(folder / EXAMPLES, single)


def feasible(model_dir: Path, requests: Sequence[Sequence[int]], task) -> list[bool]:
    """Which label sets it can make: those whose every label has a text of its own."""
    covered = set(single_label_texts(model_dir, task.labels))
    return [set(label_set) <= covered for label_set in requests]


def single_label_texts(model_dir: Path, labels: Labels) -> dict[int, list[str]]:
    texts: dict[int, list[str]] = {}
    for example in read_jsonl(model_dir / EXAMPLES, len(labels)):
        texts.setdefault(example.labels[0], []).append(example.text)
    return texts


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """One text per request; none where a label has no text of its own."""
    texts = single_label_texts(model_dir, task.labels)
    for request, label_set in enumerate(requests):
        if not set(label_set) <= set(texts):
            continue
        rng = np.random.default_rng(sub_seed(seed, "concat", request))
        order = rng.permutation(sorted(label_set)).tolist()
        parts = [texts[label][rng.integers(len(texts[label]))] for label in order]
        yield Draft(request, " ".join(parts), tuple(label_set))
