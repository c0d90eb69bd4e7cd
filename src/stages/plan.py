"""Write what the experiments ask of every kind of stage, once each: grid/<step>/cells.yaml, over which grid/<step>/dvc.yaml runs.

python -m stages.plan           those that have results
python -m stages.plan linda     and that one, although it has none yet (`on_request` in configs/experiments.yaml)

`make grid` does the second for what it makes. `parsing`, `low_resource` and `slu`, whose experiments stand in files of their own, are names as well.
"""

from __future__ import annotations

from pathlib import Path

from compaug import experiments, planning
from stages import parser, run

PARAMS: list[str] = []


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    for line in planning.write(args.names, folder=args.out, source=args.experiments, settings=args.params):
        print(line)


def _parser():
    made = parser(__doc__)
    made.add_argument("names", metavar="NAME", nargs="*", help="experiments to plan that have no results yet")
    made.add_argument(
        "--experiments", type=Path, default=experiments.FILE, help=f"what to run (default: {experiments.FILE})"
    )
    made.add_argument("--out", type=Path, default=planning.GRID, help=f"folder of the steps (default: {planning.GRID})")
    return made


if __name__ == "__main__":
    run(main)
