"""Compare the product with the plain way of doing the same, all variants in one run; write a report.

python -m tools.bench --out reports/bench.md [--quick]
COMPAUG_CPU=native python -m tools.bench --paper --out reports/bench_paper.md [--quick]

Small models, or models of the paper's sizes, each in ten to fifteen minutes. `--quick` measures next to nothing and
only shows that everything runs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from compaug.core.files import write_text
from compaug.stages import parser, run


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    from tools import bench_maps, bench_paper, bench_runs  # torch takes seconds to import, --help should not

    sizes, paper_sizes = (bench_runs.QUICK, bench_paper.QUICK) if args.quick else (bench_runs.FULL, bench_paper.FULL)
    with tempfile.TemporaryDirectory() as folder:
        small = bench_runs.setup(Path(folder), args.params.resolve(), sizes)
        if args.paper:
            report = bench_paper.report(small, paper_sizes)
        else:
            report = "\n".join((bench_runs.report(small), bench_maps.mapping(small)))
    write_text(args.out, report)


def _parser():
    options = parser(__doc__, out=".md")
    options.add_argument("--paper", action="store_true", help="models of the paper's sizes in place of small ones")
    options.add_argument(
        "--quick", action="store_true", help="toy sizes: seconds instead of minutes, numbers without meaning"
    )
    return options


if __name__ == "__main__":
    run(main)
