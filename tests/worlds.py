"""A toy benchmark with its cells' predictions and measures: what the heavy stages leave, and the packs, for tests of
everything after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.core.records import Example, Labels
from compaug.evaluation import gold, measures, packs, predictions
from compaug.experiments.cells import Cell

LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
SEEN, UNSEEN = [(0, 1), (0, 1), (2,), (0, 1, 2)], [(0,), (1,)]  # the classifier never saw joy or love alone


def rows(name: str, compositions: Sequence[tuple[int, ...]], count: int) -> list[Example]:
    return [Example(f"{name}{i}", f"{name} text {i}", compositions[i % len(compositions)]) for i in range(count)]


PARTS = {
    "train": rows("t", SEEN, 80),
    "support": rows("s", UNSEEN, 20),
    "test": rows("u", UNSEEN, 30),
    "seen_test": rows("k", SEEN, 40),
    "iid_train": rows("i", SEEN, 80),
    "iid_test": rows("j", SEEN, 20),
}


def write_gold(folder: Path, benchmark: str, parts: Mapping = PARTS, **facts) -> None:
    gold.write(folder / "gold" / f"{benchmark}.jsonl.gz", LABELS, parts, {"counts": {}, **facts})


def belief(example: Example, rng) -> list[float]:
    """A classifier that leans to "joy, love" whenever it reads one of them."""
    p = np.array([0.9 if label in example.labels else 0.1 for label in range(3)])
    if example.labels in UNSEEN:
        p[:2] = np.where([0 in example.labels, 1 in example.labels], 0.85, 0.7)
    return np.clip(p + rng.normal(0, 0.03, 3), 0.01, 0.99).round(6).tolist()


def sure(label_set: Sequence[int]) -> list[float]:
    """Probabilities that say this label set and nothing else."""
    return [0.9 if label in label_set else 0.1 for label in range(3)]


def write_cell(
    folder: Path,
    cell: Cell | str,
    test: Mapping[str, Sequence[float]],
    validation: Sequence[tuple[Example, str]] = (),
    support: Sequence[Example] = PARTS["support"],
    synthetic: Sequence[Example] = (),
    **more,
) -> Path:
    """Predictions {id: probabilities} of a cell that learned from D_train, `support` and `synthetic`; `validation` with
    their sources.
    `more`: fields of the header, or `unparsed` {id: pieces}.  # the cell's own file; of a Cell, it is in the pack as
        well"""
    unparsed, rng = more.pop("unparsed", {}), np.random.default_rng(0)
    learned = [*PARTS["train"], *support, *synthetic]
    header = {
        **{
            name: predictions.counts(e.labels for e in part)
            for name, part in (("learned", learned), ("train", PARTS["train"]), ("support", support))
        },
        "n_train": len(PARTS["train"]) + len(support),
        "n_synthetic": len(synthetic),
        "losses": [0.5],
    }
    records = [
        {"id": e.id, "split": "validation", "probabilities": belief(e, rng), "labels": list(e.labels), "source": source}
        for e, source in validation
    ]
    records += [
        {"id": name, "split": "test", "probabilities": list(p)} | ({"unparsed": unparsed[name]} if unparsed else {})
        for name, p in test.items()
    ]
    path = file_of(folder, cell)
    predictions.write(path, header | more, records)
    if isinstance(cell, Cell):
        packs.merge(folder / "predictions", {cell.name: path})
    return path


def file_of(folder: Path, cell: Cell | str) -> Path:
    return folder / "data" / "predictions" / f"{cell if isinstance(cell, str) else cell.name}.jsonl.gz"


def remove_cell(folder: Path, cell: Cell) -> None:
    """From its pack."""
    pack = packs.pack_of(cell.name)
    cells = [name for name in packs.Packs(folder / "predictions") if packs.pack_of(name) == pack]
    (folder / "predictions" / f"{pack}.parquet").unlink()
    packs.merge(folder / "predictions", {name: file_of(folder, name) for name in cells if name != cell.name})


def write_measure(folder: Path, kind: str, name: str, value: Mapping) -> None:
    """Of the texts or the generator of that name, beside those that are there."""
    measures.write(folder, kind, measures.read(folder, kind) | {name: value})


def beliefs(examples: Sequence[Example], seed: int = 1) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    return {e.id: belief(e, rng) for e in examples}
