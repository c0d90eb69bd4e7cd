"""Train one classifier and write its probabilities for validation and test rows (spec section 10).

python -m stages.train_classifier --benchmark diagnostic --classifier bert --labels data/splits/diagnostic/labels.json \
    --train data/splits/diagnostic/train.jsonl --support data/splits/diagnostic/support.jsonl \
    --synthetic data/selected/run.jsonl --test-inputs data/splits/diagnostic/test_inputs.jsonl \
    --backbones models/run/backbones --seed 13 --out models/run/augmented

The twin without augmentation is the same command without --synthetic. The test rows come without labels: this stage
cannot know them. Test rows are read after training only.
"""

from __future__ import annotations

from pathlib import Path

from compaug import classifiers, params
from compaug.records import Labels, atomic_dir, read_jsonl, sub_seed, write_json, write_rows
from stages import cost_of, parser, run

PARAMS = ["classifiers.{classifier}", "benchmarks.{benchmark}.budgets.classifier"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    settings = params.load(args.params, PARAMS, benchmark=args.benchmark, classifier=args.classifier)["classifier"]
    labels = Labels.read(args.labels)
    examples, support = read_jsonl(args.train, len(labels)), []
    if args.support:
        support = read_jsonl(args.support, len(labels))
    synthetic = read_jsonl(args.synthetic, len(labels)) if args.synthetic else []
    from compaug.training import checkpoints_kept, holdout  # after the cheap checks: torch is slow to import

    model, seed = classifiers.load(args.classifier), sub_seed(args.seed, "classifier")
    examples += support + synthetic  # D_mltc
    fitted, validation = holdout(examples, settings.validation, seed)  # spec section 10
    repeated = {e.id for e in support} - {e.id for e in validation}
    fitted += [e for e in support if e.id in repeated] * (settings.support_repeat - 1)
    with cost_of(args.out) as facts, checkpoints_kept(), atomic_dir(args.out) as out:
        title = f"classifier {args.out.name}"
        history = model.train(fitted, labels, settings, args.backbones / model.ROLES[0], out, seed, title, validation)
        rows = [("validation", validation), ("test", read_jsonl(args.test_inputs, len(labels)))]
        write_rows(out / "predictions.jsonl", predictions(model, out, rows))
        write_json(out / "history.json", {"epochs": history, "n_train": len(examples)})
        facts["n_train"] = len(examples)


def predictions(model, model_dir: Path, parts):
    """Rows of predictions.jsonl, six digits; `unparsed` where an answer was written: its pieces that are no label."""
    for split, examples in parts:
        texts, written = [e.text for e in examples], hasattr(model, "answers")
        probabilities, unparsed = (
            model.answers(model_dir, texts) if written else (model.predict(model_dir, texts), None)
        )
        for at, (example, row) in enumerate(zip(examples, probabilities.tolist(), strict=True)):
            made = {"id": example.id, "split": split, "probabilities": [round(p, 6) for p in row]}
            yield made | ({"unparsed": int(unparsed[at])} if written else {})


def _parser():
    made = parser(__doc__, out="folder")
    made.add_argument("--benchmark", required=True, help="name of a block of `benchmarks`")
    made.add_argument("--classifier", required=True, help="name of a block of `classifiers`")
    made.add_argument("--labels", type=Path, required=True, help="labels.json of the split")
    made.add_argument("--train", type=Path, required=True, help="training rows (D_train, or the iid training rows)")
    made.add_argument("--support", type=Path, help="support rows D_s, added to the training rows")
    made.add_argument("--synthetic", type=Path, help="selected synthetic rows D_aug, added to the training rows")
    made.add_argument("--test-inputs", type=Path, required=True, help="rows to predict, without labels")
    made.add_argument("--backbones", type=Path, required=True, help="folder of the benchmark's backbones")
    made.add_argument("--seed", type=int, required=True, help="seed of the cell")
    made.add_argument("--out", type=Path, required=True, help="model folder to write, predictions.jsonl included")
    return made


if __name__ == "__main__":
    run(main)
