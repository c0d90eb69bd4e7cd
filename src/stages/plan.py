"""Write what the experiments ask of every kind of stage, once each: grid/<step>/cells.yaml, over which grid/<step>/dvc.yaml runs.

python -m stages.plan

Reads configs/experiments.yaml. Run by `make grid` and `make tables`; a file whose cells are the same keeps its bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

from compaug import experiments, steps
from compaug.records import write_text
from stages import parser, run

PARAMS: list[str] = []
HEAD = "# Made by `python -m stages.plan` from configs/experiments.yaml; do not edit.\n"


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    wanted = experiments.read(args.experiments).values()
    experiments.check(wanted, args.params)
    planned = steps.plan(wanted)
    for folder in dict.fromkeys(steps.FOLDER.values()):
        kinds = {kind: planned[kind] for kind, of in steps.FOLDER.items() if of == folder}
        path = args.out / folder / "cells.yaml"
        if not path.exists() or path.read_text(encoding="utf-8") != written(kinds):
            write_text(path, written(kinds))
            print(f"{path}: {', '.join(f'{len(entries)} {kind}' for kind, entries in kinds.items())}")


def written(kinds: dict[str, dict[str, dict]]) -> str:
    """YAML with a line for every stage, in which a diff shows what an experiment added."""
    lines = []
    for kind, entries in kinds.items():
        lines.append(f"{kind}:" if entries else f"{kind}: {{}}")
        lines += [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    return HEAD + "\n".join(lines) + "\n"


def _parser():
    made = parser(__doc__)
    made.add_argument(
        "--experiments", type=Path, default=experiments.FILE, help=f"what to run (default: {experiments.FILE})"
    )
    made.add_argument("--out", type=Path, default=Path("grid"), help="folder of the steps (default: grid)")
    return made


if __name__ == "__main__":
    run(main)
