"""Your own corpus: a table with a text and its labels in every row.

The table is a CSV, TSV or JSON file, Parquet, Arrow, a folder that datasets' `save_to_disk` wrote, or a data set of the
hub (`user_files`, `rows`). It may bring an ordinary split of its own: a column that names it, further files, or the
parts of a data set. What was read is told in the notes of the corpus, and in those of an error (`account`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError, model_validator

from compaug.core.files import InputError
from compaug.core.records import Example, Labels
from compaug.core.schema import Block
from compaug.data.corpus import Corpus, clean
from compaug.data.readers import doubts, label_columns, label_forms, user_files
from compaug.data.readers.account import EXAMPLES, Account, quoted
from compaug.data.readers.annotation_tools import NOBODY
from compaug.data.readers.doubts import Doubt
from compaug.data.readers.label_sets import Answers, Cell, LabelSets, key_of
from compaug.data.rows import SPLITS, BadRow, Faults, Row, hub_rows, refuse_ids

WHOLE = ("a list of names", "a column for each label", "mappings", "objects")  # forms whose names are not cut
UNLABELLED = "no label"
UNANNOTATED = "rows that nobody has annotated are left out"
BLANK = "rows without any value are left out"
RULE = "rows of dashes are left out"
AGAIN = "rows that repeat the names of the columns are left out"


class Options(Block):
    """`options` of a corpus with this reader."""

    path: str | None = None  # of the file or folder, instead of files.data
    text_column: str = "text"
    id_column: str | None = None  # ids are row numbers without it
    label_column: str | None = None  # a column of labels, in any of the forms of `label_forms`
    label_delimiter: str | None = None  # between names in one string; None: by all rows
    label_columns: list[str] | None = None  # or a column for each label, or with a name in each
    labels: list[str] | None = None  # inventory in the order of ids, or 3=NAME; default: the names there are, sorted
    label_field: str | None = None  # of label objects, the field that holds the name
    positive_above: float | None = None  # a vote, probability or share of annotators above it says that a label fits
    missing: list[str] | None = None  # words that mean no label; blank: an empty cell of a label column is 0
    join_rows: bool | None = None  # a row for each (text, label): join those of one text
    delimiter: str | None = None  # between cells of a CSV file; None: by all lines
    quoting: Literal["double", "backslash", "none"] | None = None
    encoding: str | None = None  # None: UTF-8, or what the file's first bytes say
    header: bool | None = None  # whether line 1 names the columns, else column_1, column_2, ...; None: by its cells
    hub: str | None = None  # or a data set of the hub, with `revision`, a commit, and `config` where it has several
    revision: str | None = None
    config: str | None = None
    split_column: str | None = None  # your own split: a column that says train, validation or test
    validation_path: str | None = None  # ... or further files, `path` having the training rows
    test_path: str | None = None
    keep_split: bool = False  # ... or the parts of a data set; without it they are joined
    on_bad_rows: Literal["stop", "drop"] = "stop"
    unlabelled: Literal["keep", "drop", "stop"] = "keep"  # rows whose label cell is empty

    @model_validator(mode="after")
    def _one_kind_of_label(self) -> Options:
        if (self.label_column is None) == (self.label_columns is None):
            raise ValueError("set label_column (names) or label_columns (0/1), one of them")
        if self.label_delimiter == "":
            raise ValueError("label_delimiter is empty")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError("delimiter is a single character, such as ; or a tab")
        if self.hub is not None and not re.fullmatch("[0-9a-f]{40}", self.revision or ""):
            raise ValueError("hub needs `revision`, the 40 digits of a commit, so that the corpus cannot change")
        if self.hub is None and (self.revision or self.config):
            raise ValueError("revision and config belong to hub")
        if (self.validation_path or self.test_path) and not (self.path and self.test_path):
            raise ValueError(
                "files of your own split are path (training rows), test_path and, optionally, validation_path"
            )
        if sum(map(bool, (self.split_column, self.test_path, self.keep_split))) > 1:
            raise ValueError("your own split is split_column, test_path or keep_split, one of them")
        return self

    @property
    def needed(self) -> list[str]:
        """The columns that must exist."""
        return [column for column in (self.text_column, self.id_column, self.split_column) if column]

    @property
    def label_source(self) -> list[str]:
        """The column or columns of labels."""
        return [self.label_column] if self.label_column else list(self.label_columns or ())

    @property
    def answers(self) -> Answers:
        labels = None if self.labels is None else tuple(self.labels)
        missing = frozenset(self.missing or ())
        return Answers(self.label_delimiter, labels, self.label_field, self.positive_above, missing)

    @property
    def splits(self) -> bool:
        """Whether the corpus brings its own split."""
        return bool(self.split_column or self.test_path or self.keep_split)


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """The table is `options.path` or `options.hub`, or `files.data`.

    InputError is one line with all that is wrong: every kind of fault, how many rows have it, and its first lines; or
    the doubts about labels that an option must answer. Its notes say what was read. Texts that repeat with other labels
    are kept: they are facts of the corpus, and are counted in its description.
    """
    chosen = options_of(options)
    table = _Table(chosen)
    reports = [table.add(source, part, file, rows) for source, part, file, rows in _sources(files, chosen)]
    try:
        sets = table.label_sets()
        rows = table.labelled(sets, reports)
        dropped = _dropped(reports, chosen)
        return _corpus(rows, sets, table, dropped, chosen, reports[0].source)
    except InputError as error:
        for line in table.account.lines():
            error.add_note(line)
        raise


@dataclass(slots=True)
class _Read:
    """A row whose label cell is not read yet, or is."""

    id: str
    text: str
    key: Hashable
    part: str
    line: int
    report: int
    names: list[str] = field(default_factory=list)


class _Table:
    """All rows of all files, their distinct label cells, and the account of them."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.rows: list[_Read] = []
        self.cells: dict[Hashable, Cell] = {}
        self.texts: dict[str, str] = {}  # by id, where a column has ids
        self.skipped: Counter[str] = Counter()
        self.lines_of_skipped: dict[str, int] = {}
        self.account = Account("", "", options.text_column, ", ".join(options.label_source))
        self.reports = 0

    def skip(self, why: str, line: int) -> None:
        self.skipped[why] += 1
        self.lines_of_skipped.setdefault(why, line)

    def add(self, source: str, part: str | None, file: user_files.UserFile | None, rows: Iterator[Row]) -> Faults:
        """Read the rows of a file. InputError for a label column that it lacks."""
        faults, chosen = Faults(source), self.options
        columns, with_labels = chosen.label_source, False
        if file is not None and not self.reports:
            self.account.file = file.described()
        if not self.reports:
            self.account.source = source
        self.account.doubts += file.doubts if file is not None else []
        seen: set[str] = set()
        parts: dict[str | None, None] = {}
        for row in rows:
            faults.rows += 1
            try:
                if row.bad:
                    raise row.bad
                values = row.values
                parts[row.split] = None
                with_labels = with_labels or any(column in values for column in columns)
                if not faults.rows % 5_000 or len(seen) < 50:
                    seen.update(values)
                if not values.get(chosen.text_column) and _is_empty(values):
                    self.skip(BLANK, row.line)
                    continue
                if values.get(chosen.text_column) == chosen.text_column and _is_header(values):
                    self.skip(AGAIN, row.line)
                    continue
                if faults.rows == 1 and _is_rule(values):
                    self.skip(RULE, row.line)
                    continue
                refuse_ids(faults.rows, values.values())
                self._keep(row, part, faults.rows)
            except ValueError as error:
                faults.add(row.line, error)
        if len(parts) > 1 and not chosen.splits:
            what = f"the parts {', '.join(map(str, parts))} are read as one"
            self.account.doubts.append(Doubt(what, "keep_split: true takes them for your own split"))
        if not with_labels and faults.rows > len(faults):
            there = ", ".join(name for name in seen if not name.startswith("\0")) or "none"
            where = f"{source}:1" if file is not None and file.dialect is not None else source
            raise InputError(f"{where}: no column {columns[0]!r}; there are: {there}")
        self.reports += 1
        return faults

    def _keep(self, row: Row, part: str | None, number: int) -> None:
        chosen, values = self.options, row.values
        row_id = f"{'' if part in (None, 'train') else f'{part}-'}row-{number:06d}"
        if chosen.id_column:
            row_id = _id(values[chosen.id_column])
            if not row_id:
                raise BadRow("empty id")
        text = _text(values[chosen.text_column], chosen.text_column)
        if chosen.id_column and self.texts.setdefault(row_id, text) != text:
            raise BadRow("duplicate id", f"duplicate id {row_id!r}: a row above has it, with another text")
        if chosen.label_column:
            absent = label_forms.UNANNOTATED if values.get(NOBODY) else None
            value = values.get(chosen.label_column, absent)
            key = key_of(value)
        else:
            value = tuple(values.get(column) for column in chosen.label_columns or ())
            key = tuple(map(key_of, value))
        if (cell := self.cells.get(key)) is None:
            self.cells[key] = Cell(value, 1, row.line)
        else:
            cell.rows += 1
        self.rows.append(_Read(row_id, text, key, part or _part(row, chosen), row.line, self.reports))

    def label_sets(self) -> LabelSets:
        """Names of all distinct cells."""
        chosen = self.options
        if chosen.label_column:
            sets = label_forms.of_column(chosen.label_column, self.cells, chosen.answers)
        else:
            sets = label_columns.of_columns(chosen.label_columns or (), self.cells, chosen.answers)
        self.account.labels += f", {sets.form}"
        self.account.doubts += [*sets.doubts, *self._idle(sets)]
        return sets

    def _idle(self, sets: LabelSets) -> Iterator[Doubt]:
        """A note for what a person has answered and no cell has asked."""
        chosen, form = self.options, sets.form
        for word in chosen.missing or ():
            if word != "blank" and not any(word.casefold() in str(c.value).casefold() for c in self.cells.values()):
                yield Doubt(f"--missing {word!r} stands in no label cell")
        if chosen.label_field and "objects" not in form:
            yield Doubt(f"--label-field {chosen.label_field!r} says nothing, where labels are no objects")
        strings = any(isinstance(c.value, str) and not label_forms.is_written(c.value) for c in self.cells.values())
        if chosen.label_delimiter and form.startswith(WHOLE) and not strings:
            yield Doubt(
                f"--label-delimiter {chosen.label_delimiter!r} says nothing, where no names stand in one string"
            )
        cut = (
            any(word in form for word in ("above", "annotator", "where", "vectors")) or chosen.join_rows or sets.doubts
        )
        if chosen.positive_above is not None and not cut:
            yield Doubt(f"--positive-above {chosen.positive_above:g} says nothing, where labels are no numbers")

    def labelled(self, sets: LabelSets, reports: Sequence[Faults]) -> list[_Read]:
        """The rows with their names; bad ones are added to the reports."""
        kept = []
        for row in self.rows:
            names = sets.names[row.key]
            if names is None:
                self.skip(UNANNOTATED, row.line)
            elif isinstance(names, BadRow):
                reports[row.report].add(row.line, names)
            elif not names and self.options.unlabelled != "keep":
                what = "no label; give it one, or set options.unlabelled: keep or drop"
                reports[row.report].add(row.line, BadRow(UNLABELLED, what))
            else:
                row.names = names
                kept.append(row)
        account = self.account
        account.doubts += [Doubt(why, "", n, self.lines_of_skipped[why]) for why, n in self.skipped.items()]
        join, a_label_each = self.options.join_rows, _is_row_a_label(kept)
        if join or (join is None and a_label_each):
            cut = self.options.positive_above
            share = cut if cut is not None and 0 <= cut < 1 and not a_label_each else None
            joined = _joined(kept, by_id=bool(self.options.id_column), share=share)
            if len(joined) < len(kept):
                of = "all that" if share is None else f"what more than {share:g} of"
                what = f"{len(kept):,} rows are joined to {len(joined):,} texts, each with {of} its rows say"
                account.doubts.append(Doubt(what, "join_rows: false (--no-join-rows) keeps them apart"))
            kept = joined
        if self.options.id_column:
            kept = _without_duplicates(kept, reports)
        unread = any(doubt.fatal for doubt in sets.doubts)  # then the cells are shown as they stand
        account.examples = [
            (row.line, row.text, [str(self.cells[row.key].value)] if unread else [*map(quoted, row.names)])
            for row in kept[:EXAMPLES]
        ]
        first: dict[str, int] = {}
        for row in kept:
            for name in row.names:
                account.times[name] += 1
                first.setdefault(name, row.line)
        settled = frozenset(self.options.labels or self.options.label_columns or ())
        places = {name: (n, first[name]) for name, n in account.times.items()}
        account.doubts += doubts.of_names(places, settled)
        account.doubts += doubts.of_texts(
            [row.text for row in kept], [row.line for row in kept], [row.names for row in kept]
        )
        if kept and not unread and not any(len(row.names) > 1 for row in kept):
            remedy = "check --label-delimiter and --label-column if they should have several"
            account.doubts.append(Doubt("no row has two labels", remedy))
        return kept


def _is_empty(values: Mapping[str, Any]) -> bool:
    return not any(value.strip() if isinstance(value, str) else value is not None for value in values.values())


def _is_header(values: Mapping[str, Any]) -> bool:
    return all(value == name for name, value in values.items())


def _is_rule(values: Mapping[str, Any]) -> bool:
    """Whether it is the line below the names of a table in Markdown."""
    return all(isinstance(value, str) and re.fullmatch(r"\s*:?-{3,}:?\s*", value) for value in values.values())


def _is_row_a_label(rows: Sequence[_Read]) -> bool:
    """Whether each row has one label, and texts repeat with others: a row for each (text, label), a few twice."""
    if any(len(row.names) > 1 for row in rows):
        return False
    labelled = [row for row in rows if row.names]
    pairs = {(row.text, row.names[0]) for row in labelled}
    texts = len({row.text for row in labelled})
    return len(labelled) - len(pairs) <= 0.1 * len(pairs) and len(pairs) - texts >= 0.1 * texts > 0


def _joined(rows: Sequence[_Read], by_id: bool, share: float | None) -> list[_Read]:
    """A row for each text, with the labels of any of its rows, or of more than a share of them."""
    groups: dict[str, list[_Read]] = {}
    for row in rows:
        groups.setdefault(row.id if by_id else row.text, []).append(row)
    for group in groups.values():
        votes = Counter(name for row in group for name in row.names)
        group[0].names = [name for name, n in votes.items() if n > (share or 0) * len(group)]
    return [group[0] for group in groups.values()]


def _without_duplicates(rows: Sequence[_Read], reports: Sequence[Faults]) -> list[_Read]:
    """Rows of distinct ids; another of the same is added to the reports."""
    first: dict[str, _Read] = {}
    for row in rows:
        if first.setdefault(row.id, row) is not row:
            reports[row.report].add(row.line, BadRow("duplicate id", f"duplicate id {row.id!r}"))
    return list(first.values())


def _corpus(
    rows: Sequence[_Read],
    sets: LabelSets,
    table: _Table,
    dropped: Mapping[str, int],
    chosen: Options,
    source: str,
) -> Corpus:
    """InputError where there is no row or no label, and for doubts that wait for an answer."""
    if line := doubts.refusal(table.account.doubts):
        raise InputError(f"{source}: {line}")
    if not rows:
        raise InputError(
            f"{source}: no rows; give the file at least one text" + (" that can be used" if dropped else "")
        )
    names = list(sets.inventory or sorted({name for row in rows for name in row.names}))
    if not names or not table.account.times:
        raise InputError(f"{source}: no row has a label; check options.label_column")
    own_split = {row.id: row.part for row in rows} if chosen.splits else None
    if own_split and (missing := {"train", "test"} - set(own_split.values())):
        raise InputError(
            f"{source}: your own split has no row for {min(missing)}; check the split's column, files or parts"
        )
    if own_split and (
        alone := {n for r in rows for n in r.names} - {n for r in rows if r.part != "test" for n in r.names}
    ):
        table.account.doubts.append(Doubt(f"labels of test rows alone: {', '.join(sorted(alone)[:5])}", "", len(alone)))
    id_of = {name: label for label, name in enumerate(names)}
    ids: dict[tuple[str, ...], tuple[int, ...]] = {}
    examples = []
    for row in rows:
        if (labels := ids.get(names_of_row := tuple(row.names))) is None:
            labels = ids[names_of_row] = tuple(sorted({id_of[name] for name in names_of_row}))
        examples.append(Example(row.id, row.text, labels))
    notes = [*table.account.lines(), *(f"{source}: {n:,} rows are left out: {kind}" for kind, n in dropped.items())]
    if bare := sum(not example.labels for example in examples):
        notes.append(
            f"{source}: {bare:,} of {len(examples):,} rows have no label; "
            "they count as texts that none fits (options.unlabelled)"
        )
    left_out = dict(dropped) | {why: n for why, n in table.skipped.items()}
    return Corpus(
        examples, Labels(tuple(names), tuple(names)), dropped=left_out, own_split=own_split, notes=tuple(notes)
    )


def _sources(
    files: Mapping[str, Path], options: Options
) -> Iterator[tuple[str, str | None, user_files.UserFile | None, Iterator[Row]]]:
    """(name, part of the own split or None, file, rows) of every file."""
    if options.hub is not None:
        if files or options.path:
            raise InputError("tabular: set options.hub, options.path or files, one of them")
        needed = [*options.needed, *options.label_source]
        yield options.hub, None, None, hub_rows(options.hub, options.revision, options.config, needed)
        return
    path = _only_path(files, options.path)
    parts = {"train": path, "validation": options.validation_path, "test": options.test_path}
    written = {"delimiter": options.delimiter, "quoting": options.quoting, "encoding": options.encoding}
    for part, name in parts.items() if options.test_path else [(None, path)]:
        if name is not None:
            file = user_files.opened(Path(name), written | {"header": options.header})
            if twice := [column for column in options.needed if column in file.repeated]:
                raise InputError(f"{name}:1: the column name {twice[0]!r} occurs twice; rename one of them")
            whole = file.dialect is not None or file.kind not in user_files.JSON
            yield str(name), part, file, file.rows([*options.needed, *(options.label_source if whole else ())])


def _dropped(reports: list[Faults], options: Options) -> dict[str, int]:
    """Kind -> rows that are left out. InputError, one line for all files, where they may not be."""
    counts: Counter[str] = Counter()
    for faults in reports:
        counts.update(faults.counts())
    fatal = [f for f in reports if len(f) and options.on_bad_rows == "stop"]
    if options.unlabelled == "drop":
        fatal = [f for f in fatal if set(f.places) - {UNLABELLED}]
    if fatal:
        raise InputError(" ".join(faults.report() for faults in fatal))
    return dict(sorted(counts.items()))


def _part(row: Row, options: Options) -> str:
    """Part of the own split; BadRow for a word that names none."""
    word = row.values[options.split_column] if options.split_column else row.split if options.keep_split else "train"
    if (part := SPLITS.get(str(word).strip().lower())) is None:
        raise BadRow("unknown part of the split", f"the split {word!r} is none of train, validation and test")
    return part


def _text(value: object, column: str) -> str:
    if not isinstance(value, str):
        raise BadRow(f"{column!r} is not a string")
    try:
        return clean(value)
    except ValueError as error:
        raise BadRow(str(error) if not value.strip() else "a text that is too long", str(error)) from None


def _id(value: object) -> str:
    """BadRow for what is no name of a row: a list, null, a truth value, a fraction."""
    if type(value) not in (str, int):
        raise BadRow("no id", f"the id {value!r} is neither a string nor a whole number")
    return str(value).strip()


def options_of(options: Mapping[str, Any]) -> Options:
    """InputError, one line, for what is no option or no value of it."""
    try:
        return Options.model_validate(dict(options))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, ("options", *problem["loc"])))
        message = problem["msg"].removeprefix("Value error, ")
        message += f", such as [{problem['input']!r}]" if problem["type"] == "list_type" else ""
        keys = ", ".join(Options.model_fields)
        raise InputError(f"{key}: {message}; the keys of the tabular reader are {keys}") from None


def _only_path(files: Mapping[str, Path], path: str | None) -> Path:
    if (path is None) == (not files) or set(files) - {"data"}:
        raise InputError("tabular: set options.path, or files with the one key 'data', not both")
    return Path(path) if path is not None else files["data"]
