"""Build stages of the grid again, drawn at random, and compare what comes out with the locks (make verify N=5).

python -m stages.verify --n 5 --seed 1

It works in a scratch clone of the commit and writes nothing to the cache. What comes before a stage is taken from the cache, or is built again
where the cache does not have it, and is compared as well. Exit 1 if anything differs.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from compaug import engine
from compaug.engine import clones, clusters
from compaug.records import InputError
from stages import run

HEAVY = (
    *("backbones", "train_filter", "label_generator", "train_generator", "synthesize", "select"),
    *("train_classifier", "quality", "judge", "representations"),
)
Hashes = dict[str, dict[str, str | None]]  # address -> path -> hash of the content, as a lock has it


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    head = Path.cwd()
    if not (candidates := sorted(address for address in locked(head) if _is_heavy(address))):
        raise InputError("grid/*/dvc.lock: no stage that takes long has been built yet; there is nothing to compare")
    random.Random(args.seed).shuffle(candidates)
    plan = engine.plan(candidates)
    engine.GRID.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=engine.GRID, prefix="verify-") as scratch:
        place = clones.Place.of(plan, clusters.environment(clusters.Config()), scratch)
        equal, wrong = verify(candidates, args.n, plan, place)
    print(f"{equal} equal, {wrong} not")
    if wrong or not equal:
        sys.exit(1)


def verify(candidates: Iterable[str], n: int, plan: engine.Plan, place: clones.Place) -> tuple[int, int]:
    """Build the first n of them that can be built here; a line for each.  # how many were equal, how many not"""
    folder, _ = place.settle()
    equal = wrong = 0
    for address in candidates:
        if equal + wrong == n:
            break
        before = locked(folder)
        if said := _repro(place, folder, plan.ancestors[address]):
            print(f"skipped  {address}: what comes before it cannot be had here ({said})", flush=True)
            continue
        said = _repro(place, folder, [address], "--force")
        after = locked(folder)
        differ = [
            f"{path} (of {name})"
            for name in (*plan.ancestors[address], address)
            for path, hash_ in before.get(name, {}).items()
            if after[name].get(path) != hash_
        ]
        if said:
            print(f"failed   {address}: {said}", flush=True)
        elif differ:
            print(f"differs  {address}: {', '.join(differ)}", flush=True)
        else:
            print(f"equal    {address}", flush=True)
        wrong += bool(said or differ)
        equal += not (said or differ)
    return equal, wrong


def locked(folder: Path) -> Hashes:
    """The outputs of every stage that is in a lock below the folder."""
    from dvc.repo import Repo

    with Repo(str(folder), _wait_for_lock=True) as repo:
        return {
            _address(stage, repo.root_dir): {out.def_path: out.hash_info.value for out in stage.outs}
            for stage in repo.index.stages
            if any(out.hash_info for out in stage.outs)
        }


def _address(stage, root: str) -> str:
    """As `stage.addressing` says it in the root of its repository."""
    path = str(Path(stage.path).relative_to(root))
    name = getattr(stage, "name", None)
    return path if name is None else name if path == "dvc.yaml" else f"{path}:{name}"


def _is_heavy(address: str) -> bool:
    return address.startswith("grid/") and engine.kind(address) in HEAVY


def _repro(place: clones.Place, folder: Path, addresses: Iterable[str], *options: str) -> str:
    """Build those stages, without the run cache and without keeping anything.  # the last line of what was said, if that failed"""
    if not addresses:
        return ""
    command = [
        sys.executable,
        "-m",
        "dvc",
        "repro",
        "--no-run-cache",
        "--no-commit",
        *options,
        "--single-item",
        *addresses,
    ]
    environment = place.surroundings(folder)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else next(reversed(done.stderr.strip().splitlines()), f"exit {done.returncode}")


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--n", type=int, default=5, help="how many stages (default: 5)")
    made.add_argument("--seed", type=int, help="of the draw (default: another one every time)")
    return made


if __name__ == "__main__":
    run(main)
