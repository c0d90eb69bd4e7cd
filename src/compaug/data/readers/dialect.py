"""How a file of cells is written: its delimiter and its quotes, judged by all of its lines.

A dialect fits where every row has the same number of cells. That of the file's name (a comma, in .tsv a tab; quotes
doubled) is taken where it fits all rows; otherwise the one that fits the most lines. A library that scores every cell
(clevercsv) agrees on the files that were tried and needs minutes for a million rows, where this takes seconds.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from compaug.core.files import InputError
from compaug.data import streams
from compaug.data.rows import BadRow

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", "~": "tilde", "\x01": "Ctrl-A"}
QUOTINGS = {
    "double": {"quoting": csv.QUOTE_MINIMAL, "doublequote": True},
    "backslash": {"quoting": csv.QUOTE_MINIMAL, "doublequote": True, "escapechar": "\\"},
    "none": {"quoting": csv.QUOTE_NONE, "quotechar": None},
}
NULL = re.compile(r"(?:^|(?<=[,;|~\t\x01]))\\N(?=[,;|~\t\x01]|$)")  # MySQL's, where a backslash hides the letter
SEPARATOR = re.compile(r'"?sep=(.)"?,*', re.IGNORECASE)  # what Excel puts at the top
SAMPLE = 20_000  # lines by which delimiters are ranked; the winner is tried on all
FEW = 10  # rows that say little of quotes that have no meaning
PAIRS = 3  # rows over several lines that close soundly: more than stray quotes would
LONGEST = 1 << 27  # characters of a cell

csv.field_size_limit(LONGEST)  # a text that is too long is a bad row, not the end of the file


@dataclass(frozen=True)
class Dialect:
    """`spaced`: blanks may stand before a quote. `encoding`: None where the file says it."""

    delimiter: str
    quoting: str = "double"
    spaced: bool = False
    encoding: str | None = None

    def __str__(self) -> str:
        quotes = {"double": "quotes doubled", "backslash": "quotes after a backslash", "none": "quotes are letters"}
        name = DELIMITERS.get(self.delimiter, repr(self.delimiter))
        return f"a {name} between cells, {quotes[self.quoting]}" + (", blanks before quotes" if self.spaced else "")


@dataclass(frozen=True)
class Fit:
    """How far a dialect fits: lines in rows of the commonest width, of all lines; the first row that does not."""

    width: int
    covered: int
    lines: int
    odd: tuple[int, str] | None  # line, what is wrong with its row
    spaced: bool

    @property
    def share(self) -> float:
        return self.covered / max(self.lines, 1) if self.width > 1 else 0.0

    @property
    def one_column(self) -> bool:
        """Whether all rows have one cell, so that quotes enclose every delimiter there is."""
        return self.width == 1 and self.odd is None

    @property
    def whole(self) -> bool:
        return self.width > 1 and self.odd is None


def lines(path: Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """As `streams.lines`, without Excel's line sep=; at the top."""
    numbered = streams.lines(path, encoding)
    first = next(numbered, None)
    if first is not None and not SEPARATOR.fullmatch(first[1]):
        yield first
    yield from numbered


def records(
    path: Path | None, lines: Iterable[tuple[int, str]], dialect: Dialect
) -> Iterator[tuple[int, list[str] | BadRow]]:
    """Number of its last line and cells of every row, bad ones as what is wrong with them; blank lines are skipped.

    InputError, where there is a path, for a quote that never closes.
    """
    numbered = iter(lines)
    top = next(numbered, None)
    if top is None:
        return
    before = top[0] - 1  # lines that were left out
    written = (line for _, line in chain([top], numbered))
    if dialect.quoting == "backslash":
        written = (NULL.sub(r"\\\\N", line) if "\\N" in line else line for line in written)
    reader = csv.reader(
        (f"{line}\n" for line in written),
        delimiter=dialect.delimiter,
        skipinitialspace=dialect.spaced,
        strict=True,
        **QUOTINGS[dialect.quoting],
    )
    while True:
        first = before + reader.line_num + 1
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end of data" in str(error) and path is not None:
                raise InputError(
                    f"{path}:{first}: not valid CSV ({error}): a quote opens here and never closes; mend the line, or "
                    "give --quoting none where quotes are letters"
                ) from None
            yield before + reader.line_num, BadRow("not valid CSV", f"not valid CSV ({error}); mend the line")
            continue
        if values:
            yield before + reader.line_num, values


def detected(path: Path, chosen: dict[str, str | None], usual: str) -> tuple[Dialect, str | None]:
    """(dialect, why it is not the usual one); `chosen`: delimiter, quoting and encoding that a person has set.

    `usual`: the delimiter of the file's name.
    """
    encoding = chosen.get("encoding")
    if match := SEPARATOR.fullmatch(next((line for _, line in streams.lines(path, encoding)), "")):
        usual = match[1]
    plain = Dialect(chosen.get("delimiter") or usual, chosen.get("quoting") or "double", encoding=encoding)
    if chosen.get("delimiter") and chosen.get("quoting"):
        head = _fit(plain, islice(lines(path, encoding), SAMPLE))
        return replace(plain, spaced=head.spaced and plain.quoting != "none"), None
    fit = _fit(plain, lines(path, encoding))
    if fit.spaced and not chosen.get("quoting"):
        spaced = replace(plain, spaced=True)
        if (other := _fit(spaced, lines(path, encoding))).share >= fit.share:
            plain, fit = spaced, other
    if fit.whole:
        return plain, None
    sample = list(islice(lines(path, encoding), SAMPLE))
    delimiters = [chosen["delimiter"]] if chosen.get("delimiter") else sorted(DELIMITERS, key=lambda d: d != usual)
    escaped = any('\\"' in line for _, line in lines(path, encoding))
    quotings = [chosen["quoting"]] if chosen.get("quoting") else [q for q in QUOTINGS if escaped or q != "backslash"]
    candidates = [
        Dialect(delimiter, quoting, spaced, encoding)
        for delimiter in delimiters
        for quoting in quotings
        for spaced in (False, True)[: 1 + (quoting != "none")]
    ]
    sampled = {candidate: _fit(candidate, sample) for candidate in candidates}
    enclosed = {c.delimiter for c in candidates if c.quoting == "double" and sampled[c].one_column}
    candidates = [c for c in candidates if c.quoting != "none" or c.delimiter not in enclosed]
    delimiter = max(candidates, key=lambda c: (round(sampled[c].share, 3), _named(sampled[c], sample, c))).delimiter
    finalists = [c for c in candidates if c.delimiter == delimiter and sampled[c].share > 0]
    fits = {candidate: _fit(candidate, lines(path, encoding)) for candidate in finalists}
    best = max(finalists, key=lambda c: fits[c].share, default=plain)
    if best == plain or fits[best].share <= fit.share or (fits[best].lines <= FEW and best.quoting != plain.quoting):
        return plain, None
    return best, _reason(plain, fit)


def _reason(plain: Dialect, fit: Fit) -> str:
    if fit.width < 2:
        return f"a {DELIMITERS.get(plain.delimiter, plain.delimiter)} would leave one column"
    line, what = fit.odd or (1, "blanks before quotes")
    return f"read with {plain} {fit.lines - fit.covered:,} lines would not fit, the first line {line}: {what}"


def _named(fit: Fit, sample: Sequence[tuple[int, str]], dialect: Dialect) -> int:
    """Of two dialects that fit alike, the one whose first row has more names like those of columns."""
    first = next((values for _, values in records(None, sample[:50], dialect) if isinstance(values, list)), [])
    return sum(bool(re.fullmatch(r"[\w .\-]{1,40}", value.strip())) for value in first)


def _fit(dialect: Dialect, lines: Iterable[tuple[int, str]]) -> Fit:
    covered: Counter[int] = Counter()  # width -> lines
    odd: dict[int, tuple[int, str]] = {}  # width -> its first row
    swallowing, wrong, last, n_rows, spaced = [], None, 0, 0, 0
    for number, values in records(None, lines, dialect):
        span, last = number - last, number
        n_rows += 1
        if isinstance(values, BadRow):
            wrong = wrong or (number, str(values))
            covered[0] += span
            continue
        covered[len(values)] += span
        odd.setdefault(len(values), (number, f"{len(values)} cells"))
        if span > 1 and _swallows(values, dialect.delimiter):
            swallowing.append((number, span))
        if not dialect.spaced and n_rows < SAMPLE:
            spaced += any(value.startswith(" ") and value.strip()[:1] == '"' == value.strip()[-1:] for value in values)
    lines_of_rows, rows = sum(covered.values()), {width: n for width, n in covered.items() if width}
    width = max(rows, key=rows.get, default=0)
    sound = covered[width]
    firsts = [place for size, place in odd.items() if size != width] + ([wrong] if wrong else [])
    if swallowing and (dialect.delimiter == "\t" or len(swallowing) < PAIRS):
        sound -= sum(span for _, span in swallowing)
        number, span = swallowing[0]
        firsts.append((number, f"a cell that holds {span} lines"))
    return Fit(width, sound, lines_of_rows, min(firsts, default=None), spaced * 2 > min(n_rows, SAMPLE))


def _swallows(values: Sequence[str], delimiter: str) -> bool:
    """Whether a cell holds just the delimiters that whole rows would have."""
    breaks = Counter({at: value.count("\n") for at, value in enumerate(values)})
    return any(
        n and len(values) > 1 and values[at].count(delimiter) == n * (len(values) - 1) for at, n in breaks.items()
    )
