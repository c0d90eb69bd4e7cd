"""Copy what other stages wrote into pages that people read.

Between `<!-- FILE -->` and `<!-- end -->` stands the table of that file.

python -m tools.readme [README.md ...]

A file's table is its first in Markdown. Run by `make tables`.
"""

from __future__ import annotations

import re
from pathlib import Path

from compaug.core.files import InputError, write_text
from compaug.stages import parser, run

PARAMS: list[str] = []
PLACE = re.compile(r"(<!-- ([\w/.+-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLE = re.compile(r"^(?:\|.*\n)+", re.MULTILINE)


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    for page in args.pages:
        before = page.read_text(encoding="utf-8")
        after = PLACE.sub(lambda place: f"{place[1]}\n{shown(Path(place[2]))}\n{place[3]}", before)
        if after != before:
            write_text(page, after)
            print(f"{page}: renewed")


def shown(file: Path) -> str:
    """Its table. InputError where there is none."""
    if not (table := TABLE.search(file.read_text(encoding="utf-8"))):
        raise InputError(f"{file}: has no table")
    return table[0]


def _parser():
    options = parser(__doc__)
    options.add_argument("pages", nargs="*", type=Path, default=[Path("README.md")], help="pages (default: README.md)")
    return options


if __name__ == "__main__":
    run(main)
