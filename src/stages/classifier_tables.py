"""Collect the classifiers' cells into Tables 1 and 3, the error analysis and one figure per benchmark.

python -m stages.classifier_tables --axes by_classifier --out reports/classifiers --shared reports/paper/runs

Reads <out>/runs/<benchmark>-<generator>-<classifier>-<seed>.json for the product of the axes and the reference `iid`; the
cells of the classifier that the generators' grid trained come from <shared>. A missing cell is an error.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.records import write_json, write_text
from compaug.reports import classifiers
from compaug.reports.paper import IID, read_paper_values
from stages import parser, run

PARAMS = ["{axes}.benchmarks", "{axes}.classifiers", "{axes}.generators", "{axes}.seeds", "run.classifier"]
SHOWN = {IID: "iid", "none": "new compositions", "ld_vae": "... with LD-VAE's texts"}  # arms of the figure, in words


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    from compaug.reports import figures  # after the cheap checks: matplotlib is slow to import

    axes = params.load(args.params, PARAMS, axes=args.axes)
    shared = axes.pop("classifier")
    axes["classifiers"] = list(dict.fromkeys([shared, *axes["classifiers"]]))
    cells = classifiers.read_cells(args.out / "runs", args.shared, shared, **axes, partial=args.partial)
    for benchmark, found in cells.items():
        arms = {
            name: {SHOWN[g]: [row["errors"] for row in rows] for g, rows in by_generator.items() if g in SHOWN}
            for name, by_generator in found.items()
        }
        figures.kinds_of_answers(benchmark, arms, args.out / "figures" / f"errors-{benchmark}")
    shown = classifiers.page(cells, read_paper_values(args.paper_values), axes["classifiers"])
    write_json(args.out / "metrics.json", classifiers.metrics_tree(cells))
    write_text(args.out / "table.md", shown)
    print(shown)


def _parser():
    made = parser(__doc__)
    made.add_argument(
        "--axes", required=True, help="block of params.yaml with benchmarks, classifiers, generators, seeds"
    )
    made.add_argument("--out", type=Path, required=True, help="folder of the grid: reads runs/, writes the tables")
    made.add_argument("--shared", type=Path, required=True, help="runs/ of the generators' grid")
    made.add_argument(
        "--partial", action="store_true", help="leave out, by name, classifiers that have not all cells yet"
    )
    made.add_argument(
        "--paper-values", type=Path, default=Path("reports/paper_values.yaml"), help="the paper's numbers"
    )
    return made


if __name__ == "__main__":
    run(main)
