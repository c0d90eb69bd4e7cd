"""What stands between the names of a label cell, judged by all cells of a file."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from html.entities import html5
from itertools import pairwise

from compaug.data.readers.doubts import MISSING, Doubt
from compaug.data.readers.label_sets import SUSPECT, Answers, Cell
from compaug.data.readers.words import WORDS

MARKS = WORDS["marks"]
USUAL = (";", "|", ",")  # taken where a few cells cannot decide
FEW = 20  # rows
OFTEN = 5  # rows in which two parts stand side by side by no accident
TAGS = re.compile(r"\s*<[^<>]+>(?:[\s,;]*<[^<>]+>)*\s*")
ENTITY = re.compile(r"&(#\d{2,5};|\w{2,8};)")
HASHES = re.compile(r"\s*#[^#\s,;]+(?:[\s,;]*#[^#\s,;]+)*\s*")

QUOTED = r'"(?:[^"]|"")+"'  # a name that holds the mark, as in CSV


def is_marked(cell: str) -> bool:
    """Whether every name of a cell stands in angle brackets or after #."""
    return bool(TAGS.fullmatch(cell) or HASHES.fullmatch(cell))


def split_of(
    cells: Mapping[str, Cell], answers: Answers, doubts: list[Doubt]
) -> tuple[Callable[[str], list[str]], str]:
    """(how a cell is split, the same in words), by all cells."""
    if answers.delimiter is not None:
        return _at(answers.delimiter, answers, cells), f"between {answers.delimiter!r}"
    if cells and all(TAGS.fullmatch(cell) for cell in cells):
        return (lambda cell: re.findall(r"<([^<>]+)>", cell)), "each in angle brackets"
    if cells and all(HASHES.fullmatch(cell) for cell in cells):
        return (lambda cell: re.findall(r"#([^#\s,;]+)", cell)), "each after #"
    mark, other = delimiter(cells)
    if other is not None:
        rows, first = _rows_with(cells, other)
        doubts.append(
            Doubt(
                f"label cells that {other!r} would cut into names that stand elsewhere too, where {mark!r} is taken",
                f"give --label-delimiter {mark!r} or {other!r}, or write one of them in all rows",
                rows,
                first,
                True,
            )
        )
    doubts += unsplit(cells, mark) + unexplained(cells, mark)
    doubts += inseparable(cells, mark) + entities(cells, mark) if answers.labels is None else []
    return _at(mark, answers, cells), f"between {mark!r}"


def whole(labels: Iterable[str] | None) -> set[str]:
    """Listed names that a mark would cut."""
    return {name for name in labels or () if any(mark in name for mark in MARKS)}


def _at(mark: str, answers: Answers, cells: Iterable[str]) -> Callable[[str], list[str]]:
    """A cell's parts between marks; listed names that hold the mark stay whole, the longest first, and quoted ones.

    A quote is one of names where it stands beside the mark in some cell, else perhaps of a cell that was read wrong.
    """
    names = sorted((name for name in answers.labels or () if mark in name), key=len, reverse=True)
    sign = re.escape(mark)
    quoted = any(re.search(rf'"\s*{sign}|{sign}\s*"', cell) for cell in cells if '"' in cell)
    if not names and not quoted:
        return lambda cell: cell.split(mark)
    whole, end = "|".join((*map(re.escape, names), *([QUOTED] if quoted else []))), rf"(?={sign}|\Z)"
    part = re.compile(rf"\s*(?:{whole})\s*{end}|.*?{end}", re.IGNORECASE | re.DOTALL)

    def parts(cell: str) -> list[str]:
        read, at = [], 0
        while at <= len(cell) and (match := part.match(cell, at)):
            read.append(_unquoted(match[0].strip()) if quoted else match[0])
            at = match.end() + len(mark)
        return read

    return parts


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if re.fullmatch(QUOTED, name) else name


def unsplit(cells: Mapping[str, Cell], mark: str) -> list[Doubt]:
    """A doubt for the commonest other mark that names hold and that is not taken for a delimiter."""
    cells = {value: cell for value, cell in cells.items() if value.strip().casefold() not in MISSING}
    marks = (other for other in MARKS if not other.strip().isalpha())  # names have words such as "and"
    rows = {other: _rows_with(cells, other) for other in marks if other not in mark and mark not in other}
    other = max(rows, key=lambda other: rows[other][0])
    n, line = rows[other]
    if not n:
        return []
    example = min((value for value in cells if other in value), key=len)[:SUSPECT]
    what = f"label cells with {other!r} that is read as part of names, as in {example!r}"
    return [Doubt(what, f"--label-delimiter {other!r} if it stands between names", n, line)]


def unexplained(cells: Mapping[str, Cell], mark: str, few: int = FEW) -> list[Doubt]:
    """A doubt where so many rows hold the mark, and none of them tells names from parts of names."""
    n, line = _rows_with(cells, mark)
    if n < few or _explained(cells, mark):
        return []
    example = min((value for value in cells if mark in value), key=len)[:SUSPECT]
    whole = next(other for other in USUAL if not any(other in value for value in cells) or other == USUAL[-1])
    what = f"label cells with {mark!r} whose parts never stand elsewhere, as in {example!r}"
    remedy = f"--label-delimiter {mark!r} if it stands between names, --label-delimiter {whole!r} if it is part of one"
    return [Doubt(what, remedy, n, line, fatal=True)]


def inseparable(cells: Mapping[str, Cell], mark: str) -> list[Doubt]:
    """A note for two parts of which neither ever stands without the other beside it: perhaps one name with the mark."""
    rows: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    split = _at(mark, Answers(), cells)
    for value, cell in cells.items():
        parts = [part for piece in split(value) if (part := piece.strip())]
        rows.update(dict.fromkeys(parts, cell.rows))
        pairs.update(dict.fromkeys(pairwise(parts), cell.rows))
    glued = {pair: n for pair, n in pairs.items() if n == rows[pair[0]] == rows[pair[1]] and n >= OFTEN}
    if not glued:
        return []
    (left, right), n = max(glued.items(), key=lambda item: item[1])
    spread = f"{mark} " if any(f"{left}{mark} {right}" in value for value in cells) else mark
    what = f"label cells with {left + spread + right!r}, whose parts never stand alone"
    return [Doubt(what, "list every label in --labels if it is one name", n)]


def entities(cells: Mapping[str, Cell], mark: str) -> list[Doubt]:
    """A doubt for characters as HTML writes them, which a semicolon would cut."""
    written = lambda value: any(name[0] == "#" or name in html5 for name in ENTITY.findall(value))
    cut = [(value, cell) for value, cell in cells.items() if mark == ";" and written(value)]
    if not cut:
        return []
    what = f"label cells with characters as HTML writes them, as in {min(value for value, _ in cut)[:SUSPECT]!r}"
    remedy = "write the characters themselves, or list every label in --labels"
    return [Doubt(what, remedy, sum(cell.rows for _, cell in cut), min(cell.line for _, cell in cut), fatal=True)]


def _rows_with(cells: Mapping[str, Cell], mark: str) -> tuple[int, int]:
    cut = [cell for value, cell in cells.items() if mark in value]
    return sum(cell.rows for cell in cut), min((cell.line for cell in cut), default=0)


def delimiter(cells: Mapping[str, Cell]) -> tuple[str, str | None]:
    """(mark between names, another that explains cells too or None).

    A mark explains a cell whose names all stand elsewhere: alone, or in another place of a list. So the parts of
    "sci/physics" are none, and neither are those of "late, very late".
    """
    explained = {mark: _explained(cells, mark) for mark in MARKS}
    best = max(MARKS, key=lambda mark: sum(explained[mark].values()))
    most = sum(explained[best].values())
    if not most:
        blank = _explained(cells, " ")
        with_blank = sum(cell.rows for value, cell in cells.items() if " " in value.strip())
        words = {word for value in blank for word in value.split()}
        if blank and sum(blank.values()) >= 0.9 * with_blank and all(map(_has_letter, words)):
            return " ", None
        held = {mark: sum(cell.rows for value, cell in cells.items() if mark in value) for mark in USUAL}
        mark = max(USUAL, key=lambda mark: held[mark])
        return (mark if held[mark] else ","), None
    rest = {mark: sum(n for value, n in explained[mark].items() if value not in explained[best]) for mark in MARKS}
    other = max(MARKS, key=lambda mark: rest[mark])
    return best, other if rest[other] and best not in other and other not in best else None


def _has_letter(word: str) -> bool:
    return any(map(str.isalnum, word))


def _explained(cells: Mapping[str, Cell], mark: str) -> dict[str, int]:
    """Cells of several names that all stand elsewhere, in small or large letters, with their rows."""
    alone: set[str] = set()
    places: dict[str, set[int]] = {}
    compound = []
    for value in cells:
        parts = [part for piece in value.split(mark) if (part := piece.strip().casefold())]
        if len(parts) > 1:
            compound.append((value, parts))
            for at, part in enumerate(parts):
                places.setdefault(part, set()).add(at)
        else:
            alone.update(parts)
    free = alone | {part for part, at in places.items() if len(at) > 1}
    return {value: cells[value].rows for value, parts in compound if all(part in free for part in parts)}
