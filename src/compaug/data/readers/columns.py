"""Which column of a file has the texts, and which the labels: by their names, and by what all rows hold.

A name alone decides nothing: a column *Document* of file names is no text, and one *label* of zeros and ones beside
six such columns is none of them.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compaug.core.files import InputError
from compaug.data.readers import (
    annotation_tools,
    delimiters,
    headings,
    kinds,
    label_forms,
    rows_of_a_text,
    tabular,
    user_files,
)
from compaug.data.readers.annotation_tools import BOOKKEEPING
from compaug.data.readers.doubts import SHOWN, Doubt, listed, refusal
from compaug.data.readers.headings import LABELS, TEXTS
from compaug.data.readers.label_objects import SCORES
from compaug.data.readers.label_sets import Answers, names_in_lists
from compaug.data.readers.profiles import Column, is_filled
from compaug.data.readers.truth import flags
from compaug.data.readers.words import WORDS
from compaug.data.rows import MANY, SPLITS, Faults

MUCH_LONGER = 5  # times the letters of a title: a text
LONGER = 2  # times the letters of the column that is taken by its name: worth a word
FEW_TEXTS = 0.1  # of the distinct values of another column: a question, beside its answers
SURE = ("labels", "label")  # names that leave no doubt


@dataclass
class Choice:
    """Options of the tabular reader for a file, with the reasons and what is odd."""

    options: dict[str, Any]
    text_why: str = ""
    label_why: str = ""
    doubts: list[Doubt] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # columns that are neither


def guess(path: Path, chosen: Mapping[str, Any]) -> Choice:
    """The `chosen` options, and columns from their names and values.

    InputError where they cannot be told, or labels would depend on a guess; its notes say what was read.
    """
    options = {"path": str(path)} | {
        key: value for key, value in chosen.items() if value not in (None, "") and value != []
    }
    labels = options.get("label_column") or options.get("label_columns")
    tabular.options_of(options if labels else options | {"label_column": "labels"})  # before a file is read with them
    file, columns, faults = profiled(path, options)
    if file.dialect is not None and any(doubt.remedy.startswith("--delimiter") for doubt in file.doubts):
        options |= {"delimiter": file.dialect.delimiter, "quoting": file.dialect.quoting}
    if not file.header:
        options["header"] = False
    choice = Choice(options, doubts=list(file.doubts))
    names = [name for name in columns if not name.startswith("\0")]
    try:
        if len(faults) > MANY * faults.rows and options.get("on_bad_rows") != "drop":  # columns of few rows say little
            raise InputError(faults.report())
        if "text_column" not in options:
            options["text_column"], choice.text_why = text_column(path, [columns[name] for name in names])
        elif options["text_column"] not in columns:
            raise InputError(f"{path}: no column {options['text_column']!r}; there are: {', '.join(names)}")
        if not {"split_column", "test_path"} & options.keys():
            choice.doubts += _own_split([columns[name] for name in names if name != options["text_column"]])
        if not {"label_column", "label_columns"} & options.keys():
            taken = {options["text_column"], options.get("id_column"), options.get("split_column")}
            left = [
                columns[name]
                for name in names
                if name not in taken and not _is_beside_labels(columns[name], columns) and not _is_inner(name, columns)
            ]
            choose_labels(path, file, left, options, choice, names)
            choice.doubts += _instead(file, options.get("label_column"), left)
        if "label_column" in options and "label_delimiter" not in options and options["label_column"] in columns:
            choice.doubts += _delimiter(columns[options["label_column"]], options)
        taken = {options["text_column"], options.get("label_column"), *options.get("label_columns", ())}
        choice.others = [name for name in names if name not in taken]
        choice.doubts += rows_of_a_text.doubts(file, {name: columns[name] for name in names}, options)
        truth = [name for name in options.get("label_columns", ()) if name in columns and kinds.is_truth(columns[name])]
        if not file.header and truth and "labels" not in options:
            choice.doubts.append(Doubt("labels without names, since line 1 is a row", "give --labels a,b,... in order"))
        if line := refusal(choice.doubts):
            raise InputError(f"{path}: {line}")
    except InputError as error:
        add_notes(error, [f"{path}: {file.described()}", *map(str, file.doubts)])
        add_notes(error, [f"  column {columns[name].described()}" for name in names])
        add_notes(error, {faults.report()} - {str(error)} if len(faults) else [])
        raise
    return choice


def _own_split(columns: Sequence[Column]) -> list[Doubt]:
    """A doubt for a column that says train, validation and test, and that nobody has asked for."""
    for column in columns:
        words = {word for word in column.words_of() if word}
        if len(words) > 1 and words <= SPLITS.keys():
            what = f"the column {column.name} says {', '.join(sorted(words))}, and is left out"
            return [Doubt(what, f"--split-column {column.name} takes it for your own split")]
    return []


def _is_beside_labels(column: Column, names: Container[str]) -> bool:
    """Whether programs write it beside texts and labels, or it holds nothing, or says how sure another column is."""
    sure = re.fullmatch(rf"(.+)[\W_](?:{'|'.join(SCORES)})", column.name, re.IGNORECASE)
    if sure and sure[1] in names:
        return True
    if not column.filled:
        return True
    name = column.name.casefold()
    return (name in BOOKKEEPING or name.startswith("unnamed: ")) and not kinds.is_truth(column)


def _is_inner(name: str, columns: Mapping[str, Column]) -> bool:
    """Whether a column holds the choices of another one, which has the single ones too (Label Studio's JSON-MIN)."""
    outer = columns.get(name.removesuffix(".choices"))
    return outer is not None and outer.name != name and outer.filled > columns[name].filled


def add_notes(error: Exception, notes: Iterable[str]) -> None:
    """What a command prints before the error's line."""
    for note in notes:
        error.add_note(note)


def text_of(path: Path, chosen: Mapping[str, Any]) -> str:
    """The column that `guess` takes for the texts. InputError where it cannot be told."""
    _, columns, _ = profiled(path, chosen)
    return text_column(path, [column for name, column in columns.items() if not name.startswith("\0")])[0]


def profiled(path: Path, options: Mapping[str, Any]) -> tuple[user_files.UserFile, dict[str, Column], Faults]:
    """(file, columns by name, bad rows) from all rows.

    InputError where there is no row that can be read, with the reasons.
    """
    file = user_files.opened(path, options)
    columns: dict[str, Column] = {}
    faults = Faults(str(path))
    for row in file.rows():
        faults.rows += 1
        if row.bad:
            faults.add(row.line, row.bad)
            continue
        for name, value in row.values.items():
            if (column := columns.get(name)) is None:
                column = columns[name] = Column(name)
            column.add(value, row.line)
    read = faults.rows - len(faults)
    for column in columns.values():
        column.lack(read)
    if not columns:
        raise InputError(faults.report() if len(faults) else f"{path}: no rows; give the file at least one text")
    return file, columns, faults


# ---------------------------------------------------------------- the texts


def text_column(path: Path, columns: Sequence[Column]) -> tuple[str, str]:
    """(name, why). InputError where no column holds strings."""
    prose = _prose(columns) or columns
    longest = max(prose, key=lambda column: column.characters, default=None)
    if longest is None or not longest.characters:
        names = ", ".join(column.name for column in columns) or "none"
        raise InputError(f"{path}: which column has the texts? There are {names}; give --text-column")
    taken, why = longest, "the column with the most letters"
    named = kinds.of_name([column for column in prose if column is longest or not _is_aside(column, longest)], TEXTS)
    if named and (named is longest or named.is_text or not longest.is_text):
        taken, why = named, "by its name"
    if (likely := kinds.of_name(columns, TEXTS)) and likely is not taken:
        why += f"; {likely.name} holds values such as {str(next(iter(likely.cells.values())).value)[:30]!r}"
    if longest.is_text and longest.characters >= LONGER * taken.characters:
        why += f"; {longest.name} has {longest.characters // taken.characters} times its letters, see --text-column"
    return taken.name, why


def _is_aside(column: Column, longest: Column) -> bool:
    """Whether it is a title above the longest texts, or what somebody remarks on a few of them or of their labels."""
    if not longest.is_text:
        return False
    name = headings.plain(column.name)
    by_annotator = name.partition("_")[0] in WORDS["annotators"] and "_" in name
    title = name.rpartition("_")[2] == "title" and longest.characters >= MUCH_LONGER * column.characters
    return by_annotator or title or 2 * column.filled < longest.filled


def _prose(columns: Sequence[Column]) -> list[Column]:
    """Those for people to read, where one holds texts: no links, numbers and markup, no few values beside many."""
    kept = [column for column in columns if not column.is_for_programs]
    most = max((len(column.cells) for column in kept if column.is_text), default=0)
    return [column for column in kept if len(column.cells) > max(1, FEW_TEXTS * most)] if most else []


# ---------------------------------------------------------------- the labels


def choose_labels(
    path: Path,
    file: user_files.UserFile,
    left: Sequence[Column],
    options: dict[str, Any],
    choice: Choice,
    every: Sequence[str],
) -> None:
    """Set label_column or label_columns. InputError where neither can be told, with the names of `every` column."""
    if file.tool and (question := _questions(path, file, left)):
        options["label_column"], choice.label_why = question, f"the question of {file.tool}"
        return
    named = kinds.of_name([column for column in left if not kinds.names_nothing(column)], LABELS)
    if rivals := _rivals(named, left):
        names = [column.name for column in (named, *rivals)]
        remedy = f"give --label-column, or --label-columns {listed(names)} for all that they hold"
        choice.doubts.append(Doubt(f"the columns {' and '.join(names)} could hold the labels", remedy, fatal=True))
    truth = [column for column in left if kinds.is_truth(column)]
    constant = [column for column in truth if kinds.is_constant(column)]
    group = [column for column in truth if column not in constant and column is not named]
    numbers = [] if named and not kinds.is_number_like(named) else kinds.numeric_run(left)
    classes = [column for column in left if kinds.are_class_numbers(column)]
    votes = kinds.votes(numbers)
    if "positive_above" in options and len(votes) > 1:
        group, constant = votes, []
    if len(group) > 1 and (named is None or kinds.is_number_like(named)):
        if sum(column not in truth for column in votes) >= len(group):
            group = votes
        _take_columns(group, constant, left, options, choice)
        choice.doubts += _beside([c for c in votes if c not in group and c not in truth], group, fatal=True)
        choice.doubts += _beside([c for c in numbers if c not in (*group, *votes, named)], group)
        if named is not None:
            what = f"the column {named.name} of numbers is left out beside {len(group)} columns of labels"
            choice.doubts.append(Doubt(what, f"--label-column {named.name} reads it instead"))
    elif named is not None and (alike := _siblings(named, left)):
        _take_siblings([named, *alike], options, choice)
    elif named is not None:
        options["label_column"], choice.label_why = named.name, "by its name"
        as_well = kinds.is_truth(named)  # yes and no are no names of labels
        others = [column.name for column in (truth if as_well else group) if column is not named]
        marks = [name for name in others if name not in flags(others, BOOKKEEPING)]
        if len(marks) + as_well > 1:
            every, rest = ([*marks, named.name], "all") if as_well else (marks, "the others")
            beside = f"{len(marks)} {'column' if len(marks) == 1 else 'columns'} of yes and no"
            what = f"the column {named.name} of {'yes and no' if as_well else 'names'} beside {beside}"
            remedy = f"--label-column {named.name} reads the one, --label-columns {listed(every)} {rest}"
            choice.doubts.append(Doubt(what, remedy, fatal=headings.plain(named.name) not in SURE))
    elif len(votes) > 1:
        options["label_columns"] = [column.name for column in votes]
        choice.label_why = "columns of small numbers side by side"
        choice.doubts += _beside([column for column in numbers if column not in votes], votes)
    elif numbered := kinds.numbered(left if file.header else [c for c in left if not kinds.is_number_like(c)]):
        names = options["label_columns"] = [column.name for column in numbered]
        choice.label_why = "columns of one name with numbers"
        if headings.plain(names[0]).rstrip("_0123456789").rpartition("_")[2] in WORDS["annotators"]:
            remedy = f"--label-column takes one of them, --label-columns {listed(names)} what anybody chose"
            choice.doubts.append(Doubt(f"columns of several annotators: {', '.join(names)}", remedy, fatal=True))
    elif group and not classes:
        _take_columns(group, constant, left, options, choice)
    elif len(alike := _repeating(file, left, classes)) == 1:
        options["label_column"], choice.label_why = alike[0].name, "a few values that come again and again"
    elif not alike and len(classes) == 1:
        options["label_column"], choice.label_why = classes[0].name, "lists of numbers that come again and again"
    elif not alike and (spans := [column for column in left if kinds.are_spans(column)]):
        options["label_column"], choice.label_why = spans[0].name, "names with their places"  # its reader refuses it
    elif file.tool:
        raise InputError(f"{path}: an export of {file.tool} in which nobody has annotated a text; annotate them first")
    else:
        raise InputError(
            f"{path}: which column has the labels? There are {', '.join(every)}; give --label-column, or "
            "--label-columns with one column of yes and no for each label"
        )


def _repeating(file: user_files.UserFile, left: Sequence[Column], classes: Sequence[Column]) -> list[Column]:
    """Columns that could be labels by what they hold; without names of columns, class numbers too."""
    alike = [column for column in left if not rows_of_a_text.is_person(column.name) and kinds.are_labels(column)]
    return alike + list(classes) if alike and not file.header else alike


def _rivals(named: Column | None, left: Sequence[Column]) -> list[Column]:
    """Other columns of labels: their names fit as well as that of `named`, or they alone have several in a row."""
    if named is None or headings.plain(named.name) in SURE:
        return []
    exact = headings.plain(named.name) in LABELS
    others = [
        c for c in left if c is not named and kinds.of_name([c], LABELS) and (headings.plain(c.name) in LABELS) == exact
    ]
    if others and kinds.are_labels(named) and (rivals := [column for column in others if kinds.are_labels(column)]):
        return rivals
    if exact or rows_of_a_text.has_several(named):
        return []
    others = [c for c in left if c is not named and not rows_of_a_text.is_person(c.name) and kinds.are_labels(c)]
    return [column for column in others if rows_of_a_text.has_several(column)]


def _instead(file: user_files.UserFile, name: str | None, left: Sequence[Column]) -> list[Doubt]:
    """A doubt for a column of labels that is filled where the chosen one is not: a key that is spelled in two ways."""
    if not (chosen := next((column for column in left if column.name == name), None)):
        return []
    blank = chosen.rows - chosen.filled
    others = [c for c in left if c is not chosen and blank < 2 * c.filled <= 2 * blank]
    names = {c.name for c in others if kinds.are_labels(c) or kinds.of_name([c], LABELS)}
    for row in file.rows() if names else ():
        if row.values and is_filled(row.values.get(chosen.name)):
            names -= {other for other in names if is_filled(row.values.get(other))}
    if not names:
        return []
    other = next(c for c in left if c.name in names)
    what = f"the column {other.name} has values just where {chosen.name} has none, in {other.filled:,} rows"
    remedy = f"--label-columns {listed([chosen.name, other.name])} reads both, --label-column {chosen.name} the one"
    return [Doubt(what, remedy, fatal=True)]


def _siblings(named: Column, left: Sequence[Column]) -> list[Column]:
    """tags.1 beside tags, as pandas writes names that repeat; label2 beside label."""
    numbered = re.compile(rf"{re.escape(named.name)}[._ ]?\d{{1,2}}", re.IGNORECASE)
    return [column for column in left if numbered.fullmatch(column.name)]


def _take_siblings(alike: Sequence[Column], options: dict[str, Any], choice: Choice) -> None:
    """All of them where each shares names with the first, which else waits for an answer."""
    names = [column.name for column in alike]
    first, *others = map(_names_of, alike)
    if all(first & held for held in others) and not any(map(kinds.is_number_like, alike)):
        options["label_columns"], choice.label_why = names, "columns of one name with numbers"
        return
    options["label_column"], choice.label_why = names[0], "by its name"
    remedy = f"--label-column {names[0]} takes the first alone, --label-columns {listed(names)} all of them"
    choice.doubts.append(Doubt(f"columns of one name with numbers: {', '.join(names)}", remedy, fatal=True))


def _names_of(column: Column) -> set[str]:
    sets = label_forms.of_column(column.name, column.cells, Answers())
    return {name for names in sets.names.values() if isinstance(names, list) for name in names}


def _questions(path: Path, file: user_files.UserFile, left: Sequence[Column]) -> str | None:
    rows = [row.values for row in file.rows() if row.values]
    names = annotation_tools.questions(file.tool or "", rows)
    names = [name for name in names if name in {column.name for column in left}]
    if len(names) > 1:
        raise InputError(f"{path}: {file.tool} has several questions: {', '.join(names)}; give --label-column")
    return names[0] if names else None


def _take_columns(
    group: Sequence[Column], constant: Sequence[Column], left: Sequence[Column], options: dict, choice: Choice
) -> None:
    names = [column.name for column in group]
    options["label_columns"], choice.label_why = names, "columns of yes and no"
    if constant:
        choice.doubts.append(_left_out(constant, names))
    if families := kinds.families(names):
        first, *others = families.values()
        what = f"columns of yes and no that say the same labels more than once, such as {first[0]} and {others[0][0]}"
        choice.doubts.append(Doubt(what, f"give --label-columns {listed(first)}, or those of another", fatal=True))
        return
    between = {column.name for column in (*group, *constant)}
    runs: list[list[str]] = [[]]
    for column in left:
        if column.name in between:
            runs[-1].append(column.name)
        elif runs[-1]:
            runs.append([])
    runs = [run for names_of_run in runs if (run := [name for name in names_of_run if name in names])]
    outside = flags(names, BOOKKEEPING)
    if len(runs) > 1:
        largest = max(runs, key=len)
        others = [name for name in names if name not in largest]
        inner = [name for name in largest if name not in outside]
        what = f"columns of yes and no with others between them: {', '.join(others)} apart from {len(largest)}"
        choice.doubts.append(_choose(what, inner, names))
    elif outside:
        what = f"columns of yes and no whose names say something of the row: {', '.join(outside)}"
        choice.doubts.append(_choose(what, [name for name in names if name not in outside], names))
    elif otherwise := kinds.written_otherwise(group):
        what = f"columns of yes and no that are written otherwise than the others: {', '.join(otherwise)}"
        choice.doubts.append(_choose(what, [name for name in names if name not in otherwise], names))


def _left_out(constant: Sequence[Column], names: Sequence[str]) -> Doubt:
    """One note for all columns that say nothing, of which there may be hundreds."""
    values = sorted({next(iter(column.words_of())) or "blank" for column in constant})
    if len(constant) == 1:
        what = f"the column {constant[0].name} is {values[0]!r} in every row and is left out"
        return Doubt(what, f"name it in --label-columns to have it: {listed([*names, constant[0].name])}")
    shown = ", ".join(column.name for column in constant[:SHOWN]) + (" and others" if len(constant) > SHOWN else "")
    what = f"{len(constant)} columns are {' or '.join(map(repr, values))} in every row and are left out: {shown}"
    return Doubt(what, "name them in --label-columns beside the others to have them")


def _beside(others: Sequence[Column], group: Sequence[Column], fatal: bool = False) -> list[Doubt]:
    """Of columns of numbers that are not taken: `fatal` where they may be votes, no facts of the row."""
    names, every = [column.name for column in group], [column.name for column in (*group, *others)]
    what = f"columns of numbers beside the labels, left out: {', '.join(column.name for column in others)}"
    remedy = f"--label-columns {listed(names)}, or {listed(every)} with --positive-above"
    return [Doubt(what, remedy, fatal=fatal)] if others else []


def _choose(what: str, chosen: Sequence[str], names: Sequence[str]) -> Doubt:
    remedy = f"give --label-columns {listed(chosen)}, or all: {listed(names)}"
    return Doubt(what, remedy, fatal=True)


def _delimiter(column: Column, options: dict[str, Any]) -> list[Doubt]:
    """Set label_delimiter where names stand in one string; what is odd about it."""
    whole = names_in_lists(cell.value for cell in column.cells.values()) | delimiters.whole(options.get("labels"))
    texts = {
        key: cell
        for key, cell in column.cells.items()
        if isinstance(value := cell.value, str)
        and value.strip()
        and value.strip() not in whole
        and not label_forms.is_written(value)
    }
    if texts and not all(delimiters.is_marked(cell.value) for cell in texts.values()):
        cells = {cell.value: cell for cell in texts.values()}
        mark, other = delimiters.delimiter(cells)
        if other is None:  # else the reader refuses
            options["label_delimiter"] = mark
            glued = delimiters.inseparable(cells, mark) + delimiters.entities(cells, mark)
            glued = [] if options.get("labels") else glued
            return delimiters.unsplit(cells, mark) + delimiters.unexplained(cells, mark) + glued
    return []
