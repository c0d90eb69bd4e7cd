"""Export a blind rating sheet: what do synthetic texts express, in a reader's eyes (Table 10 of the paper).

python -m compaug.stages.rating_sheet --labels data/splits/diagnostic/labels.json --seed 13 \
    --out data/rating/diagnostic --selected ld_vae=data/selected/diagnostic-ld_vae-13.jsonl

Writes sheet.html (a form that works offline), sheet.csv (the same for a spreadsheet) and key.json, which raters must
not see. `python -m compaug.stages.read_ratings` reads filled sheets back.
"""

import csv
from collections.abc import Sequence

from compaug.core.files import InputError, atomic_dir, digest, write_json, write_text
from compaug.core.pages import render
from compaug.core.records import Labels, read_jsonl
from compaug.evaluation.text_quality import ratings
from compaug.stages import parser, run

OPTIONS = parser(__doc__, "labels", out="folder")
OPTIONS.add_argument("--selected", nargs="+", required=True, metavar="GENERATOR=FILE", help="each one's kept texts")
OPTIONS.add_argument("--texts", type=int, default=50, help="texts of each generator (default: 50, as in the paper)")
OPTIONS.add_argument("--seed", type=int, required=True, help="which texts are drawn, and their order")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    labels = Labels.read(args.labels)
    selected = {}
    for argument in args.selected:
        generator, equals, path = argument.partition("=")
        if not equals or generator in selected:
            raise InputError(f"--selected {argument}: write <generator>=<file>, every generator once")
        selected[generator] = read_jsonl(path, len(labels))
    if args.out.exists():
        raise InputError(f"{args.out}: exists; give another --out, or remove it if no filled sheet is in it")
    items = ratings.draw(selected, args.texts, args.seed)
    with atomic_dir(args.out) as folder:
        # the mark of utf-8-sig is what spreadsheets look for
        with (folder / "sheet.csv").open("w", encoding="utf-8-sig", newline="") as stream:
            writer = csv.DictWriter(stream, ratings.COLUMNS)
            writer.writeheader()
            writer.writerows(ratings.sheet_rows(items, labels))
        write_text(folder / "sheet.html", form(items, labels))
        write_json(folder / "key.json", ratings.key_of(items, labels))
    print(
        f"{len(items)} texts: send {args.out / 'sheet.html'} or {args.out / 'sheet.csv'} to the raters and keep "
        "key.json"
    )


def form(items: Sequence[ratings.Item], labels: Labels) -> str:
    """For a browser, without network; a button saves the ticks as the CSV that `ratings.read` takes."""
    return render(
        "rating_sheet.html",
        items=items,
        texts={item.text_id: item.text for item in items},
        boxes=[*zip(labels.names, labels.phrases, strict=True), (ratings.NOTHING, "none of these")],
        nothing=ratings.NOTHING,
        separator=ratings.SEPARATOR,
        key=f"ratings-{digest([labels.names, [item.text for item in items]])}",  # of the ticks in the browser's storage
    )


if __name__ == "__main__":
    run(main)
