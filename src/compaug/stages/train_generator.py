"""Train a text generator P(x | y) on D_cg, the training and support rows (paper, Eq. 4).

python -m compaug.stages.train_generator --benchmark diagnostic --generator ld_vae --split data/splits/diagnostic \
    --backbones models/backbones/diagnostic --seed 42 --out models/run/generator/augmented
"""

from pathlib import Path

from compaug.cartography.maps import in_order
from compaug.core.files import InputError
from compaug.core.records import sub_seed
from compaug.data.task import TASKS
from compaug.experiments import params
from compaug.stages import cost_of, d_cg, parser, run

PARAMS = ["generators.{generator}", *params.corpus("text_prompt", "label_separator")]
OPTIONS = parser(__doc__, "benchmark scale split seed generator backbones", out="folder")
OPTIONS.add_argument(
    "--map", type=Path, help="folder of the data map that orders a curriculum (generators.<name>.pacing)"
)


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale, generator=args.generator)
    block = blocks["generator"]
    if args.map and not hasattr(block, "first"):
        raise InputError(f"--map: {args.generator} has no curriculum; leave the map out")
    from compaug import generators  # after the cheap checks: torch is slow to import
    from compaug.training.checkpoint import checkpoints_kept

    labels, train, support = d_cg(args.split)
    examples = train + support
    # of texts without labels, which no generator learns from, there is no map
    if getattr(block, "first", None) or args.map:
        examples = in_order([e for e in examples if e.labels], block, args.map, sub_seed(args.seed, "curriculum"))
    task = TASKS["multi_label"](labels, blocks["text_prompt"], blocks["label_separator"])
    generator = generators.load(args.generator)
    backbones = {role: args.backbones / role for role in generator.roles}
    with cost_of(args.out), checkpoints_kept():
        generator.train(examples, task, block, backbones, args.out, args.seed)


if __name__ == "__main__":
    run(main, loads_torch=True)
