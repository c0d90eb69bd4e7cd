"""Decode one cell's predictions with and without the composition prior, on seen and on unseen compositions (generalised protocol).

python -m stages.evaluate_prior --benchmark diagnostic_seen --generator ld_vae --classifier bert --seed 13 \
    --split data/splits/diagnostic_seen --predictions models/prior/classifier/diagnostic_seen-ld_vae-13/predictions.jsonl \
    --synthetic data/selected/diagnostic_seen-ld_vae-13.jsonl --compositions data/compositions/diagnostic_seen-13.jsonl \
    --folds data/folds/diagnostic_seen-ld_vae-13 --fold-predictions models/prior/fold/diagnostic_seen-ld_vae-13-a/predictions.jsonl \
    models/prior/fold/diagnostic_seen-ld_vae-13-b/predictions.jsonl --out reports/prior/runs/diagnostic_seen-ld_vae-13.json

Weight and strength of the correction are chosen on rows that the folds' classifiers have not seen: validation rows of D_train and
the other half of the support set. The gold labels of the test sets are opened for the metrics alone.
"""

from __future__ import annotations

from pathlib import Path

from compaug.evaluation.generalised import Trained

from compaug import params
from compaug.records import Labels, read_jsonl, write_json
from compaug.reports import backbone_names, generalised
from stages import parser, run

PARAMS = ["composition_prior", "evaluation", "benchmarks.{benchmark}.backbones"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    options, labels = blocks["composition_prior"], Labels.read(args.split / "labels.json")

    def rows(path: Path) -> list:
        return read_jsonl(path, len(labels))

    train, support = rows(args.split / "train.jsonl"), rows(args.split / "support.jsonl")
    calibrated, plain = (
        generalised.folds_of(args.folds, args.fold_predictions, train, labels, calibrate)
        for calibrate in (options.calibrate, False)
    )
    found = generalised.results(
        Trained(args.predictions, train, [*support, *rows(args.synthetic)]),
        {"unseen": rows(args.split / "test.jsonl"), "seen": rows(args.split / "seen_test.jsonl")},
        support,
        generalised.read_drawn(args.compositions, len(labels)),
        calibrated,
        plain,
        options,
        labels,
        blocks["evaluation"].empty_both,
    )
    row = {"benchmark": args.benchmark, "generator": args.generator, "classifier": args.classifier, "seed": args.seed}
    row |= found | {"backbones": backbone_names(blocks["backbones"], ())}
    write_json(args.out, row)


def _parser():
    made = parser(__doc__)
    made.add_argument("--benchmark", required=True, help="name of the block in params.yaml")
    made.add_argument("--generator", required=True, help="generator of the cell")
    made.add_argument("--classifier", required=True, help="classifier of the cell")
    made.add_argument("--seed", type=int, required=True, help="seed of the cell")
    made.add_argument("--split", type=Path, required=True, help="folder of a split with a seen test set")
    made.add_argument("--predictions", type=Path, required=True, help="predictions.jsonl on both test sets")
    made.add_argument("--synthetic", type=Path, required=True, help="synthetic rows that the classifier was trained on")
    made.add_argument("--compositions", type=Path, required=True, help="label sets that the label generator drew")
    made.add_argument("--folds", type=Path, required=True, help="folder written by the folds stage")
    made.add_argument(
        "--fold-predictions", type=Path, nargs=2, required=True, help="predictions.jsonl of folds a and b"
    )
    made.add_argument("--out", type=Path, required=True, help="result row to write")
    return made


if __name__ == "__main__":
    run(main)
