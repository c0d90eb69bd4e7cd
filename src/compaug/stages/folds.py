"""Cross-fitting folds of a cell: halves of the support set that a classifier does not see (composition prior).

python -m compaug.stages.folds --split data/splits/diagnostic --synthetic data/selected/diagnostic-ld_vae-13.jsonl \
    --seed 13 --out data/folds/diagnostic-ld_vae-13

Writes <out>/a and <out>/b: support.jsonl (the half that is trained on), held.jsonl (the other half), held_inputs.jsonl
(without its labels) and synthetic.jsonl (the synthetic rows without texts of the held-out half: controls repeat support
texts).
"""

from dataclasses import replace

from compaug.core.files import InputError, atomic_dir
from compaug.core.records import Labels, halves, read_jsonl, text_key, write_jsonl
from compaug.stages import cost_of, parser, run

OPTIONS = parser(__doc__, "split seed synthetic", out="folder")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels = Labels.read(args.split / "labels.json")
    support = read_jsonl(args.split / "support.jsonl", len(labels))
    synthetic = read_jsonl(args.synthetic, len(labels))
    if len(support) < 2:
        raise InputError(f"{args.split / 'support.jsonl'}: two folds need two rows; raise sizes.support_size")
    first, second = ([support[at] for at in half] for half in halves([row.id for row in support], args.seed, "fold"))
    with cost_of(args.out), atomic_dir(args.out) as folder:
        for name, kept, held in (("a", first, second), ("b", second, first)):
            (folder / name).mkdir()
            texts = {text_key(example.text) for example in held}
            write_jsonl(folder / name / "support.jsonl", kept)
            write_jsonl(folder / name / "held.jsonl", held)
            write_jsonl(folder / name / "held_inputs.jsonl", (replace(example, labels=()) for example in held))
            write_jsonl(folder / name / "synthetic.jsonl", (e for e in synthetic if text_key(e.text) not in texts))


if __name__ == "__main__":
    run(main)
