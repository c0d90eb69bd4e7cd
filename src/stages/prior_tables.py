"""Collect the cells of the generalised protocol: seen, unseen, harmonic mean, AUSUC, gains, one figure per benchmark.

python -m stages.prior_tables --axes prior --out reports/prior

Reads <out>/runs/ and <out>/ceilings/ for the product of the axes; a missing cell is an error.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.records import write_json, write_text
from compaug.reports import prior
from stages import parser, run

PARAMS = [
    "{axes}.benchmarks",
    "{axes}.generators",
    "{axes}.seeds",
    "{axes}.posterior",
    "{axes}.classifiers",
    "{axes}.classifier_seeds",
]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    from compaug.reports import figures  # after the cheap checks: matplotlib is slow to import

    axes = params.load(args.params, PARAMS, axes=args.axes)
    grid = prior.read_grid(args.out, axes)
    shown, tree = prior.page(grid), prior.metrics_tree(grid)
    for benchmark, generators in grid.cells.items():
        path = args.out / "figures" / f"seen-unseen-{benchmark}"
        figures.seen_against_unseen(benchmark, prior.points(generators), ("thresholds", "composition prior"), path)
    write_json(args.out / "metrics.json", tree)
    write_text(args.out / "table.md", shown)
    print(shown)


def _parser():
    made = parser(__doc__)
    made.add_argument("--axes", required=True, help="block of params.yaml with the axes of the grid")
    made.add_argument("--out", type=Path, required=True, help="folder of the grid: reads runs/, writes the tables")
    return made


if __name__ == "__main__":
    run(main)
