"""The heads of one ranked list of selected texts: synthetic data of several sizes (the paper's figure 4).

python -m stages.prefixes --selected data/selected/diagnostic-ld_vae-13.jsonl --out data/ablations/prefixes/diagnostic-ld_vae-13

Writes <out>/<size>.jsonl; a smaller size is the head of a larger one, so that a curve adds texts and exchanges none.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.records import InputError, atomic_dir, read_jsonl, write_jsonl
from stages import parser, run

PARAMS = ["ablations.synthetic_sizes"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    sizes = params.load(args.params, PARAMS)["synthetic_sizes"]
    selected = read_jsonl(args.selected)
    if max(sizes) > len(selected):
        raise InputError(
            f"ablations.synthetic_sizes has {max(sizes)}, but {args.selected} has {len(selected)} texts; lower it or raise "
            "selection.k"
        )
    with atomic_dir(args.out) as folder:
        for size in sizes:
            write_jsonl(folder / f"{size}.jsonl", selected[:size])


def _parser():
    made = parser(__doc__, out="folder")
    made.add_argument("--selected", type=Path, required=True, help="selected rows, best first")
    made.add_argument("--out", type=Path, required=True, help="folder to write, one file for every size")
    return made


if __name__ == "__main__":
    run(main)
