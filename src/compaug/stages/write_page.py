"""Write the one page with every table and figure of the paper beside ours: self-contained, no network.

python -m compaug.stages.write_page --reports reports --out reports/index.html
"""

from compaug.core.files import InputError, read_json, write_text
from compaug.evaluation import measures
from compaug.experiments import params
from compaug.stages import parser, run

LIMIT = 1_000_000  # bytes of the page
OPTIONS = parser(__doc__, "reports", out=".html")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    from compaug.reports import page, queries  # after the cheap checks: pandas and matplotlib are slow to import

    results = queries.load(args.reports, params.every(args.params))
    costs = read_json(path) if (path := args.reports / "provenance.json").exists() else {}
    quality = measures.read(args.reports, "quality")
    shown = page.page(results, args.reports / "tables/figures", quality, page.provenance(results, costs))
    if (size := len(shown.encode())) > LIMIT:
        raise InputError(f"{args.out}: the page has {size:,} bytes, more than {LIMIT:,}; show fewer texts or figures")
    write_text(args.out, shown)
    print(f"{args.out}: {round(size / 1000)} kB")


if __name__ == "__main__":
    run(main)
