"""Build stages of the grid again, drawn at random, and compare what comes out with the locks (make verify N=5).

python -m tools.verify --n 5 --seed 1
python -m tools.verify experiments/generator/dvc.yaml:train_generator@diagnostic-vae-42
python -m tools.verify --cache

Those that are named are built, or else --n drawn at random; of the pretrained experiments, which were built with
COMPAUG_CPU=native, only under it, and then of no others. Predictions are compared with those that Git has, to four
digits, every other output by its hash. With --cache nothing is built: every file that the cache has of what is planned
is compared with its hash, which DVC itself trusts; one that is damaged is removed, and the command that makes it again
is named.

It works in a scratch clone of the commit and writes nothing to the cache; what the stages took is kept in .costs/. What
comes before a stage is taken from the cache, or is built again where the cache does not have it, and is compared as
well. Exit 1 if anything differs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from compaug import engine
from compaug.core.files import InputError
from compaug.core.numerics import native
from compaug.engine import built, clones, clusters, planning
from compaug.evaluation import packs
from compaug.stages import COSTS, run

HEAVY = (
    *("backbones", "train_filter", "label_generator", "train_generator", "synthesize", "select"),
    *("train_classifier", "quality", "judge", "representations", "map_classifier", "map_generator", "interpolation"),
    *("distances", "map_parser", "train_parser", "slu_texts", "train_slu"),
)
TRIED = 4  # times as many are drawn as are to be built: what some read cannot be had everywhere
PREDICTIONS = Path("data/predictions")
NATIVE = "+pretrained"  # in the names of stages whose committed digits are those of COMPAUG_CPU=native
Hashes = dict[str, dict[str, str | None]]  # address -> path -> hash of the content, as a lock has it


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    head = Path.cwd()
    if args.cache:
        sys.exit(1 if damaged(head) else 0)
    heavy = [address for address in {*built.read(planning.EXPERIMENTS), *locked(head)} if _is_heavy(address)]
    if not (candidates := sorted(address for address in heavy if (NATIVE in address) == native())):
        raise InputError(
            "experiments/built.jsonl.gz: no stage that takes long has been built yet; there is nothing to compare"
        )
    if unknown := sorted({*args.stages} - {*candidates}):
        raise InputError(
            f"{unknown[0]}: experiments/built.jsonl.gz has no such stage that takes long and was built with this "
            "COMPAUG_CPU; name one as DVC does"
        )
    random.Random(args.seed).shuffle(candidates)
    candidates, n = (args.stages, len(args.stages)) if args.stages else (candidates[: TRIED * args.n], args.n)
    with planning.for_now([address for address in candidates if address in built.read(planning.EXPERIMENTS)]):
        build(candidates, n)


def build(candidates: Sequence[str], n: int) -> None:
    """Build the first n of them that can be built here, and say how many were equal. Exit 1 if anything differs."""
    head = Path.cwd()
    plan = engine.plan(candidates)
    engine.GRID.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=engine.GRID, prefix="verify-") as scratch:
        place = clones.Place.of(plan, clusters.environment(clusters.Config()), scratch)
        try:
            equal, wrong = verify(candidates, n, plan, place)
        finally:  # what an interrupted run has built took as long
            if (costs := place.settle()[0] / COSTS).is_dir():
                shutil.copytree(costs, head / COSTS, dirs_exist_ok=True)
    print(f"{equal} equal, {wrong} not")
    if wrong or not equal:
        sys.exit(1)


def verify(candidates: Iterable[str], n: int, plan: engine.Plan, place: clones.Place) -> tuple[int, int]:
    """Build the first n of them that can be built here, a line for each; returns how many are equal, how many not."""
    folder, _ = place.settle()
    equal = wrong = 0
    for address in candidates:
        if equal + wrong == n:
            break
        before = locked(folder)
        if fault := _repro(place, folder, plan.ancestors[address]):
            print(f"skipped  {address}: what comes before it cannot be had here ({fault})", flush=True)
            continue
        fault = _repro(place, folder, [address], "--force")
        after = locked(folder)
        differ = (
            []
            if fault
            else [
                f"{path} (of {name})"
                for name in (*plan.ancestors[address], address)
                for path, hash_ in before.get(name, {}).items()
                if differs(folder, path, hash_, after[name].get(path))
            ]
        )
        if fault:
            print(f"failed   {address}: {fault}", flush=True)
        elif differ:
            print(f"differs  {address}: {', '.join(differ)}", flush=True)
        else:
            print(f"equal    {address}", flush=True)
        wrong += bool(fault or differ)
        equal += not (fault or differ)
    return equal, wrong


def differs(folder: Path, path: str, before: str | None, after: str | None) -> bool:
    """Whether an output, with these hashes in the locks, is another now. Of a cell in the packs these say, to four
    digits: a clone has no other predictions of it."""
    cell = Path(path).name.removesuffix(".jsonl.gz")
    kept = folder / "reports" / "predictions"
    if Path(path).parent == PREDICTIONS and cell in packs.Packs(kept):
        return not packs.agrees(kept, cell, folder / path)
    return before != after


def damaged(folder: Path) -> int:
    """Remove the files of the cache whose bytes are not those of their hash; returns how many.

    A line is printed for each output that had one.
    """
    from dvc.repo import Repo

    checked: dict[str, bool] = {}
    with Repo(str(folder), _wait_for_lock=True) as repo:
        for stage in repo.index.stages:
            for out in stage.outs:
                if (
                    out.hash_info
                    and out.use_cache
                    and any(not _is_whole(out.cache, name, checked) for name in _objects(out))
                ):
                    address = _address(stage, repo.root_dir)
                    print(
                        f"damaged  {out.def_path}; make it again: dvc repro --force --single-item {address}", flush=True
                    )
    wrong = sum(not whole for whole in checked.values())
    print(f"{len(checked)} files of the cache compared with their hashes, {wrong} damaged and removed")
    return wrong


def _objects(out) -> list[str]:
    """Hashes of an output in the cache: its own, and those of a folder's files."""
    hashes = [out.hash_info.value]
    if out.hash_info.isdir and Path(path := out.cache.oid_to_path(out.hash_info.value)).exists():
        with contextlib.suppress(ValueError, TypeError, KeyError):  # damaged itself: `_is_whole` says so
            hashes += [row["md5"] for row in json.loads(Path(path).read_text(encoding="utf-8"))]
    return hashes


def _is_whole(cache, name: str, checked: dict[str, bool]) -> bool:
    """Whether the cache's file has the bytes of its hash; what is not there cannot be damaged."""
    path = Path(cache.oid_to_path(name))
    if name not in checked and path.exists():
        with path.open("rb") as stream:
            checked[name] = hashlib.file_digest(stream, "md5").hexdigest() == name.removesuffix(".dir")
        if not checked[name]:
            path.chmod(0o644)
            path.unlink()
    return checked.get(name, True)


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
    return address.startswith("experiments/") and engine.kind(address) in HEAVY


def _repro(place: clones.Place, folder: Path, addresses: Iterable[str], *options: str) -> str:
    """Build those stages, without the run cache and without keeping anything; returns the last line of a failure."""
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
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("stages", nargs="*", metavar="STAGE", help="stages to build, by DVC's address")
    options.add_argument("--n", type=int, default=5, help="how many stages (default: 5)")
    options.add_argument(
        "--cache", action="store_true", help="build nothing, compare the cache's files with their hashes"
    )
    options.add_argument("--seed", type=int, help="of the draw (default: another one every time)")
    return options


if __name__ == "__main__":
    run(main)
