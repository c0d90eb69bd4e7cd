"""Write what the experiments ask of every kind of stage, once each: grid/<step>/cells.yaml, over which grid/<step>/dvc.yaml runs.

python -m stages.plan

Reads configs/experiments.yaml, and configs/parsing.yaml and configs/low_resource.yaml, whose experiments are not made of its cells. Run by
`make grid` and `make tables`; a file whose cells are the same keeps its bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

from compaug import experiments, steps
from compaug.low_resource import cells as low_resource
from compaug.parsing import cells as parsing
from compaug.records import write_text
from stages import parser, run

PARAMS: list[str] = []
OTHERS = (parsing, low_resource)  # FOLDER of grid/, KINDS of its stages, FILE that asks for them, `plan`
HEAD = "# Made by `python -m stages.plan` from {}; do not edit.\n"


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    wanted = experiments.read(args.experiments).values()
    experiments.check(wanted, args.params)
    planned = steps.plan(wanted)
    for folder in dict.fromkeys(steps.FOLDER.values()):
        kinds = {kind: planned[kind] for kind, of in steps.FOLDER.items() if of == folder}
        _write(args.out / folder / "cells.yaml", kinds, experiments.FILE)
    for other in OTHERS:
        _write(args.out / other.FOLDER / "cells.yaml", other.plan(getattr(args, other.FOLDER)), other.FILE)


def _write(path: Path, kinds: dict[str, dict[str, dict]], source: Path) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != written(kinds, source):
        write_text(path, written(kinds, source))
        print(f"{path}: {', '.join(f'{len(entries)} {kind}' for kind, entries in kinds.items())}")


def written(kinds: dict[str, dict[str, dict]], source: Path = experiments.FILE) -> str:
    """YAML with a line for every stage, in which a diff shows what an experiment added; `source` is the file that asked for them."""
    lines = []
    for kind, entries in kinds.items():
        lines.append(f"{kind}:" if entries else f"{kind}: {{}}")
        lines += [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    return HEAD.format(source) + "\n".join(lines) + "\n"


def _parser():
    made = parser(__doc__)
    made.add_argument(
        "--experiments", type=Path, default=experiments.FILE, help=f"what to run (default: {experiments.FILE})"
    )
    for other in OTHERS:
        made.add_argument(
            f"--{other.FOLDER}".replace("_", "-"),
            type=Path,
            default=other.FILE,
            help=f"likewise (default: {other.FILE})",
        )
    made.add_argument("--out", type=Path, default=Path("grid"), help="folder of the steps (default: grid)")
    return made


if __name__ == "__main__":
    run(main)
