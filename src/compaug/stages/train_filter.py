"""Train the quality filter: a classifier on D_cg (training and support rows) with its seed (paper, "Quality Control").

python -m compaug.stages.train_filter --benchmark diagnostic --classifier bert --split data/splits/diagnostic \
    --encoder models/run/backbones/encoder --seed 13 --out models/run/filter
"""

from compaug import classifiers
from compaug.core.files import InputError, atomic_dir, write_json
from compaug.core.records import sub_seed
from compaug.experiments import params
from compaug.stages import cost_of, d_cg, parser, run

PARAMS = ["classifiers.{classifier}"]
OPTIONS = parser(__doc__, "benchmark scale split seed classifier encoder", out="folder")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale, classifier=args.classifier)[
        "classifier"
    ].without_texts()
    if settings.first:
        raise InputError(f"classifiers.{args.classifier}.first: the filter has no data map, so no curriculum")
    labels, real, support = d_cg(args.split)
    examples = real + support * settings.support_repeat
    seed = sub_seed(args.seed, "filter")
    train = classifiers.load(args.classifier).train
    from compaug.training.checkpoint import checkpoints_kept  # after the cheap checks: torch is slow to import

    with cost_of(args.out), checkpoints_kept(), atomic_dir(args.out) as out:
        history = train(examples, labels, settings, args.encoder, out, seed, "quality filter")
        write_json(out / "history.json", {"epochs": history})


if __name__ == "__main__":
    run(main, loads_torch=True)
