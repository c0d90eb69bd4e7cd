"""Read a corpus from its files (or make it), check it, and write it in the project's one schema.

python -m compaug.stages.raw --benchmark diagnostic --out data/raw/diagnostic

Files come from the folder that the environment variable COMPAUG_MIRROR names, else from their address (kept in
--downloads). Writes examples.jsonl, labels.json, corpus.json (counts) and, for a corpus with a released compositional
split, reference.json: {"train": ids, "support": ids, "test": ids}; for one that came with an ordinary split,
own_split.json: {"train": ids, "validation": ids, "test": ids}.
"""

import sys
from collections import defaultdict

from compaug.core.files import as_notes, atomic_dir, write_json
from compaug.core.records import write_jsonl
from compaug.data import readers
from compaug.experiments import params
from compaug.stages import obtained, parser, run

PARAMS = params.corpus("reader", "files", "options", "label_phrases", "label_separator")
OPTIONS = parser(__doc__, "benchmark downloads", out="folder")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    files = obtained(blocks["files"], args.downloads / args.benchmark)
    corpus = readers.read(blocks["reader"], files, blocks["options"])
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


if __name__ == "__main__":
    run(main)
