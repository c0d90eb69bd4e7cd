"""Compare the product with the plain way of doing the same, all variants in one run; write a report (a command, not a stage).

python -m stages.bench --out reports/bench.md [--quick]

Design section 6. Small models first, then models of the paper's sizes, which take most of the time. `--quick` measures next to nothing and
only shows that everything runs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from compaug.records import write_text
from stages import parser, run


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    from compaug import bench, bench_maps, bench_paper  # torch takes seconds to import, --help should not

    sizes = (bench.QUICK, bench_paper.QUICK) if args.quick else (bench.FULL, bench_paper.FULL)
    with tempfile.TemporaryDirectory() as folder:
        small = bench.setup(Path(folder), args.params.resolve(), sizes[0])
        report = "\n".join((bench.report(small), bench_maps.mapping(small), bench_paper.report(small, sizes[1])))
    write_text(args.out, report)


def _parser():
    made = parser(__doc__, out=".md")
    made.add_argument("--out", type=Path, required=True, help="Markdown report to write")
    made.add_argument(
        "--quick", action="store_true", help="toy sizes: seconds instead of minutes, numbers without meaning"
    )
    return made


if __name__ == "__main__":
    run(main)
