"""Intents and slots: read a corpus, take few of its training utterances, write its parts.

python -m compaug.stages.slu_corpus --corpus snips --share 0.01 --seed 42 --out data/slu/snips-0.01-42

Training utterances whose words stand in the validation or test set are left out before the few are drawn.
"""

from compaug.core.files import atomic_dir, write_json
from compaug.stages import obtained, parser, run, share
from compaug.tasks.slu import parameters, utterances

PARAMS = [f"{parameters.FILE}:corpora.{{corpus}}"]
OPTIONS = parser(__doc__, "seed downloads", out="folder", params=parameters.FILE)
OPTIONS.add_argument("--corpus", required=True, help="a block of `corpora` in configs/slu.yaml")
OPTIONS.add_argument("--share", type=share, default=1.0, help="of the training utterances, at least one an intent")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    chosen = parameters.load(args.params).corpus_of(args.corpus)
    parts = utterances.READERS[chosen.reader](obtained(chosen.files, args.downloads / args.corpus))
    names = utterances.inventory(row for part in parts.values() for row in part)
    kept = utterances.apart(parts)
    left_out = {part: len(parts[part]) - len(kept[part]) for part in utterances.PARTS}
    kept["train"] = utterances.few(kept["train"], args.share, args.seed)
    with atomic_dir(args.out) as folder:
        utterances.write(folder, kept, names)
        write_json(folder / utterances.FACTS, {"corpus": args.corpus, "share": args.share, "seed": args.seed})
    counts = ", ".join(f"{len(rows)} {part}" for part, rows in kept.items())
    print(
        f"{args.out}: {counts}; {len(names['intents'])} intents, {len(names['slots'])} slots; left out, "
        f"because they stand in another part: {left_out['train']} of training, "
        f"{left_out['validation']} of validation"
    )


if __name__ == "__main__":
    run(main)
