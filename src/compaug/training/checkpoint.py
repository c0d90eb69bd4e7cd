"""What an interrupted training resumes from, kept outside all outputs of DVC until its results are written."""

import contextlib
import hashlib
import io
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

import torch

from compaug.core.files import atomic_path, digest

DIGEST = hashlib.sha256().digest_size  # of a checkpoint, before it in its file
VERSIONS = Path("configs/versions.yaml")  # what methods compute, as numbers
CHECKPOINTS = Path(".checkpoints")  # outside every DVC output: DVC empties a stage's outputs before it runs
# Checkpoints of finished trainings whose results are not written yet; None outside `checkpoints_kept`.
_kept: ContextVar[list[Path] | None] = ContextVar("checkpoints", default=None)


def work_dir_for(out_dir: Path | str, *identity: object) -> Path:
    """Where the training of `out_dir` keeps its checkpoint.

    Any change of `identity` (data, settings) starts afresh, and so does another version of any method.
    """
    versions = VERSIONS.read_text(encoding="utf-8") if VERSIONS.is_file() else ""
    return CHECKPOINTS / f"{'-'.join(Path(out_dir).parts[-3:])}-{digest([versions, *map(repr, identity)])}"


@contextlib.contextmanager
def checkpoints_kept() -> Iterator[None]:
    """Until the block ends well `fit` leaves its checkpoint; inside another such block that one's end counts.

    So a stage that is killed, or runs out of disk, while it writes its results does not train again.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set(work_dirs := [])
    try:
        yield
        for work_dir in work_dirs:
            shutil.rmtree(work_dir, ignore_errors=True)
    finally:
        _kept.reset(token)


def finished(work_dir: Path) -> None:
    """Remove the checkpoint of a training that has ended, at once or when the `checkpoints_kept` around it ends."""
    if (work_dirs := _kept.get()) is None:
        shutil.rmtree(work_dir, ignore_errors=True)
    else:
        work_dirs.append(work_dir)


@torch.no_grad()
def restore(parameters: Mapping[str, torch.nn.Parameter], weights: Mapping[str, torch.Tensor]) -> None:
    for name, parameter in parameters.items():
        parameter.copy_(weights[name])


class Checkpoint:
    """What one `fit` call resumes from: trained weights, optimizer, schedule, best epoch.

    One that takes longer to write than `LONG` is written again only after `BETWEEN` times as long, so that an
    interruption costs a few epochs and a training takes at most a fifth longer.
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

    def resume(self) -> tuple[list[dict], dict | None, int]:
        if not self.file.exists():
            return [], None, 0
        read = self.file.read_bytes()
        if hashlib.sha256(read[DIGEST:]).digest() != read[:DIGEST]:
            aside = self.file.replace(self.file.with_name("damaged.pt"))
            print(f"note: {self.file} is damaged; it is now {aside.name}, the training starts afresh", file=sys.stderr)
            return [], None, 0
        state = torch.load(io.BytesIO(read[DIGEST:]), map_location="cpu", weights_only=True)
        restore(self.trained, state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        print(f"resuming after epoch {len(state['history'])} ({self.file.parent.name})", file=sys.stderr)
        return state["history"], state["best"], state["bad_epochs"]
