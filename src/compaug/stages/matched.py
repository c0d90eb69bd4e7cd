"""Halves of the unseen test set as if a generator had written them: what perfect texts would be worth.

python -m compaug.stages.matched --split data/splits/diagnostic --out data/matched/diagnostic

Writes <out>/a and <out>/b: synthetic.jsonl (one half, with its labels), held.jsonl (the other half) and inputs.jsonl
(the other half and the seen test set, where the split has one, without labels).
"""

from dataclasses import replace

from compaug.core.files import InputError, atomic_dir
from compaug.core.records import Example, Labels, halves, read_jsonl, write_jsonl
from compaug.stages import parser, run

OPTIONS = parser(__doc__, "split", out="folder")
OLD_NAME = "ceiling"  # of this stage: which half a row is in, and what a classifier holds out of it, follow from it


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    n_labels = len(Labels.read(args.split / "labels.json"))
    test = read_jsonl(args.split / "test.jsonl", n_labels, False)
    seen_path = args.split / "seen_test.jsonl"
    seen = read_jsonl(seen_path, n_labels, False) if seen_path.exists() else []
    if len(test) < 2:
        raise InputError(f"{args.split / 'test.jsonl'}: two halves need two rows; raise split.test_share")
    first, second = ([test[at] for at in half] for half in halves([row.id for row in test], 0, OLD_NAME))
    with atomic_dir(args.out) as folder:
        for name, written, held in (("a", first, second), ("b", second, first)):
            (folder / name).mkdir()
            write_jsonl(folder / name / "synthetic.jsonl", (as_synthetic(example) for example in written))
            write_jsonl(folder / name / "held.jsonl", held)
            write_jsonl(folder / name / "inputs.jsonl", (replace(example, labels=()) for example in [*held, *seen]))


def as_synthetic(example: Example) -> Example:
    return replace(example, id=f"{OLD_NAME}-{example.id}", source="synthetic", requested_labels=example.labels)


if __name__ == "__main__":
    run(main)
