"""Controls that tell the quality of generated text from its mere volume: nothing, copies of support rows, shuffled labels.

Design section 4. Their "model" is the folder of the real rows that they draw from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.records import Example, Labels, atomic_dir, read_jsonl, sub_seed, write_jsonl

LabelSets = Sequence[Sequence[int]]


def train(
    examples: Sequence[Example], labels: Labels, params, prompt, backbones: Mapping[str, Path], out_dir: Path, seed: int
) -> None:
    """Keep D_cg; there is nothing to learn."""
    with atomic_dir(out_dir) as folder:
        write_jsonl(folder / "examples.jsonl", examples)


def nothing(
    model_dir: Path, label_sets: LabelSets, labels: Labels, synthesis, backbones: Mapping[str, Path], seed: int
) -> list[str]:
    """No augmentation: answers no request at all."""
    return []


def oversample(
    model_dir: Path, label_sets: LabelSets, labels: Labels, synthesis, backbones: Mapping[str, Path], seed: int
) -> list[str]:
    """A support text with exactly the requested composition; "" where the support set has none, for a text
    with other labels would be a wrong row and not a repeated one."""
    by_composition: dict[tuple[int, ...], list[str]] = {}
    for example in read_jsonl(model_dir / "examples.jsonl", len(labels)):
        if example.source == "support":
            by_composition.setdefault(example.labels, []).append(example.text)
    texts = []
    for request, label_set in enumerate(label_sets):
        choices = by_composition.get(tuple(sorted(label_set)), [""])
        texts.append(choices[np.random.default_rng(sub_seed(seed, "oversample", request)).integers(len(choices))])
    return texts


def shuffled(
    model_dir: Path, label_sets: LabelSets, labels: Labels, synthesis, backbones: Mapping[str, Path], seed: int
) -> list[str]:
    """Real texts of D_cg in random order, each at most once more often than any other, whatever the labels."""
    texts = [example.text for example in read_jsonl(model_dir / "examples.jsonl", len(labels))]
    rng = np.random.default_rng(sub_seed(seed, "shuffled"))
    rounds = -(-len(label_sets) // len(texts)) if texts else 0
    order = [at for _ in range(rounds) for at in rng.permutation(len(texts))]
    return [texts[at] for at in order[: len(label_sets)]]
