"""Keep what every experiment cost and which commit made its numbers, for the page.

python -m stages.provenance --out reports/provenance.json

An experiment's stages are those that `stages.plan` gives it; their outputs stand in the lock files of grid/, their seconds in .costs/. An
experiment whose numbers are the same as before keeps its commit, and its cost where no stage of it has run here. Not a stage: seconds
differ at every run, so its file is committed as it is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug import experiments, shapes, steps
from compaug.records import InputError, read_json, read_yaml, write_json
from stages import COSTS, cost_file, parser, read_cost, run


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    from compaug.evaluation import longtable  # after the cheap checks: pandas is slow to import

    kept = read_json(args.out, shapes.Provenances) if args.out.exists() else {}
    outputs = outputs_of(sorted(args.grid.glob("*/dvc.lock")))
    frame = longtable.read(args.reports)[0]
    every = experiments.read(args.experiments)
    made = {}
    for name, rows in longtable.pick(frame, commit="").groupby("experiment"):
        before, digest = kept.get(name, {}), longtable.digest_of(rows)
        commit = before["commit"] if before.get("digest") == digest else commit_of(args.reports / longtable.LONG)
        made_by = steps.plan([every[name]]) if name in every else {}
        stages = [f"{kind}@{key}" for kind, keys in made_by.items() for key in keys]
        cost = cost_of_outputs([outputs[stage] for stage in stages if stage in outputs], args.costs)
        made[name] = before | cost | {"commit": commit, "digest": digest}
    if not made:
        raise InputError(f"{args.reports / longtable.LONG}: no result; `make grid EXPERIMENT=small` makes the first")
    write_json(args.out, made)
    print(f"{args.out}: {', '.join(made)}")


def outputs_of(locks: Sequence[Path]) -> dict[str, tuple[str, ...]]:
    """Outputs of every stage of the locks, by its name, seen from the repository's root."""
    found = {}
    for lock in locks:
        try:
            stages = read_yaml(lock)["stages"]
            found |= {name: tuple(out["path"] for out in stage["outs"]) for name, stage in stages.items()}
        except (KeyError, TypeError, AttributeError):
            raise InputError(f"{lock}: not a lock file of DVC; restore it with `git checkout`") from None
    return found


def cost_of_outputs(outputs: Sequence[Sequence[str]], costs: Path) -> dict:
    """Number of stages and of those with a recorded cost, their seconds and machines; {} if there is none."""
    recorded = ([file for out in outs if (file := costs / cost_file(out)).exists()] for outs in outputs)
    found = [read_cost(files[0]) for files in recorded if files]
    if not found:
        return {}
    seconds, machines = round(sum(cost["seconds"] for cost in found)), {_machine(cost) for cost in found}
    return {"stages": len(outputs), "timed": len(found), "seconds": seconds, "hardware": sorted(machines)}


def _machine(cost: Mapping) -> str:
    return f"{cost['cores']} cores ({cost['machine']}), {cost['device']}, torch {cost['versions'].get('torch', '?')}"


def commit_of(path: Path) -> str:
    """The commit that last changed a file; "" outside a repository, or while the change is not committed."""

    def git(*command: str) -> str:
        words = ["git", "-C", str(path.parent), *command, "--", path.name]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    return "" if git("status", "--porcelain") else git("log", "-1", "--format=%h")


def _parser():
    made = parser(__doc__, out=".json")
    made.add_argument("--experiments", type=Path, default=experiments.FILE, help="the products of axes")
    made.add_argument("--reports", type=Path, default=Path("reports"), help="folder with results.csv.gz")
    made.add_argument("--grid", type=Path, default=Path("grid"), help="folder of the lock files (default: grid)")
    made.add_argument("--costs", type=Path, default=COSTS, help=f"folder of the recorded costs (default: {COSTS})")
    made.add_argument("--out", type=Path, required=True, help="JSON to write; what has not run here keeps its cost")
    return made


if __name__ == "__main__":
    run(main)
