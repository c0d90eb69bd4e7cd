"""Every experiment's results from the predictions that are there: the long table, paired gains, confusions.

python -m compaug.stages.write_results --reports reports --out reports/results.csv.gz --gains reports/gains.csv

Reads the packs alone (`compaug.evaluation.packs` and `.measures`). A benchmark of an experiment comes in when all of
its cells have predictions (or with --partial); what is missing is named.
"""

import sys
from pathlib import Path

from compaug.evaluation import gains, results
from compaug.evaluation.cell_scores import Comparison, Evaluator
from compaug.experiments import cells, params
from compaug.stages import parser, run

PARAMS = ["evaluation", "composition_prior"]
SHOWN = 3  # of what is missing
OPTIONS = parser(__doc__, "reports", out=".csv.gz")
OPTIONS.add_argument("--experiments", type=Path, default=cells.FILE, help="the products of axes")
OPTIONS.add_argument("--partial", action="store_true", help="also benchmarks of which some cells are missing")
OPTIONS.add_argument("--gains", type=Path, required=True, help="paired gains to write")
OPTIONS.add_argument("--confusions", type=Path, default=Path("reports/confusions.csv.gz"), help="confusions to write")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    blocks = params.load(args.params, PARAMS)
    evaluator = Evaluator(args.reports, blocks["composition_prior"], blocks["evaluation"], args.partial)
    every = [evaluator.evaluate(experiment) for experiment in cells.read(args.experiments).values()]
    for evaluated in every:
        _report(evaluated)
    results.write_table(args.out, results.COLUMNS, (row for evaluated in every for row in results.table(evaluated)))
    results.write_table(args.gains, gains.COLUMNS, (row for evaluated in every for row in gains.table(evaluated)))
    confusions = (row for evaluated in every for row in results.confusions(evaluated))
    results.write_table(args.confusions, results.CONFUSION_COLUMNS, confusions)


def _report(evaluated: Comparison) -> None:
    """How much of an experiment is there, on standard error."""
    name, missing = evaluated.experiment.name, evaluated.missing
    print(f"{name}: {evaluated.n_predicted} of {len(evaluated.experiment.cells)} cells", file=sys.stderr)
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        left_out = f"; {', '.join(evaluated.waiting)} left out until they are there" if evaluated.waiting else ""
        print(f"{name}: missing {', '.join(missing[:SHOWN])}{more}{left_out}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
