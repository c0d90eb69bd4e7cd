"""The data map of a parser: what a training thought of its pairs, epoch by epoch (cartography, Eqs. 3 to 8).

python -m compaug.stages.map_parser --corpus cogs --scale tiny --data data/parsing/cogs --seed 42 \
    --out data/maps/parser-cogs-tiny-42
"""

import shutil
from pathlib import Path

from compaug.cartography.maps import window
from compaug.core.files import atomic_dir, write_json
from compaug.core.records import sub_seed
from compaug.stages import cost_of, parser, run
from compaug.tasks.parsing import corpora, parameters

PARAMS = [f"{parameters.FILE}:scales.{{scale}}.{{corpus}}"]
OPTIONS = parser(__doc__, "seed", out="folder", params=parameters.FILE)
OPTIONS.add_argument("--corpus", required=True, help="a block of `corpora` in configs/parsing.yaml")
OPTIONS.add_argument("--scale", required=True, help="a block of `scales` in configs/parsing.yaml")
OPTIONS.add_argument("--data", type=Path, required=True, help="folder written by parsing_corpus")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    size = parameters.load(args.params).size(args.scale, args.corpus)
    epochs = window(size.map_epochs, size.min_epoch, size.convergence_epoch)
    corpus = corpora.read(args.data / "train.jsonl")
    from compaug.cartography import map_files  # after the cheap checks: torch is slow to import
    from compaug.tasks.parsing import learning
    from compaug.tasks.parsing.vocabulary import Vocabulary
    from compaug.training.checkpoint import CHECKPOINTS, checkpoints_kept

    pairs = learning.sample(corpus, size.sample)
    seed, kept = sub_seed(args.seed, "map"), CHECKPOINTS / "maps" / args.out.name
    more = {"epochs": size.map_epochs, "mapped": kept}
    with cost_of(args.out), checkpoints_kept(), atomic_dir(args.out) as out:
        _, history = learning.train(pairs, Vocabulary.of(pairs), size, args.out, seed, **more)
        map_files.leave(kept, out, epochs, None)
        write_json(out / "history.json", {"epochs": history})
        shutil.rmtree(kept)


if __name__ == "__main__":
    run(main, loads_torch=True)
