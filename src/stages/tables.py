"""Collect a grid's result rows into its table: means, intervals over seeds, gains and the paper's values.

python -m stages.tables --axes paper --out reports/paper

Reads <out>/runs/<benchmark>-<generator>-<seed>.json for the product of the axes and, as the reference without compositional
shift, the generator `iid`, and the texts' measures in <out>/quality; a missing cell is an error.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.records import write_json, write_text
from compaug.reports import pages, tables
from compaug.reports.paper import IID, read_paper_values
from stages import parser, run

PARAMS = ["{axes}.benchmarks", "{axes}.generators", "{axes}.seeds"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    axes = params.load(args.params, PARAMS, axes=args.axes)
    paper = read_paper_values(args.paper_values)
    quality = tables.quality_tree(tables.read_quality(args.out / "quality", **axes))
    rows = tables.read_cells(
        args.out / "runs", **(axes | {"generators": axes["generators"] + ([] if args.no_iid else [IID])})
    )
    table, gained = tables.summaries(rows), tables.gains(rows)
    page = pages.render_markdown(table, gained, quality, rows, paper)
    tree = tables.metrics_tree(table, gained) | {"quality": quality}
    if args.random_axes:
        axes = params.load(args.params, PARAMS, axes=args.random_axes)
        random_rows = tables.read_cells(args.out / "runs" / "random", **axes)
        filtered = tables.filter_gains(rows, random_rows)
        page += "\n" + pages.render_filter(filtered, random_rows, paper)
        tree["filter_against_random"] = tables.metrics_tree(filtered)
    write_json(args.out / "metrics.json", tree)
    write_text(args.out / "table.csv", pages.render_csv(table, gained, rows, paper))
    write_text(args.out / "table.tex", pages.render_latex(table, rows, paper))
    write_text(args.out / "table.md", page)
    print(page)


def _parser():
    made = parser(__doc__)
    made.add_argument("--axes", required=True, help="block of params.yaml with benchmarks, generators and seeds")
    made.add_argument("--out", type=Path, required=True, help="folder of the grid: reads runs/, writes the table")
    made.add_argument(
        "--paper-values", type=Path, default=Path("reports/paper_values.yaml"), help="the paper's numbers"
    )
    made.add_argument("--no-iid", action="store_true", help="this grid has no iid cells")
    made.add_argument("--random-axes", help="block of params.yaml with the axes of the randomly selected cells")
    return made


if __name__ == "__main__":
    run(main)
