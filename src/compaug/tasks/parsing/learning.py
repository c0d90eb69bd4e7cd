"""Training a parser, judging it, and what its training thought of every row (cartography spec, sections 1 to 4)."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from compaug.cartography import maps
from compaug.cartography.dynamics import Dynamics
from compaug.core.files import InputError, digest
from compaug.core.records import sub_seed
from compaug.generators.shared import teacher_forcing
from compaug.tasks.parsing.corpora import Pair
from compaug.tasks.parsing.model import Parser
from compaug.tasks.parsing.vocabulary import BEGIN, END, PAD, UNKNOWN, Vocabulary
from compaug.training import curricula
from compaug.training.batching import batches_by_length
from compaug.training.checkpoint import checkpoints_kept, work_dir_for
from compaug.training.loop import FitOptions, device, fit, seed_everything

DECODED = {"cpu": 256, "cuda": 2048}  # rows that are decoded together: a GPU waits for each word, however few the rows


def rows_of(pairs: Sequence[Pair], vocabulary: Vocabulary) -> list[dict]:
    """Rows for `loop.fit`; "input_ids" are BEGIN, the logical form and END, and all but the first count in the loss."""
    rows = []
    for pair in pairs:
        written = [BEGIN, *vocabulary.encode(pair.target), END]
        source = vocabulary.encode(pair.source)
        rows.append({"id": pair.id, "source": source, "input_ids": written, "first": 1, "length": len(written)})
    return rows


def collate(rows: Sequence[Mapping]) -> dict[str, Tensor]:
    """source [B, S] and written [B, T], padded on the right; targets [tokens]: what follows each written word."""
    source, written = (
        pad_sequence([torch.tensor(row[name]) for row in rows], batch_first=True, padding_value=PAD)
        for name in ("source", "input_ids")
    )
    return {
        "source": source,
        "written": written,
        "targets": torch.tensor([word for row in rows for word in row["input_ids"][1:]]),
    }


def sample(pairs: Sequence[Pair], share: float) -> list[Pair]:
    """A random share of the pairs, the same for every seed, that has every word of them."""
    if share == 1:
        return list(pairs)
    flat = _flat_map(pairs)
    kept = maps.subset(flat, maps.RANDOM, share, [pair.words for pair in pairs], keep=1, seed=0)
    return [pairs[row] for row in sorted(kept.rows)]


def chosen(pairs: Sequence[Pair], choice, folder: Path | None, seed: int) -> tuple[list[Pair], dict[str, int]]:
    """What is learned from, and what the repair of the subset did; the order is a curriculum's where there is one.

    `choice` is a `parameters.Choice`, `folder` that of a data map. InputError for a map that is missing, or that
    nothing asks for.
    """
    if choice.mapped != (folder is not None):
        raise InputError("--map: goes together with a region or a curriculum of a data map; give both or neither")
    facts = {"added": 0, "removed": 0}
    if choice.region != "all":
        data_map = _flat_map(pairs)
        if choice.region != maps.RANDOM:
            data_map = maps.map_of(folder, choice.measure).of(data_map.ids, folder)
        words = [pair.words for pair in pairs]
        kept = maps.subset(data_map, choice.region, choice.ratio, words, choice.keep, sub_seed(seed, "subset"))
        facts = {"added": kept.added, "removed": kept.removed}
        pairs = [pairs[row] for row in sorted(kept.rows)]
    ordering = folder if choice.first else None
    return maps.in_order(pairs, choice, ordering, sub_seed(seed, "curriculum")), facts


def _flat_map(pairs: Sequence[Pair]) -> maps.DataMap:
    """In which no row is before another: all that a random choice needs."""
    zeros = np.zeros(len(pairs))
    return maps.DataMap([pair.id for pair in pairs], zeros, zeros, zeros)


def train(
    pairs: Sequence[Pair],
    vocabulary: Vocabulary,
    size,
    out: Path,
    seed: int,
    epochs: int | None = None,
    pacing: str | None = None,
    mapped: Path | None = None,
) -> tuple[Parser, list[dict]]:
    """A parser of `size`, a `parameters.Size`, and the history of its training on the pairs, nothing held out.

    As many epochs as come nearest to `size.steps`, so that a subset is learned from for as long as all pairs (to half
    an epoch), or as many as given. `pacing` unlocks the pairs in the order in which they stand. With `mapped`, a
    folder, dynamics.npy and dynamics.json go there. `out` names the checkpoint.
    """
    rows = rows_of(pairs, vocabulary)
    epochs = epochs or max(1, round(size.steps / math.ceil(len(rows) / size.batch_size)))
    seed_everything(sub_seed(seed, "parser"))
    model = Parser(size, len(vocabulary))
    order = curricula.batches(pacing, [row["length"] for row in rows], size.batch_size, epochs) if pacing else None
    identity = ("parser", size, epochs, pacing, seed, vocabulary.words, digest([str(p) for p in pairs]))
    work_dir = work_dir_for(out, *identity)
    hook = Dynamics(work_dir, [row["id"] for row in rows], partial(dynamics, model, rows, vocabulary, size, seed))
    with checkpoints_kept():
        history = fit(
            model,
            rows,
            [],
            collate,
            FitOptions(epochs, size.batch_size, size.lr, warmup=size.warmup, schedule=size.schedule),
            seed=seed,
            work_dir=work_dir,
            description="parser",
            batches=order,
            on_epoch_end=[hook] if mapped else [],
        )
        if mapped:
            hook.write(mapped)
    return model, history


def dynamics(model: Parser, rows: Sequence[Mapping], vocabulary: Vocabulary, size, seed: int) -> np.ndarray:
    """`teacher_forcing.VALUES` of every row, float32 [rows, 4]; BLEU of a share `size.bleu`."""

    def greedy(numbers: list[int]) -> list[tuple[str, str]]:
        batch = [rows[number] for number in numbers]
        return [
            (vocabulary.decode(words), vocabulary.decode(row["input_ids"][1:-1]))
            for words, row in zip(decode(model, batch), batch, strict=True)
        ]

    logits_of = partial(_logits, model)
    share = size.bleu or None
    return teacher_forcing.values(rows, collate, size.batch_size, logits_of, greedy, share, seed, decode_right=False)


def decode(model: Parser, rows: Sequence[Mapping]) -> list[list[int]]:
    """Greedy logical forms, cut at twice the length of the right ones: a model that has learned little does not end."""
    words_of: dict[int, list[int]] = {}
    for numbers in batches_by_length([row["length"] for row in rows], DECODED[device().type]):
        batch = [rows[number] for number in numbers]
        source, limits = collate(batch)["source"].to(device()), [2 * row["length"] for row in batch]
        words_of |= zip(numbers, model.greedy(source, limits), strict=True)
    return [words_of[number] for number in range(len(rows))]


def exact(model: Parser, rows: Sequence[Mapping], batch_size: int) -> np.ndarray:
    """Whether greedy decoding gives the whole logical form, bool [rows].

    It does where every word, and the end, is the most likely one after the right words before it: one pass, and no
    decoding. A word that training did not have cannot be written.
    """
    values = teacher_forcing.values(rows, collate, batch_size, partial(_logits, model), lambda numbers: [], None, 0)
    writable = np.array([UNKNOWN not in row["input_ids"] for row in rows])
    return (values[:, -1] > maps.THRESHOLD) & writable


def _logits(model: Parser, batch: Mapping[str, Tensor]) -> Tensor:
    return model.logits(batch["source"], batch["written"])


def scores(pairs: Sequence[Pair], right: np.ndarray) -> dict:
    """Exact match in percent, of all pairs and by category, and how many pairs there are."""
    by_category: dict[str, list[bool]] = {}
    for pair, hit in zip(pairs, right.tolist(), strict=True):
        if pair.category:
            by_category.setdefault(pair.category, []).append(hit)
    shares = {name: round(100 * sum(hits) / len(hits), 4) for name, hits in sorted(by_category.items())}
    return {"rows": len(pairs), "exact": round(100 * float(right.mean()), 4), "categories": shares}
