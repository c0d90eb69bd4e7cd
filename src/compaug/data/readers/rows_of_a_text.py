"""What tells rows of one text apart: a verdict on the label of each, or who gave it. Joining them would lose it."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from compaug.data.readers import headings, label_forms
from compaug.data.readers.doubts import Doubt
from compaug.data.readers.label_sets import Answers, key_of
from compaug.data.readers.profiles import Column
from compaug.data.readers.truth import judgement, number_of
from compaug.data.readers.user_files import UserFile
from compaug.data.readers.words import WORDS

OFTEN = 0.1  # rows of another kind for each text: fewer are accidents
PEOPLE = frozenset((*WORDS["annotators"], "completed_by", "user"))


def doubts(file: UserFile, columns: Mapping[str, Column], options: Mapping[str, Any]) -> Iterator[Doubt]:
    """Those that wait for --join-rows, where texts repeat with other labels."""
    text, labels = options["text_column"], options.get("label_columns") or [options.get("label_column")]
    if "join_rows" in options or not {text, *labels} <= columns.keys() or not _repeats(columns[text]):
        return
    others = [column for name, column in columns.items() if name not in (text, *labels, options.get("split_column"))]
    people = [column.name for column in others if is_person(column.name)]
    verdicts = []
    if len(labels) == 1 and not file.tool and not has_several(columns[labels[0]]):
        verdicts = [column.name for column in others if _is_verdict(column)]
    differing = _differing(file, text, labels, (*people, *verdicts)) if people or verdicts else set()
    if names := [name for name in people if name in differing]:
        remedy = "--join-rows takes what anybody chose, --join-rows --positive-above 0.5 what more than half did, "
        remedy += "--no-join-rows keeps a row for each of them"
        yield Doubt(f"rows of one text with other labels and another {' and '.join(names)}", remedy, fatal=True)
    if names := [name for name in verdicts if name in differing]:
        what = f"rows of one text that differ in {' and '.join(names)}, which may say whether their label fits"
        remedy = "leave out of the file those where it does not, or --join-rows takes the labels of all"
        yield Doubt(what, remedy, fatal=True)


def _repeats(text: Column) -> bool:
    return sum(cell.rows - 1 for cell in text.cells.values()) >= OFTEN * len(text.cells)


def is_person(name: str) -> bool:
    """Whether a column of this name says who gave a row's labels."""
    return headings.plain(name).removesuffix("_id").removesuffix("_name") in PEOPLE


def has_several(labels: Column) -> bool:
    """Whether a cell of the column holds several labels."""
    sets = label_forms.of_column(labels.name, labels.cells, Answers())
    return any(isinstance(names, list) and len(names) > 1 for names in sets.names.values())


def _is_verdict(column: Column) -> bool:
    """Whether it says yes and no, accepted and rejected, or is a score up to 1."""
    words = [word for word in column.words_of() if word]
    if len(set((judgement(words) or {}).values())) > 1:
        return True
    numbers = [number_of(word) for word in words]
    return None not in numbers and all(0 <= n <= 1 for n in numbers) and any(n % 1 for n in numbers)


def _differing(file: UserFile, text: str, labels: Sequence[str], names: Sequence[str]) -> set[str]:
    """The columns in which rows of one text differ, where they have other labels too."""
    groups = {name: (name,) for name in names} | {"\0labels": tuple(labels)}
    texts: set[Hashable] = set()
    pairs: dict[str, set[tuple[Hashable, ...]]] = {name: set() for name in groups}
    for row in file.rows():
        if row.values is not None:
            texts.add(key := key_of(row.values.get(text)))
            for name, group in groups.items():
                pairs[name].add((key, *(key_of(row.values.get(column)) for column in group)))
    differing = {name for name, seen in pairs.items() if len(seen) - len(texts) >= OFTEN * len(texts)}
    return differing if "\0labels" in differing else set()
