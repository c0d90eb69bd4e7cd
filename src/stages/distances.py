"""How far a generator's texts are from real ones: Frechet distance, precision and recall, BLEU; with the labels and without.

python -m stages.distances --split data/splits/diagnostic --selected data/selected/diagnostic-ld_vae-13.jsonl \
    --encoder models/backbones/diagnostic/encoder --out reports/distances/diagnostic-ld_vae-13.json

The real texts are the support texts, which are few and of the target, and those of D_train, which are many and of other compositions; never
the test set. Numbers alone are written.
"""

from __future__ import annotations

from pathlib import Path

from compaug.evaluation import distances
from compaug.evaluation.metrics import rounded
from compaug.records import Labels, read_jsonl, write_json
from stages import cost_of, parser, run

PARAMS: list[str] = []


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    labels = Labels.read(args.split / "labels.json")
    real = {name: read_jsonl(args.split / f"{name}.jsonl", len(labels)) for name in ("support", "train")}
    kept = read_jsonl(args.selected, len(labels))
    with cost_of(args.out):
        read = distances.reader(args.encoder)
        write_json(args.out, rounded({of: distances.measure(texts, kept, labels, read) for of, texts in real.items()}))


def _parser():
    made = parser(__doc__, "split", out=".json", writes="JSON of distances to write")
    made.add_argument("--selected", type=Path, required=True, help="kept rows")
    made.add_argument("--encoder", type=Path, required=True, help="encoder backbone whose states are compared")
    return made


if __name__ == "__main__":
    run(main)
