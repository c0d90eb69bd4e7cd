"""Training dynamics: what a model thinks of its rows after every epoch, for the data maps of `cartography`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from compaug.core.files import InputError, atomic_path, read_json, write_json
from compaug.training.loop import EpochEnd

NAME = "dynamics"
PROBABILITIES = "probabilities"  # what a classifier's `forward` says of the labels of its batch, beside the loss


class Dynamics:
    """A hook of `loop.fit` that keeps `values()` [rows, values of a row] of every epoch beside the checkpoint."""

    def __init__(self, work_dir: Path, ids: Sequence[str], values: Callable[[], np.ndarray]) -> None:
        self.work_dir, self.ids, self.values = work_dir, list(ids), values

    def __call__(self, end: EpochEnd) -> None:
        _save(self.work_dir / f"{NAME}-{end.epoch:04d}.npy", self.values())

    def write(self, folder: Path) -> None:
        """dynamics.npy [epochs, rows, values] and the rows' ids in dynamics.json; before the checkpoint is removed."""
        epochs = sorted(self.work_dir.glob(f"{NAME}-*.npy"))
        _save(folder / f"{NAME}.npy", np.stack([np.load(file) for file in epochs]))
        write_json(folder / f"{NAME}.json", {"ids": self.ids})


class InPassing(Dynamics):
    """What `forward` said of every row when the training came to it, as Swayamdipta et al. (2020) measure.

    Dropout is on and the model is that of the step: no row is read twice. A row that an epoch does not come to is NaN.
    `places` are, of each training row, its place among the `ids`; `width` values each. `batch` is for `loop.fit`'s
    `on_batch`.
    """

    def __init__(self, work_dir: Path, ids: Sequence[str], places: Sequence[int], width: int) -> None:
        super().__init__(work_dir, ids, self._seen)
        self.places, self.width = list(places), width
        self.batches: list[tuple[list[int], Tensor]] = []

    def batch(self, rows: Sequence[int], parts: Mapping[str, Tensor]) -> None:
        """InputError for a model whose `forward` says nothing of labels."""
        if PROBABILITIES not in parts:
            raise InputError(
                "dynamics: `during` needs a classifier that answers for every label in training, without mixup: "
                "bert, bert_p, dbloss, magnet; take `true`, which reads every text once more after an epoch"
            )
        self.batches.append((list(rows), parts[PROBABILITIES]))

    def _seen(self) -> np.ndarray:
        values = np.full((len(self.ids), self.width), np.nan, dtype=np.float32)
        for rows, probabilities in self.batches:
            values[[self.places[row] for row in rows]] = probabilities.float().cpu().numpy()
        self.batches.clear()
        return values


def read(folder: Path) -> tuple[np.ndarray, list[str]]:
    """What `write` wrote: (values [epochs, rows, values of a row], the rows' ids).

    The array is a file mapped into memory.
    """
    values = np.load(folder / f"{NAME}.npy", mmap_mode="r", allow_pickle=False)
    return values, read_json(folder / f"{NAME}.json")["ids"]


def _save(path: Path, values: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, values)
