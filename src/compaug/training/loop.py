"""The one training loop: length buckets, early stopping, checkpoints, resume. Runs under Accelerate.

A model is any module whose `forward(**batch)` returns a dict of tensors with the key "loss"; its other scalars are
logged parts (the ELBO's, for example), and what is no scalar is for `on_batch`. Only parameters that require gradients
are trained, saved and restored.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import send_to_device
from tqdm import tqdm

from compaug.core import numerics
from compaug.core.records import Example, InputError, atomic_path, digest, sub_seed, text_key
from compaug.training import curricula

CHECKPOINTS = Path(".checkpoints")  # outside every DVC output: DVC empties a stage's outputs before it runs
DIGEST = hashlib.sha256().digest_size  # bytes before the state in a checkpoint
SHARED_WORDS = 4  # in a row: fewer stand in two texts by chance (`SEED_WORDS` of evaluation/text_quality/quality.py)
FINITE_CHECK_EVERY = 50  # steps between looks at the losses on a GPU, so that no step waits for the host

_kept: list[Path] | None = None  # checkpoints of finished trainings whose results are not written yet


class TrainingError(InputError):
    """The training cannot go on; names the step and the rows."""


@dataclass(frozen=True)
class FitOptions:
    """AdamW with a linear schedule; `warmup` is a share of all steps.

    `schedule` increase grows the rate to the very end (T5+CLP's reference), constant keeps it after the warm-up, and
    root lets it fall with the square root of the step, as Noam's (cartography spec, section 4). It stops after
    `patience` epochs without a better validation loss and keeps the best epoch; None keeps the last.
    """

    epochs: int
    batch_size: int
    lr: float
    weight_decay: float = 0.0
    eps: float = 1e-8
    warmup: float = 0.0
    clip: float = 1.0
    patience: int | None = None
    schedule: Literal["decay", "increase", "constant", "root"] = "decay"

    def rate(self, step: int, total: int) -> float:
        """What `lr` is multiplied by at a step, from 0, of so many."""
        warm = total if self.schedule == "increase" else round(self.warmup * total)
        if step < warm:
            return (step + 1) / warm
        if self.schedule == "constant":
            return 1.0
        if self.schedule == "root":
            return math.sqrt(max(1, warm) / (step + 1))
        return max(0.0, (total - step) / max(1, total - warm))


@dataclass(frozen=True)
class EpochEnd:
    """What a hook sees of `fit` at the end of an epoch: the model, in evaluation mode, and the entry of its history."""

    epoch: int  # from 1
    model: torch.nn.Module
    entry: dict
    work_dir: Path  # holds the checkpoint and whatever hooks keep until the training has ended


def seed_everything(seed: int) -> None:
    """Seed python, numpy and torch, and ask torch for deterministic kernels."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    # as use_deterministic_algorithms, which imports torch's compiler to tell it
    torch.set_deterministic_debug_mode("warn")
    torch.utils.deterministic.fill_uninitialized_memory = False  # 4 % of a small model's time, and nothing reads it
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans every new length of texts: 100 ms a step, of 4 that count


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def reduced(where: torch.device) -> bool:
    """Whether models compute in bfloat16 on that device; trained weights, losses and probabilities stay in float32.

    A GPU that has it does, and a CPU that has it where COMPAUG_CPU=native asks for the CPU's own instructions.
    """
    if where.type == "cuda":
        return torch.cuda.is_bf16_supported()
    return numerics.native() and torch.cpu._is_avx512_bf16_supported()  # every CPU with AMX has it too


def batches_by_length(
    lengths: Sequence[int], batch_size: int, seed: int | None = None, groups: Sequence | None = None
) -> list[list[int]]:
    """Row numbers in batches of similar length, so that little is padding.

    With a seed rows are shuffled, sorted within pools of 50 batches, and the batches shuffled; without one they are
    sorted by length, longest first (inference: an out-of-memory error shows at once). Rows of different `groups` never
    share a batch.
    """
    order = np.arange(len(lengths)) if seed is None else np.random.default_rng(seed).permutation(len(lengths))
    keys = [0] * len(lengths) if groups is None else groups
    by_group: dict = {}
    for row in order:
        by_group.setdefault(keys[row], []).append(int(row))
    batches = []
    for rows in by_group.values():
        pool = len(rows) if seed is None else 50 * batch_size
        for start in range(0, len(rows), max(pool, 1)):
            pooled = sorted(rows[start : start + pool], key=lambda row: -lengths[row])  # stable: ties keep their order
            batches += [pooled[at : at + batch_size] for at in range(0, len(pooled), batch_size)]
    if seed is not None:
        np.random.default_rng(sub_seed(seed, "batch order")).shuffle(order := np.arange(len(batches)))
        batches = [batches[at] for at in order]
    return batches


def shares(rows: Sequence[Mapping], share: float, batch_size: int, seed: int) -> Callable[[int, int], list[list[int]]]:
    """The order of training, as `fit` wants it, of epochs that see a share of the rows.

    One epoch goes on where the last one stopped, and after the last row they are shuffled and begun again, so that all
    rows are seen equally often.
    """
    count = max(1, round(share * len(rows)))

    def batches(epoch: int, seed_of_epoch: int) -> list[list[int]]:
        first, at = divmod(epoch * count, len(rows))
        passes = range(first, ((epoch + 1) * count - 1) // len(rows) + 1)
        order = [np.random.default_rng(sub_seed(seed, "pass", number)).permutation(len(rows)) for number in passes]
        chosen = np.concatenate(order)[at : at + count].tolist()
        lengths = [rows[row]["length"] for row in chosen]
        groups = [rows[row]["group"] for row in chosen] if "group" in rows[0] else None
        return [[chosen[at] for at in batch] for batch in batches_by_length(lengths, batch_size, seed_of_epoch, groups)]

    return batches


def holdout(
    rows: Sequence, share: float, seed: int, group_of: Callable[[Any], Hashable] | None = None
) -> tuple[list, list]:
    """A random share of the rows for validation (at least one of two or more): (training rows, validation rows).

    Of rows that `group_of` finds alike either all are for training or one is for validation and the others for nothing,
    so that no validation row has a copy in training. The share is that of groups, each as likely as any other: a text
    that stands there a hundred times would else be held out almost surely, and a few such texts would be all that there
    is to validate on. Without two groups nothing is held out.
    """
    groups: dict[Hashable, int] = {}  # the number of the first of the rows that are alike
    firsts = [groups.setdefault(n if group_of is None else group_of(row), n) for n, row in enumerate(rows)]
    count = min(max(1, round(share * len(groups))), len(groups) - 1) if len(groups) > 1 and share > 0 else 0
    order = np.random.default_rng(sub_seed(seed, "validation")).permutation(len(rows)).tolist()
    held = set([number for number in order if firsts[number] == number][:count])
    return [r for r, first in zip(rows, firsts, strict=True) if first not in held], [rows[n] for n in sorted(held)]


def containing(examples: Sequence[Example], held_out: Sequence[Example]) -> list[Example]:
    """Those of the examples that have a held-out text in theirs: all its words in a row, white space and case aside.

    Generators that copy may rely on it: they draw from all real texts, for what they join or lengthen is not learned
    from where a validation text stands in it. A held-out text of fewer than `SHARED_WORDS` words counts as contained in
    none, and so does one whose words were parted, left out or put in another order.
    """
    words_of = lambda example: tuple(text_key(example.text).split())
    runs = {words for words in map(words_of, held_out) if len(words) >= SHARED_WORDS}
    lengths: dict[tuple[str, ...], set[int]] = {}  # of the runs, by how they begin
    for run in runs:
        lengths.setdefault(run[:SHARED_WORDS], set()).add(len(run))

    def contains(words: tuple[str, ...]) -> bool:
        starts = ((at, lengths.get(words[at : at + SHARED_WORDS], ())) for at in range(len(words)))
        return any(words[at : at + length] in runs for at, fitting in starts for length in fitting)

    return [example for example in examples if contains(words_of(example))]


def work_dir_for(out_dir: Path | str, *identity: object) -> Path:
    """Where the training of `out_dir` keeps its checkpoint; any change of `identity` (data, settings) starts afresh."""
    return CHECKPOINTS / f"{'-'.join(Path(out_dir).parts[-3:])}-{digest([repr(part) for part in identity])}"


def fit_and_validate(
    name: str,
    model: torch.nn.Module,
    rows: Sequence[Mapping],
    collate: Callable[[list], dict],
    params,
    out_dir: Path,
    seed: int,
    *data,
    measured: Callable[[Iterable[dict]], dict] | None = None,
    on_epoch_end: Sequence[Callable[[EpochEnd], None]] = (),
) -> list[dict]:
    """`fit` with the settings that the trained generators share, `params.validation` of the rows being held out.

    The checkpoint is of these `params`, this seed and this `data`, what else the training depends on. What `measured`
    finds in the batches of the validation rows after an epoch goes into its history too, under "measures". With
    `params.pacing` the rows are unlocked in the order in which they stand, over all epochs.
    """
    train_rows, valid_rows = holdout(rows, params.validation, seed)
    pacing = getattr(params, "pacing", None)
    patience = None if pacing else params.patience  # what is still locked is not known to be of no use
    options = FitOptions(params.epochs, params.batch_size, params.lr, warmup=params.warmup, patience=patience)
    work_dir = work_dir_for(out_dir, name, params, seed, *data)

    def measure(end: EpochEnd) -> None:
        in_batches = batches_by_length([row["length"] for row in valid_rows], params.batch_size)
        batches = (send_to_device(collate([valid_rows[i] for i in batch]), device()) for batch in in_batches)
        end.entry["measures"] = measured(batches)

    hooks = [*([measure] if measured and valid_rows else []), *on_epoch_end]
    share = getattr(params, "epoch_share", None)  # a generator of the user's own need not have it
    order = shares(train_rows, share, params.batch_size, seed) if share else None
    if pacing:
        lengths = [row["length"] for row in train_rows]
        order = curricula.batches(pacing, lengths, params.batch_size, params.epochs)
    more = {"seed": seed, "work_dir": work_dir, "description": name, "batches": order, "on_epoch_end": hooks}
    return fit(model, train_rows, valid_rows, collate, options, **more)


@contextlib.contextmanager
def checkpoints_kept() -> Iterator[None]:
    """Until the block ends well `fit` leaves its checkpoint.

    So a stage that is killed, or runs out of disk, while it writes its results does not train again. Inside another
    such block it is that one's end that counts.
    """
    global _kept
    if _kept is not None:
        yield
        return
    _kept = []
    try:
        yield
        for work_dir in _kept:
            shutil.rmtree(work_dir, ignore_errors=True)
    finally:
        _kept = None


def fit(
    model: torch.nn.Module,
    train_rows: Sequence[Mapping],
    valid_rows: Sequence[Mapping],
    collate: Callable[[list], dict],
    options: FitOptions,
    *,
    seed: int,
    work_dir: Path,
    description: str,
    lr_of: Callable[[str], float] | None = None,
    batches: Callable[[int, int], list[list[int]]] | None = None,
    on_epoch_end: Sequence[Callable[[EpochEnd], None]] = (),
    on_batch: Callable[[Sequence[int], Mapping[str, torch.Tensor]], None] | None = None,
) -> list[dict]:
    """Train `model` in place and return one dict of mean losses per epoch.

    Rows are dicts with "id" and "length" (for the buckets) and optionally "group"; `collate` turns a list of them into
    the keyword arguments of `forward`. `lr_of(parameter name)` overrides `options.lr`. With a validation set and
    `patience`, the best epoch's parameters are restored.

    `batches(epoch, seed)` is the order of training, a curriculum for example: lists of row numbers for an epoch, from
    0; not every row need be there. It must depend on its arguments alone, `seed` being the epoch's own. None takes all
    rows, in batches of similar length. Every hook of `on_epoch_end` is called once an epoch, on the main process,
    before the epoch's checkpoint is written; so only an epoch that was interrupted there is seen again. `on_batch` is
    called with the row numbers of every batch and what `forward` returned for them.

    Interrupted, a second call with the same `work_dir` goes on after the last finished epoch and ends with the same
    bytes. Raises TrainingError when the loss is not finite.
    """
    if not train_rows:
        raise TrainingError(f"{description}: there is nothing to train on")
    accelerator = Accelerator(
        # Otherwise full precision, unless `accelerate launch` or ACCELERATE_MIXED_PRECISION says something else.
        mixed_precision="bf16" if reduced(device()) else None,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],  # label encoders not in a batch
    )
    seed_everything(seed)
    model.to(accelerator.device)
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    n_trained = sum(p.numel() for p in trained.values())
    by_lr: dict[float, list] = {}
    for name, parameter in trained.items():
        by_lr.setdefault(lr_of(name) if lr_of else options.lr, []).append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": parameters, "lr": lr} for lr, parameters in by_lr.items()],
        eps=options.eps,
        weight_decay=options.weight_decay,
        fused=True,  # one pass over the weights: a third of a step for 22M parameters on a CPU otherwise
    )
    world, rank = accelerator.num_processes, accelerator.process_index
    seeds = [sub_seed(seed, "epoch", epoch) for epoch in range(options.epochs)]
    if batches is None:
        lengths = [row["length"] for row in train_rows]
        groups = [row["group"] for row in train_rows] if "group" in train_rows[0] else None
        batches = lambda epoch, seed: batches_by_length(lengths, options.batch_size, seed, groups)
        sizes = [math.ceil(len(train_rows) / options.batch_size)] * options.epochs  # with groups there are a few more
    else:
        sizes = [len(batches(epoch, seeds[epoch])) for epoch in range(options.epochs)]
    total = max(1, sum(math.ceil(size / world) for size in sizes))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: options.rate(step, total))
    wrapped, optimizer = accelerator.prepare(model, optimizer)

    state = _Progress(work_dir, trained, optimizer, schedule, accelerator.is_main_process)
    history, best, bad_epochs = state.resume()
    for epoch in range(len(history), options.epochs):
        if options.patience is not None and bad_epochs >= options.patience:
            break
        torch.manual_seed(sub_seed(seed, "noise", epoch))  # an epoch's dropout and latents do not depend on a resume
        order = batches(epoch, seeds[epoch])
        if not order or not all(order):
            raise TrainingError(
                f"{description}: epoch {epoch + 1} has no batch, or an empty one; mend the order of batches"
            )
        order = order + order[: -len(order) % world]  # every process takes as many steps
        title, local = f"{description}, epoch {epoch + 1}/{options.epochs}", order[rank::world]
        steps = _epoch(wrapped, local, train_rows, collate, accelerator, optimizer, schedule, options, title, on_batch)
        entry = {"epoch": epoch + 1, "trained_parameters": n_trained, "train": _means(steps)}
        if valid_rows:
            entry["valid"] = validate(wrapped, valid_rows, collate, options.batch_size, seed)
        history.append(entry)
        if options.patience is not None and valid_rows:
            better = best is None or entry["valid"]["loss"] < best["loss"]
            bad_epochs = 0 if better else bad_epochs + 1
            if better:
                best = {"loss": entry["valid"]["loss"], "weights": {n: p.detach().clone() for n, p in trained.items()}}
        if accelerator.is_main_process:
            model.eval()
            for hook in on_epoch_end:
                hook(EpochEnd(len(history), model, entry, work_dir))
        state.save(history, best, bad_epochs)
    if best is not None:
        with torch.no_grad():
            for name, parameter in trained.items():
                parameter.copy_(best["weights"][name])
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        if _kept is None:
            shutil.rmtree(work_dir, ignore_errors=True)
        else:
            _kept.append(work_dir)
    accelerator.unwrap_model(wrapped, keep_fp32_wrapper=False)
    model.eval()
    return history


def _epoch(
    model, batches, rows, collate, accelerator, optimizer, schedule, options, title, on_batch
) -> Iterator[tuple[dict, int]]:
    """One pass: the logged parts and the size of every batch."""
    model.train()
    check_every = FINITE_CHECK_EVERY if accelerator.device.type == "cuda" else 1
    unchecked: list[tuple[int, list[int], torch.Tensor]] = []
    bar = tqdm(batches, desc=title, unit="batch", leave=False, disable=not sys.stderr.isatty())
    for step, batch_rows in enumerate(bar, start=1):
        parts = model(**send_to_device(collate([rows[i] for i in batch_rows]), accelerator.device, non_blocking=True))
        unchecked.append((step, batch_rows, parts["loss"].detach()))
        if on_batch:
            on_batch(batch_rows, parts)
        if step % check_every == 0 or step == len(batches):
            _raise_if_not_finite(unchecked, rows, title)
            unchecked.clear()
        accelerator.backward(parts["loss"])
        if options.clip:
            accelerator.clip_grad_norm_(model.parameters(), options.clip)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        yield parts, len(batch_rows)


def _means(batches: Iterable[tuple[Mapping[str, torch.Tensor], int]]) -> dict[str, float]:
    """Means over rows of the logged parts of batches.

    They are added up where they were computed, so that no step waits for the host.
    """
    sums, count = {}, 0
    for parts, rows in batches:
        count += rows
        for name, value in scalars_of(parts).items():
            sums[name] = sums.get(name, 0.0) + value.detach().float() * rows
    return {name: round(float(value) / count, 6) for name, value in sums.items()}


def scalars_of(parts: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in parts.items() if value.dim() == 0}


def _raise_if_not_finite(unchecked, rows, title) -> None:
    finite = torch.isfinite(torch.stack([loss for _, _, loss in unchecked])).tolist()
    for (step, batch_rows, _), ok in zip(unchecked, finite, strict=True):
        if not ok:
            ids = ", ".join(str(rows[i]["id"]) for i in batch_rows)
            raise TrainingError(
                f"{title}: the loss is not finite at step {step} (rows {ids}); "
                "lower the learning rate or look at these rows"
            )


def validate(model, rows, collate, batch_size: int, seed: int) -> dict[str, float]:
    """Mean losses over `rows` in evaluation mode; the noise of latent variables is the same at every call."""
    model.eval()
    where = next(model.parameters()).device
    with torch.no_grad(), torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(sub_seed(seed, "validate"))
        groups = [row["group"] for row in rows] if "group" in rows[0] else None
        batches = batches_by_length([row["length"] for row in rows], batch_size, groups=groups)
        row_batches = ([rows[i] for i in batch_rows] for batch_rows in batches)
        return _means((model(**send_to_device(collate(batch), where)), len(batch)) for batch in row_batches)


class _Progress:
    """The checkpoint of one `fit` call: trained weights, optimizer, schedule, best epoch.

    That of all weights of a large model takes seconds, longer than an epoch over fifty texts: such a one is written
    again only after `BETWEEN` times as long, so that an interruption costs a few epochs and a training at most a fifth
    more.
    """

    BETWEEN, LONG = 4, 0.25  # seconds

    def __init__(self, work_dir: Path, trained, optimizer, schedule, is_main: bool) -> None:
        self.file, self.trained, self.is_main = work_dir / "checkpoint.pt", trained, is_main
        self.optimizer, self.schedule = optimizer, schedule
        self.took, self.written = 0.0, time.monotonic()

    def save(self, history: list[dict], best: dict | None, bad_epochs: int) -> None:
        start = time.monotonic()
        if not self.is_main or (self.took > self.LONG and start - self.written < self.BETWEEN * self.took):
            return
        state = {
            "weights": {name: p.detach() for name, p in self.trained.items()},
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "history": history,
            "best": best,
            "bad_epochs": bad_epochs,
        }
        torch.save(state, stream := io.BytesIO())
        with atomic_path(self.file) as temporary:
            temporary.write_bytes(hashlib.sha256(stream.getbuffer()).digest() + stream.getbuffer())
        self.written = time.monotonic()
        self.took = self.written - start

    def _whole(self) -> bytes | None:
        """What `save` wrote, without the digest before it; None, and a line, where it is not that any more."""
        read = self.file.read_bytes()
        if hashlib.sha256(read[DIGEST:]).digest() == read[:DIGEST]:
            return read[DIGEST:]
        aside = self.file.with_name("damaged.pt")
        os.replace(self.file, aside)
        print(
            f"note: {self.file} is damaged; it is now {aside.name} beside it, and the training starts afresh",
            file=sys.stderr,
        )
        return None

    def resume(self) -> tuple[list[dict], dict | None, int]:
        if not self.file.exists() or (payload := self._whole()) is None:
            return [], None, 0
        state = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
        with torch.no_grad():
            for name, parameter in self.trained.items():
                parameter.copy_(state["weights"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        print(f"resuming after epoch {len(state['history'])} ({self.file.parent.name})", file=sys.stderr)
        return state["history"], state["best"], state["bad_epochs"]
