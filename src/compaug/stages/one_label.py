"""Accuracy of a single-label task: how often the most probable label is the right one.

python -m compaug.stages.one_label --benchmark goemotions --scale pretrained --generator coda --split models/few/task \
    --predictions models/few/coda.jsonl.gz --out models/few/coda.json
"""

from pathlib import Path

from compaug.core.files import read_json, write_json
from compaug.core.records import Labels, read_jsonl
from compaug.evaluation import predictions
from compaug.stages import parser, run
from compaug.tasks.few_texts import accuracy

OPTIONS = parser(__doc__, "benchmark scale generator split", out=".json")
OPTIONS.add_argument("--predictions", type=Path, required=True, help="what train_classifier wrote")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels = Labels.read(args.split / "labels.json")
    gold = read_jsonl(args.split / "test.jsonl", len(labels), may_be_empty=False)
    predicted = predictions.read(args.predictions, len(labels))
    facts = {"accuracy": accuracy(predicted.of([row.id for row in gold]), gold), "n": len(gold)}
    task = read_json(args.split / "low_resource.json")
    cell = {"benchmark": args.benchmark, "scale": args.scale, "generator": args.generator}
    cell |= {"texts": task["train"], "seed": task["seed"]}
    write_json(args.out, cell | facts | {"n_train": predicted.n_train, "n_aug": predicted.n_synthetic})
    print(
        f"accuracy {facts['accuracy']:.2f} on {len(gold)} texts; {predicted.n_train} real and {predicted.n_synthetic} "
        "synthetic ones"
    )


if __name__ == "__main__":
    run(main)
