"""One number beside the paper's, and tables of them as Markdown, CSV and LaTeX; the page shows the same tables as HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from compaug.evaluation.statistics import Summary
from compaug.reports import NOT_REPORTED, markdown_table, number

DECIMALS = 4
LEVEL = 0.05  # of a test


@dataclass(frozen=True)
class Cell:
    """Ours with the half width of its 95 % interval, and the paper's; or words in the place of ours. Counts are integers."""

    ours: float | None = None
    ci95: float | None = None
    paper: float | None = None
    words: str = ""
    sign: bool = False
    other_corpus: bool = False  # the paper's number is of another: levels cannot be compared

    @property
    def agreement(self) -> str:
        """Where the paper's number lies: inside our interval (or at our number), above or below; "" without one of the two."""
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
        return self.words or figure(self.ours, self.sign)

    @property
    def interval(self) -> str:
        if self.ours is None or self.ci95 is None or self.words:
            return ""
        return bounds(self.ours - self.ci95, self.ours + self.ci95, self.sign)

    @property
    def printed(self) -> str:
        """The paper's number, in brackets ours minus it."""
        if self.paper is None:
            return ""
        return (
            f"{figure(self.paper)} ({figure(self.ours - self.paper, True)})" if self.comparable else figure(self.paper)
        )

    def __str__(self) -> str:
        return f"{self.shown} {self.interval}".strip()


@dataclass(frozen=True)
class Table:
    title: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]


@dataclass(frozen=True)
class Figure:
    """`draw` writes it as a PNG and an SVG of the path that it gets, which has no suffix."""

    name: str
    caption: str
    draw: Callable[[Path], None]


def printed_only(corpus: str, header: Sequence[str], rows: Sequence[Sequence[str | Cell]]) -> Table:
    """The paper's numbers of a corpus that has no results here."""
    return Table(corpus, "Not run here: BERT-base and GPT-2 need a GPU and a model hub.", header, rows)


def cell(summary: Summary | None, paper: float | None = None, sign: bool = False, other_corpus: bool = False) -> Cell:
    if summary is None:
        return Cell(words=NOT_REPORTED, paper=paper)
    return Cell(summary.mean, summary.ci95, paper, sign=sign, other_corpus=other_corpus)


def count(summary: Summary | None) -> Cell:
    return Cell(words=NOT_REPORTED) if summary is None else Cell(round(summary.mean))


def metrics(
    found: Mapping, names: Iterable[str], paper: Mapping | None = None, other_corpus: bool = False
) -> list[Cell]:
    """A cell for each metric of {metric: Summary}."""
    return [cell(found.get(name), (paper or {}).get(name), other_corpus=other_corpus) for name in names]


def gain(row: pd.Series | None) -> list[Cell]:
    """A row of gains.csv: the gain with its interval over seeds, that over test rows, the p values of both tests."""
    if row is None:
        return [Cell(words=NOT_REPORTED)] * 4
    values = {name: None if np.isnan(row[name]) else row[name] for name in ("ci95", "low_rows", "p_seeds", "p_rows")}
    rows = "" if values["low_rows"] is None else bounds(row["low_rows"], row["high_rows"], sign=True)
    return [
        Cell(row["mean"], values["ci95"], sign=True),
        Cell(values["low_rows"], words=rows or NOT_REPORTED),
        *(Cell(values[name], words=p_value(values[name])) for name in ("p_seeds", "p_rows")),
    ]


def figure(value: float | None, sign: bool = False) -> str:
    """A count as it is, any other number with two decimals; zero has no sign."""
    return f"{value:{'+' if sign and value else ''},}" if isinstance(value, int) else number(value, sign)


def bounds(low: float, high: float, sign: bool = False) -> str:
    return f"[{number(low, sign)}, {number(high, sign)}]"


def p_value(value: float | None) -> str:
    if value is None:
        return NOT_REPORTED
    return "< 0.001" if value < 0.001 else number(value, digits=3)


# ---------------------------------------------------------------- formats


def markdown(table: Table) -> str:
    """A column in which the paper has numbers is followed by one with them."""
    printed = [
        any(isinstance(row[at], Cell) and row[at].printed for row in table.rows) for at in range(len(table.header))
    ]
    words = [all(isinstance(row[at], str) for row in table.rows) for at in range(len(table.header))]

    def spread(row: Sequence, paper: Callable) -> list:
        return [part for at, value in enumerate(row) for part in ([value, paper(value)] if printed[at] else [value])]

    header = spread(table.header, lambda name: "paper")
    rows = [spread(row, lambda value: getattr(value, "printed", "") or NOT_REPORTED) for row in table.rows]
    left = [at for at, both in enumerate(spread(words, lambda _: False)) if both]
    parts = [f"## {table.title}" if table.title else "", table.note, markdown_table(header, rows, left)]
    return "\n\n".join(part for part in parts if part)


def comma_separated(tables: Sequence[Table]) -> str:
    """One line for each number: table, row (the row's words), column, value, ci95, paper, and what the table shows."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["table", "row", "column", "value", "ci95", "paper", "shown"])
    for table in tables:
        for row in table.rows:
            name = ", ".join(part for part in row if isinstance(part, str))
            for column, value in zip(table.header, row, strict=True):
                if isinstance(value, Cell):
                    numbers = [value.ours, value.ci95, value.paper]
                    rounded = [
                        "" if n is None else n if isinstance(n, int) else round(float(n), DECIMALS) + 0.0
                        for n in numbers
                    ]
                    writer.writerow([table.title, name, column, *rounded, str(value)])
    return stream.getvalue()


def latex(tables: Sequence[Table]) -> str:
    """For `booktabs`: ours with its interval in small type, below it the paper's numbers."""
    parts = ["% needs \\usepackage{booktabs}"]
    for table in tables:
        lines = []
        for name, *row in table.rows:
            lines.append([name, *(_small(value) for value in row)])
            if any(value.printed for value in row):
                lines.append(["\\quad paper", *(value.printed or NOT_REPORTED for value in row)])
        body = [" & ".join(map(_latex, line)) + " \\\\" for line in ([*table.header], *lines)]
        rules = ["\\toprule", body[0], "\\midrule", *body[1:], "\\bottomrule"]
        columns = "l" + "r" * (len(table.header) - 1)
        parts += [f"% {table.title}", f"\\begin{{tabular}}{{{columns}}}", *rules, "\\end{tabular}"]
    return "\n".join(parts) + "\n"


def _small(value: Cell) -> str:
    return f"{value.shown} {{\\scriptsize {value.interval}}}" if value.interval else value.shown


def _latex(text: str) -> str:
    for character, written in {"_": "\\_", "%": "\\%", "–": "--", "<": "$<$", "≥": "$\\geq$"}.items():
        text = text.replace(character, written)
    return text
