"""Give DVC the stages of experiments and the locks that go with them (grid/<step>/cells.yaml, dvc.lock), or take them away.

python -m stages.plan paper     plan that experiment beside what is planned; `dvc repro grid/classifier/dvc.yaml` knows it
python -m stages.plan           put everything away; what was built stays in grid/built.jsonl.gz

`make grid` does both for what it builds. `parsing`, `low_resource` and `slu`, whose experiments stand in files of their
own, are names as well, and so is a stage by DVC's address.
"""

from __future__ import annotations

from pathlib import Path

from compaug import experiments, planning
from compaug.engine import clones
from stages import parser, run

PARAMS: list[str] = []


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    clones.check_quiet(Path.cwd())
    if args.names:
        lines = planning.bring(args.names, folder=args.out, source=args.experiments, settings=args.params)
    else:
        lines = planning.put_away(args.out)
    for line in lines:
        print(line)


def _parser():
    made = parser(__doc__)
    made.add_argument("names", metavar="NAME", nargs="*", help="experiments to plan; without one, plan nothing")
    made.add_argument(
        "--experiments", type=Path, default=experiments.FILE, help=f"what to run (default: {experiments.FILE})"
    )
    made.add_argument("--out", type=Path, default=planning.GRID, help=f"folder of the steps (default: {planning.GRID})")
    return made


if __name__ == "__main__":
    run(main)
