"""Many stages of the graph at once: what is stale, in which order, how far it is. DVC builds each stage, Dask says where and when.

DVC owns the graph and says what has changed; `dvc repro` alone would build the same, one stage after the other. A stage is one Dask task that
depends on the tasks of the stages before it and runs `dvc repro --single-item` as a process of its own (guard.py), so a stage that
fails takes nothing else with it, and a worker that is killed takes its stage with it, which Dask then gives to another one.
"""

from __future__ import annotations

import difflib
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from compaug import guard
from compaug.clones import Place
from compaug.records import InputError

LOGS = Path(".grid/logs")  # what the stages print; ignored by Git
TAIL = 12  # lines of a failed stage's output that are shown

# What DVC says when another process has its locks for longer than it waits (treeverse/dvc#10465), and how long this waits, in seconds.
LOCKED = ("Unable to acquire lock", "is busy, it is being blocked by", "Unable to read RWLock-file")
WAITS = (0.5, 1, 2, 4, 8, *[15] * 40)


class StageFailed(Exception):
    """StageFailed(address, log, last lines): the tasks of the stages behind it end with the same exception, which still names it."""


def kind(address: str) -> str:
    """grid/classifier/dvc.yaml:train_classifier@diagnostic-none-bert-13 -> train_classifier."""
    return address.rpartition(":")[2].partition("@")[0]


def log_file(address: str) -> Path:
    return LOGS / f"{address.replace('/dvc.yaml:', '/')}.log"


# ---------------------------------------------------------------- what to do


@dataclass(frozen=True)
class Plan:
    """Stages by DVC's addresses, those that come first first."""

    ancestors: dict[str, tuple[str, ...]]  # every stage that the targets need -> all that come before it
    stale: dict[str, tuple[str, ...]]  # those to build -> the ones among them that each waits for
    fresh: tuple[str, ...]  # those to build that no dvc.lock has yet
    cells: frozenset[str]  # the stages that were asked for
    forgotten: tuple[str, ...]  # those to build whose results DVC's run cache does not keep
    sources: tuple[str, ...]  # files and folders that stages read and none of them writes
    outputs: frozenset[str]  # ... and that stages write

    def heights(self) -> dict[str, int]:
        """Length of the longest chain of stages that begins at each: the longest is started first."""
        heights = dict.fromkeys(self.stale, 1)
        for address in reversed(self.stale):
            for earlier in self.stale[address]:
                heights[earlier] = max(heights[earlier], heights[address] + 1)
        return heights


def plan(targets: Sequence[str], experiments: Iterable[str] = ()) -> Plan:
    """What DVC finds stale among the targets (stages, groups of stages, dvc.yaml files) and what they need. InputError for an unknown one;
    `experiments` are what it could have been besides.

    A stage behind a stale one is not looked at: it is in the plan, and its own `dvc repro` finds out whether anything changed for it.
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
            fresh, forgotten = [], []
            order = plan_repro(graph, list(dict.fromkeys(cells)))
            for stage in order:
                before = sorted(earlier.addressing for earlier in graph.successors(stage))
                all_before = {*before, *itertools.chain.from_iterable(ancestors[earlier] for earlier in before)}
                ancestors[stage.addressing] = tuple(earlier for earlier in ancestors if earlier in all_before)
                waits = tuple(earlier for earlier in before if earlier in stale)
                if waits or stage.status():
                    stale[stage.addressing] = waits
                    if not any(out.hash_info for out in stage.outs):
                        fresh.append(stage.addressing)
                    # Stage.run of DVC: outputs that are neither cached nor metrics or plots keep a run out of the run cache.
                    if any(not (out.use_cache or out.is_metric or out.is_plot) for out in stage.outs):
                        forgotten.append(stage.addressing)
            made = {Path(out.fs_path) for out in repo.index.outs}
            around = made.union(*(path.parents for path in made)) if made else set()
            read = {Path(dep.fs_path) for stage in order for dep in stage.deps}
            sources = {path for path in read if path not in around and made.isdisjoint(path.parents)}
            return Plan(
                ancestors=ancestors,
                stale=stale,
                fresh=tuple(fresh),
                cells=frozenset(stage.addressing for stage in cells),
                forgotten=tuple(forgotten),
                sources=tuple(sorted(os.path.relpath(path) for path in sources)),
                outputs=frozenset(os.path.relpath(path) for path in made),
            )
    except DvcException as error:
        raise InputError(f"DVC: {' '.join(str(error).split())}") from None


def _stages(target: str, graph, experiments: Iterable[str]) -> list:
    """The stages that a target names."""
    name = target.removeprefix("dvc.yaml:")
    named = [stage for stage in graph if name in (stage.addressing, stage.relpath)]
    if found := named or [stage for stage in graph if stage.addressing.startswith(f"{name}@")]:
        return found
    known = {*experiments, *(each for stage in graph for each in (stage.addressing, stage.relpath))}
    near = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {near[0]}?" if near else "`dvc stage list --all` names the stages"
    raise InputError(f"{target}: no experiment, stage or dvc.yaml file; {hint}")


# ---------------------------------------------------------------- one stage, on a worker

_running: set[subprocess.Popen] = set()
_present: set[str] = set()  # stages whose outputs this worker's clone has


def make(address: str, place: Place, ancestors: tuple[str, ...], *before: object) -> tuple[float, bool]:
    """Build one stage; `before` are the results of the tasks that it had to wait for.  # seconds, whether its command ran

    In a working tree of its own, a worker first brings those stages up to date that were built elsewhere: the run cache has them.
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
        said = log.read_text(encoding="utf-8", errors="replace")
        if process.returncode == 0:
            _present.update(missing, [address])
            return time.monotonic() - start, f"Running stage '{address}'" in said
        if wait is None or not any(sign in said for sign in LOCKED):
            break
        time.sleep(wait)
    raise StageFailed(address, str(log_file(address)), "\n".join(said.splitlines()[-TAIL:]))


def stop() -> None:
    """On a worker: end what runs, as the worker's own end would."""
    for process in list(_running):
        process.stdin.close()


# ---------------------------------------------------------------- all of them


def build(client, plan: Plan, place: Place, progress: Progress) -> None:
    """Give every stale stage to the cluster and follow what becomes of it."""
    from distributed import as_completed

    heights, futures = plan.heights(), {}
    for address, waits in plan.stale.items():
        futures[address] = client.submit(
            make,
            address,
            place,
            plan.ancestors[address] if place.clones else (),
            *[futures[earlier] for earlier in waits],
            key=(kind(address), address),
            priority=heights[address],
            pure=False,
        )
    try:
        for future in as_completed(futures.values()):
            _, address = future.key
            error = future.exception()
            if error is None:
                progress.done(address, *future.result())
            elif error.args[:1] in ((address,), (future.key,)):  # Dask's KilledWorker has the key first
                progress.failed(address, error)
            else:
                progress.skipped(address)
            futures.pop(address).release()  # or the loss of a worker would build again what it has finished
    except BaseException:
        client.cancel(list(futures.values()))
        client.run(stop)
        raise


@dataclass
class Progress:
    """How far it is: a bar with the time left on a terminal, else a line for every stage."""

    plan: Plan
    workers: int
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of the stages done, by kind
    left: Counter = field(init=False)
    computed: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # address -> log file
    skips: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = Counter(map(kind, self.plan.stale))
        self.bar = tqdm(total=len(self.plan.stale), unit="stage", disable=not sys.stderr.isatty(), dynamic_ncols=True)
        self.bar.bar_format = "{n_fmt}/{total_fmt} stages |{bar}| {elapsed}{postfix}"
        self.bar.set_postfix_str(self.standing())

    def done(self, address: str, seconds: float, computed: bool) -> None:
        self.seconds.setdefault(kind(address), []).append(seconds)
        self.finished.append(address)
        if computed:
            self.computed.append(address)
        self._over(address, f"{'done' if computed else 'restored or unchanged'} in {seconds:.0f} s")

    def failed(self, address: str, error: BaseException) -> None:
        _, log, tail = error.args if isinstance(error, StageFailed) else (address, str(log_file(address)), str(error))
        self.failures[address] = log
        tqdm.write(f"\n{address} failed ({log}):\n{tail}\n", file=sys.stderr)
        self._over(address, "failed")

    def skipped(self, address: str) -> None:
        self.skips.append(address)
        self._over(address, "skipped: a stage before it failed")

    def _over(self, address: str, what: str) -> None:
        self.left[kind(address)] -= 1
        self.bar.set_postfix_str(self.standing(), refresh=False)
        self.bar.update()
        if self.bar.disable:
            over = len(self.plan.stale) - self.left.total()
            print(f"[{over}/{len(self.plan.stale)}] {address}: {what}", flush=True)

    def seconds_left(self) -> float | None:
        """From the stages of the same kind that are done; those of a kind that none is done of count as the mean of all."""
        if not self.seconds:
            return None
        means = {name: statistics.fmean(values) for name, values in self.seconds.items()}
        usual = statistics.fmean(itertools.chain.from_iterable(self.seconds.values()))
        return sum(means.get(name, usual) * count for name, count in self.left.items()) / self.workers

    def cells(self) -> str:
        """Of the stages that were asked for and were stale."""
        asked = self.plan.cells & self.plan.stale.keys()
        return f"cells: {len(asked.intersection(self.finished))} done, {len(asked.difference(self.finished))} left"

    def standing(self) -> str:
        left = self.seconds_left()
        parts = [self.cells()]
        parts += [f"{len(self.failures)} failed"] if self.failures else []
        parts += [f"about {tqdm.format_interval(left)} left"] if left is not None else []
        return ", ".join(parts)

    def close(self) -> None:
        self.bar.close()


# ---------------------------------------------------------------- the locks of the head


def sort_locks(plan: Plan) -> None:
    """Put new entries of the locks in the order of `dvc repro`, not in that in which workers happened to end: the same bytes every time."""
    from dvc.repo import Repo, lock_repo
    from dvc.utils.serialize import load_yaml, modify_yaml

    files: dict[Path, list[str]] = {}
    for address in plan.fresh:
        path, _, name = address.rpartition(":")
        files.setdefault(Path(path or "dvc.yaml").with_suffix(".lock"), []).append(name)
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        for path, names in files.items():
            there = list(load_yaml(path)["stages"]) if path.exists() else []
            wanted = [name for name in names if name in there]
            if [name for name in there if name in set(wanted)] != wanted:
                with modify_yaml(path) as lock:
                    for name in wanted:
                        lock["stages"][name] = lock["stages"].pop(name)


def cache_folder() -> Path:
    """DVC's cache, with the run cache in it."""
    from dvc.repo import Repo

    with Repo() as repo:
        return Path(repo.cache.legacy.path)


def restore(addresses: Iterable[str]) -> list[str]:
    """Take what clones have built from the run cache, and write it to the locks here. Nothing is computed.  # those it does not have

    `dvc repro` of them would do the same, but it rewrites the whole dvc.lock after every stage, which takes seconds when the lock is long.
    """
    from dvc.repo import Repo, lock_repo
    from dvc.stage.cache import RunCacheNotFoundError

    lost, restored = [], {}
    with Repo(_wait_for_lock=True) as repo, lock_repo(repo):
        stages = {stage.addressing: stage for stage in repo.index.stages}
        for stage in map(stages.__getitem__, addresses):
            if not stage.changed():
                continue
            try:
                stage.remove_outs()
                repo.stage_cache.restore(stage)
                stage.save()
                stage.commit()
                restored.setdefault(stage.path, []).append(stage)
            except RunCacheNotFoundError:
                lost.append(stage.addressing)
        for changed in restored.values():
            changed[0].dvcfile.dump_stages(changed, update_pipeline=False)
    return lost
