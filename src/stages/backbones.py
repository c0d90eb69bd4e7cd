"""Make the encoder and the decoder of a benchmark: trained here on D_train, fetched at a pinned revision, or copied.

python -m stages.backbones --benchmark diagnostic --split data/splits/diagnostic --out models/backbones/diagnostic

Design section 3; the folders encoder/ and decoder/ are what later stages open. Reads train.jsonl and no other text.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.backbones import prepare
from compaug.records import atomic_dir, digest, iter_jsonl
from compaug.training import work_dir_for
from stages import cost_of, parser, run

PARAMS = ["benchmarks.{benchmark}.backbones"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    backbones = params.load(args.params, PARAMS, benchmark=args.benchmark)["backbones"]
    texts = [example.text for example in iter_jsonl(args.split / "train.jsonl")]
    with cost_of(args.out), atomic_dir(args.out) as folder:
        for role, spec in backbones:
            (folder / role).mkdir()
            work_dir = work_dir_for(args.out / role, spec, args.seed, digest(texts))
            prepare(role, spec, texts, folder / role, args.seed, work_dir)


def _parser():
    made = parser(__doc__)
    made.add_argument("--benchmark", required=True, help="name of the block in params.yaml")
    made.add_argument("--split", type=Path, required=True, help="folder of the benchmark's split")
    made.add_argument("--seed", type=int, default=0, help="seed of the tiny models (default: 0)")
    made.add_argument("--out", type=Path, required=True, help="folder to write: encoder/ and decoder/")
    return made


if __name__ == "__main__":
    run(main)
