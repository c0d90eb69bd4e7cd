"""Write the page of the root cell, summary.md, and its figures, and print its answer."""

from pathlib import Path

from compaug import classifiers, generators
from compaug.core.files import InputError, read_json, write_text
from compaug.core.markdown import head_of
from compaug.evaluation import plots
from compaug.experiments import params
from compaug.reports import backbone_names, summary
from compaug.reports.paper import read_paper_values
from compaug.stages import parser, run

PARAMS = [*params.scaled("backbones"), *params.corpus("paper_column", "reader")]
OPTIONS = parser(__doc__, "benchmark scale seed generator classifier quality", out=".md")
OPTIONS.add_argument("--measures", type=Path, required=True, help="measures.json of the evaluate stage")
OPTIONS.add_argument("--details", type=Path, required=True, help="details.json of the evaluate stage")
OPTIONS.add_argument("--plots", type=Path, required=True, help="folder that the evaluate stage wrote for `dvc plots`")
OPTIONS.add_argument("--figures", type=Path, required=True, help="folder for the figures")
OPTIONS.add_argument("--paper-values", type=Path, default=Path("reports/paper_values.yaml"), help="the paper's numbers")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    from compaug.reports import figures  # after the cheap checks: matplotlib is slow to import

    blocks = params.load(args.params, PARAMS, benchmark=args.benchmark, scale=args.scale)
    quality = read_json(args.quality)
    roles = {*generators.roles_of(args.generator), *classifiers.roles_of(args.classifier)}
    cell = {name: getattr(args, name) for name in ("benchmark", "generator", "classifier", "seed")}
    cell |= {
        "metrics": _measures(args.measures),
        "details": read_json(args.details),
        "selection": quality["selection"],
    }
    column = blocks["paper_column"]  # where the paper has none, its numbers need not be there
    cell |= {"paper_column": column, "paper": read_paper_values(args.paper_values) if column else {}}
    cell |= {"label_generator": quality.get("label_generator", {})}
    cell |= {"backbones": backbone_names(blocks["backbones"], roles)}
    cell["own"] = blocks["reader"] == summary.TABULAR
    by_composition, counts = (plots.read(args.plots / f"{name}.csv") for name in ("compositions", "counts"))
    page = summary.page(cell)  # everything is read before anything is written
    figures.before_and_after(by_composition, args.figures / "accuracy")
    figures.composition_counts(counts, args.figures / "compositions")
    if histogram := quality["selection"].get("histogram"):
        figures.filter_scores(histogram, args.figures / "filter")
    write_text(args.out, page)
    print(f"{head_of(page)}\nThe whole page: {args.out}")


def _measures(path: Path) -> dict:
    measures = read_json(path)
    if "baseline" not in measures:
        raise InputError(f"{path}: has no arm `baseline`; run the stage evaluate again")
    return measures


if __name__ == "__main__":
    run(main)
