"""Write which combinations a repair asks texts for: the rare ones of the corpus, and those of `repair.combinations`.

python -m compaug.stages.write_requests --raw data/raw/run --out data/repair/requests.jsonl
"""

from compaug.core.files import write_rows
from compaug.core.records import Labels, read_jsonl
from compaug.experiments import params
from compaug.project import requests
from compaug.stages import parser, run

PARAMS = ["repair"]
OPTIONS = parser(__doc__, "raw", out=".jsonl")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    repair = params.load(args.params, PARAMS)["repair"]
    labels = Labels.read(args.raw / "labels.json")
    examples = read_jsonl(args.raw / "examples.jsonl", len(labels), may_be_empty=False)
    label_sets = requests.combinations(examples, labels, repair.rare, repair.combinations)
    if singles := [key for key in repair.combinations if len(labels.composition(key)) == 1]:
        print(f"note: repair.combinations: {', '.join(singles)}: one label each; + joins those of a combination")
    n = write_rows(args.out, requests.rows(label_sets, repair.each))
    print(f"{args.out}: {n:,} texts for {len(label_sets):,} combinations, {repair.each} each")


if __name__ == "__main__":
    run(main)
