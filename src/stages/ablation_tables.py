"""Collect the ablations: support sizes, numbers of synthetic texts, priors, options, rules of selection, label representations.

python -m stages.ablation_tables --axes ablations --out reports/ablations

Reads models/ablations/classifier/<family>/<cell>/predictions.jsonl, <out>/representations, <out>/judged, and rows and predictions of
reports/paper; a missing one is an error.
"""

from __future__ import annotations

from pathlib import Path

from compaug import params
from compaug.records import write_json, write_text
from compaug.reports import ablations
from compaug.reports.paper import read_paper_values
from stages import parser, run

PARAMS = ["{axes}", "evaluation"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    from compaug.reports import figures  # after the cheap checks: matplotlib is slow to import

    blocks = params.load(args.params, PARAMS, axes=args.axes)
    axes = blocks[args.axes]
    folders = (args.models, args.supports, args.paper_runs, args.paper_models, args.splits)
    cells = {b: ablations.Cells(b, axes, blocks["evaluation"], *folders) for b in axes.benchmarks}
    every = {benchmark: ablations.results(own) for benchmark, own in cells.items()}
    paper = read_paper_values(args.paper_values)
    drawn, judged = (
        {b: ablations.read_by_seed(args.out / name, b, getattr(axes, name), axes.seeds, part) for b in axes.benchmarks}
        for name, part in (("representations", "views"), ("judged", "judged"))
    )
    shown = ablations.page(every, cells, drawn, judged, paper)
    tree = ablations.metrics_tree(every, drawn, judged)
    for benchmark, tables in every.items():
        curves = ablations.curves(tables["synthetic"], axes, cells[benchmark].kept)
        figures.accuracy_by_size(benchmark, curves, args.out / "figures" / f"synthetic-size-{benchmark}")
        figures.representations(benchmark, drawn[benchmark], args.out / "figures" / f"representations-{benchmark}")
    write_json(args.out / "metrics.json", tree)
    write_text(args.out / "table.md", shown)
    print(shown)


def _parser():
    made = parser(__doc__)
    made.add_argument("--axes", required=True, help="block of params.yaml with the axes of the grid")
    made.add_argument(
        "--models", type=Path, default=Path("models/ablations/classifier"), help="classifiers of the grid"
    )
    made.add_argument(
        "--supports", type=Path, default=Path("data/supports"), help="folder written by the supports stages"
    )
    made.add_argument(
        "--paper-runs", type=Path, default=Path("reports/paper/runs"), help="result rows of reports/paper"
    )
    made.add_argument(
        "--paper-models", type=Path, default=Path("models/paper/classifier"), help="classifiers of reports/paper"
    )
    made.add_argument(
        "--splits", type=Path, default=Path("reports/paper/splits"), help="counts of the splits, of reports/paper"
    )
    made.add_argument(
        "--paper-values", type=Path, default=Path("reports/paper_values.yaml"), help="the paper's numbers"
    )
    made.add_argument("--out", type=Path, required=True, help="folder to write the tables and figures to")
    return made


if __name__ == "__main__":
    run(main)
