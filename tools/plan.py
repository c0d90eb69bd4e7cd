"""Give DVC the stages of experiments and the locks that go with them, or take them away.

python -m tools.plan paper     plan that experiment beside what is planned
python -m tools.plan           put everything away; what was built stays in experiments/built.jsonl.gz

The files are experiments/<step>/cells.yaml and dvc.lock: `dvc repro experiments/classifier/dvc.yaml` knows what is
planned. `make grid` does both for what it builds. `draws`, `parsing`, `low_resource` and `slu`, whose experiments stand
in files of their own, are names as well, and so is a stage by DVC's address.
"""

from __future__ import annotations

from pathlib import Path

from compaug.engine import clones, planning
from compaug.experiments import cells
from compaug.stages import parser, run

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
    options = parser(__doc__)
    options.add_argument("names", metavar="NAME", nargs="*", help="experiments to plan; without one, plan nothing")
    options.add_argument("--experiments", type=Path, default=cells.FILE, help=f"what to run (default: {cells.FILE})")
    options.add_argument(
        "--out", type=Path, default=planning.EXPERIMENTS, help=f"folder of the steps (default: {planning.EXPERIMENTS})"
    )
    return options


if __name__ == "__main__":
    run(main)
