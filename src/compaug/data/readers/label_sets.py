"""What readers of label cells are given and give: distinct cells, a person's answers, the names of every cell."""

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compaug.data.readers.doubts import Doubt, alike
from compaug.data.rows import BadRow

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


Values = Mapping[Hashable, tuple[Any, Cell]]


def key_of(value: Any) -> Hashable:
    """By which equal cells are one."""
    if isinstance(value, str) or value is None:
        return value
    try:
        return json.dumps(value, sort_keys=False, default=str), "json"
    except (TypeError, ValueError):
        return repr(value), "repr"


def names_in_lists(values: Iterable[Any]) -> set[str]:
    """Names that stand in lists: alone in a string such a name may hold any mark."""
    lists = (value for value in values if isinstance(value, list))
    return {name.strip() for names in lists for name in names if isinstance(name, str)}


def undecided(
    form: str, keys: Iterable[Hashable], what: str, remedy: str, line: int, names: tuple[str, ...] | None = None
) -> LabelSets:
    """No names for these cells, and the doubt that waits for an answer."""
    return LabelSets(form, {key: [] for key in keys}, [Doubt(what, remedy, 0, line, True)], names)


def first_line(values: Values) -> int:
    return min(cell.line for _, cell in values.values())


def cleaned(names: Iterable[str], answers: Answers) -> list[str]:
    stripped = (name.strip() for name in names)
    return list(dict.fromkeys(name for name in stripped if name and not answers.means_none(name)))


def numbered(labels: Sequence[str] | None) -> dict[int, str] | None:
    """Number -> name: those that a person wrote as 3=NAME, or the names from 0 on."""
    if labels is None:
        return None
    matches = [NUMBERED.fullmatch(label) for label in labels]
    if all(matches):
        return {int(match[1]): match[2].strip() for match in matches if match}
    return dict(enumerate(labels))


def with_inventory(
    sets: LabelSets, values: Values, answers: Answers, order: tuple[str, ...] | None = None
) -> LabelSets:
    """Names that a person has listed: another is a fault of its row, and what differs in case alone is that name."""
    if answers.labels is None:
        if order is not None and all(isinstance(names, list) for names in sets.names.values()):
            used = {name for names in sets.names.values() if isinstance(names, list) for name in names}
            sets.inventory = tuple(name for name in order if name in used)
        return sets
    listed = tuple((numbered(answers.labels) or {}).values())
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
