"""Put what cells have left in this working tree into the packs that Git has: predictions, and measures of every kind.

python -m compaug.stages.pack --data data --out reports

A cell whose files are here replaces what the packs have of it; all others stay as they are.
"""

from collections.abc import Iterable
from pathlib import Path

from compaug.core.files import InputError
from compaug.evaluation import measures, packs
from compaug.stages import parser, run

PREDICTIONS = "predictions"
OPTIONS = parser(__doc__)
OPTIONS.add_argument("--out", type=Path, required=True, help="folder of the packs")
OPTIONS.add_argument("--data", type=Path, required=True, help="folder of the folders that cells leave files in")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    if not args.data.is_dir():
        raise InputError(f"--data {args.data}: no such folder; give the one that cells leave their files in")
    files = {kind: _files(args.data / kind, ".json") for kind in measures.KINDS}
    changed = {kind: measures.changed(args.out, kind, paths) for kind, paths in files.items()}  # all that may be wrong
    _print(PREDICTIONS, packs.merge(args.out / PREDICTIONS, _files(args.data / PREDICTIONS, ".jsonl.gz")))
    for kind, values in changed.items():
        if values or not measures.path_of(args.out, kind).exists():
            measures.write(args.out, kind, measures.read(args.out, kind) | values)
        _print(kind, values)


def _files(folder: Path, suffix: str) -> dict[str, Path]:
    """By the name of the cell."""
    return {path.name.removesuffix(suffix): path for path in sorted(folder.glob(f"[!.]*{suffix}"))}


def _print(kind: str, names: Iterable[str]) -> None:
    for name in names:
        print(f"{kind}: {name}")


if __name__ == "__main__":
    run(main)
