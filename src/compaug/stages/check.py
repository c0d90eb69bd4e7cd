"""Check all that a run would use, before anything is read or trained; write which corpus it is.

python -m compaug.stages.check --benchmark diagnostic --scale tiny --out data/settings/checked.json

DVC itself names no choices where a corpus or a scale does not exist, and the other stages list what they read of both.
"""

from compaug.core.files import write_json
from compaug.experiments import params
from compaug.stages import parser, run

PARAMS = ["run"]
OPTIONS = parser(__doc__, "benchmark scale", out=".json")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale)
    write_json(args.out, {"benchmark": args.benchmark})


if __name__ == "__main__":
    run(main)
