"""Numbers and tables as every page shows them."""

from collections.abc import Collection, Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext

NOT_REPORTED = "–"
STORED = 4  # decimals of a value in a result file


def head_of(page: str) -> str:
    """What is printed of the page of the root cell: the verdict and its table."""
    return page.partition("\n## Result")[0]


def number(value: float | None, sign: bool = False, digits: int = 2) -> str:
    """How every page shows a number: two decimals; a dash where there is no value.

    Rounded as it is stored first and then half away from zero, in decimal: a table made from memory and one made from
    a file show the same, 13.02 for 13.015, and zero has no sign.
    """
    if value is None:
        return NOT_REPORTED
    with localcontext(rounding=ROUND_HALF_UP):
        shown = f"{Decimal(repr(round(float(value), STORED))):{'+' if sign else ''}.{digits}f}"
    return shown if shown.strip("+-0.") else shown.lstrip("+-")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]], left: Collection[int] = (0,)) -> str:
    """A pipe table, padded to read as plain text too; the columns in `left` hold words, not numbers."""
    columns = []
    for at, column in enumerate(zip(header, *rows, strict=True)):
        texts = [_escape(text) for text in column]
        width, align = max(3, *map(len, texts)), str.ljust if at in left else str.rjust
        rule = "-" * (width - 1) + ("-" if at in left else ":")
        name, *below = (align(text, width) for text in texts)
        columns.append([name, rule, *below])
    return "\n".join(f"| {' | '.join(row)} |" for row in zip(*columns, strict=True))


def _escape(text: object) -> str:
    """One line in which no bar ends the column and no `<none>` passes for an HTML tag."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "\\<")
