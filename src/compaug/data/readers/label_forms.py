"""What the cells of a column of labels say: names in one string or a list, vectors, class numbers, mappings, objects.

A file has one form, which all of its cells decide: `[0, 1]` are two class numbers beside `[5]`, and a vector where
every cell has as many zeros and ones. Every distinct cell is read once.
"""

import contextlib
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from compaug.data.readers import delimiters, label_objects, literals
from compaug.data.readers.delimiters import TAGS, split_of
from compaug.data.readers.doubts import Doubt
from compaug.data.readers.label_numbers import numbers
from compaug.data.readers.label_objects import NAME_FIELDS
from compaug.data.readers.label_sets import (
    SUSPECT,
    Answers,
    Cell,
    LabelSets,
    Values,
    cleaned,
    names_in_lists,
    with_inventory,
)
from compaug.data.readers.truth import TRUTH, word_of
from compaug.data.rows import BadRow

UNANNOTATED = "\0nobody has annotated this text"  # in the place of labels (`annotation_tools`)
_WORDS = {
    "text": "names in one string",
    "names": "lists of names",
    "numbers": "numbers",
    "marks": "mappings from names to values",
    "objects": "objects",
    "annotators": "a list for each annotator",
    "spans": "spans of a text",
    "mixed": "lists of several kinds",
}


def of_column(column: str, cells: Mapping[Hashable, Cell], answers: Answers) -> LabelSets:
    """Labels of a column that holds all labels of a row."""
    values, bad = {}, {}
    for key, cell in cells.items():
        try:
            values[key] = _value(cell.value, answers)
        except ValueError as error:
            bad[key] = BadRow("labels that look like a list and are none", str(error))
    kinds = {key: _kind(value) for key, value in values.items()}
    weights: Counter[str] = Counter()
    for key, kind in kinds.items():
        weights[kind] += cells[key].rows
    filled = {kind: n for kind, n in weights.items() if kind not in ("nothing", "mixed", "unannotated")}
    kind = max(filled, key=filled.get, default="nothing")
    same = {"text", "names"} if kind in ("text", "names") else {kind}
    chosen = {key: values[key] for key, k in kinds.items() if k in same}
    sets = _READERS[kind](column, {key: (value, cells[key]) for key, value in chosen.items()}, answers)
    for key, k in kinds.items():
        if k == "nothing":
            sets.names[key] = []
        elif k == "unannotated":
            sets.names[key] = None
        elif key not in chosen:
            what = f"{column!r} is neither a string nor a list of strings"
            if len(filled) > 1 and k != "mixed":
                what = f"{column!r} holds {_WORDS[k]} in a file of {_WORDS[kind]}"
            sets.names[key] = BadRow(what, f"{what}: {str(cells[key].value)[:SUSPECT]!r}")
    sets.names |= bad
    return sets


def _value(value: Any, answers: Answers) -> Any:
    """A cell that is text as the list or mapping that it holds. ValueError where it only looks like one."""
    if isinstance(value, str):
        text = value.strip()
        if text == UNANNOTATED:
            return UNANNOTATED
        if answers.means_none(text):
            return None
        if literals.looks_written(text):
            if TAGS.fullmatch(text):
                return value
            try:
                return _value(parsed, answers) if isinstance(parsed := literals.parse(text), Mapping) else parsed
            except ValueError as error:
                if text[:1] in "({" and re.fullmatch(r"[({][\w \-]+[)}]", text) is not None:
                    return value  # a name in brackets
                raise ValueError(
                    f"the labels {text[:SUSPECT]!r} look like a list and are none ({error}); "
                    'write ["a", "b"], or names between delimiters'
                ) from None
    if isinstance(value, Mapping) and isinstance(value.get("choices"), list):
        return value["choices"]  # Label Studio, which writes a single choice as its name alone
    return value


def is_written(cell: str) -> bool:
    """Whether a cell of text looks like a list or a mapping."""
    return literals.looks_written(cell.strip()) and not TAGS.fullmatch(cell)


def _kind(value: Any) -> str:
    if value is None or value == [] or value == {} or (isinstance(value, str) and not value.strip()):
        return "nothing"
    if isinstance(value, float) and math.isnan(value):
        return "nothing"
    if isinstance(value, str):
        return "unannotated" if value == UNANNOTATED else "text"
    if isinstance(value, int | float):
        return "numbers"
    if isinstance(value, Mapping):
        if all(isinstance(v, bool | int | float) or v is None or word_of(v) in TRUTH for v in value.values()):
            fields = [name for name in NAME_FIELDS if isinstance(value.get(name), str)]
            return "objects" if fields and len(value) <= 3 and not _all_true(value) else "marks"
        if label_objects.is_span(value):
            return "spans"
        return "objects" if any(name in value for name in NAME_FIELDS) else "mixed"
    if not isinstance(value, list):
        return "mixed"
    items = [item for item in value if item is not None]
    if not items:
        return "nothing"
    if all(isinstance(item, str) for item in items):
        return "names"
    if all(isinstance(item, bool | int | float) for item in items):
        return "numbers"
    if all(isinstance(item, Mapping) for item in items):
        return "spans" if all(map(label_objects.is_span, items)) else "objects"
    if all(isinstance(item, list) for item in items):
        flat = [name for item in items for name in item]
        if all(isinstance(name, str) for name in flat):
            return "annotators"
        if all(len(item) == 3 and isinstance(item[0], int) and isinstance(item[2], str) for item in items):
            return "spans"
    return "mixed"


def are_spans(cells: Iterable[Any]) -> bool:
    """Whether these cells say where in their texts names stand."""
    with contextlib.suppress(ValueError):
        return {_kind(_value(cell, Answers())) for cell in cells} - {"nothing"} == {"spans"}
    return False


def _all_true(value: Mapping) -> bool:
    return all(isinstance(v, bool | int | float) for v in value.values())


def _none(column: str, values: Values, answers: Answers) -> LabelSets:
    return LabelSets("no label in any row", {})


def _names(column: str, values: Values, answers: Answers) -> LabelSets:
    """Lists of names, and names in one string."""
    whole = names_in_lists(value for value, _ in values.values()) | delimiters.whole(answers.labels)
    texts = {
        key: (value, cell)
        for key, (value, cell) in values.items()
        if isinstance(value, str) and value.strip() not in whole
    }
    doubts: list[Doubt] = []
    split, words = split_of({value: cell for value, cell in texts.values()}, answers, doubts)
    parts = {
        key: (
            split(value) if key in texts else [value] if isinstance(value, str) else [v for v in value if v is not None]
        )
        for key, (value, _) in values.items()
    }
    names = {key: cleaned(row, answers) for key, row in parts.items()}
    lists = ["a list of names"] if any(isinstance(value, list) for value, _ in values.values()) else []
    form = " and ".join([*lists, *([f"names in one string, {words}"] if texts or not lists else [])])
    every = {name for row_names in names.values() for name in row_names}
    digits = every and all(re.fullmatch(r"-?\d+(\.0+)?", name) for name in every)
    codes = not _are_bits(every) and any(re.match(r"0\d", name) for name in every)  # 0389 and 389 are two
    if codes and all(label.isdecimal() for label in answers.labels or ()):
        digits = False
    if digits and (answers.labels is None or not every <= set(answers.labels)):
        kept = {key: [part for part in row if part.strip()] for key, row in parts.items()}
        return numbers(column, {key: (_digits(row, every), values[key][1]) for key, row in kept.items()}, answers)
    return with_inventory(LabelSets(form, names, doubts), values, answers)


def _digits(row: Sequence[str], every: set[str]) -> list[int]:
    """The numbers of a row; the digits of one like 010010, where all are as long."""
    if _are_bits(every):
        return [int(digit) for word in row for digit in word.strip()]
    return [int(float(word)) for word in row if re.fullmatch(r"\s*-?\d+(\.0+)?\s*", word)]


def _are_bits(every: set[str]) -> bool:
    """Whether each is a row of zeros and ones, all as long."""
    return len({len(word) for word in every}) == 1 and all(re.fullmatch("[01]{3,}", word) for word in every)


_READERS = {
    "nothing": _none,
    "text": _names,
    "names": _names,
    "numbers": numbers,
    "marks": label_objects.marks,
    "objects": label_objects.objects,
    "annotators": label_objects.annotators,
    "spans": label_objects.spans,
}
