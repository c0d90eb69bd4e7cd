"""Read a corpus from its files (or make it), check it, and write it in the project's one schema.

python -m compaug.stages.raw --benchmark diagnostic --out data/raw/diagnostic

Files come from the folder that the environment variable COMPAUG_MIRROR names, else from their address (kept in
--downloads). Writes examples.jsonl, labels.json, corpus.json (counts) and, for a corpus with a released compositional
split, reference.json: {"train": ids, "support": ids, "test": ids}; for one that came with an ordinary split,
own_split.json: {"train": ids, "validation": ids, "test": ids}.
"""

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path

from compaug.core.records import InputError, as_notes, atomic_dir, read_yaml, write_json, write_jsonl
from compaug.data import readers
from compaug.experiments import params
from compaug.stages import parser, run

PARAMS = params.corpus("reader", "files", "options", "label_phrases", "label_separator")


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    _check_scale(args)
    mirror = os.environ.get("COMPAUG_MIRROR")
    corpus = readers.read(
        blocks["reader"],
        blocks["files"],
        blocks["options"],
        Path(mirror) if mirror else None,
        args.downloads / args.benchmark,
    )
    labels = corpus.labels_with(blocks["label_phrases"])
    labels.check_separator(blocks["label_separator"])

    with atomic_dir(args.out) as folder:
        write_jsonl(folder / "examples.jsonl", corpus.examples)
        labels.write(folder / "labels.json")
        write_json(folder / "corpus.json", readers.describe(corpus))
        for name, part_of in (("reference", corpus.reference), ("own_split", corpus.own_split)):
            if part_of is not None:
                ids = defaultdict(list)
                for example_id, part in part_of.items():
                    ids[part].append(example_id)
                write_json(folder / f"{name}.json", ids)
    print(as_notes(corpus.notes), end="", file=sys.stderr)


def _check_scale(args: argparse.Namespace) -> None:
    """InputError for a scale that the corpus of this run does not have: said before hours of other stages."""
    path = getattr(args.params, "path", args.params)
    run = read_yaml(path)["run"]
    names = params.scales(path, args.benchmark)
    if run["benchmark"] == args.benchmark and run["scale"] not in names:
        raise InputError(f"run.scale: {args.benchmark} has no scale {run['scale']!r}; choose from {', '.join(names)}")


def _parser() -> argparse.ArgumentParser:
    options = parser(__doc__, "benchmark", out="folder")
    options.add_argument(
        "--downloads", type=Path, default=Path("data/downloads"), help="where downloaded files are kept"
    )
    return options


if __name__ == "__main__":
    run(main)
