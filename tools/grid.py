"""Build the cells of experiments, many stages at once: on this machine, on hosts by SSH or as jobs of Slurm.

python -m tools.grid paper                    every stale stage of an experiment, as many at a time as there are cores
python -m tools.grid dvc.yaml --serial        exactly `dvc repro dvc.yaml`: the same bytes, one stage after the other
python -m tools.grid paper --cluster slurm    with workers as configs/cluster.yaml describes them
python -m tools.grid paper --allow-missing    in a new clone: what has no result in Git, and what that needs
python -m tools.grid experiments/generator/dvc.yaml:train_generator --status

A target is an experiment (of configs/experiments.yaml, or `draws`, `parsing`, `low_resource`, `slu`), a stage or a
group of stages by DVC's address, or a dvc.yaml file. What they need is built before them. A stage that fails does not
stop the others; all that failed are named at the end, with their logs in .grid/logs. Experiments are planned for the
time of the run, and then put away, unless some were planned before (`python -m tools.plan`).
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from compaug import engine
from compaug.core import lock_files, preloaded
from compaug.core.files import InputError
from compaug.engine import clones, clusters, locks, planning
from compaug.engine.progress import COMPUTED, FAILED, UNCHANGED, Progress
from compaug.experiments import cells, params, steps
from compaug.stages import run


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    lock_files.mend(Path.cwd())
    experiments = cells.read() if cells.FILE.exists() else {}
    before = planning.addresses(planning.planned())
    names = [target for target in args.targets if target not in before and _has_cells(target, experiments)]
    clones.check_quiet(Path.cwd())
    with planning.for_now(names):
        _check_planned(args.targets)
        targets = itertools.chain.from_iterable(stages_of(target, experiments) for target in args.targets)
        reach(list(dict.fromkeys(targets)), experiments, args)
    if before:
        print("still planned, as it was: `python -m tools.plan` puts it away", file=sys.stderr)


def _has_cells(target: str, experiments: Mapping[str, cells.Experiment]) -> bool:
    """Whether the target is an experiment or one stage of one; a file or a group of stages is what is planned of it."""
    return (
        target in experiments
        or target in planning.OTHERS
        or (target.startswith(f"{planning.EXPERIMENTS}/") and "@" in target)
    )


def _check_planned(targets: Iterable[str]) -> None:
    """InputError for a file or group of stages of the grid of which nothing is planned."""
    addresses = planning.addresses(planning.planned())
    for target in targets:
        if target.startswith(f"{planning.EXPERIMENTS}/") and not any(
            each == target or each.startswith((f"{target}:", f"{target}@")) for each in addresses
        ):
            raise InputError(f"{target}: nothing of it is planned; `python -m tools.plan EXPERIMENT` plans it")


def reach(targets: list[str], experiments: Mapping[str, cells.Experiment], args) -> None:
    """Build the targets, or say what would be built."""
    if args.serial:
        done = subprocess.run([sys.executable, "-m", "dvc", "repro", *targets], check=False)
        if done.returncode:
            sys.exit(done.returncode)
        return
    plan = planned(targets, experiments, args.allow_missing)
    if args.status:
        print(status(plan))
    elif args.dry_run:
        print("\n".join([*plan.stale, *plan.later]) or "everything is up to date")
    elif not plan.stale:
        print(f"everything is up to date ({len(plan.ancestors)} stages)")
    else:
        built: frozenset[str] = frozenset()
        while not built.issuperset(plan.stale):
            now = plan.first() if plan.later else plan
            build(now, args)
            built |= frozenset(now.stale)
            if args.allow_missing:
                plan = planned(targets, experiments, True, built)


def stages_of(target: str, experiments: Mapping[str, cells.Experiment]) -> list[str]:
    """What DVC calls it: the last stages of an experiment, or a stage or a dvc.yaml file as it is."""
    if target in planning.OTHERS:
        return [(planning.EXPERIMENTS / target / "dvc.yaml").as_posix()]
    return steps.targets(experiments[target]) if target in experiments else [target]


def planned(
    targets: list[str], experiments, allow_missing: bool = False, built: frozenset[str] = frozenset()
) -> engine.Plan:
    """DVC says of a missing value where it was wanted, not where it should stand; the parameters' own check does."""
    try:
        return engine.plan(targets, experiments, allow_missing, built)
    except InputError as error:
        if "Could not find" in str(error):
            params.parse("params.yaml")
        raise


def status(plan: engine.Plan) -> str:
    """Stages by kind: up to date, and to be built because they or what comes before them have changed."""
    needed, stale = Counter(map(engine.kind, plan.ancestors)), Counter(map(engine.kind, [*plan.stale, *plan.later]))
    lines = [f"{name:24} {count - stale[name]:7} {stale[name]:7}" for name, count in needed.items()]
    total = f"{'all':24} {len(plan.ancestors) - stale.total():7} {stale.total():7}"
    return "\n".join([f"{'kind of stage':24} {'current':>7} {'stale':>7}", *lines, total])


def build(plan: engine.Plan, args) -> None:
    config = clusters.read(args.config) if args.config.exists() or args.cluster != "local" else clusters.Config()
    in_clones = args.clones or args.cluster != "local"
    with preloaded.started(args.cluster == "local") as address:
        environment = (*clusters.environment(config), *address)
        here = clones.Place(Path.cwd(), environment)
        place = clones.Place.of(plan, environment, config.clones) if in_clones else here
        progress = Progress(plan)
        try:
            with clusters.connected(args.cluster, config, args.workers) as client:
                engine.build(client, plan, place, progress)
        except BaseException:
            clones.wait_until_quiet(place)
            raise
        finally:
            progress.close()
    lost = locks.restore(progress.which(COMPUTED, UNCHANGED)) if in_clones else []
    if not in_clones:
        locks.sort_locks(plan)
    print(progress.summary())
    failed = progress.which(FAILED)
    for address in failed:
        print(f"failed: {address} ({engine.log_file(address)})", file=sys.stderr)
    for address in lost:
        print(f"built, but not in the cache here: {address}; is {place.cache} one folder for all?", file=sys.stderr)
    if failed or lost:
        sys.exit(1)


def _workers(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("targets", metavar="TARGET", nargs="+", help="experiments, stages of DVC or dvc.yaml files")
    options.add_argument("--workers", type=_workers, help="stages at a time on this machine (default: its cores)")
    options.add_argument(
        "--cluster", choices=clusters.KINDS, default="local", help="where the workers are (default: local)"
    )
    options.add_argument(
        "--config", type=Path, default=clusters.FILE, help=f"what the cluster is (default: {clusters.FILE})"
    )
    options.add_argument(
        "--clones",
        action="store_true",
        help="a clone for each worker in place of this working tree; always so on other hosts",
    )
    options.add_argument(
        "--allow-missing",
        action="store_true",
        help="in a clone, leave alone what is built and lacks only files that nothing else needs (models, texts), "
        "as DVC's option does",
    )
    instead = options.add_mutually_exclusive_group()
    instead.add_argument("--serial", action="store_true", help="run `dvc repro` of the targets, nothing else")
    instead.add_argument(
        "--dry-run", action="store_true", help="list the stages that would be built, the first ones first"
    )
    instead.add_argument("--status", action="store_true", help="count the stages of each kind that are up to date")
    return options


if __name__ == "__main__":
    run(main)
