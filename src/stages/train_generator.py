"""Train a text generator P(x | y) on D_cg, the training and support rows (spec sections 5 to 8).

python -m stages.train_generator --benchmark diagnostic --generator ld_vae --split data/splits/diagnostic \
    --backbones models/backbones/diagnostic --seed 42 --out models/run/generator/augmented
"""

from __future__ import annotations

from compaug import params
from compaug.records import Labels, read_jsonl
from compaug.tasks import TASKS
from stages import cost_of, parser, run

PARAMS = [*params.method("generators"), *params.corpus("text_prompt", "label_separator")]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale, generator=args.generator)
    from compaug import generators  # after the cheap checks: torch is slow to import
    from compaug.training import checkpoints_kept

    labels = Labels.read(args.split / "labels.json")
    examples = read_jsonl(args.split / "train.jsonl", len(labels), may_be_empty=False)
    examples += read_jsonl(args.split / "support.jsonl", len(labels))
    task = TASKS["multi_label"](labels, blocks["text_prompt"], blocks["label_separator"])
    generator = generators.load(args.generator)
    backbones = {role: args.backbones / role for role in generator.roles}
    with cost_of(args.out), checkpoints_kept():
        generator.train(examples, task, blocks["generator"], backbones, args.out, args.seed)


def _parser():
    return parser(
        __doc__, "benchmark scale split seed generator backbones", out="folder", writes="model folder to write"
    )


if __name__ == "__main__":
    run(main)
