"""Keep what every experiment costs and which commit made its numbers, for the page.

python -m tools.provenance --out reports/provenance.json

An experiment's stages are those that `tools.plan` gives it; their outputs stand in experiments/built.jsonl.gz, their
seconds in .costs/. No machine has built all of them, so what is kept, in seconds.json beside, is the mean of every sort
of stage, that is of a stage with any seed; an experiment costs what its stages' sorts do, and a sort that was never
timed as much as the one most like it. An experiment whose numbers are the same as before keeps its commit; numbers that
were not committed yet get the first one that is seen to have them. Not a stage: seconds differ at every run, so its
files are committed as they are.
"""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.core.files import InputError, read_json, write_json, write_text
from compaug.core.markdown import markdown_table
from compaug.engine import built, planning
from compaug.experiments import cells, steps
from compaug.stages import COSTS, cost_file, parser, run


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    from compaug.evaluation import longtable  # after the cheap checks: pandas is slow to import

    kept = read_json(args.out) if args.out.exists() else {}
    seconds = args.out.with_name("seconds.json")
    sorts = read_json(seconds) if seconds.exists() else {}
    entries = built.read(args.grid) | built.locks(args.grid)
    outputs = {address.partition(":")[2]: built.outputs(entry) for address, entry in entries.items()}
    frame = longtable.read(args.reports)[0]
    every = cells.read(args.experiments)
    sorts |= timed(outputs, args.costs)
    provenances, stages_of = {}, {}
    for name, rows in longtable.pick(frame, commit="").groupby("experiment"):
        if name in every and not planning.complete(every[name], entries):  # some of its cells are another's
            continue
        before, digest = kept.get(name, {}), longtable.digest_of(rows)
        commit_before = before.get("commit") if before.get("digest") == digest else ""
        commit = commit_before or commit_of(args.reports / longtable.LONG)
        made_by = steps.plan([every[name]]) if name in every else {}
        stages_of[name] = [f"{kind}@{key}" for kind, keys in made_by.items() for key in keys]
        provenances[name] = before | cost_of_stages(stages_of[name], sorts) | {"commit": commit, "digest": digest}
    if not provenances:
        raise InputError(f"{args.reports / longtable.LONG}: no result; `make grid EXPERIMENT=small` makes the first")
    write_json(seconds, dict(sorted(sorts.items())))
    write_text(args.out.with_name("costs.md"), table(stages_of, sorts))
    write_json(args.out, provenances)
    print(f"{args.out}: {', '.join(provenances)}")


def table(stages_of: Mapping[str, Sequence[str]], sorts: Mapping[str, Mapping]) -> str:
    """Core-hours of every experiment and of all of them together, which share stages."""
    every = stages_of | {"all of them": list(dict.fromkeys(stage for stages in stages_of.values() for stage in stages))}
    costs = {name: cost for name, stages in every.items() if (cost := cost_of_stages(stages, sorts))}
    rows = [[name, cost["stages"], cost["timed"], f"{cost['seconds'] / 3600:.1f}"] for name, cost in costs.items()]
    return (
        markdown_table(["experiment", "stages that take time", "of a sort that was timed", "core-hours"], rows) + "\n"
    )


def timed(outputs: Mapping[str, Sequence[str]], costs: Path) -> dict[str, dict]:
    """The sorts of stages that ran here: how many, their mean seconds, the machine."""
    costs_of: dict[str, list[dict]] = {}
    for stage, paths in outputs.items():
        files = [file for path in paths if (file := costs / cost_file(path)).exists()]
        if files:
            costs_of.setdefault(sort_of(stage), []).append(read_json(files[0]))
    return {
        sort: {
            "timed": len(sort_costs),
            "seconds": round(statistics.mean(map(core_seconds, sort_costs)), 1),
            "hardware": _machine(sort_costs[-1]),
        }
        for sort, sort_costs in costs_of.items()
    }


def core_seconds(cost: Mapping) -> float:
    """Seconds of the CPU, which neighbours on the machine do not lengthen; of a GPU's stage those of the clock."""
    of_cpu = cost.get("cpu_seconds") if cost["device"].startswith("cpu") else None
    return cost["seconds"] if of_cpu is None else of_cpu


def sort_of(stage: str) -> str:
    """Its name without the seed and the half of a cross-fitting behind it."""
    return re.sub(r"-\d+(-[ab])?$", "", stage)


def cost_of_stages(stages: Sequence[str], sorts: Mapping[str, Mapping]) -> dict:
    """Number of stages of the kinds that take time, those whose sort was timed, seconds of all, machines.

    {} if none of a kind was timed.
    """
    by_kind: dict[str, list[str]] = {}
    for sort in sorts:
        by_kind.setdefault(sort.partition("@")[0], []).append(sort)
    priced = [
        (sort, most_alike(sort, among))
        for sort in map(sort_of, stages)
        if (among := by_kind.get(sort.partition("@")[0]))
    ]
    if not priced:
        return {}
    return {
        "stages": len(priced),
        "timed": sum(sort == taken for sort, taken in priced),
        "seconds": round(sum(sorts[taken]["seconds"] for _, taken in priced)),
        "hardware": sorted({sorts[taken]["hardware"] for _, taken in priced}),
    }


def most_alike(sort: str, among: Sequence[str]) -> str:
    """Of the same corpus, if there is one, that with the most of its parts in common.

    The last part, a classifier or an option, decides between equals.
    """

    def likeness(other: str) -> tuple[bool, float, bool, str]:
        mine, theirs = (re.split("[-+@]", name) for name in (sort, other))
        shared = len({*mine} & {*theirs}) / len({*mine} | {*theirs})
        return mine[1] == theirs[1], shared, mine[-1] == theirs[-1], other

    return sort if sort in among else max(among, key=likeness)


def _machine(cost: Mapping) -> str:
    return f"{cost['cores']} cores ({cost['machine']}), {cost['device']}, torch {cost['versions'].get('torch', '?')}"


def commit_of(path: Path) -> str:
    """The commit that last changed a file; "" outside a repository, or while the change is not committed."""

    def git(*command: str) -> str:
        words = ["git", "-C", str(path.parent), *command, "--", path.name]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    return "" if git("status", "--porcelain") else git("log", "-1", "--format=%h")


def _parser():
    options = parser(__doc__, out=".json")
    options.add_argument("--experiments", type=Path, default=cells.FILE, help="the products of axes")
    options.add_argument("--reports", type=Path, default=Path("reports"), help="folder with results.csv.gz")
    options.add_argument(
        "--grid",
        type=Path,
        default=planning.EXPERIMENTS,
        help=f"folder of what was built (default: {planning.EXPERIMENTS})",
    )
    options.add_argument("--costs", type=Path, default=COSTS, help=f"folder of the recorded costs (default: {COSTS})")
    return options


if __name__ == "__main__":
    run(main)
