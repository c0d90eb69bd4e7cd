"""The data map of a classifier: what a training thought of its rows, epoch by epoch (cartography, Eqs. 1 and 2).

Trains on all rows given for data_map.epochs epochs, with nothing held out and no early stopping. Writes a CSV for every
measure, the values behind them, and a report that holds texts of a known grammar alone.
"""

import shutil
from pathlib import Path

from compaug import classifiers
from compaug.cartography.maps import MEASURES, window
from compaug.core.files import atomic_dir, write_json
from compaug.core.records import Labels, read_jsonl, sub_seed
from compaug.data.parameters import GRAMMARS
from compaug.experiments import params
from compaug.stages import cost_of, parser, run

PARAMS = ["classifiers.{classifier}", "data_map", *params.corpus("reader")]
OPTIONS = parser(__doc__, "benchmark scale seed classifier labels report", out="folder")
OPTIONS.add_argument("--train", type=Path, nargs="+", required=True, help="rows to train on, real and synthetic")
OPTIONS.add_argument("--backbone", type=Path, required=True, help="folder of the classifier's backbone")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale, classifier=args.classifier)
    block = blocks["data_map"]
    epochs = window(block.epochs, block.min_epoch, block.convergence_epoch)
    labels = Labels.read(args.labels)
    examples = [e for path in args.train for e in read_jsonl(path, len(labels), may_be_empty=path is not args.train[0])]
    from compaug.cartography import map_files  # after the cheap checks: torch is slow to import
    from compaug.training.checkpoint import CHECKPOINTS, checkpoints_kept

    without = {"pacing": None, "first": None, "patience": None, "support_repeat": 1, "synthetic_repeat": None}
    settings = blocks["classifier"].model_copy(
        update=without | {"dynamics": block.dynamics or True, "epochs": block.epochs}
    )
    trained, name = CHECKPOINTS / "maps" / args.out.name, f"map {args.out.name}"
    with cost_of(args.out), checkpoints_kept(), atomic_dir(args.out) as out:
        history = classifiers.load(args.classifier).train(
            examples, labels, settings, args.backbone, trained, sub_seed(args.seed, "map"), name, []
        )
        data_map = map_files.leave(trained, out, epochs, {e.id: e.labels for e in examples})
        write_json(out / "history.json", {"epochs": history})
        of = {
            "benchmark": args.benchmark,
            "method": args.classifier,
            "seed": args.seed,
            "measure": next(iter(MEASURES)),
        }
        of |= {"source": next((e.source for e in reversed(examples) if e.requested_labels is not None), "none")}
        of |= {"epochs": list(range(epochs.start + 1, epochs.stop + 1))}
        allowed = blocks["reader"] in GRAMMARS
        write_json(args.report, of | map_files.shown(data_map, examples, labels, args.seed, allowed))
        shutil.rmtree(trained)


if __name__ == "__main__":
    run(main, loads_torch=True)
