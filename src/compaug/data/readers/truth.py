"""Columns of yes and no: which values of a column say that its label fits, which that it does not."""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence

from compaug.data.readers.words import WORDS

YES, NO, DASHES = (frozenset(WORDS[meaning]) for meaning in ("yes", "no", "dashes"))
TRUTH = YES | NO | {""}
JUDGED = {word: int(word in WORDS["accepting"]) for word in (*WORDS["accepting"], *WORDS["rejecting"])}
CROSS = "✗"  # on a ballot yes, beside another mark no
ABOUT_ROWS = re.compile(rf"(?:(?:is|has|was)[ _-])?({'|'.join(WORDS['flags'])})", re.IGNORECASE)
FLAGS = re.compile(rf"(is|has|was)[ _-].*|({'|'.join(WORDS['flags'])})", re.IGNORECASE)


def word_of(value: object) -> str:
    """A cell as a word to look up; "" for a blank one."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value).strip().casefold()


def number_of(value: object) -> float | None:
    """The number that a cell holds, a comma for a point allowed, a percentage as its share; None without."""
    if isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    word = str(value or "").strip()
    if word.endswith("%"):
        share = number_of(word[:-1])
        return None if share is None else share / 100
    return float(word.replace(",", ".")) if re.fullmatch(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?", word) else None


def values_of(column: str, words: Iterable[str], blank_is_no: bool = False) -> Mapping[str, int] | None:
    """Word -> 1 or 0 of a column with these distinct words; None where it is no column of yes and no.

    A blank is no where the column writes nothing else for it. A column may write its own name for yes.
    """
    present = set(words)
    filled = present - {""}
    if not filled:
        return {"": 0}
    if filled <= YES | NO:
        crossed = CROSS in filled and (len(filled) > 1 or "" not in present)
        meaning = {word: int(word in YES and not (crossed and word == CROSS)) for word in filled}
        if "" in present and (blank_is_no or not filled & NO):
            meaning[""] = 0
        return meaning
    if (marks := filled - DASHES) and marks <= YES:
        return dict.fromkeys(marks, 1) | dict.fromkeys(DASHES, 0) | {"": 0}
    names = filled - NO
    if len(names) == 1 and _is_named(column, next(iter(names))):
        return dict.fromkeys(filled & NO, 0) | {next(iter(names)): 1, "": 0}
    return None


def judgement(words: Iterable[str]) -> Mapping[str, int] | None:
    """Word -> 1 or 0 of what says of labels whether they fit: yes and no, accepted and rejected; None for others."""
    present = set(words)
    return {word: JUDGED[word] for word in present} if present <= JUDGED.keys() else values_of("", present)


def _is_named(column: str, word: str) -> bool:
    """Whether the word is the column's name or an option at its end, as in "Which topics? [delay]"."""
    name, plain = (re.sub(r"\W+", " ", text.casefold()).strip() for text in (column, word))
    return bool(plain) and (name == plain or name.endswith(f" {plain}"))


def flags(columns: Sequence[str], others: Container[str] = ()) -> list[str]:
    """Those whose names say something of the row, not of its text, or are among the `others`, unless all do.

    Where every name begins with is_, has_ or was_, or is a flag, the beginning says nothing.
    """
    for names in (FLAGS, ABOUT_ROWS):
        listed = [column for column in columns if names.fullmatch(column.strip()) or column.casefold() in others]
        if len(listed) < len(columns):
            return listed
    return []
