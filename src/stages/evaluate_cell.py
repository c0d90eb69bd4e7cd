"""Turn one cell's predictions into one result row of a grid (spec README, "Result rows").

python -m stages.evaluate_cell --benchmark diagnostic --generator ld_vae --classifier bert --seed 42 --splits data/splits/diagnostic \
    --predictions models/paper/diagnostic-ld_vae-42/predictions.jsonl \
    --selected data/selected/diagnostic-ld_vae-42.jsonl --out reports/paper/runs/diagnostic-ld_vae-42.json

The generator `iid` stands for training without augmentation on the iid split, evaluated on the iid test rows. Beside the metrics
stand those with thresholds tuned per label on the validation rows, and the error analysis.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from compaug import classifiers, generators, params
from compaug.benchmarks import oracle_for
from compaug.evaluation.cell import oracle_fidelity
from compaug.evaluation.decoding import decode, read_validation
from compaug.evaluation.errors import analyse, unparsed
from compaug.evaluation.metrics import evaluate, label_matrix, read_predictions
from compaug.records import Labels, read_jsonl, write_json
from compaug.reports import backbone_names
from compaug.reports.paper import IID
from compaug.reports.tables import correct_rows, result_row
from stages import parser, run

PARAMS = [
    "evaluation",
    "benchmarks.{benchmark}.reader",
    "benchmarks.{benchmark}.options",
    "benchmarks.{benchmark}.backbones",
    "benchmarks.{benchmark}.paper_column",
]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    evaluation, grammar = blocks["evaluation"], oracle_for(blocks["reader"], blocks["options"])
    labels = Labels.read(args.splits / "labels.json")
    iid = args.generator == IID

    examples = read_jsonl(args.splits / ("iid_test.jsonl" if iid else "test.jsonl"), len(labels))
    probabilities = read_predictions(args.predictions, [example.id for example in examples], len(labels))
    gold = label_matrix([example.labels for example in examples], len(labels))
    selected = read_jsonl(args.selected, len(labels)) if args.selected else []
    real = [
        read_jsonl(args.splits / f"{name}.jsonl", len(labels))
        for name in (["iid_train"] if iid else ["train", "support"])
    ]
    learned = read_validation(args.predictions, [*chain(*real), *selected], len(labels))
    predicted = {
        decoding: decode(decoding, evaluation.threshold, probabilities, *learned)
        for decoding in (evaluation.decoding, "tuned_thresholds")
    }
    metrics = {name: evaluate(gold, some, labels, evaluation.empty_both) for name, some in predicted.items()}
    tuned = {name: value for name, value in metrics["tuned_thresholds"].items() if name != "per_composition"}
    opened = {*classifiers.roles_of(args.classifier), *(() if iid else generators.roles_of(args.generator))}
    support = None if iid else {example.labels for example in real[1]}
    row = result_row(
        metrics[evaluation.decoding],
        correct=correct_rows(gold, predicted[evaluation.decoding]),
        errors=analyse(gold, predicted[evaluation.decoding], labels, support),
        unparsed=unparsed(args.predictions),
        tuned=tuned,
        benchmark=args.benchmark,
        generator=args.generator,
        classifier=args.classifier,
        seed=args.seed,
        n_train=sum(map(len, real)),
        n_aug=len(selected),
        fidelity=oracle_fidelity(grammar, selected) if grammar else None,
        backbones=backbone_names(blocks["backbones"], opened),
        paper_column=blocks["paper_column"],
    )
    write_json(args.out, row)


def _parser():
    made = parser(__doc__)
    made.add_argument("--benchmark", required=True, help="name of the block in params.yaml")
    made.add_argument(
        "--generator", required=True, help="generator of the cell, or iid for the reference without shift"
    )
    made.add_argument("--classifier", required=True, help="classifier of the cell")
    made.add_argument("--seed", type=int, required=True, help="seed of the cell")
    made.add_argument("--splits", type=Path, required=True, help="folder of the benchmark's splits")
    made.add_argument("--predictions", type=Path, required=True, help="predictions.jsonl of the trained classifier")
    made.add_argument("--selected", type=Path, help="synthetic rows the classifier was trained on, if any")
    made.add_argument("--out", type=Path, required=True, help="result row to write")
    return made


if __name__ == "__main__":
    run(main)
