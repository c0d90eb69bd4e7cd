"""The data map of a generator: what a training thought of its texts, epoch by epoch (cartography, Eqs. 3 to 8).

Trains on D_cg for data_map.epochs epochs, with nothing held out and no early stopping. Writes a CSV for every
measure, the values behind them, and a report that holds texts of a known grammar alone.
"""

import shutil

from compaug.cartography.maps import GENERATED, window
from compaug.core.files import InputError, atomic_dir, write_json
from compaug.core.records import sub_seed
from compaug.data.parameters import GRAMMARS
from compaug.data.task import TASKS
from compaug.experiments import params
from compaug.stages import cost_of, d_cg, parser, run

PARAMS = [
    "generators.{generator}",
    "data_map",
    *params.corpus("reader", "text_prompt", "label_separator"),
]
OPTIONS = parser(__doc__, "benchmark scale split seed generator backbones report", out="folder")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale, generator=args.generator)
    block, settings = blocks["data_map"], blocks["generator"]
    if not hasattr(settings, "dynamics"):
        raise InputError(
            f"--generator {args.generator}: keeps no dynamics; there are maps of the prefix-tuned generators"
        )
    epochs = window(block.epochs, block.min_epoch, block.convergence_epoch)
    labels, train, support = d_cg(args.split)
    examples = [e for e in train + support if e.labels]
    from compaug import generators  # after the cheap checks: torch is slow to import
    from compaug.cartography import map_files
    from compaug.training.checkpoint import CHECKPOINTS, checkpoints_kept

    without = {"pacing": None, "first": None, "epoch_share": None, "patience": None, "validation": 0.0}
    kept = {"dynamics": True, "dynamics_bleu": block.bleu or None, "epochs": block.epochs, "generator_data": "all"}
    task = TASKS["multi_label"](labels, blocks["text_prompt"], blocks["label_separator"])
    generator = generators.load(args.generator)
    backbones = {role: args.backbones / role for role in generator.roles}
    trained = CHECKPOINTS / "maps" / args.out.name
    with cost_of(args.out), checkpoints_kept(), atomic_dir(args.out) as out:
        updated = settings.model_copy(update=without | kept)
        generator.train(examples, task, updated, backbones, trained, sub_seed(args.seed, "map"))
        data_map = map_files.leave(trained, out, epochs, None)
        shutil.copyfile(trained / "history.json", out / "history.json")
        of = {"benchmark": args.benchmark, "method": args.generator, "seed": args.seed, "measure": GENERATED[0]}
        of |= {"source": "none", "epochs": list(range(epochs.start + 1, epochs.stop + 1))}
        allowed = blocks["reader"] in GRAMMARS
        write_json(args.report, of | map_files.shown(data_map, examples, labels, args.seed, allowed))
        shutil.rmtree(trained)


if __name__ == "__main__":
    run(main, loads_torch=True)
