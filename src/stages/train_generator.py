"""Train a text generator P(x | y) on D_cg, the training and support rows (spec sections 5 to 8).

python -m stages.train_generator --benchmark diagnostic --generator ld_vae --split data/splits/diagnostic \
    --backbones models/backbones/diagnostic --seed 13 --out models/run/generator
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.records import Labels, read_jsonl
from compaug.tasks import TASKS
from stages import cost_of, parser, run

PARAMS = [
    "generators.{generator}",
    "benchmarks.{benchmark}.budgets.generator",
    "benchmarks.{benchmark}.text_prompt",
    "benchmarks.{benchmark}.label_separator",
]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, generator=args.generator)
    from compaug import generators  # after the cheap checks: torch is slow to import
    from compaug.training import checkpoints_kept

    labels = Labels.read(args.split / "labels.json")
    examples = [e for name in ("train", "support") for e in read_jsonl(args.split / f"{name}.jsonl", len(labels))]
    task = TASKS["multi_label"](labels, blocks["text_prompt"], blocks["label_separator"])
    generator = generators.load(args.generator)
    backbones = {role: args.backbones / role for role in generator.roles}
    with cost_of(args.out), checkpoints_kept():
        generator.train(examples, task, blocks["generator"], backbones, args.out, args.seed)


def _parser():
    made = parser(__doc__, out="folder")
    made.add_argument("--benchmark", required=True, help="name of a block of `benchmarks`")
    made.add_argument("--generator", required=True, help="name of a block of `generators`")
    made.add_argument("--split", type=Path, required=True, help="folder of the benchmark's split")
    made.add_argument("--backbones", type=Path, required=True, help="folder of the benchmark's backbones")
    made.add_argument("--seed", type=int, required=True, help="seed of the cell")
    made.add_argument("--out", type=Path, required=True, help="model folder to write")
    return made


if __name__ == "__main__":
    run(main)
