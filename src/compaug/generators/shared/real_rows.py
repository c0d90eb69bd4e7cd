"""Real rows in a model folder, and by composition: what controls and generators that edit texts draw from."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from compaug.core.files import atomic_dir
from compaug.core.records import Draft, Example, read_jsonl, sub_seed, write_jsonl
from compaug.generators import Backbones, Requests

EXAMPLES = "examples.jsonl"


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Keep D_cg; there is nothing to learn."""
    with atomic_dir(out_dir) as folder:
        write_jsonl(folder / EXAMPLES, examples)


def examples_of(model_dir: Path, task) -> list[Example]:
    """The rows that `train` kept."""
    return read_jsonl(model_dir / EXAMPLES, len(task.labels))


def by_composition(examples: Iterable[Example]) -> dict[tuple[int, ...], list[Example]]:
    grouped: dict[tuple[int, ...], list[Example]] = {}
    for example in examples:
        grouped.setdefault(example.labels, []).append(example)
    return grouped


def jaccard(first: Collection[int], second: Collection[int]) -> float:
    """What two label sets that are not both empty have in common."""
    return len(set(first) & set(second)) / len(set(first) | set(second))


def feasible(model_dir: Path, requests: Requests, task) -> list[bool]:
    """Which label sets some row has exactly: `feasible` of generators that edit real texts."""
    compositions = by_composition(examples_of(model_dir, task))
    return [tuple(sorted(label_set)) in compositions for label_set in requests]


def edited(
    edit: Callable[[Example, int, int], str], model_dir: Path, requests: Requests, task, seed: int
) -> Iterator[Draft]:
    """For each request `edit(row, turns of it before, number)` of a row with exactly its labels, nothing without one.

    The rows of a composition take turns, in a random order, so that all are used alike.
    """
    rows = by_composition(examples_of(model_dir, task))
    orders: dict[tuple[int, ...], list[int]] = {}
    seen: Counter = Counter()
    for number, request in enumerate(requests):
        label_set = tuple(sorted(request))
        if not (choices := rows.get(label_set)):
            continue
        if label_set not in orders:
            rng = np.random.default_rng(sub_seed(seed, "sources", *label_set))
            orders[label_set] = rng.permutation(len(choices)).tolist()
        turn, at = divmod(seen[label_set], len(choices))
        seen[label_set] += 1
        row = choices[orders[label_set][at]]
        yield Draft(number, edit(row, turn, number), tuple(request), made_of={"sources": [row.id]})
