"""Ceiling rows of the generalised protocol: real target texts instead of synthetic ones, and the Bayes classifier where the grammar is
known. They have seen what no method may see and take part in no comparison.

python -m stages.evaluate_ceiling --benchmark diagnostic_seen --seed 13 --split data/splits/diagnostic_seen \
    --ceiling data/ceiling/diagnostic_seen --predictions models/prior/ceiling/diagnostic_seen-13-a/predictions.jsonl \
    models/prior/ceiling/diagnostic_seen-13-b/predictions.jsonl --compositions data/compositions/diagnostic_seen-13.jsonl \
    --folds data/folds/diagnostic_seen-none-13 \
    --fold-predictions models/prior/fold/diagnostic_seen-none-13-a/predictions.jsonl \
    models/prior/fold/diagnostic_seen-none-13-b/predictions.jsonl --out reports/prior/ceilings/diagnostic_seen-13.json

With real texts, weight and strength of the correction are those of the cell without augmentation, chosen on its own held-out rows.
"""

from __future__ import annotations

from pathlib import Path

from compaug.evaluation.generalised import Trained

from compaug import params
from compaug.benchmarks import oracle_for
from compaug.records import Labels, read_jsonl, write_json
from compaug.reports import generalised
from stages import parser, run

PARAMS = ["composition_prior", "evaluation", "benchmarks.{benchmark}.reader", "benchmarks.{benchmark}.options"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    options, empty_both = blocks["composition_prior"], blocks["evaluation"].empty_both
    labels = Labels.read(args.split / "labels.json")
    names = ("train", "support", "test", "seen_test")
    train, support, test, seen = (read_jsonl(args.split / f"{name}.jsonl", len(labels)) for name in names)
    folds = generalised.folds_of(args.folds, args.fold_predictions, train, labels, options.calibrate)
    drawn = generalised.read_drawn(args.compositions, len(labels))
    halves, texts = [], []
    for name, path in zip(generalised.FOLDS, args.predictions, strict=True):
        given, held = (read_jsonl(args.ceiling / name / f"{part}.jsonl", len(labels)) for part in ("synthetic", "held"))
        parts, final = {"unseen": held, "seen": seen}, Trained(path, train, [*support, *given])
        halves.append(generalised.results(final, parts, support, drawn, folds, folds, options, labels, empty_both))
        texts.append(len(given))
    found = {"real_texts": generalised.mean_of([half["decodings"] for half in halves])}
    if grammar := oracle_for(blocks["reader"], blocks["options"]):
        found["bayes"] = generalised.bayes(grammar, train + support, {"unseen": test, "seen": seen})
    row = {"benchmark": args.benchmark, "seed": args.seed, "texts": sum(texts) / len(texts)}
    write_json(args.out, row | {"ceilings": found})


def _parser():
    made = parser(__doc__)
    made.add_argument("--benchmark", required=True, help="name of the block in params.yaml")
    made.add_argument("--seed", type=int, required=True, help="seed of the cell")
    made.add_argument("--split", type=Path, required=True, help="folder of a split with a seen test set")
    made.add_argument("--ceiling", type=Path, required=True, help="folder written by the ceiling stage")
    made.add_argument("--predictions", type=Path, nargs=2, required=True, help="predictions.jsonl with halves a and b")
    made.add_argument("--compositions", type=Path, required=True, help="label sets that the label generator drew")
    made.add_argument("--folds", type=Path, required=True, help="folds of the cell without augmentation")
    made.add_argument(
        "--fold-predictions", type=Path, nargs=2, required=True, help="predictions.jsonl of its folds a and b"
    )
    made.add_argument("--out", type=Path, required=True, help="result row to write")
    return made


if __name__ == "__main__":
    run(main)
