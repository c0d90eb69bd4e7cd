"""What a column holds: yes and no, votes, names that come again and again; and which is meant by a name."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from compaug.data.readers import headings, label_forms, rows_of_a_text
from compaug.data.readers.annotation_tools import BOOKKEEPING
from compaug.data.readers.doubts import MISSING
from compaug.data.readers.headings import LABELS
from compaug.data.readers.label_sets import Answers
from compaug.data.readers.profiles import Column, is_filled
from compaug.data.readers.truth import TRUTH, flags, number_of, values_of, word_of
from compaug.data.readers.words import WORDS

OFTEN = 5  # times that a label stands in a column, on average
RARELY, FEW_ROWS = 2, 20  # times, on average, that codes stand in a column; rows that say little of them
MOST_VOTES = 20
SAYING = frozenset((*WORDS["annotators"], *WORDS["truths"], *WORDS["predictions"]))


def is_truth(column: Column) -> bool:
    """Yes and no, or nearly: with a few cells that are neither, or -1 for rows that nobody labelled."""
    if column.more or len(column.cells) > 40:
        return False
    words = column.words_of()
    filled = {word for word in words if word}
    if not filled:
        return False
    if values_of(column.name, words) is not None:
        return True
    kept = {word for word in filled if values_of("", {word}) is not None}
    if not kept or number_of(next(iter(kept))) is None and len(kept) < 2:
        return False
    others = filled - kept - MISSING - {"-1", "-1.0"}
    most = 0.05 if any(number_of(word) is not None for word in others) else 0.5  # other numbers may be votes
    return sum(words[word] for word in others) <= most * sum(words[word] for word in kept)


def is_constant(column: Column) -> bool:
    words = column.words_of()
    meaning = values_of(column.name, words)
    return meaning is not None and len({meaning.get(word) for word in words}) == 1


def is_number_like(column: Column) -> bool:
    """Whether its values are numbers or lists of them, which name no label."""
    cells = {key: cell for key, cell in list(column.cells.items())[:500] if cell.value not in (None, "")}
    kinds = {_number_kind(cell.value) for cell in cells.values()}
    return bool(cells) and kinds == {True}


def _number_kind(value: Any) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch(r"[\[(]?[\d\s.,]+[\])]?", value.strip()))
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, int | float) for item in items)


def numeric_run(left: Sequence[Column]) -> list[Column]:
    """The most columns side by side that hold votes, or probabilities: two or more, not all of yes and no."""
    best: list[Column] = []
    run: list[Column] = []
    for column in (*left, None):
        if column is not None and _is_small(column):
            run.append(column)
            continue
        if len(run) > max(1, len(best)) and not all(is_truth(c) for c in run):
            best = run
        run = []
    return best


def votes(numbers: Sequence[Column]) -> list[Column]:
    """Those of a run that are no facts of the row: who voted or how many did, a class, one whole number in all rows."""
    facts = flags([column.name for column in numbers], BOOKKEEPING)
    kept = [c for c in numbers if c.name not in facts and not rows_of_a_text.is_person(c.name)]
    kept = [c for c in kept if len(c.cells) > 1 or any(n % 1 for n in _numbers_of(c))]
    wholes = {c.name: min(_numbers_of(c)) for c in kept if all(n % 1 == 0 for n in _numbers_of(c))}
    kept = [c for c in kept if c.name not in wholes or not of_name([c], LABELS)]
    counted = any(wholes.get(c.name) == 0 for c in kept)  # else they may begin at 1
    return [c for c in kept if not (counted and wholes.get(c.name, 0))]


def _numbers_of(column: Column) -> list[float]:
    return [number for word in column.words_of() if word and (number := number_of(word)) is not None]


def _is_small(column: Column) -> bool:
    numbers = [number_of(word) for word in column.words_of() if word]
    if not numbers or None in numbers or min(numbers) < 0:
        return False
    whole = all(number % 1 == 0 for number in numbers)
    return max(numbers) <= (MOST_VOTES if whole else 1)


def numbered(left: Sequence[Column]) -> list[Column]:
    """label1, label2, ...: columns of one name with numbers that hold names."""
    stems: dict[str, list[Column]] = {}
    for column in left:
        if match := re.fullmatch(r"(.*?)[\W_]*\d+", column.name.strip().casefold()):
            stems.setdefault(match[1], []).append(column)
    for stem, columns in stems.items():
        if len(columns) > 1 and not any(column.more for column in columns):
            first, second = ({word for word in column.words_of() if word} for column in columns[:2])
            if stem.rpartition("_")[2].rpartition(" ")[2] in LABELS or first & second:
                return columns
    return []


def are_labels(column: Column) -> bool:
    """Whether it holds a few names that come again and again, as no key, number or text does."""
    if column.more:
        return False
    times = _times(column)
    often = times.total() / max(1, len(times))
    several = sum(is_filled(cell.value) for cell in column.cells.values()) > 1 and len(times) > 1
    return several and often >= OFTEN and any(number_of(name) is None for name in times)


def _times(column: Column) -> Counter[str]:
    """The rows of each name that it holds."""
    filled = {key: cell for key, cell in column.cells.items() if cell.value not in (None, "")}
    sets = label_forms.of_column(column.name, filled, Answers())
    times: Counter[str] = Counter()
    for key, names in sets.names.items():
        for name in names if isinstance(names, list) else ():
            times[name] += filled[key].rows
    return times


def names_nothing(column: Column) -> bool:
    """Whether it is no column of labels though its name is one of them: fractions, or codes that hardly repeat."""
    numbers = [number_of(word) for word in column.words_of() if word]
    if numbers and None not in numbers and any(number % 1 for number in numbers):
        return True
    exact = headings.plain(column.name) in LABELS
    if exact or column.filled < FEW_ROWS or not of_name([column], LABELS):
        return False
    times = _times(column)
    return times.total() < RARELY * len(times)


def are_class_numbers(column: Column) -> bool:
    """Whether it holds numbers, several of them in some cells, that come again and again."""
    times: Counter[str] = Counter()
    several = False
    for cell in column.cells.values():
        if cell.value is None:
            continue
        words = re.findall(r"\d+", str(cell.value))
        if not re.fullmatch(r"[\[({]?[\d\s,;|]*[\])}]?", str(cell.value).strip()):
            return False
        several = several or len(words) > 1
        times.update(dict.fromkeys(words, cell.rows))
    return several and not column.more and times.total() >= OFTEN * max(1, len(times))


def are_spans(column: Column) -> bool:
    return label_forms.are_spans(cell.value for cell in column.cells.values())


def families(names: Sequence[str]) -> dict[str, list[str]]:
    """Columns of the same labels by who says so, as true_delay and pred_delay, or delay_ann1 and delay_ann2.

    {} where there are none.
    """
    for at in (0, -1):
        of: dict[str, dict[str, str]] = {}
        for name in names:
            words = re.split(r"[_. -]", name.strip().casefold())
            if len(words) > 1 and re.sub(r"\d+$", "", words[at]) in SAYING:
                inner = words[1:] if at == 0 else words[:-1]
                of.setdefault(words[at], {})["_".join(inner)] = name
        labels = [set(columns) for columns in of.values()]
        if len(labels) > 1 and len(labels[0]) > 1 and all(other == labels[0] for other in labels):
            return {word: list(columns.values()) for word, columns in of.items()}
    return {}


def written_otherwise(group: Sequence[Column]) -> list[str]:
    """Columns of other words than the commonest: True and False of the row, beside labels of 0 and 1."""
    if not all(map(is_truth, group)):
        return []
    signs = {column.name: _signs(column) for column in group}
    commonest, times = Counter(signs.values()).most_common(1)[0]
    return [name for name, words in signs.items() if not words & commonest] if times > 1 else []


def _signs(column: Column) -> frozenset[str]:
    """How it writes yes and no: 1 and 1.0 are the same, and so are names of columns."""
    values = [cell.value for cell in column.cells.values() if word_of(cell.value)]
    words = {str(value).casefold() if isinstance(value, bool) else word_of(value) for value in values}
    numbers = {word: number_of(word) for word in words}
    return frozenset(
        f"{number:g}" if number is not None else word if word in TRUTH else "a name" for word, number in numbers.items()
    )


def of_name(columns: Sequence[Column], names: Sequence[str]) -> Column | None:
    """The column of the first of these names; else one whose name ends in one, as comment_text does.

    By an end alone none of numbers, such as zip_code, and none of one value, such as all_labels.
    """
    plain = {headings.plain(column.name): column for column in reversed(columns)}
    ends = {name.rpartition("_")[2]: column for name, column in plain.items() if not column.is_plain}
    return next((of[name] for of in (plain, ends) for name in names if name in of), None)
