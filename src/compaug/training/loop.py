"""The one training loop: length buckets, early stopping, checkpoints, resume. Runs under Accelerate.

A model is any module whose `forward(**batch)` returns a dict of tensors with the key "loss"; its other scalars are
logged parts (the ELBO's, for example), and what is no scalar is for `on_batch`. Only parameters that require gradients
are trained, saved and restored.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.utils import send_to_device
from tqdm import tqdm

from compaug.core import numerics
from compaug.core.files import InputError
from compaug.core.records import sub_seed
from compaug.training import curricula, trackers
from compaug.training.batching import batches_by_length, batches_of, holdout, shares
from compaug.training.checkpoint import Checkpoint, finished, restore, work_dir_for

FINITE_CHECK_EVERY = 50  # steps between looks at the losses on a GPU, so that no step waits for the host
CLIP = 1.0  # norm of all gradients together


@dataclass(frozen=True)
class FitOptions:
    """AdamW with a linear schedule.

    `warmup` is a share of all steps; `schedule` increase grows the rate to the very end (T5+CLP's reference), constant
    keeps it after the warm-up, and root lets it fall with the square root of the step, as Noam's (cartography spec,
    section 4). Training stops after `patience` epochs without a better validation loss and keeps the best epoch; None
    keeps the last.
    """

    epochs: int
    batch_size: int
    lr: float
    weight_decay: float = 0.0
    warmup: float = 0.0
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
    torch.set_deterministic_debug_mode("warn")  # without torch's compiler, which use_deterministic_algorithms imports
    torch.utils.deterministic.fill_uninitialized_memory = False  # 4 % of a small model's time, and nothing reads it
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans every new length of texts: 100 ms a step, of 4 that count


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def reduced(where: torch.device) -> bool:
    """Whether models compute in bfloat16 on that device: where a GPU has it, or a CPU under COMPAUG_CPU=native.

    Weights that are trained, losses and probabilities stay in float32.
    """
    if where.type == "cuda":
        return torch.cuda.is_bf16_supported()
    return numerics.native() and torch.cpu._is_avx512_bf16_supported()  # every CPU with AMX has it too


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
    finds in the batches of the validation rows after an epoch is "measures" in its history. With `params.pacing` the
    rows are unlocked in the order in which they stand, over all epochs.
    """
    train_rows, valid_rows = holdout(rows, params.validation, seed)

    def measure(end: EpochEnd) -> None:
        numbers = batches_by_length([row["length"] for row in valid_rows], params.batch_size)
        batches = (send_to_device(collate([valid_rows[i] for i in batch]), device()) for batch in numbers)
        end.entry["measures"] = measured(batches)

    pacing, share = (getattr(params, name, None) for name in ("pacing", "epoch_share"))  # a user's generator has none
    order = None
    if pacing:
        lengths = [row["length"] for row in train_rows]
        order = curricula.batches(pacing, lengths, params.batch_size, params.epochs)
    elif share:
        order = shares(train_rows, share, params.batch_size, seed)
    patience = None if pacing else params.patience  # what is still locked is not known to be of no use
    return fit(
        model,
        train_rows,
        valid_rows,
        collate,
        FitOptions(params.epochs, params.batch_size, params.lr, warmup=params.warmup, patience=patience),
        seed=seed,
        work_dir=work_dir_for(out_dir, name, params, seed, *data),
        description=name,
        batches=order,
        on_epoch_end=[*([measure] if measured and valid_rows else []), *on_epoch_end],
    )


def fit(
    model: torch.nn.Module,
    train_rows: Sequence[Mapping],
    valid_rows: Sequence[Mapping],
    collate: Callable[[list], dict],
    options: FitOptions,
    **settings: Any,
) -> list[dict]:
    """Train `model` in place and return one dict of mean losses per epoch; `settings` are those of `Trainer`."""
    return Trainer(model, collate, options, **settings).fit(train_rows, valid_rows)


@dataclass
class Trainer:
    """One training of a model, which goes on where an earlier one with the same `work_dir` was interrupted.

    Rows are dicts with "id" and "length" (for the buckets) and optionally "group"; `collate` turns a list of them into
    the keyword arguments of `forward`. `lr_of(parameter name)` overrides `options.lr`.

    `batches(epoch, seed)` is the order of training, a curriculum for example: lists of row numbers for an epoch, from
    0; not every row need be there. It must depend on its arguments alone, `seed` being the epoch's own. None takes all
    rows, in batches of similar length. Every hook of `on_epoch_end` is called once an epoch, on the main process,
    before the epoch's checkpoint is written; so only an epoch that was interrupted there is seen again. `on_batch` is
    called with the row numbers of every batch and what `forward` returned for them.
    """

    model: torch.nn.Module
    collate: Callable[[list], dict]
    options: FitOptions
    _: KW_ONLY
    seed: int
    work_dir: Path
    description: str
    lr_of: Callable[[str], float] | None = None
    batches: Callable[[int, int], list[list[int]]] | None = None
    on_epoch_end: Sequence[Callable[[EpochEnd], None]] = ()
    on_batch: Callable[[Sequence[int], Mapping[str, torch.Tensor]], None] | None = None

    def __post_init__(self) -> None:
        self.accelerator = Accelerator(
            # Otherwise full precision, unless `accelerate launch` or ACCELERATE_MIXED_PRECISION says something else.
            mixed_precision="bf16" if reduced(device()) else None,
            # label encoders not in a batch
            kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
            **trackers.options(self.work_dir.name),
        )
        trackers.start(self.accelerator, self.work_dir.name)
        seed_everything(self.seed)
        self.model.to(self.accelerator.device)
        self.trained = {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    def fit(self, train_rows: Sequence[Mapping], valid_rows: Sequence[Mapping]) -> list[dict]:
        """Train to the end, and return one dict of mean losses per epoch; its bytes do not depend on interruptions.

        With validation rows and `options.patience` the best epoch's parameters are restored. InputError when the loss
        is not finite.
        """
        seeds = [sub_seed(self.seed, "epoch", epoch) for epoch in range(self.options.epochs)]
        total = self._steps(train_rows, seeds)
        optimizer = self._adamw()
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: self.options.rate(step, total))
        self.wrapped, self.optimizer = self.accelerator.prepare(self.model, optimizer)
        is_main, patience = self.accelerator.is_main_process, self.options.patience
        checkpoint = Checkpoint(self.work_dir, self.trained, self.optimizer, self.schedule, is_main)
        history, best, bad_epochs = checkpoint.resume()
        for entry in history:
            trackers.log(self.accelerator, entry, {})
        for epoch in range(len(history), self.options.epochs):
            if patience is not None and bad_epochs >= patience:
                break
            torch.manual_seed(sub_seed(self.seed, "noise", epoch))  # dropout and latents do not depend on a resume
            train_losses = _means(self._epoch(epoch, self._batches(train_rows, epoch, seeds[epoch]), train_rows))
            history.append(entry := self._validated(epoch, train_losses, valid_rows))
            trackers.log(self.accelerator, entry, self._rates())
            if patience is not None and valid_rows:
                bad_epochs += 1
                if best is None or entry["valid"]["loss"] < best["loss"]:
                    weights = {name: parameter.detach().clone() for name, parameter in self.trained.items()}
                    best, bad_epochs = {"loss": entry["valid"]["loss"], "weights": weights}, 0
            if is_main:
                self.model.eval()
                for hook in self.on_epoch_end:
                    hook(EpochEnd(len(history), self.model, entry, self.work_dir))
            checkpoint.save(history, best, bad_epochs)
        if best is not None:
            restore(self.trained, best["weights"])
        self.accelerator.wait_for_everyone()
        trackers.finish(self.accelerator)
        if is_main:
            finished(self.work_dir)
        self.accelerator.unwrap_model(self.wrapped, keep_fp32_wrapper=False)
        self.model.eval()
        return history

    def _steps(self, rows: Sequence[Mapping], seeds: Sequence[int]) -> int:
        """Of the whole training, for each process.

        Rows with groups make more batches than that; the rate is zero in the last of them (docs/departures.md).
        """
        if self.batches is None:
            sizes = [math.ceil(len(rows) / self.options.batch_size)] * len(seeds)
        else:
            sizes = [len(self.batches(epoch, seed)) for epoch, seed in enumerate(seeds)]
        return max(1, sum(math.ceil(size / self.accelerator.num_processes) for size in sizes))

    def _batches(self, rows: Sequence[Mapping], epoch: int, seed: int) -> list[list[int]]:
        """Row numbers of the batches that this process takes in an epoch; every process takes as many."""
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        order = self.batches(epoch, seed) if self.batches else batches_of(rows, self.options.batch_size, seed)
        return (order + order[: -len(order) % world])[rank::world]

    def _adamw(self) -> torch.optim.Optimizer:
        by_lr: dict[float, list] = {}
        for name, parameter in self.trained.items():
            by_lr.setdefault(self.lr_of(name) if self.lr_of else self.options.lr, []).append(parameter)
        return torch.optim.AdamW(
            [{"params": parameters, "lr": lr} for lr, parameters in by_lr.items()],
            weight_decay=self.options.weight_decay,
            fused=True,  # one pass over the weights: a third of a step for 22M parameters on a CPU otherwise
        )

    def _epoch(self, epoch: int, batches: Sequence[list[int]], rows: Sequence[Mapping]) -> Iterator[tuple[dict, int]]:
        """One pass: the logged parts and the size of every batch."""
        title = f"{self.description}, epoch {epoch + 1}/{self.options.epochs}"
        where = self.accelerator.device
        self.wrapped.train()
        check_every = FINITE_CHECK_EVERY if where.type == "cuda" else 1
        unchecked: list[tuple[int, list[int], torch.Tensor]] = []
        bar = tqdm(batches, desc=title, unit="batch", leave=False, disable=not sys.stderr.isatty())
        for step, batch_rows in enumerate(bar, start=1):
            batch = self.collate([rows[i] for i in batch_rows])
            parts = self.wrapped(**send_to_device(batch, where, non_blocking=True))
            unchecked.append((step, batch_rows, parts["loss"].detach()))
            if self.on_batch:
                self.on_batch(batch_rows, parts)
            if step % check_every == 0 or step == len(batches):
                _raise_if_not_finite(unchecked, rows, title)
                unchecked.clear()
            self.accelerator.backward(parts["loss"])
            self.accelerator.clip_grad_norm_(self.wrapped.parameters(), CLIP)
            self.optimizer.step()
            self.schedule.step()
            self.optimizer.zero_grad(set_to_none=True)
            yield parts, len(batch_rows)

    def _rates(self) -> dict[str, float]:
        """The learning rates now, of each group of parameters, the first one as `lr`."""
        return {f"lr_{group}" if group else "lr": rate for group, rate in enumerate(self.schedule.get_last_lr())}

    def _validated(self, epoch: int, train_losses: dict[str, float], valid_rows: Sequence[Mapping]) -> dict:
        """The entry of an epoch in the history."""
        trained_parameters = sum(p.numel() for p in self.trained.values())
        losses = {"epoch": epoch + 1, "trained_parameters": trained_parameters, "train": train_losses}
        if valid_rows:
            losses["valid"] = validate(self.wrapped, valid_rows, self.collate, self.options.batch_size, self.seed)
        return losses


def _means(batches: Iterable[tuple[Mapping[str, torch.Tensor], int]]) -> dict[str, float]:
    """Means over rows of the scalars that a model returned for batches, added up where they were computed.

    So no step waits for the host.
    """
    sums, count = {}, 0
    for parts, rows in batches:
        count += rows
        scalars = {name: value for name, value in parts.items() if value.dim() == 0}
        for name, value in scalars.items():
            sums[name] = sums.get(name, 0.0) + value.detach().float() * rows
    return {name: round(float(value) / count, 6) for name, value in sums.items()}


def _raise_if_not_finite(unchecked, rows, title) -> None:
    finite = torch.isfinite(torch.stack([loss for _, _, loss in unchecked])).tolist()
    for (step, batch_rows, _), ok in zip(unchecked, finite, strict=True):
        if not ok:
            ids = ", ".join(str(rows[i]["id"]) for i in batch_rows)
            raise InputError(
                f"{title}: the loss is not finite at step {step} (rows {ids}); "
                "lower the learning rate or look at these rows"
            )


def validate(model, rows, collate, batch_size: int, seed: int) -> dict[str, float]:
    """Mean losses over `rows` in evaluation mode; the noise of latent variables is the same at every call."""
    model.eval()
    where = next(model.parameters()).device
    with torch.no_grad(), torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(sub_seed(seed, "validate"))
        in_rows = ([rows[i] for i in batch] for batch in batches_of(rows, batch_size))
        return _means((model(**send_to_device(collate(batch), where)), len(batch)) for batch in in_rows)
