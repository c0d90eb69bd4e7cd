"""Many stages of the graph at once: what is stale, in which order, how far it is.

DVC owns the graph and says what has changed. A stage is one Dask task, given away when a worker is free and all stages
before it are done. It runs `dvc repro --single-item` as a process of its own (guard.py), so a stage that fails takes
nothing else with it, and a worker that is killed takes its stage with it, which Dask then gives to another one.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compaug.core.files import InputError
from compaug.engine import guard, keep
from compaug.engine.clones import Place

GRID = Path(".grid")  # logs, locks and clones; ignored by Git
LOGS = GRID / "logs"  # what the stages print
LOOK = 5  # seconds between looks at how many workers there are
TAIL = 12  # lines of a failed stage's output that are shown

# What DVC says when another process has its locks for longer than it waits (treeverse/dvc#10465), and how long this
# waits, in seconds.
LOCKED = ("Unable to acquire lock", "is busy, it is being blocked by", "Unable to read RWLock-file")
WAITS = (0.5, 1, 2, 4, 8, *[15] * 40)

# What DVC says, and ends well all the same, where an output's files did not all reach the cache: a full disk. The stage
# is stale then.
LOST = "failed to transfer"
NO_ROOM = (
    "error: the cache does not hold all outputs of this stage (above); make room and start again, it is built once more"
)


class StageFailed(Exception):
    """StageFailed(address, last lines of its log)."""


def kind(address: str) -> str:
    """experiments/classifier/dvc.yaml:train_classifier@diagnostic-none-bert-13 -> train_classifier."""
    return address.rpartition(":")[2].partition("@")[0]


def log_file(address: str) -> Path:
    return LOGS / f"{address.replace('/dvc.yaml:', '/')}.log"


# ---------------------------------------------------------------- what to do


@dataclass(frozen=True)
class Plan:
    """Stages by DVC's addresses, those that come first first."""

    ancestors: dict[str, tuple[str, ...]]  # every stage that the targets need -> all that come before it
    stale: dict[str, tuple[str, ...]]  # those to build -> the ones among them that each waits for
    later: tuple[str, ...]  # those that changed and are in the next plan: what they read may become stale by this one
    fresh: tuple[str, ...]  # those to build that no dvc.lock has yet
    cells: frozenset[str]  # the stages that were asked for
    forgotten: frozenset[str]  # those to build whose runs DVC does not keep by itself
    sources: tuple[str, ...]  # files and folders that stages read and none of them writes
    outputs: frozenset[str]  # ... and that stages write

    def first(self) -> Plan:
        """What the later ones wait for, alone: all that is known only then is a better plan."""
        waited_for = {earlier for address in self.later for earlier in self.ancestors[address]}
        return replace(self, stale={address: waits for address, waits in self.stale.items() if address in waited_for})

    def heights(self) -> dict[str, int]:
        """Length of the longest chain of stages that begins at each: the longest is started first."""
        heights = dict.fromkeys(self.stale, 1)
        for address in reversed(self.stale):
            for earlier in self.stale[address]:
                heights[earlier] = max(heights[earlier], heights[address] + 1)
        return heights


def plan(
    targets: Sequence[str],
    experiments: Iterable[str] = (),
    allow_missing: bool = False,
    built: frozenset[str] = frozenset(),
) -> Plan:
    """What DVC finds stale among the targets (stages, groups of stages, dvc.yaml files) and what they need.

    InputError for an unknown one; `experiments` are what it could have been besides.

    A stage behind a stale one is in the plan, and its own `dvc repro` finds out whether anything changed for it. With
    `allow_missing` a stage is up to date that lacks nothing but cached files, as in a clone, unless a stage of the plan
    reads them; what comes behind a stale one is in the next plan. What was `built` since the first plan keeps none
    waiting.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo, lock_repo
    from dvc.repo.reproduce import get_active_graph, plan_repro

    try:
        with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
            if Path(repo.root_dir) != Path.cwd():
                raise InputError(f"run this from the root of the repository, {repo.root_dir}")
            graph = get_active_graph(repo.index.graph)
            cells = [stage for target in targets for stage in _stages(target, graph, experiments)]
            ancestors: dict[str, tuple[str, ...]] = {}
            stale: dict[str, tuple[str, ...]] = {}
            later, fresh, forgotten = [], [], []
            order = plan_repro(graph, list(dict.fromkeys(cells)))
            due = _due(order, graph) if allow_missing else set(order)
            for stage in order:
                before = sorted(earlier.addressing for earlier in graph.successors(stage))
                all_before = {*before, *itertools.chain.from_iterable(ancestors[earlier] for earlier in before)}
                ancestors[stage.addressing] = tuple(earlier for earlier in ancestors if earlier in all_before)
                waits = tuple(earlier for earlier in before if earlier in stale)
                _cache_again(stage)
                if stage not in due or not (waits or stage.status()):
                    continue
                unsettled = stale.keys() - built
                if any(earlier not in stale and not unsettled.isdisjoint(ancestors[earlier]) for earlier in before):
                    later.append(stage.addressing)
                else:
                    stale[stage.addressing] = waits
                    if not any(out.hash_info for out in stage.outs):
                        fresh.append(stage.addressing)
                    if keep.needed(stage):
                        forgotten.append(stage.addressing)
            written = {Path(out.fs_path) for out in repo.index.outs}
            return Plan(
                ancestors=ancestors,
                stale=stale,
                later=tuple(later),
                fresh=tuple(fresh),
                cells=frozenset(stage.addressing for stage in cells),
                forgotten=frozenset(forgotten),
                sources=_sources(order, written),
                outputs=frozenset(os.path.relpath(path) for path in written),
            )
    except DvcException as error:
        raise InputError(f"DVC: {' '.join(str(error).split())}") from None


def _sources(order: Sequence, written: set[Path]) -> tuple[str, ...]:
    """What these stages read, but for what is `written` by some stage, holds it or is in it."""
    around = written.union(*(path.parents for path in written))
    read = {Path(dep.fs_path) for stage in order for dep in stage.deps}
    sources = (path for path in read if path not in around and written.isdisjoint(path.parents))
    return tuple(sorted(map(os.path.relpath, sources)))


def _cache_again(stage) -> None:
    """Give the cache what `dvc gc` took from it and the working tree still has."""
    for out in stage.outs:
        if out.use_cache and out.hash_info and out.changed_cache() and not out.workspace_status():
            out.save()
            out.commit()


def _due(order: Sequence, graph) -> set:
    """Of the stages in that order those that changed or lack a file of Git's, and what these read that is missing."""
    due = set()
    for stage in order:
        lacks = any(not out.use_cache and not out.exists for out in stage.outs)
        if lacks or stage.changed(allow_missing=True, upstream=list(graph.successors(stage))):
            due.add(stage)
    for stage in reversed(order):
        if stage in due:
            due.update(earlier for earlier in graph.successors(stage) if not all(out.exists for out in earlier.outs))
    return due


def _stages(target: str, graph, experiments: Iterable[str]) -> list:
    """The stages that a target names."""
    name = target.removeprefix("dvc.yaml:")
    named = [stage for stage in graph if name in (stage.addressing, stage.relpath)]
    if stages := named or [stage for stage in graph if stage.addressing.startswith(f"{name}@")]:
        return stages
    names = {*experiments, *(each for stage in graph for each in (stage.addressing, stage.relpath))}
    near = difflib.get_close_matches(name, sorted(names), n=1)
    hint = f"did you mean {near[0]}?" if near else "`dvc stage list --all` names the stages"
    raise InputError(f"{target}: no experiment, stage or dvc.yaml file; {hint}")


# ---------------------------------------------------------------- one stage, on a worker

_running: set[subprocess.Popen] = set()
_present: set[str] = set()  # stages whose outputs this worker's clone has


def make(address: str, place: Place, ancestors: tuple[str, ...], forgotten: bool) -> tuple[float, bool]:
    """Build one stage; returns the seconds and whether its command ran.

    In a working tree of its own, a worker first brings those stages up to date that were built elsewhere: the run cache
    has them. It keeps there the run of a `forgotten` one, which DVC would not.
    """
    start = time.monotonic()
    folder, lock = place.settle()
    log = place.head / log_file(address)
    log.parent.mkdir(parents=True, exist_ok=True)
    missing = [earlier for earlier in ancestors if earlier not in _present] if place.clones else []
    command = [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "--single-item", *missing, address]
    for wait in (*WAITS, None):
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, guard.__file__, *command],
                cwd=folder,
                env=place.surroundings(folder),
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=subprocess.STDOUT,
                pass_fds=[lock],
                start_new_session=True,
            )
            _running.add(process)
            process.wait()
            _running.discard(process)
        log_text = log.read_text(encoding="utf-8", errors="replace")
        if process.returncode == 0 and LOST not in log_text:
            if place.clones and forgotten:
                module = [sys.executable, "-m", "compaug.engine.keep", address]
                subprocess.run(module, cwd=folder, env=place.surroundings(folder), check=True, capture_output=True)
            _present.update(missing, [address])
            return time.monotonic() - start, f"Running stage '{address}'" in log_text
        if wait is None or not any(sign in log_text for sign in LOCKED):
            break
        time.sleep(wait)
    last = log_text.splitlines()[-TAIL:] + [NO_ROOM] * (LOST in log_text)
    raise StageFailed(address, "\n".join(last))


def stop() -> None:
    """On a worker: end what runs, as the worker's own end would."""
    for process in list(_running):
        process.stdin.close()


# ---------------------------------------------------------------- all of them


def build(client, plan: Plan, place: Place, progress) -> None:
    """Have the workers build every stale stage, those with the longest chain behind them first, and follow each.

    A stage goes to the cluster when a worker is free for it. Dask, which has all of them at once otherwise, puts a
    stage where the output is that it reads, behind whatever runs there, while another worker has nothing to do.
    """
    from distributed import wait

    heights, running = plan.heights(), {}
    waits = {address: set(earlier) for address, earlier in plan.stale.items()}
    try:
        while waits or running:
            progress.workers = sum(client.nthreads().values()) or 1
            ready = sorted((address for address in waits if not waits[address]), key=heights.get, reverse=True)
            for address in ready[: max(0, progress.workers - len(running))]:
                del waits[address]
                before = plan.ancestors[address] if place.clones else ()
                key = (kind(address), address)
                running[address] = client.submit(
                    make, address, place, before, address in plan.forgotten, key=key, pure=False
                )
                progress.begun(address)
            with contextlib.suppress(TimeoutError):
                wait(list(running.values()), timeout=LOOK, return_when="FIRST_COMPLETED")
            for address in [address for address, future in running.items() if future.done()]:
                _ended(address, running.pop(address), waits, progress)
    except BaseException:
        client.cancel(list(running.values()))
        client.run(stop)
        raise


def _ended(address: str, future, waits: dict[str, set[str]], progress) -> None:
    """Tell what became of a stage, and take it, or all that comes behind it, from those that wait."""
    if (error := future.exception()) is None:
        progress.done(address, *future.result())
        for earlier in waits.values():
            earlier.discard(address)
    else:
        progress.failed(address, error)
        lost = {address}
        for later in list(waits):  # in the order of the graph
            if not lost.isdisjoint(waits[later]):
                lost.add(later)
                del waits[later]
                progress.skipped(later)
    future.release()
