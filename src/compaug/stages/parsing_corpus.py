"""Read COGS or CFQ from its files, check them, and write pairs of a sentence and its logical form (cartography, §3.2).

python -m compaug.stages.parsing_corpus --corpus cogs --out data/parsing/cogs
"""

from compaug.core.files import atomic_dir, write_json
from compaug.stages import obtained, parser, run
from compaug.tasks.parsing import corpora, parameters

PARAMS = [f"{parameters.FILE}:corpora.{{corpus}}"]
OPTIONS = parser(__doc__, "downloads", out="folder", params=parameters.FILE)
OPTIONS.add_argument("--corpus", required=True, help="a block of `corpora` in configs/parsing.yaml")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    corpus = parameters.load(args.params).corpus_of(args.corpus)
    parts = corpora.READERS[corpus.reader](obtained(corpus.files, args.downloads / args.corpus))
    with atomic_dir(args.out) as folder:
        corpora.write(folder, parts)
        write_json(folder / "corpus.json", {part: len(pairs) for part, pairs in parts.items()})


if __name__ == "__main__":
    run(main)
