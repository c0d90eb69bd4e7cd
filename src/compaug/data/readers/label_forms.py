"""What label cells say: names in one string or a list, vectors, class numbers, mappings, objects, annotators' lists.

A file has one form, which all of its cells decide: `[0, 1]` are two class numbers beside `[5]`, and a vector where
every cell has as many zeros and ones. Every distinct cell is read once.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compaug.data.readers import literals
from compaug.data.readers.doubts import MISSING, Doubt, alike
from compaug.data.readers.truth import NO, YES, number_of, values_of, word_of
from compaug.data.rows import BadRow

MARKS = (
    ";",
    "|",
    ",",
    "\n",
    "#",
    "/",
    "::",
    "、",
    "，",
    "；",
    "+",
    "\t",
    "&",
    " - ",
    "~",
    "^",
    ":",
    "·",
    "•",
)  # between names; the first of those alike
USUAL = (";", "|", ",")  # taken where a few cells cannot decide
NAME_FIELDS = ("name", "label", "title", "tag", "text", "value", "class", "category", "topic", "id")
CHOSEN = ("selected", "checked", "chosen", "active", "positive", "present", "value", "applies")
SCORES = ("score", "confidence", "probability", "prob")
TAGS = re.compile(r"\s*<[^<>]+>(?:[\s,;]*<[^<>]+>)*\s*")
HASHES = re.compile(r"\s*#[^#\s,;]+(?:[\s,;]*#[^#\s,;]+)*\s*")
UNANNOTATED = "\0nobody has annotated this text"  # in the place of labels (`annotation_tools`)
NUMBERED = re.compile(r"(-?\d+)\s*=\s*(.+)")
SUSPECT = 60  # characters of a cell that a refusal shows


@dataclass
class Cell:
    """A distinct label cell: how many rows have it, and the first."""

    value: Any
    rows: int
    line: int


@dataclass(frozen=True)
class Answers:
    """What a person has said of labels: the reader's options of these names."""

    delimiter: str | None = None
    labels: tuple[str, ...] | None = None
    field: str | None = None
    cut: float | None = None
    missing: frozenset[str] = frozenset()

    def means_none(self, word: str) -> bool:
        return word in self.missing or (not word.strip() and "blank" in self.missing)


@dataclass
class LabelSets:
    """The names of every distinct cell, or what is wrong with it; the form in words; what is odd."""

    form: str
    names: dict[Hashable, list[str] | BadRow | None]  # None: nobody has annotated the text
    doubts: list[Doubt] = field(default_factory=list)
    inventory: tuple[str, ...] | None = None


def key_of(value: Any) -> Hashable:
    """By which equal cells are one."""
    if isinstance(value, str) or value is None:
        return value
    try:
        return json.dumps(value, sort_keys=False, default=str), "json"
    except (TypeError, ValueError):
        return repr(value), "repr"


# ---------------------------------------------------------------- one column


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


def is_marked(cell: str) -> bool:
    """Whether every name of a cell stands in angle brackets or after #."""
    return bool(TAGS.fullmatch(cell) or HASHES.fullmatch(cell))


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
        if all(isinstance(v, bool | int | float) or v is None or word_of(v) in _TRUTH for v in value.values()):
            fields = [name for name in NAME_FIELDS if isinstance(value.get(name), str)]
            return "objects" if fields and len(value) <= 3 and not _all_true(value) else "marks"
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
        return "objects"
    if all(isinstance(item, list) for item in items):
        flat = [name for item in items for name in item]
        if all(isinstance(name, str) for name in flat):
            return "annotators"
        if all(len(item) == 3 and isinstance(item[0], int) and isinstance(item[2], str) for item in items):
            return "spans"
    return "mixed"


_TRUTH = YES | NO | {""}
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


def _all_true(value: Mapping) -> bool:
    return all(isinstance(v, bool | int | float) for v in value.values())


Values = Mapping[Hashable, tuple[Any, Cell]]


def _none(column: str, values: Values, answers: Answers) -> LabelSets:
    return LabelSets("no label in any row", {})


def _spans(column: str, values: Values, answers: Answers) -> LabelSets:
    what = f"{column!r} holds spans (start, end, name), which label parts of a text, not texts"
    first = min(cell.line for _, cell in values.values())
    doubt = Doubt(what, "export labels of whole texts, or give --label-column", len(values), first, True)
    return LabelSets("spans of a text", {key: [] for key in values}, [doubt])


def _names(column: str, values: Values, answers: Answers) -> LabelSets:
    """Lists of names, and names in one string."""
    texts = {key: (value, cell) for key, (value, cell) in values.items() if isinstance(value, str)}
    doubts: list[Doubt] = []
    split, words = _split_of({value: cell for value, cell in texts.values()}, answers, doubts)
    parts = {
        key: split(value) if isinstance(value, str) else [item for item in value if item is not None]
        for key, (value, _) in values.items()
    }
    names = {key: _cleaned(row, answers) for key, row in parts.items()}
    listed = len(values) - len(texts)
    form = " and ".join(
        part for part in ("a list of names" if listed else "", f"names in one string, {words}" if texts else "") if part
    )
    every = {name for row_names in names.values() for name in row_names}
    digits = every and all(re.fullmatch(r"-?\d+(\.0+)?", name) for name in every)
    if digits and (answers.labels is None or not every <= set(answers.labels)):
        kept = {key: [part for part in row if part.strip()] for key, row in parts.items()}
        return _numbers(column, {key: (_digits(row, every), values[key][1]) for key, row in kept.items()}, answers)
    return _with_inventory(LabelSets(form, names, doubts), values, answers)


def _digits(row: Sequence[str], every: set[str]) -> list[int]:
    """The numbers of a row; the digits of one like 010010, where all are as long."""
    if len({len(word) for word in every}) == 1 and all(re.fullmatch("[01]{3,}", word) for word in every):
        return [int(digit) for word in row for digit in word.strip()]
    return [int(float(word)) for word in row if re.fullmatch(r"\s*-?\d+(\.0+)?\s*", word)]


def _cleaned(names: Iterable[str], answers: Answers) -> list[str]:
    stripped = (name.strip() for name in names)
    return list(dict.fromkeys(name for name in stripped if name and not answers.means_none(name)))


def _split_of(
    cells: Mapping[str, Cell], answers: Answers, doubts: list[Doubt]
) -> tuple[Callable[[str], list[str]], str]:
    """(how a cell is split, the same in words), by all cells."""
    if answers.delimiter is not None:
        mark = answers.delimiter
        return (lambda cell: cell.split(mark)), f"between {mark!r}"
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
    doubts += unsplit(cells, mark)
    return (lambda cell: cell.split(mark)), f"between {mark!r}"


def unsplit(cells: Mapping[str, Cell], mark: str) -> list[Doubt]:
    """A doubt for the commonest other mark that names hold and that is not taken for a delimiter."""
    cells = {value: cell for value, cell in cells.items() if value.strip().casefold() not in MISSING}
    rows = {other: _rows_with(cells, other) for other in MARKS if other not in mark and mark not in other}
    other = max(rows, key=lambda other: rows[other][0])
    n, line = rows[other]
    if not n:
        return []
    example = min((value for value in cells if other in value), key=len)[:SUSPECT]
    what = f"label cells with {other!r} that is read as part of names, as in {example!r}"
    return [Doubt(what, f"--label-delimiter {other!r} if it stands between names", n, line)]


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
        if blank and sum(blank.values()) >= 0.9 * with_blank:
            return " ", None
        held = {mark: sum(cell.rows for value, cell in cells.items() if mark in value) for mark in USUAL}
        mark = max(USUAL, key=lambda mark: held[mark])
        return (mark if held[mark] else ","), None
    rest = {mark: sum(n for value, n in explained[mark].items() if value not in explained[best]) for mark in MARKS}
    other = max(MARKS, key=lambda mark: rest[mark])
    return best, other if rest[other] and best not in other and other not in best else None


def _explained(cells: Mapping[str, Cell], mark: str) -> dict[str, int]:
    """Cells of several names that all stand elsewhere, with their rows."""
    alone: set[str] = set()
    places: dict[str, set[int]] = {}
    compound = []
    for value in cells:
        parts = [part for piece in value.split(mark) if (part := piece.strip())]
        if len(parts) > 1:
            compound.append((value, parts))
            for at, part in enumerate(parts):
                places.setdefault(part, set()).add(at)
        else:
            alone.update(parts)
    free = alone | {part for part, at in places.items() if len(at) > 1}
    return {value: cells[value].rows for value, parts in compound if all(part in free for part in parts)}


# ---------------------------------------------------------------- numbers


def _numbers(column: str, values: Values, answers: Answers) -> LabelSets:
    """Vectors as long as the inventory, or class numbers."""
    rows = {key: value if isinstance(value, list) else [value] for key, (value, _) in values.items()}
    lengths = {len(row) for row in rows.values()}
    every = {float(item) for row in rows.values() for item in row if item is not None}
    whole = every <= {0.0, 1.0}
    if (
        len(lengths) == 1
        and (n := min(lengths)) > 1
        and min(every) >= 0
        and (whole or any(item % 1 for item in every) or _votes(rows))
    ):
        return _vectors(n, rows, whole, values, answers)
    return _classes(rows, values, answers)


def _votes(rows: Mapping[Hashable, Sequence]) -> bool:
    """Whether numbers repeat within rows, as those of classes never do."""
    return any(len(set(row)) < len(row) for row in rows.values())


def _vectors(n: int, rows: Mapping, whole: bool, values: Values, answers: Answers) -> LabelSets:
    form = f"vectors of {n} " + ("zeros and ones" if whole else "numbers")
    names = answers.labels
    line = min(cell.line for _, cell in values.values())
    if names is None or len(names) != n:
        lack = f"; --labels has {len(names)}" if names else ""
        remedy = f"give their {n} names in order with --labels a,b,...{lack}"
        return LabelSets(form, {key: [] for key in rows}, [Doubt(f"{form} without names", remedy, 0, line, True)])
    if not whole and answers.cut is None:
        return LabelSets(form, {key: [] for key in rows}, [_uncut(rows.values(), form, line)], names)
    cut = 0.0 if answers.cut is None else answers.cut
    sets = {
        key: [name for name, item in zip(names, row, strict=True) if item is not None and float(item) > cut]
        for key, row in rows.items()
    }
    return LabelSets(form if whole else f"{form}, positive above {cut:g}", sets, [], names)


def _uncut(rows: Iterable[Iterable], what: str, line: int) -> Doubt:
    every = [float(item) for row in rows for item in row if item is not None]
    low, high = min(every), max(every)
    remedy = "--positive-above 0.5" if high <= 1 else f"--positive-above {low:g} takes all above the least"
    if high > 2:
        remedy += f", --positive-above {(low + high) // 2:g} the upper half"
    return Doubt(f"{what} from {low:g} to {high:g}: votes or probabilities, without a cut", remedy, 0, line, True)


def _classes(rows: Mapping, values: Values, answers: Answers) -> LabelSets:
    form, line = "class numbers", min(cell.line for _, cell in values.values())
    every = sorted({item for row in rows.values() for item in row if item is not None})
    blank = {key: [] for key in rows}
    if any(item % 1 for item in every):
        what = f"numbers that are no classes, such as {next(item for item in every if item % 1):g}"
        return LabelSets("numbers", blank, [Doubt(what, "give --label-column", 0, line, True)])
    names = _numbered(answers.labels)
    if names is None:
        remedy = (
            f"give their names with --labels, from 0 on, or as --labels {int(every[0])}=NAME,..., "
            "where they start elsewhere"
        )
        what = f"labels are numbers from {int(every[0])} to {int(every[-1])}, {len(every)} of them"
        return LabelSets(form, blank, [Doubt(what, remedy, 0, line, True)])
    if every and every[0] == 1 and every[-1] == len(names) and min(names) == 0:
        remedy = "give --labels 1=NAME,2=NAME,... where the first label is 1"
        what = f"class numbers run from 1 to {len(names)}, and --labels from 0 to {len(names) - 1}"
        return LabelSets(form, blank, [Doubt(what, remedy, 0, line, True)], tuple(names.values()))
    sets: dict[Hashable, list[str] | BadRow | None] = {}
    for key, row in rows.items():
        strange = [item for item in row if item is not None and int(item) not in names]
        if strange:
            shown = ", ".join(names.values())
            sets[key] = BadRow(
                "unknown class number", f"unknown class number {strange[0]:g}; options.labels has {shown}"
            )
        else:
            sets[key] = list(dict.fromkeys(names[int(item)] for item in row if item is not None))
    return LabelSets(form, sets, [], tuple(dict.fromkeys(names.values())))


def _numbered(labels: Sequence[str] | None) -> dict[int, str] | None:
    """Number -> name: those that a person wrote as 3=NAME, or the names from 0 on."""
    if labels is None:
        return None
    matches = [NUMBERED.fullmatch(label) for label in labels]
    if all(matches):
        return {int(match[1]): match[2].strip() for match in matches if match}
    return dict(enumerate(labels))


# ---------------------------------------------------------------- mappings, objects, annotators


def _marks(column: str, values: Values, answers: Answers) -> LabelSets:
    """Mappings from each name to 0 or 1, or to a number with a cut."""
    names = list(dict.fromkeys(str(name) for value, _ in values.values() for name in value))
    words = {word_of(v) for value, _ in values.values() for v in value.values()}
    meaning = values_of("", words, blank_is_no=True)
    if meaning is None or answers.cut is not None:
        if answers.cut is None:
            numbers = [[number_of(v) for v in value.values()] for value, _ in values.values()]
            line = min(cell.line for _, cell in values.values())
            doubt = _uncut(numbers, "values of a mapping", line)
            return LabelSets("mappings from names to numbers", {key: [] for key in values}, [doubt])
        cut = answers.cut
        sets = {
            key: [str(name) for name, v in value.items() if (number := number_of(v)) is not None and number > cut]
            for key, (value, _) in values.items()
        }
        form = f"mappings from names to numbers, positive above {cut:g}"
    else:
        sets = {
            key: [str(name) for name, v in value.items() if meaning[word_of(v)]] for key, (value, _) in values.items()
        }
        form = "mappings from names to 0 and 1"
    return _with_inventory(LabelSets(form, dict(sets), []), values, answers, tuple(names))


def _objects(column: str, values: Values, answers: Answers) -> LabelSets:
    """Objects that hold a name each, by itself or with a number of its class or a score."""
    lists = {key: value if isinstance(value, list) else [value] for key, (value, _) in values.items()}
    objects = [item for items in lists.values() for item in items if isinstance(item, Mapping)]
    line = min(cell.line for _, cell in values.values())
    fields = [name for name in objects[0] if all(isinstance(item.get(name), str) for item in objects)]
    present = answers.field or next((name for name in NAME_FIELDS if name in fields), None)
    blank = {key: [] for key in values}
    score = next((name for name in SCORES if all(number_of(item.get(name)) is not None for item in objects)), None)
    if present is None:
        numbers = next((n for n in ("label", "id") if all(type(item.get(n)) is int for item in objects)), None)
        if numbers is not None:
            rows = {key: ([item[numbers] for item in items], values[key][1]) for key, items in lists.items()}
            return _numbers(column, rows, answers)
    if present is None or not all(isinstance(item.get(present), str | int) for item in objects):
        there = ", ".join(dict.fromkeys(str(name) for item in objects for name in item))
        what = f"objects of which no field holds a name; their fields are {there}"
        return LabelSets("objects", blank, [Doubt(what, "give --label-field", 0, line, True)])
    form = f"objects, each with its {present!r}"
    if (switch := _switch(objects, present)) is not None:
        form += f", where {switch} is true"
        lists = {key: [item for item in items if item[switch]] for key, items in lists.items()}
    if score is not None and any(float(item[score]) != 1 for item in objects):
        if answers.cut is None:
            return LabelSets(form, blank, [_uncut([[item[score] for item in objects]], f"{score}s of objects", line)])
        form += f", where {score} is above {answers.cut:g}"
        lists = {k: [item for item in items if float(item[score]) > answers.cut] for k, items in lists.items()}
    sets = {key: _cleaned((str(item[present]) for item in items), answers) for key, items in lists.items()}
    return _with_inventory(LabelSets(form, dict(sets)), values, answers)


def _switch(objects: Sequence[Mapping], present: str) -> str | None:
    """The field of all objects that says whether their label fits: true or false, or 0 and 1 under such a name."""
    for name in objects[0]:
        values = [item.get(name) for item in objects]
        truth = all(isinstance(value, bool) for value in values)
        if name != present and (truth or (name in CHOSEN and all(value in (0, 1) for value in values))):
            return name
    return None


def _annotators(column: str, values: Values, answers: Answers) -> LabelSets:
    """One list of names for each annotator; where they differ the share of those who chose a name decides."""
    sets: dict[Hashable, list[str] | BadRow | None] = {}
    apart = []
    for key, (lists, cell) in values.items():
        lists = [_cleaned(names, answers) for names in lists if names is not None]
        votes = Counter(name for names in lists for name in names)
        if len({frozenset(names) for names in lists}) > 1 and answers.cut is None:
            apart.append(cell)
        cut = answers.cut or 0.0
        sets[key] = [name for name, n in votes.items() if n / len(lists) > cut]
    doubts = []
    if apart:
        rows, line = sum(cell.rows for cell in apart), min(cell.line for cell in apart)
        remedy = "--positive-above 0.5 takes what more than half of them chose, 0 what anybody did"
        doubts.append(Doubt("texts on which annotators differ", remedy, rows, line, True))
    return _with_inventory(LabelSets("a list of names for each annotator", sets, doubts), values, answers)


_READERS = {
    "nothing": _none,
    "text": _names,
    "names": _names,
    "numbers": _numbers,
    "marks": _marks,
    "objects": _objects,
    "annotators": _annotators,
    "spans": _spans,
}


def _with_inventory(
    sets: LabelSets, values: Values, answers: Answers, order: tuple[str, ...] | None = None
) -> LabelSets:
    """Names that a person has listed: another is a fault of its row, and what differs in case alone is that name."""
    if answers.labels is None:
        if order is not None and all(isinstance(names, list) for names in sets.names.values()):
            used = {name for names in sets.names.values() if isinstance(names, list) for name in names}
            sets.inventory = tuple(name for name in order if name in used)
        return sets
    listed = tuple((_numbered(answers.labels) or {}).values())
    by_key: dict[str, list[str]] = {}
    for name in listed:
        by_key.setdefault(alike(name), []).append(name)
    respelled, first = 0, 0
    for key, names in sets.names.items():
        if not isinstance(names, list):
            continue
        read: list[str] = []
        for name in names:
            spelled = [name] if name in listed else by_key.get(alike(name), [])
            if len(spelled) != 1:
                what = f"unknown label {name!r}; options.labels has {', '.join(listed)}"
                sets.names[key] = BadRow("unknown label", what)
                break
            if spelled[0] != name:
                respelled += values[key][1].rows
                first = min(first or values[key][1].line, values[key][1].line)
            read.append(spelled[0])
        else:
            sets.names[key] = list(dict.fromkeys(read))
    if respelled:
        sets.doubts.append(Doubt("names that --labels spells otherwise, read as those", "", respelled, first))
    sets.inventory = listed
    return sets


# ---------------------------------------------------------------- several columns


def of_columns(columns: Sequence[str], cells: Mapping[tuple, Cell], answers: Answers) -> LabelSets:
    """Labels of several columns: one for each label, or each with a name."""
    names = dict(zip(columns, answers.labels or columns, strict=True))
    words: list[dict[str, tuple[int, int]]] = [{} for _ in columns]  # word -> rows, first line
    for cell in cells.values():
        for at, value in enumerate(cell.value):
            rows, line = words[at].get(word := word_of(value), (0, cell.line))
            words[at][word] = rows + cell.rows, min(line, cell.line)
    blank = "blank" in answers.missing
    if answers.cut is not None:
        return _cut_columns(columns, names, cells, answers)
    meanings = [values_of(column, words[at], blank) for at, column in enumerate(columns)]
    if _are_numbers(words):
        return _numbers_in_columns(columns, words, cells)
    filled = [any(present) for present in words]
    named = len(columns) > 1 and all(meaning is None for meaning, full in zip(meanings, filled, strict=True) if full)
    if named and any(filled) and not _mostly_truth(words):
        return _names_in_columns(columns, cells, answers)
    tables = [meaning or _truth_of(present, blank) for meaning, present in zip(meanings, words, strict=True)]
    sets = {key: _marked(columns, names, cell.value, tables, answers) for key, cell in cells.items()}
    signs = sorted({word or "blank" for table in tables for word in table})
    form = f"a column for each label, with {', '.join(signs[:6])}" + (" and others" if len(signs) > 6 else "")
    return LabelSets(form, dict(sets), [], tuple(names[column] for column in columns))


def _are_numbers(words: Sequence[Mapping[str, tuple[int, int]]]) -> bool:
    """Whether cells hold numbers alone, and more than a few of them others than 0, 1 and -1."""
    total = sum(n for present in words for n, _ in present.values())
    counts: Counter[str] = Counter()
    for present in words:
        counts.update({word: n for word, (n, _) in present.items() if word})
    numbers = {word: number_of(word) for word in counts}
    if not numbers or None in numbers.values():
        return False
    return sum(counts[word] for word, number in numbers.items() if number not in (0, 1, -1)) > 0.01 * total


def _mostly_truth(words: Sequence[Mapping[str, tuple[int, int]]]) -> bool:
    truth = [sum(n for word, (n, _) in present.items() if word and word in _TRUTH) for present in words]
    total = sum(n for present in words for word, (n, _) in present.items() if word)
    return sum(truth) * 2 >= total


def _truth_of(words: Iterable[str], blank: bool) -> Mapping[str, int]:
    """What the words of yes and no say in a column that has others too."""
    kept = [word for word in words if word and values_of("", {word})]
    return (values_of("", kept) or {}) | ({"": 0} if blank else {})


def _marked(
    columns: Sequence[str],
    names: Mapping[str, str],
    values: Sequence,
    tables: Sequence[Mapping[str, int]],
    answers: Answers,
) -> list[str] | BadRow:
    row = []
    if all(word_of(value) in ("-1", "-1.0") for value in values) and not answers.means_none("-1"):
        return BadRow(
            "a row with -1 for every label, which means that nobody labelled it",
            "-1 for every label, which means that nobody labelled it; leave such rows out",
        )
    for column, value, table in zip(columns, values, tables, strict=True):
        word = word_of(value)
        if word in table:
            if table[word]:
                row.append(names[column])
        elif not answers.means_none(str(value if value is not None else "").strip()):
            what = f"the value {value!r} of label {column!r} is neither 0 nor 1"
            if word and word not in MISSING:
                return BadRow("a label value that is neither 0 nor 1", what)
            shown = repr(value) if word else "a blank cell"
            answer = str(value).strip() if word else "blank"
            kind = f"{column!r} with {shown}, neither 0 nor 1"
            return BadRow(kind, f"{what}; --missing {answer} counts it as 0")
    return row


def _numbers_in_columns(columns: Sequence[str], words: Sequence[Mapping], cells: Mapping[tuple, Cell]) -> LabelSets:
    rows = [[number_of(word) for word in present if word] for present in words]
    what = f"numbers in the columns {', '.join(columns[:3])}" + (", ..." if len(columns) > 3 else "")
    doubt = _uncut(rows, what, min(cell.line for cell in cells.values()))
    return LabelSets("a column of numbers for each label", {key: [] for key in cells}, [doubt], tuple(columns))


def _cut_columns(
    columns: Sequence[str], names: Mapping[str, str], cells: Mapping[tuple, Cell], answers: Answers
) -> LabelSets:
    sets: dict[Hashable, list[str] | BadRow | None] = {}
    cut = answers.cut or 0.0
    for key, cell in cells.items():
        numbers = [number_of(word_of(value)) for value in cell.value]
        if None in numbers:
            at = numbers.index(None)
            value = cell.value[at]
            if answers.means_none(str(value if value is not None else "")):
                numbers = [number or 0.0 for number in numbers]
            else:
                sets[key] = BadRow(
                    "a label value that is no number",
                    f"the value {value!r} of label {columns[at]!r} is no number; --missing counts it as 0",
                )
                continue
        sets[key] = [names[column] for column, number in zip(columns, numbers, strict=True) if number > cut]
    return LabelSets(f"a column of numbers for each label, positive above {cut:g}", sets, [], tuple(names.values()))


def _names_in_columns(columns: Sequence[str], cells: Mapping[tuple, Cell], answers: Answers) -> LabelSets:
    strings = all(isinstance(value, str) or value is None for cell in cells.values() for value in cell.value)
    sets: dict[Hashable, list[str] | BadRow | None] = {}
    for key, cell in cells.items():
        if strings:
            sets[key] = _cleaned((value for value in cell.value if value), answers)
        else:
            at = next(i for i, value in enumerate(cell.value) if value is not None and not isinstance(value, str))
            what = f"the value {cell.value[at]!r} of label {columns[at]!r} is neither 0 nor 1"
            sets[key] = BadRow("a label value that is neither 0 nor 1", what)
    by_key = {key: (None, cell) for key, cell in cells.items()}
    free = Answers(labels=None, missing=answers.missing) if answers.labels == tuple(columns) else answers
    return _with_inventory(LabelSets(f"a name in each of {len(columns)} columns", sets), by_key, free)
