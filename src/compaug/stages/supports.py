"""Support sets of several sizes with one test set in common (paper, Tables 4 and 7).

python -m compaug.stages.supports --split data/splits/diagnostic+support_size=250 --like data/splits/diagnostic \
    --sizes 0 100 250 --out data/supports/diagnostic

`--split` has the largest support set; as support sets are nested, the smaller ones are its heads, and its test set has
none of their texts. Writes <out>/<size>/ with labels.json, train.jsonl and support.jsonl; <out>/test_inputs.jsonl, the
common test texts; and for the tables labels.json and test.jsonl of `--like`.
"""

import shutil
from pathlib import Path

from compaug.core.files import InputError, atomic_dir, file_digest
from compaug.core.records import Labels, read_jsonl, write_jsonl
from compaug.stages import parser, run

OPTIONS = parser(__doc__, "split", out="folder")
OPTIONS.add_argument("--like", type=Path, required=True, help="folder of the split that the other grids use")
OPTIONS.add_argument("--sizes", type=int, nargs="+", required=True, help="numbers of support texts")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    n_labels = len(Labels.read(args.split / "labels.json"))
    support, other = (read_jsonl(folder / "support.jsonl", n_labels) for folder in (args.split, args.like))
    if support[: len(other)] != other or file_digest(args.split / "train.jsonl") != file_digest(
        args.like / "train.jsonl"
    ):
        raise InputError(f"{args.split}: not a split as {args.like}; they may differ in support_size alone")
    if max(args.sizes) > len(support):
        raise InputError(
            f"--sizes: {max(args.sizes)}, but {args.split / 'support.jsonl'} has {len(support)} rows; lower it or "
            "raise the split's support_size"
        )
    with atomic_dir(args.out) as folder:
        shutil.copyfile(args.split / "test_inputs.jsonl", folder / "test_inputs.jsonl")
        for name in ("labels.json", "test.jsonl"):
            shutil.copyfile(args.like / name, folder / name)
        for size in args.sizes:
            (folder / str(size)).mkdir()
            write_jsonl(folder / str(size) / "support.jsonl", support[:size])
            for name in ("labels.json", "train.jsonl"):
                shutil.copyfile(args.split / name, folder / str(size) / name)


if __name__ == "__main__":
    run(main)
