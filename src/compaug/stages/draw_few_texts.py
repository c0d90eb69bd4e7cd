"""Draw a single-label task with few training texts from a corpus, in the form of a split (CoDa; docs/spec/coda.md, 7).

python -m compaug.stages.draw_few_texts --raw data/raw/goemotions --texts 100 --seed 42 --out data/splits/few

Beside the parts of a split, of which support.jsonl is empty, requests.jsonl asks for n_aug texts for every training
row: what `synthesize` takes as --compositions.
"""

from dataclasses import replace

from compaug.core.files import atomic_dir, write_json, write_rows
from compaug.core.records import Labels, read_jsonl, write_jsonl
from compaug.stages import parser, run
from compaug.tasks.few_texts import draw

OPTIONS = parser(__doc__, "seed raw", out="folder")
OPTIONS.add_argument("--texts", type=int, required=True, help="training rows")
OPTIONS.add_argument("--tested", type=int, default=1000, help="test rows (default: 1000)")
OPTIONS.add_argument("--n-aug", type=int, default=5, help="texts to ask for, for each training row (default: 5)")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels = Labels.read(args.raw / "labels.json")
    train, test = draw(read_jsonl(args.raw / "examples.jsonl", len(labels)), args.texts, args.tested, args.seed)
    with atomic_dir(args.out) as folder:
        write_jsonl(folder / "train.jsonl", (replace(row, source="train") for row in train))
        write_jsonl(folder / "test.jsonl", (replace(row, source="test") for row in test))
        write_jsonl(folder / "test_inputs.jsonl", (replace(row, source="test", labels=()) for row in test))
        for name in ("support", "no_texts"):
            write_jsonl(folder / f"{name}.jsonl", [])
        requests = ({"requested_labels": list(row.labels)} for row in train for _ in range(args.n_aug))
        write_rows(folder / "requests.jsonl", requests)
        labels.write(folder / "labels.json")
        counts = {"train": len(train), "test": len(test), "labels": len({row.labels for row in train})}
        write_json(folder / "low_resource.json", counts | {"seed": args.seed, "n_aug": args.n_aug})


if __name__ == "__main__":
    run(main)
