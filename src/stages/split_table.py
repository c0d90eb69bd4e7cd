"""Count a benchmark's compositional split as the paper's Table 6 does.

python -m stages.split_table --split data/splits/diagnostic --out reports/paper/splits/diagnostic.json

Words and labels are averages over all texts: training, support and test.
"""

from __future__ import annotations

from pathlib import Path

from compaug.evaluation.metrics import DECIMALS
from compaug.records import Labels, read_jsonl, write_json
from stages import parser, run

PARAMS: list[str] = []


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    labels = Labels.read(args.split / "labels.json")
    parts = {name: read_jsonl(args.split / f"{name}.jsonl", len(labels)) for name in ("train", "test", "support")}
    every = [example for examples in parts.values() for example in examples]
    sizes = [len(example.labels) for example in every]
    facts = {f"n_{name}": len(examples) for name, examples in parts.items()} | {
        "avg_words": round(sum(len(example.text.split()) for example in every) / len(every), DECIMALS),
        "n_labels": len(labels),
        "avg_labels": round(sum(sizes) / len(every), DECIMALS),
        "min_labels": min(sizes),
        "max_labels": max(sizes),
        "n_test_compositions": len({example.labels for example in parts["test"]}),
    }
    write_json(args.out, facts)


def _parser():
    made = parser(__doc__)
    made.add_argument("--split", type=Path, required=True, help="folder of the benchmark's split")
    made.add_argument("--out", type=Path, required=True, help="counts to write")
    return made


if __name__ == "__main__":
    run(main)
