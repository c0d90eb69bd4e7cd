"""Read COGS or CFQ from its files, check them, and write pairs of a sentence and its logical form (cartography, §3.2).

python -m compaug.stages.parsing_corpus --corpus cogs --out data/parsing/cogs

Files come from the folder that the environment variable COMPAUG_MIRROR names, else from their address (kept in
--downloads), and are checked against the hashes of configs/parsing.yaml. Writes <part>.jsonl, and corpus.json with what
was counted.
"""

from __future__ import annotations

from pathlib import Path

from compaug.core.records import atomic_dir, write_json
from compaug.stages import obtained, parser, run
from compaug.tasks.parsing import corpora, parameters

PARAMS = [f"{parameters.FILE}:corpora.{{corpus}}"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    corpus = parameters.load(args.params).corpus_of(args.corpus)
    parts = corpora.READERS[corpus.reader](obtained(corpus.files, args.downloads / args.corpus))
    with atomic_dir(args.out) as folder:
        corpora.write(folder, parts)
        write_json(folder / "corpus.json", {part: len(pairs) for part, pairs in parts.items()})


def _parser():
    options = parser(__doc__, out="folder", writes="folder of the corpus to write")
    options.set_defaults(params=parameters.FILE)
    options.add_argument("--corpus", required=True, help="a block of `corpora` in configs/parsing.yaml")
    options.add_argument(
        "--downloads", type=Path, default=Path("data/downloads"), help="where downloaded files are kept"
    )
    return options


if __name__ == "__main__":
    run(main)
