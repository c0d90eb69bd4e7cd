"""Generate one text per requested label set; drop what is blank, repeated or copied (spec section 5).

python -m stages.synthesize --benchmark diagnostic --generator ld_vae --model models/run/generator \
    --compositions data/compositions/run.jsonl --split data/splits/diagnostic \
    --backbones models/backbones/diagnostic --seed 13 --out data/synthetic/run.jsonl

Beside the rows goes a side-car .json: what was requested, produced, dropped and kept, and the hashes of what made it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from compaug import params, selection
from compaug.records import (
    Example,
    InputError,
    Labels,
    file_digest,
    iter_jsonl,
    iter_rows,
    label_ids,
    text_key,
    write_json,
    write_jsonl,
)
from stages import cost_of, parser, run

PARAMS = ["synthesis", "benchmarks.{benchmark}.budgets.synthesis"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    settings = params.load(args.params, PARAMS, benchmark=args.benchmark)["synthesis"]
    from compaug import generators  # after the cheap checks: torch is slow to import

    generator = generators.load(args.generator)
    labels = Labels.read(args.split / "labels.json")
    label_sets = read_label_sets(args.compositions, len(labels))
    backbones = {role: args.backbones / role for role in generator.roles}
    with cost_of(args.out):
        skipped = Counter()
        if generator.feasible:
            possible = generator.feasible(args.model, label_sets, labels)
            label_sets, skipped = selection.replaced(label_sets, possible, labels, args.generator, args.seed)
        texts = generator.generate(args.model, label_sets, labels, settings, backbones, args.seed)
        if not texts:  # a generator that takes no requests
            label_sets = []
        known = set()
        if not generator.copies:
            real = (args.split / f"{name}.jsonl" for name in ("train", "support"))
            known = {text_key(example.text) for path in real for example in iter_jsonl(path, len(labels))}
        fates = selection.judge(texts, known, generator.copies)
        rows = [
            Example(
                id=f"{args.generator}-{request:06d}",
                text=text,
                labels=label_set,
                source=args.generator,
                requested_labels=label_set,
                seed=args.seed,
            )
            for request, (text, label_set, fate) in enumerate(zip(texts, label_sets, fates, strict=True))
            if fate == "kept"
        ]
        write_jsonl(args.out, rows)
        hashes = {"generator": file_digest(args.model), "compositions": file_digest(args.compositions)}
        side_car = selection.counts(label_sets, fates, labels)
        side_car |= {"generator": args.generator, "config": settings.model_dump(), "hashes": hashes}
        if skipped:
            side_car["skipped"] = dict(skipped)
        if generator.account:
            side_car["account"] = generator.account(args.model, label_sets, labels, args.seed)
        write_json(args.out.with_suffix(".json"), side_car)


def read_label_sets(path: Path, n_labels: int) -> list[tuple[int, ...]]:
    """The "requested_labels" of every line."""
    label_sets = []
    for number, row in iter_rows(path):
        try:
            label_sets.append(label_ids(row["requested_labels"], n_labels))
            if not label_sets[-1]:
                raise InputError("an empty label set cannot be requested; remove the line")
        except (KeyError, TypeError):
            raise InputError(f"{path}:{number}: field 'requested_labels' is missing or not a list") from None
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
    return label_sets


def _parser():
    made = parser(__doc__, out=".jsonl")
    made.add_argument("--benchmark", required=True, help="name of a block of `benchmarks`")
    made.add_argument("--generator", required=True, help="name of a block of `generators`: what the model is")
    made.add_argument("--model", type=Path, required=True, help="model folder of the trained generator")
    made.add_argument("--compositions", type=Path, required=True, help="requested label sets, one per line")
    made.add_argument("--split", type=Path, required=True, help="folder of the benchmark's split")
    made.add_argument("--backbones", type=Path, required=True, help="folder of the benchmark's backbones")
    made.add_argument("--seed", type=int, required=True, help="seed of the cell")
    made.add_argument("--out", type=Path, required=True, help="synthetic rows to write, side-car .json beside them")
    return made


if __name__ == "__main__":
    run(main)
