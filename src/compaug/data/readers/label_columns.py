"""Labels of several columns: one of yes and no for each label, or each with a name."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from compaug.data.readers import delimiters, label_forms
from compaug.data.readers.doubts import MISSING, Doubt, alike
from compaug.data.readers.headings import plain
from compaug.data.readers.label_numbers import uncut
from compaug.data.readers.label_sets import NUMBERED, Answers, Cell, LabelSets, key_of, undecided
from compaug.data.readers.truth import TRUTH, number_of, values_of, word_of
from compaug.data.rows import BadRow


def of_columns(columns: Sequence[str], cells: Mapping[tuple, Cell], answers: Answers) -> LabelSets:
    """Labels of several columns: one for each label, or each with a name."""
    names, misnamed = _renamed(columns, answers.labels)
    words: list[dict[str, tuple[int, int]]] = [{} for _ in columns]  # word -> rows, first line
    for cell in cells.values():
        for at, value in enumerate(cell.value):
            rows, line = words[at].get(word := word_of(value), (0, cell.line))
            words[at][word] = rows + cell.rows, min(line, cell.line)
    blank = "blank" in answers.missing
    if answers.cut is not None and not misnamed:
        return _cut_columns(columns, names, cells, answers)
    meanings = [values_of(column, words[at], blank) for at, column in enumerate(columns)]
    pair, nos = _pair(columns, words), {word.casefold() for word in answers.missing}
    settled = pair is not None and len({*pair} - nos) == 1  # by a person
    if _are_numbers(words) and not settled and not misnamed:
        return _numbers_in_columns(columns, words, cells)
    filled = [any(present) for present in words]
    if pair and None in meanings:
        if not settled:
            return _undecided_pair(columns, pair, words, cells)
        meanings = [{word: int(word not in nos) for word in pair} | ({"": 0} if blank else {})] * len(columns)
    elif None in meanings and (sign := _sign(columns, words)):
        meanings = [{sign: 1, "": 0}] * len(columns)
    named = len(columns) > 1 and all(meaning is None for meaning, full in zip(meanings, filled, strict=True) if full)
    if named and any(filled) and not _mostly_truth(words):
        return _names_in_columns(columns, cells, answers)
    if misnamed:
        return undecided("a column for each label", cells, misnamed, "give one for each, in their order, or none", 0)
    tables = [meaning or _truth_of(present, blank) for meaning, present in zip(meanings, words, strict=True)]
    sets = {key: _marked(columns, names, cell.value, tables, answers) for key, cell in cells.items()}
    signs = sorted({word or "blank" for table in tables for word in table})
    form = f"a column for each label, with {', '.join(signs[:6])}" + (" and others" if len(signs) > 6 else "")
    return LabelSets(form, dict(sets), [], _in_order(names, answers))


def _renamed(columns: Sequence[str], labels: Sequence[str] | None) -> tuple[dict[str, str], str]:
    """(column -> its label, what is wrong): by name where --labels has names of columns, else in their order."""
    names = dict(zip(columns, labels or columns, strict=False))
    if labels is None:
        return names, ""
    by_name = {column: label for column in columns if (label := _label_of(column, labels)) is not None}
    if len(set(labels)) != len(columns):
        return names, f"--labels has {len(set(labels))} names for {len(columns)} columns"
    if strange := [label for label in labels if by_name and label not in by_name.values()]:
        first = next(iter(by_name.values()))
        return names, f"--labels has {strange[0]!r}, which is no column's name, beside {first!r}, which is"
    if not by_name and (number := next(filter(NUMBERED.fullmatch, labels), None)):
        return names, f"--labels has {number!r}, as for class numbers, where the columns are the labels"
    return by_name or names, ""


def _label_of(column: str, labels: Sequence[str]) -> str | None:
    """The label of a column's name, in whatever case, or of the option at its end, as in "Which topics? [delay]"."""
    name = plain(column)
    same = [column] if column in labels else [label for label in labels if alike(label) == alike(column)]
    ends = [label for label in labels if (word := plain(label)) and (name == word or name.endswith(f"_{word}"))]
    return next(iter(same or sorted(ends, key=len, reverse=True)), None)


def _in_order(names: Mapping[str, str], answers: Answers) -> tuple[str, ...]:
    """Labels as a person has listed them, else as their columns stand."""
    return answers.labels or tuple(names.values())


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


def _may_be_labels(columns: Sequence[str]) -> bool:
    """Whether columns are labels by their names: where all end in numbers they may hold a name each."""
    return not all(column[-1:].isdecimal() for column in columns)


def _pair(columns: Sequence[str], words: Sequence[Mapping[str, tuple[int, int]]]) -> list[str] | None:
    """The two words that are all that several columns hold, unless these are numbered, as those of names are."""
    if not _may_be_labels(columns):
        return None
    every = {word for present in words for word in present if word}
    both = sum(every <= present.keys() for present in words)
    return sorted(every) if len(every) == 2 and both > 1 else None


def _sign(columns: Sequence[str], words: Sequence[Mapping[str, tuple[int, int]]]) -> str | None:
    """The one word that several columns hold beside blanks, which says that a label fits."""
    every = {word for present in words for word in present if word}
    beside_blanks = sum(present.keys() == {"", *every} for present in words)
    return every.pop() if len(every) == 1 and beside_blanks > 1 and _may_be_labels(columns) else None


def _undecided_pair(
    columns: Sequence[str], pair: Sequence[str], words: Sequence[Mapping], cells: Mapping[tuple, Cell]
) -> LabelSets:
    """Which of the two words says that a label fits."""
    numbers = [number_of(word) for word in pair]
    remedy = f"--missing {pair[0]} or --missing {pair[1]}, the one that says that it does not"
    if None not in numbers:
        remedy = f"--positive-above {min(numbers):g} takes the larger"
    what = f"columns of {' and '.join(map(repr, pair))}, of which one says that a label fits"
    line = min(line for present in words for word, (_, line) in present.items() if word)
    return undecided("a column for each label", cells, what, f"give {remedy}", line, tuple(columns))


def _mostly_truth(words: Sequence[Mapping[str, tuple[int, int]]]) -> bool:
    truth = [sum(n for word, (n, _) in present.items() if word and word in TRUTH) for present in words]
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
            if word and word not in (*MISSING, "-1", "-1.0"):
                return BadRow("a label value that is neither 0 nor 1", f"{what}; --missing {word} counts it as 0")
            shown = repr(value) if word else "a blank cell"
            answer = str(value).strip() if word else "blank"
            kind = f"{column!r} with {shown}, neither 0 nor 1"
            return BadRow(kind, f"{what}; --missing {answer} counts it as 0")
    return row


def _numbers_in_columns(columns: Sequence[str], words: Sequence[Mapping], cells: Mapping[tuple, Cell]) -> LabelSets:
    rows = [[number_of(word) for word in present if word] for present in words]
    what = f"numbers in the columns {', '.join(columns[:3])}" + (", ..." if len(columns) > 3 else "")
    line = min(cell.line for cell in cells.values())
    what, remedy = uncut(rows, what)
    if not _may_be_labels(columns):
        remedy += "; if they are class numbers, write names in their place"
    if pair := _pair(columns, words):  # as SPSS writes yes and no
        remedy += f", --missing {max(pair, key=number_of)} the others if it means no"
    return undecided("a column of numbers for each label", cells, what, remedy, line, tuple(columns))


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
    return LabelSets(f"a column of numbers for each label, positive above {cut:g}", sets, [], _in_order(names, answers))


def _names_in_columns(columns: Sequence[str], cells: Mapping[tuple, Cell], answers: Answers) -> LabelSets:
    """What the cells of all columns say together, as those of one column do."""
    single: dict[Hashable, Cell] = {}
    for cell in cells.values():
        for value in cell.value:
            seen = single.setdefault(key_of(value), Cell(value, 0, cell.line))
            seen.rows += cell.rows
    free = replace(answers, labels=None) if answers.labels == tuple(columns) else answers
    sets = label_forms.of_column(" and ".join(columns), single, free)
    doubts = list(dict.fromkeys([*sets.doubts, *([] if answers.delimiter else _marks_in_names(single))]))
    rows = {key: _union([sets.names[key_of(value)] for value in cell.value]) for key, cell in cells.items()}
    return LabelSets(f"{sets.form}, in each of {len(columns)} columns", rows, doubts, sets.inventory)


def _marks_in_names(cells: Mapping[Hashable, Cell]) -> list[Doubt]:
    """A doubt for a mark in one cell already: who has a column for each name needs none."""
    texts = {cell.value: cell for cell in cells.values() if isinstance(cell.value, str) and cell.value.strip()}
    if any(map(label_forms.is_written, texts)) or all(map(delimiters.is_marked, texts)):
        return []
    return delimiters.unexplained(texts, delimiters.delimiter(texts)[0], few=1)


def _union(parts: Sequence[list[str] | BadRow | None]) -> list[str] | BadRow:
    """The names of a row's cells, or what is wrong with the first that has a fault."""
    bad = next((part for part in parts if isinstance(part, BadRow)), None)
    return bad or list(dict.fromkeys(name for part in parts if isinstance(part, list) for name in part))
