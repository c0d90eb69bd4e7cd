"""Gold label sets of a split, its counts and the ceilings of a known grammar: what results need of it, without texts.

python -m compaug.stages.write_gold --benchmark diagnostic --split data/splits/diagnostic \
    --out reports/gold/diagnostic.jsonl.gz

Writes the facts beside it, as .json (`compaug.evaluation.gold`).
"""

from compaug.core.files import InputError
from compaug.core.records import Labels, read_jsonl
from compaug.data.readers import oracle_for
from compaug.evaluation import gold
from compaug.evaluation.text_quality import grammar
from compaug.experiments import params
from compaug.stages import parser, run

MAY_BE_EMPTY = ("support",)
PARAMS = [*params.corpus("reader", "options"), "evaluation.empty_both"]
OPTIONS = parser(__doc__, "benchmark split", out=".gz")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    if not args.out.name.endswith(".jsonl.gz"):
        raise InputError(f"--out {args.out}: its name must end in .jsonl.gz; the facts are written beside it as .json")
    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark)
    labels = Labels.read(args.split / "labels.json")
    files = {part: args.split / f"{part}.jsonl" for part in gold.PARTS}
    parts = {
        part: read_jsonl(file, len(labels), part in MAY_BE_EMPTY)
        for part, file in files.items()
        if part != "seen_test" or file.exists()
    }
    facts: dict = {"counts": gold.counts(parts, labels)}
    if known_grammar := oracle_for(blocks["reader"], blocks["options"]):
        facts["bayes"] = grammar.bayes(known_grammar, parts, labels, blocks["empty_both"])
    gold.write(args.out, labels, parts, facts)


if __name__ == "__main__":
    run(main)
