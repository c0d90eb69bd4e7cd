"""Train a parser on all pairs, a subset or a curriculum, and judge it (cartography, §3.3).

Writes exact match of every part but "train", in percent, of COGS' generalisation set category by category too; numbers
alone.
"""

from pathlib import Path

from compaug.core.files import write_json
from compaug.core.records import sub_seed
from compaug.stages import cost_of, parser, run
from compaug.tasks.parsing import corpora, parameters

PARAMS = [f"{parameters.FILE}:scales.{{scale}}.{{corpus}}", f"{parameters.FILE}:choice"]
OPTIONS = parser(__doc__, "seed", out=".json", params=parameters.FILE)
OPTIONS.add_argument("--corpus", required=True, help="a block of `corpora` in configs/parsing.yaml")
OPTIONS.add_argument("--scale", required=True, help="a block of `scales` in configs/parsing.yaml")
OPTIONS.add_argument("--data", type=Path, required=True, help="folder written by parsing_corpus")
OPTIONS.add_argument("--map", type=Path, help="folder of the data map that a region or a curriculum needs")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = parameters.load(args.params)
    size, choice = settings.size(args.scale, args.corpus), settings.choice
    corpus = corpora.read(args.data / "train.jsonl")
    tested = {part: corpora.read(args.data / f"{part}.jsonl") for part in corpora.parts_in(args.data)}
    from compaug.tasks.parsing import learning  # after the cheap checks: torch is slow to import
    from compaug.tasks.parsing.vocabulary import Vocabulary
    from compaug.training.checkpoint import checkpoints_kept

    train = learning.sample(corpus, size.sample)
    pairs, repaired = learning.chosen(train, choice, args.map, args.seed)
    vocabulary = Vocabulary.of(train)
    with cost_of(args.out) as cost, checkpoints_kept():
        model, history = learning.train(
            pairs, vocabulary, size, args.out, sub_seed(args.seed, "parser"), pacing=choice.pacing
        )
        scores = {}
        for part, rows in tested.items():
            right = learning.exact(model, learning.rows_of(rows, vocabulary), size.batch_size)
            scores[part] = learning.scores(rows, right)
        of = {"corpus": args.corpus, "scale": args.scale, "seed": args.seed, "choice": choice.model_dump()}
        of |= {"of": len(train), "rows": len(pairs), **repaired, "words": len(vocabulary)}
        of |= {"epochs": len(history), "loss": history[-1]["train"]["loss"]}
        of |= {"parameters": history[0]["trained_parameters"]}
        write_json(args.out, of | {"parts": scores})
        cost |= {"epochs": of["epochs"], "trained_parameters": of["parameters"]}


if __name__ == "__main__":
    run(main, loads_torch=True)
