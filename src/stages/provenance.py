"""Keep what every grid cost and which commit made its numbers, for the page (make provenance).

python -m stages.provenance --out reports/provenance.json

A grid's outputs are those of its lock files; their seconds come from .costs/. A grid of which no stage has run here keeps what was
known of it. Not a stage: seconds differ at every run, so its file is committed as it is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from compaug.records import InputError, file_digest, read_json, write_json
from stages import COSTS, cost_file, parser, read_cost, run


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    kept = read_json(args.out) if args.out.exists() else {}
    for numbers in sorted(args.reports.glob("*/metrics.json")):
        grid = numbers.parent
        outputs = outputs_of(sorted(grid.rglob("dvc.lock")))
        if found := cost_of_outputs(outputs, args.costs):
            kept[grid.name] = found | {"stages": len(outputs)}
        if grid.name in kept:
            kept[grid.name] |= {"digest": file_digest(numbers), "commit": commit_of(numbers)}
    if not kept:
        raise InputError(f"{args.costs}: no stage of a grid below {args.reports} has run here; `dvc repro` one first")
    write_json(args.out, kept)
    print(f"{args.out}: {', '.join(kept)}")


def outputs_of(locks: Sequence[Path]) -> list[tuple[str, ...]]:
    """Outputs of every stage of the locks, seen from the repository's root."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a lock has up to a megabyte
    found = []
    for lock in locks:
        try:
            stages = loader(lock.read_text()).get_single_data()["stages"].values()
            found += [tuple(out["path"] for out in stage["outs"]) for stage in stages]
        except (yaml.YAMLError, KeyError, TypeError, AttributeError, UnicodeDecodeError):
            raise InputError(f"{lock}: not a lock file of DVC; restore it with `git checkout`") from None
    return found


def cost_of_outputs(outputs: Sequence[Sequence[str]], costs: Path) -> dict:
    """Number of stages with a recorded cost, their seconds and machines; {} if there is none."""
    files = [file for outs in outputs if (file := _first(costs / cost_file(out) for out in outs))]
    if not files:
        return {}
    costs = [read_cost(file) for file in files]
    seconds = round(sum(cost["seconds"] for cost in costs))
    return {"timed": len(files), "seconds": seconds, "hardware": sorted({_machine(cost) for cost in costs})}


def _first(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.exists()), None)


def _machine(cost: Mapping) -> str:
    return f"{cost['cores']} cores ({cost['machine']}), {cost['device']}, torch {cost['versions'].get('torch', '?')}"


def commit_of(path: Path) -> str:
    """The commit that last changed a file; "" outside a repository, or while the change is not committed."""
    changed, commit = (
        subprocess.run(
            ["git", *command, "--", path.name], cwd=path.parent, capture_output=True, text=True, check=False
        ).stdout.strip()
        for command in (["status", "--porcelain"], ["log", "-1", "--format=%h"])
    )
    return "" if changed else commit


def _parser():
    made = parser(__doc__)
    made.add_argument("--reports", type=Path, default=Path("reports"), help="folder of the grids (default: reports)")
    made.add_argument("--costs", type=Path, default=COSTS, help=f"folder of the recorded costs (default: {COSTS})")
    made.add_argument(
        "--out", type=Path, required=True, help="JSON to write; grids that have not run here keep their entry"
    )
    return made


if __name__ == "__main__":
    run(main)
