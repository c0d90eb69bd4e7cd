"""Train one classifier and write its probabilities for validation and test rows (paper, "MLTC Models").

The twin without augmentation is the same command without --synthetic (or with an empty file); the one without
compositional shift has --train iid_train.jsonl. The test rows come without labels and are read after training.

A synthetic text that contains a held-out text is not learned from and is in no count. D_mltc is the rest: `learned` and
`n_synthetic` count it whole, validation rows and their copies included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from compaug import classifiers
from compaug.cartography.maps import in_order
from compaug.core.files import InputError, atomic_dir, write_json
from compaug.core.records import Example, Labels, read_jsonl, read_label_sets, sub_seed, text_key
from compaug.evaluation import predictions
from compaug.experiments import params
from compaug.stages import cost_of, parser, run

PARAMS = ["classifiers.{classifier}"]
OPTIONS = parser(__doc__, "benchmark scale seed classifier labels", out="folder")
OPTIONS.add_argument("--train", type=Path, required=True, help="training rows (D_train, or the iid training rows)")
OPTIONS.add_argument("--support", type=Path, help="support rows D_s, added to the training rows")
OPTIONS.add_argument("--synthetic", type=Path, help="selected synthetic rows D_aug, added to the training rows")
OPTIONS.add_argument("--texts", type=int, help="only so many of the synthetic rows, best first")
OPTIONS.add_argument("--once", action="store_true", help="show each of them once an epoch, whatever the parameters say")
OPTIONS.add_argument("--compositions", type=Path, help="the label generator's requests, for the composition prior")
OPTIONS.add_argument(
    "--map", type=Path, help="folder of the data map that orders a curriculum (classifiers.<name>.pacing)"
)
OPTIONS.add_argument("--test-inputs", type=Path, required=True, help="rows to predict, without labels")
OPTIONS.add_argument("--backbones", type=Path, help="folder of the benchmark's backbones")
OPTIONS.add_argument("--backbone", type=Path, help="instead: folder of the one backbone that the classifier opens")
OPTIONS.add_argument("--predictions", type=Path, required=True, help="predictions to write (.jsonl.gz)")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    settings = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale, classifier=args.classifier)[
        "classifier"
    ]
    labels = Labels.read(args.labels)
    train, support, synthetic = (
        read_jsonl(path, len(labels), may_be_empty=path is not args.train) if path else []
        for path in (args.train, args.support, args.synthetic)
    )
    if args.texts is not None:
        synthetic = _head(args.synthetic, synthetic, args.texts)
    if not synthetic or args.once:
        settings = settings.without_texts()
    drawn = read_label_sets(args.compositions, len(labels)) if args.compositions else None
    from compaug.training.batching import containing, holdout
    from compaug.training.checkpoint import checkpoints_kept  # slow to import: after the cheap checks

    model, seed = classifiers.load(args.classifier), sub_seed(args.seed, "classifier")
    if not args.backbone and not args.backbones:
        raise InputError(
            "--backbone: give the folder of the classifier's backbone, or --backbones, that of all of them"
        )
    backbone = args.backbone or args.backbones / model.ROLES[0]
    examples = train + support + synthetic  # D_mltc
    same = lambda example: text_key(example.text)  # a repeated text is held out once or not at all
    fitted, validation = holdout(examples, settings.validation, seed, same)  # paper, Appendix A
    kept = {e.id for e in fitted}
    leaks = {e.id for e in containing([e for e in synthetic if e.id in kept], validation)}
    if leaks:
        counts = f"{len(leaks)} of {len(synthetic)} synthetic texts"
        print(f"note: {counts} contain a validation text and are not learned from", file=sys.stderr)
    fitted, examples, synthetic = ([e for e in rows if e.id not in leaks] for rows in (fitted, examples, synthetic))
    again = synthetic * ((settings.synthetic_repeat or 1) - 1)
    fitted += [e for e in support * (settings.support_repeat - 1) + again if e.id in kept]
    fitted = in_order(fitted, settings, args.map, sub_seed(args.seed, "curriculum"))
    with cost_of(args.out) as facts, checkpoints_kept(), atomic_dir(args.out) as out:
        title = f"classifier {args.out.name}"
        history = model.train(fitted, labels, settings, backbone, out, seed, title, validation)
        sources = {e.id: "train" for e in train} | {e.id: "support" for e in support}
        rows = [
            row | {"labels": list(e.labels), "source": sources.get(e.id, e.source)}
            for row, e in zip(predicted(model, out, "validation", validation), validation, strict=True)
        ]
        rows += predicted(model, out, "test", read_jsonl(args.test_inputs, len(labels)))
        learned = {"train": train, "support": support, "learned": examples + again}
        header = {
            **{name: predictions.counts(e.labels for e in rows_of) for name, rows_of in learned.items()},
            **({} if drawn is None else {"drawn": predictions.counts(drawn)}),
            "n_train": len(train) + len(support),
            "n_synthetic": len(synthetic),
            "losses": [round(epoch.get("valid", epoch["train"])["loss"], 6) for epoch in history],
        }
        predictions.write(args.predictions, header, rows)
        write_json(out / "history.json", {"epochs": history, "n_train": len(examples)})
        facts["n_train"] = len(examples)


def _head(path: Path | None, synthetic: list[Example], n: int) -> list[Example]:
    """The first n rows: kept texts are ranked, so that a curve over n adds texts and exchanges none."""
    if n < 0 or n > len(synthetic):
        raise InputError(f"--texts {n}: {path or '--synthetic'} has {len(synthetic)} texts; lower it or raise sizes.k")
    return synthetic[:n]


def predicted(model, model_dir: Path, split: str, examples: Sequence[Example]) -> Iterator[dict]:
    """Rows of the predictions, six digits; `unparsed` where an answer was written: its pieces that are no label."""
    texts, written = [e.text for e in examples], hasattr(model, "answers")
    probabilities, unparsed = model.answers(model_dir, texts) if written else (model.predict(model_dir, texts), None)
    for at, (example, row) in enumerate(zip(examples, probabilities.tolist(), strict=True)):
        prediction = {"id": example.id, "split": split, "probabilities": [round(p, 6) for p in row]}
        yield prediction | ({"unparsed": int(unparsed[at])} if written else {})


if __name__ == "__main__":
    run(main, loads_torch=True)
