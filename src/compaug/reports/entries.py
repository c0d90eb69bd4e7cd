"""One number beside the paper's, and tables of them as Markdown and CSV; the page has the same as HTML."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from compaug.core.markdown import NOT_REPORTED, STORED, markdown_table, number
from compaug.evaluation.statistics import Summary, holm, t_test

LEVEL = 0.05  # of a test
CORRECTED = "An asterisk: the t test says yes at 0.05, corrected (Holm) over all differences of this table."
CSV = ("table", "row", "column", "value", "ci95", "paper", "shown")


@dataclass(frozen=True)
class Entry:
    """One number of a table: ours and the paper's, or words in the place of ours.

    Ours has the half width of its 95 % interval or the interval over test rows. Counts are integers, everything else is
    a float.
    """

    ours: float | None = None
    ci95: float | None = None
    paper: float | None = None
    words: str = ""
    over_rows: tuple[float, float] | None = None
    sign: bool = False
    other_corpus: bool = False  # the paper's number is of another: levels cannot be compared
    p: float | None = None  # of a difference, over seeds, before correction
    is_shown: bool = False  # that it is not zero, after correction (`corrected`)

    @property
    def agreement(self) -> str:
        """Where the paper's number lies: inside our interval (or at our number), above or below.

        "" without one of the two.
        """
        if not self.comparable:
            return ""
        if abs(self.paper - self.ours) <= (self.ci95 or 0):
            return "inside"
        return "above" if self.paper > self.ours else "below"

    @property
    def comparable(self) -> bool:
        return self.ours is not None and self.paper is not None and not self.other_corpus

    @property
    def shown(self) -> str:
        return self.words or quantity(self.ours, self.sign)

    @property
    def interval(self) -> str:
        if self.over_rows is not None:
            return f"{bounds(*self.over_rows, self.sign)} over rows"
        if self.ours is None or self.ci95 is None or self.words:
            return ""
        return bounds(self.ours - self.ci95, self.ours + self.ci95, self.sign) + "*" * self.is_shown

    @property
    def printed(self) -> str:
        """The paper's number, in brackets ours minus it."""
        if self.paper is None:
            return ""
        apart = f" ({quantity(self.ours - self.paper, True)})" if self.comparable else ""
        return f"{quantity(self.paper)}{apart}"

    def __str__(self) -> str:
        return f"{self.shown} {self.interval}".strip()


@dataclass(frozen=True)
class Table:
    title: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Entry]]


@dataclass(frozen=True)
class Figure:
    """`draw` writes it as a PNG of the path that it gets, which has no suffix."""

    name: str
    caption: str
    draw: Callable[[Path], None]
    on_page: bool = True  # the page has no room for what it shows in another way


def entry(summary: Summary | None, paper: float | None = None, sign: bool = False, other_corpus: bool = False) -> Entry:
    """`sign`: it is a difference, and tested."""
    if summary is None:
        return Entry(words=NOT_REPORTED, paper=paper)
    p = t_test(summary.mean, summary.std, summary.n) if sign else None
    return Entry(summary.mean, summary.ci95, paper, sign=sign, other_corpus=other_corpus, p=p)


def corrected(table: Table) -> Table:
    """The table with an asterisk at each difference that Holm's correction over all of them leaves (E4)."""
    tested = {
        (line, column): value.p
        for line, row in enumerate(table.rows)
        for column, value in enumerate(row)
        if isinstance(value, Entry) and value.p is not None
    }
    if not tested:
        return table
    shown = {place for place, p in holm(tested).items() if p < LEVEL}
    rows = [
        [replace(value, is_shown=True) if (line, column) in shown else value for column, value in enumerate(row)]
        for line, row in enumerate(table.rows)
    ]
    return replace(table, note=f"{table.note} {CORRECTED}".strip(), rows=rows)


def gained(row: pd.Series | None) -> Entry:
    """A row of gains.csv, with its interval over seeds; a dash where there is none.

    One seed has no interval: it has that over test rows where there is one (docs/spec/acceptance.md, E4).
    """
    if row is None:
        return Entry(words=NOT_REPORTED)
    if not pd.isna(row["ci95"]):
        return Entry(row["mean"], row["ci95"], sign=True, p=t_test(row["mean"], row["std"], row["seeds"]))
    over_rows = None if pd.isna(row["low_rows"]) else (row["low_rows"], row["high_rows"])
    return Entry(row["mean"], sign=True, over_rows=over_rows)


def quantity(value: float | None, sign: bool = False) -> str:
    """A count as it is, any other number with two decimals; zero has no sign."""
    return f"{value:{'+' if sign and value else ''},}" if isinstance(value, int) else number(value, sign)


def bounds(low: float, high: float, sign: bool = False) -> str:
    return f"[{number(low, sign)}, {number(high, sign)}]"


# ---------------------------------------------------------------- formats


def markdown(table: Table) -> str:
    """A column in which the paper has numbers is followed by one with them."""
    columns, left = [], []
    for name, *entries in zip(table.header, *table.rows, strict=True):
        if all(isinstance(value, str) for value in entries):
            left.append(len(columns))
        columns.append([name, *entries])
        printed = [getattr(value, "printed", "") for value in entries]
        if any(printed):
            columns.append(["paper", *(value or NOT_REPORTED for value in printed)])
    header, *rows = zip(*columns, strict=True)
    parts = [f"## {table.title}" if table.title else "", table.note, markdown_table(header, rows, left)]
    return "\n\n".join(part for part in parts if part)


def comma_separated(tables: Sequence[Table]) -> str:
    """One line for each number: table, row (the row's words), column, value, ci95, paper, and what the table shows."""
    lines = [
        [table.title, ", ".join(part for part in row if isinstance(part, str)), column]
        + [*map(_stored, (value.ours, value.ci95, value.paper)), str(value)]
        for table in tables
        for row in table.rows
        for column, value in zip(table.header, row, strict=True)
        if isinstance(value, Entry)
    ]
    return pd.DataFrame(lines, columns=CSV, dtype=object).to_csv(index=False)


def _stored(value: float | None) -> float | None:
    """Counts stay whole; `+ 0.0` takes the sign from a negative zero."""
    return value if value is None or isinstance(value, int) else round(float(value), STORED) + 0.0
