"""Training dynamics: what a model thinks of its training rows after every epoch, for the data maps of `cartography`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from compaug import shapes
from compaug.records import InputError, atomic_path, read_json, write_json
from compaug.training import EpochEnd

NAME = "dynamics"


class Dynamics:
    """A hook of `training.fit` that keeps `values()` [rows, values of a row] of every epoch beside the checkpoint, so that a resumed training
    has those of the epochs before: of a classifier its probabilities, of a generator the measures of its texts."""

    def __init__(self, work_dir: Path, ids: Sequence[str], values: Callable[[], np.ndarray]) -> None:
        self.work_dir, self.ids, self.values = work_dir, list(ids), values

    def __call__(self, end: EpochEnd) -> None:
        _save(self.work_dir / f"{NAME}-{end.epoch:04d}.npy", self.values())

    def write(self, folder: Path) -> None:
        """dynamics.npy [epochs, rows, values] and, in dynamics.json, the rows' ids; before the checkpoint is removed."""
        epochs = sorted(self.work_dir.glob(f"{NAME}-*.npy"))
        _save(folder / f"{NAME}.npy", np.stack([np.load(file) for file in epochs]))
        write_json(folder / f"{NAME}.json", {"ids": self.ids})


def read(folder: Path) -> tuple[np.ndarray, list[str]]:
    """What `write` wrote, the array as a file mapped into memory: (values [epochs, rows, values of a row], the rows' ids). InputError where
    they do not fit each other."""
    ids = read_json(Path(folder) / f"{NAME}.json", shapes.DynamicsFacts)["ids"]
    path = Path(folder) / f"{NAME}.npy"
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; train with `dynamics: true`") from None
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: not an array of numbers ({error}); train again") from None
    if values.ndim != 3 or values.shape[1] != len(ids):
        raise InputError(f"{path}: {list(values.shape)} is not [epochs, {len(ids)} rows, values]; train again")
    return values, ids


def _save(path: Path, values: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, values)
