"""Where a worker builds: in the working tree of the head, or in a clone, because hosts must not share a working tree.

Each worker has a clone of the same commit, and all share one cache: results meet in its run cache.
Four things reach a clone in other ways than by Git: the cache by its path, what Git ignores and stages read (data/own)
and what is planned (cells and locks of experiments/) as copies, and the mirror of the corpora by an absolute path in
the environment.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compaug.core.files import InputError

PLAN = ("experiments/*/cells.yaml", "experiments/*/dvc.lock")  # what is planned, which is not committed
TREE_LOCK = Path(".grid/tree.lock")  # whoever builds in the head's tree shares it


@dataclass(frozen=True)
class Place:
    """What a worker must know.

    `head` has to be the same path on all hosts: commits, cache and ignored files come from there, logs go there.
    """

    head: Path
    environment: tuple[tuple[str, str], ...] = ()  # variables that a worker sets for its stages
    clones: Path | None = None  # folder of the clones; None: build in `head`
    commit: str = ""
    cache: Path | None = None
    sources: tuple[str, ...] = ()  # files and folders that stages read and none writes ...
    carried: tuple[str, ...] = ()  # ... and the files among them that Git ignores

    @classmethod
    def of(cls, plan, environment: tuple[tuple[str, str], ...], folder: str) -> Place:
        """Clones of this commit below `folder`, for that plan.

        InputError for what would not reach them, or would not come back.
        """
        head = Path.cwd()
        if changed := uncommitted(head, plan.outputs):
            more = f" ({len(changed)} files)" if len(changed) > 1 else ""
            raise InputError(f"{changed[0]}: not committed, so clones would not have it; commit or stash it{more}")
        carried = ignored(head, plan.sources)
        return cls(head, environment, head / folder, commit(head), cache_folder(), plan.sources, carried)

    def settle(self) -> tuple[Path, int]:
        """The working tree of this worker and an open file whose lock is held as long as anything is built there."""
        return _settle(self)

    def surroundings(self, folder: Path) -> dict[str, str]:
        """Environment of a stage: the worker's, with its Python first and the code of the tree it builds in."""
        added = dict(self.environment)
        path, code = added.get("PATH", os.environ.get("PATH", "")), os.environ.get("PYTHONPATH", "")
        added["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), path])
        added["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder / "src"), code]))
        if self.clones:
            added["DVC_SITE_CACHE_DIR"] = f"{folder}.site"
        return os.environ | added


@cache  # once for a worker, whose stages run one after the other
def _settle(place: Place) -> tuple[Path, int]:
    if place.clones is None:
        (place.head / TREE_LOCK).parent.mkdir(exist_ok=True)
        file = os.open(place.head / TREE_LOCK, os.O_RDWR | os.O_CREAT)
        fcntl.flock(file, fcntl.LOCK_SH)
        return place.head, file
    place.clones.mkdir(parents=True, exist_ok=True)
    for number in itertools.count():
        folder = place.clones / f"{socket.gethostname()}-{number}"
        file = os.open(f"{folder}.lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # freed when this worker and all that it started are gone
        except BlockingIOError:
            os.close(file)
            continue
        _update(folder, place)
        return folder, file


def _update(folder: Path, place: Place) -> None:
    """A clone of the head's commit; what it has built before stays."""
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        _run("git", "clone", "--quiet", "--no-checkout", place.head, partial)
        os.replace(partial, folder)
    _run("git", "-C", folder, "fetch", "--quiet", place.head, "HEAD")
    _run("git", "-C", folder, "checkout", "--quiet", "--force", "--detach", place.commit)
    _carry_plan(place.head, folder)
    (folder / ".dvc" / "config.local").write_text(f"[cache]\n    dir = {place.cache}\n", encoding="utf-8")
    for name in ignored(folder, place.sources):
        if name not in place.carried:
            (folder / name).unlink()
    for name in place.carried:
        source, copy = place.head / name, folder / name
        if not copy.exists() or (copy.stat().st_size, copy.stat().st_mtime) != (
            source.stat().st_size,
            source.stat().st_mtime,
        ):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)


def _carry_plan(head: Path, folder: Path) -> None:
    """The cells and locks of the experiments that are planned in `head`, and no others."""
    for lock in folder.glob("experiments/*/dvc.lock"):
        lock.unlink()
    for pattern in PLAN:
        for path in head.glob(pattern):
            shutil.copyfile(path, folder / path.relative_to(head))


def check_quiet(head: Path) -> None:
    """InputError while stages are built in that tree."""
    if (head / TREE_LOCK).exists():
        with (head / TREE_LOCK).open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{TREE_LOCK}: stages are being built here; wait until they are done") from None


def wait_until_quiet(place: Place) -> None:
    """Return when nothing that the workers of this host have started is left."""
    locks = place.clones.glob(f"{socket.gethostname()}-*.lock") if place.clones else [place.head / TREE_LOCK]
    for path in filter(Path.exists, locks):
        with path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


# ---------------------------------------------------------------- what a clone needs of the head


def cache_folder() -> Path:
    """DVC's cache, with the run cache in it."""
    from dvc.repo import Repo

    with Repo() as repo:
        return Path(repo.cache.legacy.path)


def commit(head: Path) -> str:
    return _run("git", "-C", head, "rev-parse", "HEAD").strip()


def uncommitted(head: Path, outputs: frozenset[str]) -> list[str]:
    """Files with changes that a clone would not have.

    Neither a lock, nor the plan, nor what stages write, which a clone makes itself.
    """
    changed = _run("git", "-C", head, "status", "--porcelain", "--no-renames", "--untracked-files=all", "-z")
    names = [line[3:] for line in changed.split("\0") if line]
    return [
        name
        for name in names
        if not any(Path(name).match(pattern) for pattern in ("dvc.lock", "built.jsonl.gz", PLAN[0]))
        and outputs.isdisjoint(map(str, [Path(name), *Path(name).parents]))
    ]


def ignored(folder: Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The files at those paths that Git ignores."""
    listing = _run("git", "-C", folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--", *paths)
    return tuple(filter(None, listing.split("\0"))) if paths else ()


def _run(*command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        messages = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise InputError(f"{' '.join(map(str, command[:4]))}: {messages[-1]}")
    return done.stdout
