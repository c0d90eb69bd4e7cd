"""Training dynamics: what a model thinks of its training rows after every epoch (Swayamdipta et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from compaug.records import atomic_path, write_json
from compaug.training import EpochEnd

NAME = "dynamics"


class Dynamics:
    """A hook of `training.fit` that keeps `probabilities()` [rows, n_labels] of every epoch beside the checkpoint, so that a resumed training
    has those of the epochs before."""

    def __init__(self, work_dir: Path, ids: Sequence[str], probabilities: Callable[[], np.ndarray]) -> None:
        self.work_dir, self.ids, self.probabilities = work_dir, list(ids), probabilities

    def __call__(self, end: EpochEnd) -> None:
        _save(self.work_dir / f"{NAME}-{end.epoch:04d}.npy", self.probabilities())

    def write(self, folder: Path) -> None:
        """dynamics.npy [epochs, rows, n_labels] and, in dynamics.json, the rows' ids; before the checkpoint is removed."""
        epochs = sorted(self.work_dir.glob(f"{NAME}-*.npy"))
        _save(folder / f"{NAME}.npy", np.stack([np.load(file) for file in epochs]))
        write_json(folder / f"{NAME}.json", {"ids": self.ids})


def _save(path: Path, values: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, values)
