"""Print what the stages cost: seconds, memory, parameters trained, device (make costs).

python -m tools.costs

Reads .costs/, which every stage writes beside DVC's outputs, so that a time can never change a hash.
"""

from __future__ import annotations

from pathlib import Path

from compaug.core.files import InputError, read_json
from compaug.core.markdown import NOT_REPORTED, markdown_table
from compaug.stages import COSTS, parser, run

MEASURED = {"seconds": ",.1f", "cpu_seconds": ",.1f", "peak_mib": ",d"}
HEADER = ["output", "seconds", "of the CPU", "peak MiB", "epochs", "parameters trained", "device", "cores"]


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    files = sorted(args.costs.glob("*.json"))
    if not files:
        raise InputError(f"{args.costs}: no costs are recorded here; run `dvc repro` first")
    print(markdown_table(HEADER, rows(files)))


def rows(files: list[Path]) -> list[list]:
    """One line per output, the dearest first, and their sum."""
    costs = sorted(((file.stem, read_json(file)) for file in files), key=lambda item: -item[1]["seconds"])
    lines = []
    for name, cost in costs:
        trained = f"{cost['trained_parameters']:,}" if "trained_parameters" in cost else NOT_REPORTED
        epochs = cost.get("epochs", NOT_REPORTED)
        measures = [f"{cost[key]:{form}}" if key in cost else NOT_REPORTED for key, form in MEASURED.items()]
        lines.append([name, *measures, epochs, trained, cost["device"], cost["cores"]])
    total = sum(cost["seconds"] for _, cost in costs)
    return [*lines, ["all", f"{total:,.1f}", *[NOT_REPORTED] * (len(HEADER) - 2)]]


def _parser():
    options = parser(__doc__)
    options.add_argument("--costs", type=Path, default=COSTS, help=f"folder of the recorded costs (default: {COSTS})")
    return options


if __name__ == "__main__":
    run(main)
