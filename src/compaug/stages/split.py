"""Split a corpus by composition, and once more at random; write every part and what was done (split.json).

python -m compaug.stages.split --benchmark diagnostic --raw data/raw/diagnostic --out data/splits/diagnostic

Paper, "Problem Setting". Rows keep the order of the corpus; support.jsonl is in its nested order, so that a smaller
support set is its head. The *_inputs.jsonl files carry no labels: classifiers predict on them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from compaug.core.files import atomic_dir, read_json, write_json
from compaug.core.records import Example, Labels, read_jsonl, write_jsonl
from compaug.data.splits import Parts, describe, split_corpus, with_seen
from compaug.experiments import params
from compaug.stages import parser, run

PARAMS = [*params.corpus("split"), *params.size("support_size")]
EMPTY = ("iid_support", "no_texts")  # of the iid split and of generator `none`: every cell is the same command
SOURCES = {"train": "train", "support": "support", "iid_train": "train"}  # every other part is tested on
OPTIONS = parser(__doc__, "benchmark raw", out="folder")
OPTIONS.add_argument("--seen-test", action="store_true", help="hold out texts of seen combinations too")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    options = params.load(args.params, PARAMS, benchmark=args.benchmark)["split"]
    labels = Labels.read(args.raw / "labels.json")
    examples = read_jsonl(args.raw / "examples.jsonl", len(labels))
    published, own_split = (
        read_json(path) if path.exists() else None
        for path in (args.raw / "reference.json", args.raw / "own_split.json")
    )
    parts = split_corpus(examples, labels, options, published, own_split)
    if args.seen_test and not options.seen_test:
        parts = with_seen(parts, examples, options.seed)
    write(args.out, parts, examples, labels, options, args.seen_test)


def write(
    out: Path,
    parts: Parts,
    examples: Sequence[Example],
    labels: Labels,
    options: params.Split,
    generalised: bool = False,
) -> None:
    """The folder of a split, whole or not at all; `generalised`: with the inputs of both test sets in one file."""
    with atomic_dir(out) as folder:
        for part, positions in parts.positions.items():
            write_jsonl(folder / f"{part}.jsonl", _rows(examples, positions, SOURCES.get(part, "test")))
            if part not in SOURCES:
                inputs = (replace(row, labels=()) for row in _rows(examples, positions, "test"))
                write_jsonl(folder / f"{part}_inputs.jsonl", inputs)
        if generalised or "seen_test" in parts.positions:  # what a classifier of the generalised protocol predicts on
            both = [*parts.positions["test"], *parts.positions.get("seen_test", ())]
            write_jsonl(folder / "both_inputs.jsonl", (replace(r, labels=()) for r in _rows(examples, both, "test")))
        for name in EMPTY:
            write_jsonl(folder / f"{name}.jsonl", [])
        labels.write(folder / "labels.json")
        write_json(folder / "split.json", describe(parts, examples, labels, options))


def _rows(examples: Sequence[Example], positions: Sequence[int], source: str) -> Iterator[Example]:
    return (replace(examples[position], source=source) for position in positions)


if __name__ == "__main__":
    run(main)
