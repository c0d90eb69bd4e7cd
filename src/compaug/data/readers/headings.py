"""Names of columns: what people call texts and labels, and whether line 1 holds names or a row."""

import re
from collections.abc import Sequence

from compaug.data.readers.words import WORDS

TEXTS, LABELS = WORDS["texts"], WORDS["labels"]
NAMES = frozenset((*TEXTS, *LABELS, *WORDS["others"]))
SENTENCE = 5  # words that no name of a column has


def plain(name: str) -> str:
    """In small letters, with _ for what is neither letter nor digit; label(s) is labels."""
    return re.sub(r"[\W_]+", "_", name.casefold().replace("(s)", "s")).strip("_")


def has_names(first: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[bool, str | None]:
    """(whether the first row names the columns, what speaks for the choice where it is in doubt)."""
    rows = [row for row in rows if list(map(str.strip, row)) != list(first)]  # the names again, from files put together
    usual = {at for at, name in enumerate(first) if plain(name) in NAMES}
    if not rows or any(first[at] not in {row[at].strip() for row in rows if at < len(row)} for at in usual):
        return True, None
    long = next((value for value in first if len(value.split()) > SENTENCE and not value.endswith("?")), None)
    reasons = []
    for at, value in enumerate(first):
        column = [row[at].strip() for row in rows if at < len(row) and row[at].strip()]
        if not value or not column:
            continue
        if value in (distinct := set(column)) and len(distinct) > 1:
            reasons.append(f"{value[:40]!r} stands in its column again")
        elif _is_number(value) and sum(map(_is_number, column)) > 0.9 * len(column):
            reasons.append(f"{value!r} is a number, as its column is")
        elif long and value != long and value in (pieces := _pieces(column)) and len(pieces) > 1:
            reasons.append(f"{value[:40]!r} stands in its column again, among others")
    if reasons:
        return False, reasons[0]
    if long and len(first) == 1:
        return False, f"{long[:40]!r} is as long as a text"
    return True, f"{long[:40]!r} is long for a name" if long else None


def _pieces(cells: Sequence[str]) -> set[str]:
    """What stands between the usual delimiters of labels in one string."""
    return {piece.strip() for cell in cells for piece in re.split(r"[,;|/]", cell)}


def _is_number(word: str) -> bool:
    return bool(re.fullmatch(r"[-+]?\d+([.,]\d+)?", word))
