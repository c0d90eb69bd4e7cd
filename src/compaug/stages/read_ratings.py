"""Read filled rating sheets back: Acc, Corr, Comp and average rank of each generator, the raters' agreement (Table 10).

python -m compaug.stages.read_ratings --key data/rating/diagnostic/key.json --sheets anna.csv ben.csv \
    --out data/rating/diagnostic/ratings.json
"""

from pathlib import Path

from compaug.core.files import InputError, write_json
from compaug.core.markdown import markdown_table, number
from compaug.evaluation.text_quality import ratings
from compaug.stages import parser, run

OPTIONS = parser(__doc__, out=".json")
OPTIONS.add_argument("--key", type=Path, required=True, help="key.json of the export")
OPTIONS.add_argument("--sheets", type=Path, nargs="+", required=True, help="one filled CSV for each rater")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    if twice := {path for path in args.sheets if args.sheets.count(path) > 1}:
        raise InputError(f"--sheets: {min(twice)} is given twice; one sheet for each rater")
    items, labels = ratings.read_key(args.key)
    sheets = [ratings.read(path, items, labels) for path in args.sheets]
    summary = ratings.summary(items, sheets, labels)
    write_json(args.out, summary | {"rated": [len(sheet) for sheet in sheets], "texts": len(items)})
    lines = [
        [generator, *(number(row[name]) for name in ratings.METRICS), number(row["avg_rank"]), row["n"]]
        for generator, row in summary["generators"].items()
    ]
    print(markdown_table(["generator", "Acc", "Corr", "Comp", "average rank", "ratings"], lines))
    print(f"\n{len(sheets)} raters, {len(items)} texts; Krippendorff's alpha {number(summary['alpha'])}")


if __name__ == "__main__":
    run(main)
