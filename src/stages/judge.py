"""Judge a cell's kept texts in the place of people (Table 10): what a reader finds in a text against what was asked.

python -m stages.judge --benchmark diagnostic --labels data/splits/diagnostic/labels.json --generator ld_vae --seed 13 \
    --selected data/selected/diagnostic-ld_vae-13.jsonl --classifier bert --model models/classifier/diagnostic-iid-none-bert-13 \
    --predictions reports/predictions/diagnostic-iid-none-bert-13.jsonl.gz --test data/splits/diagnostic/iid_test.jsonl \
    --out reports/judged/diagnostic-ld_vae-13.json

Two readers: the oracle of the corpus where its grammar is known, and a classifier that has seen every composition, that of the iid
split. Both are proxies of people. `reader` in the result is how well that classifier reads real texts of the requested compositions,
those of its own test set.
"""

from __future__ import annotations

from pathlib import Path

from compaug import classifiers, params
from compaug.benchmarks import oracle_for
from compaug.evaluation import predictions, ratings
from compaug.evaluation.metrics import label_matrix
from compaug.records import Example, InputError, Labels, read_jsonl, write_json
from stages import cost_of, parser, run

PARAMS = [*params.corpus("reader", "options"), "evaluation.threshold"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    labels = Labels.read(args.labels)
    selected = read_jsonl(args.selected, len(labels))
    if not all(example.requested_labels for example in selected):
        raise InputError(f"{args.selected}: a row without `requested_labels`; give the kept texts of a cell")
    judged, reader, threshold = {}, {}, blocks["threshold"]
    with cost_of(args.out):
        if selected:
            asked = label_matrix([e.requested_labels for e in selected], len(labels))
            read = classifiers.load(args.classifier).predict(args.model, [e.text for e in selected]) > threshold
            judged["classifier"] = ratings.shares(asked, read)
            test = read_jsonl(args.test, len(labels))
            reader = _on_real_texts(args.predictions, test, selected, labels, threshold)
            if grammar := oracle_for(blocks["reader"], blocks["options"]):
                judged["oracle"] = ratings.oracle_shares(grammar.oracle, selected)
        row = {"generator": args.generator, "seed": args.seed, "n": len(selected)}
        write_json(args.out, row | {"judged": judged, "reader": reader})


def _on_real_texts(path: Path, test: list[Example], selected: list[Example], labels: Labels, threshold: float) -> dict:
    """Metrics and number of the test texts whose composition was asked of the generator; {} without any."""
    read = predictions.read(path, len(labels)).of([e.id for e in test]) > threshold
    asked = {e.requested_labels for e in selected}
    rows = [row for row, example in enumerate(test) if example.labels in asked]
    if not rows:
        return {}
    gold = label_matrix([test[row].labels for row in rows], len(labels))
    return ratings.shares(gold, read[rows]) | {"n": len(rows)}


def _parser():
    made = parser(__doc__, "benchmark seed generator classifier labels", out=".json", writes="JSON to write")
    made.add_argument("--selected", type=Path, required=True, help="kept texts of the cell")
    made.add_argument(
        "--model", type=Path, required=True, help="model folder of the judge, which saw every composition"
    )
    made.add_argument("--predictions", type=Path, required=True, help="predictions of the judge on its test set")
    made.add_argument("--test", type=Path, required=True, help="that test set: iid_test.jsonl of the split")
    return made


if __name__ == "__main__":
    run(main)
