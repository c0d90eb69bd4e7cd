"""Print what the texts of the cell of `run` teach in the experiment `small`, seed by seed.

This is the luck that one interval does not show, in points of H at the best constant, as the page of the cell has it.

python -m tools.seeds

Reads reports/results.csv.gz; the experiment has the sizes that are committed, whatever the cell beside it was run with.
"""

from __future__ import annotations

from pathlib import Path

from compaug.experiments import params
from compaug.experiments.cells import NONE
from compaug.stages import parser, run

PARAMS = ["run"]
CONTROLS = {NONE: "no texts", "oversample": "repeating the support texts"}


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    cell = params.load(args.params, PARAMS)["run"]
    from compaug.evaluation import longtable  # after the cheap checks: pandas is slow to import

    print(line(longtable.read(args.reports)[0], cell.benchmark, cell.scale, cell.generator, cell.classifier))


def line(frame, benchmark: str, scale: str, generator: str, classifier: str) -> str:
    """Smallest and largest gain over the seeds of current rows, over each control; `frame` is the long table."""
    from compaug.core.markdown import number
    from compaug.evaluation.longtable import pick

    where = {"scale": scale, "classifier": classifier, "selection": "top_k", "decoding": "best_constant", "commit": ""}
    rows = pick(frame, experiment="small", metric="harmonic", **where)
    rows = rows[rows["benchmark"].str.partition("+")[0] == benchmark].drop_duplicates(["generator", "seed"])
    by_seed = rows.pivot(index="seed", columns="generator", values="value")
    ranges = []
    for control, words in CONTROLS.items():
        if generator == control or not {generator, control} <= set(by_seed):
            continue
        gain = (by_seed[generator] - by_seed[control]).dropna()
        if len(gain):
            ranges.append(
                (f"{number(gain.min(), True)} to {number(gain.max(), True)} points of H over {words}", gain.index)
            )
    if not ranges:
        return f"No committed seeds of `{generator}` on {benchmark}: the experiment `small` does not have them."
    seeds = ", ".join(map(str, sorted(set(ranges[0][1]))))
    gains = ", ".join(words for words, _ in ranges)
    return f"What the texts teach, at the best constant, over the committed seeds {seeds}: {gains}."


def _parser():
    options = parser(__doc__)
    options.add_argument(
        "--reports", type=Path, default=Path("reports"), help="folder of results.csv.gz (default: reports)"
    )
    return options


if __name__ == "__main__":
    run(main)
