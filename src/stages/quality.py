"""Measure the kept synthetic texts of one generator: variety, copying, length, fluency.

python -m stages.quality --synthetic data/selected/diagnostic-ld_vae-13.jsonl --split data/splits/diagnostic \
    --decoder models/paper/backbones/diagnostic/decoder --out reports/paper/quality/diagnostic-ld_vae-13.json

Numbers alone are written, no text. Reads the training and support rows, never the test set.
"""

from __future__ import annotations

from pathlib import Path

from compaug.evaluation.quality import measure
from compaug.records import Labels, iter_jsonl, read_jsonl, write_json
from stages import cost_of, parser, run

PARAMS: list[str] = []
DECIMALS = 4


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    labels = Labels.read(args.split / "labels.json")
    kept = read_jsonl(args.synthetic, len(labels))
    real = (args.split / f"{name}.jsonl" for name in ("train", "support"))
    corpus = (example.text for path in real for example in iter_jsonl(path, len(labels)))
    with cost_of(args.out):
        write_json(args.out, rounded(measure(kept, corpus, args.decoder)))


def rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return round(value, DECIMALS) if isinstance(value, float) else value


def _parser():
    made = parser(__doc__)
    made.add_argument("--synthetic", type=Path, required=True, help="kept synthetic rows")
    made.add_argument("--split", type=Path, required=True, help="folder of the benchmark's split")
    made.add_argument(
        "--decoder", type=Path, required=True, help="decoder backbone that judges how fluent the texts are"
    )
    made.add_argument("--out", type=Path, required=True, help="JSON of measures to write")
    return made


if __name__ == "__main__":
    run(main)
