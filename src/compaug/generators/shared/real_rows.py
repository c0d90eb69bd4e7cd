"""What the controls share: their "model" is the folder of the real rows that they draw from.

`none`, `oversample` and `shuffled` tell the quality of generated text from its mere volume. `aeda` and `eda`, which
edit real rows, keep them the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.core.records import Example, atomic_dir, read_jsonl, sub_seed, write_jsonl

EXAMPLES = "examples.jsonl"


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
    """Keep D_cg; there is nothing to learn."""
    with atomic_dir(out_dir) as folder:
        write_jsonl(folder / EXAMPLES, examples)


def examples_of(model_dir: Path, task) -> list[Example]:
    """The rows that `train` kept."""
    return read_jsonl(model_dir / EXAMPLES, len(task.labels))


def feasible(model_dir: Path, requests: Sequence[Sequence[int]], task) -> list[bool]:
    """Which label sets some row has exactly: `feasible` of generators that edit real texts."""
    compositions = {example.labels for example in examples_of(model_dir, task)}
    return [tuple(sorted(label_set)) in compositions for label_set in requests]


def sources(model_dir: Path, requests: Sequence[Sequence[int]], task, seed: int) -> Iterator[tuple[int, Example, int]]:
    """(number of the request, a row with exactly its labels, how often that row had its turn before).

    Nothing for a request without a row. The rows of a composition take turns, in a random order, so that all are used
    alike.
    """
    rows: dict[tuple[int, ...], list[Example]] = {}
    for example in examples_of(model_dir, task):
        rows.setdefault(example.labels, []).append(example)
    orders: dict[tuple[int, ...], np.ndarray] = {}
    seen: Counter = Counter()
    for number, label_set in enumerate(tuple(sorted(request)) for request in requests):
        if not (choices := rows.get(label_set)):
            continue
        if label_set not in orders:
            rng = np.random.default_rng(sub_seed(seed, "sources", *label_set))
            orders[label_set] = rng.permutation(len(choices))
        turn, at = divmod(seen[label_set], len(choices))
        seen[label_set] += 1
        yield number, choices[orders[label_set][at]], turn
