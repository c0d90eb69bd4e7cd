"""Make the encoder and the decoder of a benchmark: trained here on D_train, fetched at a pinned revision, or copied.

python -m stages.backbones --benchmark diagnostic --split data/splits/diagnostic --out models/backbones/diagnostic

Design section 3; the folders encoder/ and decoder/ are what later stages open. Reads train.jsonl and no other text.
A tiny decoder sees each text after its prompt P(y): GPT-2 knows what a label's words mean before any tuning, and a frozen
decoder that does not could not be steered.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.backbones import prepare
from compaug.records import Example, Labels, atomic_dir, digest, iter_jsonl
from compaug.training import work_dir_for
from stages import cost_of, parser, run

PARAMS = [
    "benchmarks.{benchmark}.backbones",
    "benchmarks.{benchmark}.text_prompt",
    "benchmarks.{benchmark}.label_separator",
]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    labels = Labels.read(args.split / "labels.json")

    def prompted(example: Example) -> str:
        phrases = labels.phrase(example.labels, blocks["label_separator"])
        return f"{blocks['text_prompt'].replace('{labels}', phrases)} {example.text}" if phrases else example.text

    examples = list(iter_jsonl(args.split / "train.jsonl", len(labels)))
    texts = {"encoder": [example.text for example in examples], "decoder": [prompted(example) for example in examples]}
    with cost_of(args.out), atomic_dir(args.out) as folder:
        for role, spec in blocks["backbones"]:
            (folder / role).mkdir()
            work_dir = work_dir_for(args.out / role, spec, args.seed, digest(texts[role]))
            prepare(role, spec, texts[role], folder / role, args.seed, work_dir)


def _parser():
    made = parser(__doc__)
    made.add_argument("--benchmark", required=True, help="name of the block in params.yaml")
    made.add_argument("--split", type=Path, required=True, help="folder of the benchmark's split")
    made.add_argument("--seed", type=int, default=0, help="seed of the tiny models (default: 0)")
    made.add_argument("--out", type=Path, required=True, help="folder to write: encoder/ and decoder/")
    return made


if __name__ == "__main__":
    run(main)
