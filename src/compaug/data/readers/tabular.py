"""Your own corpus: a table with a text and its labels in every row.

The table is a CSV, TSV or JSONL file (plain, .gz or .xz), a .json file, Parquet, Arrow, a folder that datasets'
`save_to_disk` wrote, or a data set of the hub (`rows`). It may bring an ordinary split of its own: a column that names
it, further files, or the parts of a data set.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError, model_validator

from compaug.core.records import Example, InputError, Labels, loads
from compaug.core.schema import Block
from compaug.data.corpus import Corpus, clean, indicators
from compaug.data.rows import SPLITS, BadRow, Faults, Row, hub_rows, rows_of

TRUTH = {"true": 1, "false": 0, "1.0": 1, "0.0": 0}  # what programs write of 0/1 columns
UNLABELLED = "no label"


class Options(Block):
    """`options` of a corpus with this reader."""

    path: str | None = None  # of the file or folder, instead of files.data
    text_column: str = "text"
    id_column: str | None = None  # ids are row numbers without it
    label_column: str | None = None  # a column of label names: a list, or one string
    label_delimiter: str = ","  # between the names of such a string
    label_columns: list[str] | None = None  # or one 0/1 or True/False column per label
    labels: list[str] | None = None  # inventory in the order of ids; default: the names found, sorted
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
        if self.label_columns is not None and self.labels is not None:
            raise ValueError("labels belongs to label_column; the order of label_columns is the inventory")
        if not self.label_delimiter:
            raise ValueError("label_delimiter is empty")
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
        columns = (self.text_column, self.id_column, self.label_column, *(self.label_columns or ()), self.split_column)
        return [column for column in columns if column]

    @property
    def splits(self) -> bool:
        """Whether the corpus brings its own split."""
        return bool(self.split_column or self.test_path or self.keep_split)


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """The table is `options.path` or `options.hub`, or `files.data`.

    InputError is one line with all that is wrong: every kind of fault, how many rows have it, and its first lines.
    Texts that repeat with other labels are kept: they are facts of the corpus, and are counted in its description.
    """
    chosen = _options(options)
    names_of, seen = _label_reader(chosen), set()
    kept: list[tuple[str, str, list[str], str]] = []  # id, text, names, part
    reports: list[Faults] = []
    for source, part, rows in _sources(files, chosen):
        faults = Faults(source)
        for row in rows:
            faults.rows += 1
            try:
                if row.bad:
                    raise row.bad
                row_id = f"{'' if part in (None, 'train') else f'{part}-'}row-{faults.rows:06d}"
                if chosen.id_column:
                    row_id = _id(row.values[chosen.id_column])
                    if not row_id or row_id in seen:
                        raise BadRow(*(("duplicate id", f"duplicate id {row_id!r}") if row_id else ("empty id",)))
                text, names = _text(row.values[chosen.text_column], chosen.text_column), names_of(row.values)
                if not names and chosen.unlabelled != "keep":
                    raise BadRow(UNLABELLED, "no label; give it one, or set options.unlabelled: keep or drop")
                kept.append((row_id, text, names, part or _part(row, chosen)))
                seen.add(row_id)
            except ValueError as error:
                faults.add(row.line, error)
        reports.append(faults)
    dropped = _dropped(reports, chosen)
    source = reports[0].source
    if not kept:
        raise InputError(
            f"{source}: no rows; give the file at least one text" + (" that can be used" if dropped else "")
        )
    names = chosen.label_columns or chosen.labels or sorted({name for _, _, row_names, _ in kept for name in row_names})
    if not names:
        raise InputError(f"{source}: no row has a label; check options.label_column")
    own_split = {row_id: part for row_id, _, _, part in kept} if chosen.splits else None
    if own_split and (missing := {"train", "test"} - set(own_split.values())):
        raise InputError(
            f"{source}: your own split has no row for {min(missing)}; check the split's column, files or parts"
        )
    id_of = {name: label for label, name in enumerate(names)}
    examples = [Example(i, text, tuple(sorted({id_of[n] for n in row_names}))) for i, text, row_names, _ in kept]
    notes = [f"{source}: {n:,} rows are left out: {kind}" for kind, n in dropped.items()]
    if bare := sum(not example.labels for example in examples):
        notes.append(
            f"{source}: {bare:,} of {len(examples):,} rows have no label; "
            "they count as texts that none fits (options.unlabelled)"
        )
    return Corpus(
        examples, Labels(tuple(names), tuple(names)), dropped=dropped, own_split=own_split, notes=tuple(notes)
    )


def _sources(files: Mapping[str, Path], options: Options) -> Iterator[tuple[str, str | None, Iterator[Row]]]:
    """(name, part of the own split or None, rows) of every file."""
    if options.hub is not None:
        if files or options.path:
            raise InputError("tabular: set options.hub, options.path or files, one of them")
        yield options.hub, None, hub_rows(options.hub, options.revision, options.config, options.needed)
        return
    path = _only_path(files, options.path)
    parts = {"train": path, "validation": options.validation_path, "test": options.test_path}
    for part, name in parts.items() if options.test_path else [(None, path)]:
        if name is not None:
            yield str(name), part, rows_of(Path(name), options.needed)


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


def _options(options: Mapping[str, Any]) -> Options:
    try:
        return Options.model_validate(dict(options))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, ("options", *problem["loc"])))
        message = problem["msg"].removeprefix("Value error, ")
        keys = ", ".join(Options.model_fields)
        raise InputError(f"{key}: {message}; the keys of the tabular reader are {keys}") from None


def _only_path(files: Mapping[str, Path], path: str | None) -> Path:
    if (path is None) == (not files) or set(files) - {"data"}:
        raise InputError("tabular: set options.path, or files with the one key 'data', not both")
    return Path(path) if path is not None else files["data"]


# ---------------------------------------------------------------- labels


def _label_reader(options: Options) -> Callable[[Mapping[str, Any]], list[str]]:
    """Names of the labels of a row; BadRow says what is wrong with them."""
    inventory = frozenset(options.labels) if options.labels is not None else None

    def from_indicators(row: Mapping[str, Any]) -> list[str]:
        columns = options.label_columns
        values = [TRUTH.get(v.lower(), v) if isinstance(v := row[column], str) else v for column in columns]
        try:
            return [columns[label] for label in indicators(values, columns)]
        except (ValueError, TypeError) as error:
            raise BadRow("a label value that is neither 0 nor 1", str(error)) from None

    def from_names(row: Mapping[str, Any]) -> list[str]:
        cell = label_names(row[options.label_column], options)
        if not isinstance(cell, list) or not all(isinstance(name, str) for name in cell):
            raise BadRow(f"{options.label_column!r} is neither a string nor a list of strings")
        names = [name.strip() for name in cell if name.strip()]
        for name in names:
            if inventory is None and name == "nan":
                raise BadRow(
                    "the label 'nan' is what pandas writes for no value; leave it empty, or list it in options.labels"
                )
            if inventory is not None and name not in inventory:
                raise BadRow("unknown label", f"unknown label {name!r}; options.labels has {', '.join(options.labels)}")
        return names

    return from_indicators if options.label_columns is not None else from_names


def label_names(value: object, options: Options) -> object:
    """What a label cell says: its list, also where that is written as text.

    Numbers of classes become the names that `options.labels` has.
    """
    if isinstance(value, str):
        text = value.strip()
        if not (text.startswith("[") and text.endswith("]")):
            return value.split(options.label_delimiter)
        value = _written_list(text)
    labels = value if isinstance(value, list) else [value]
    if options.labels is not None and all(type(label) is int and 0 <= label < len(options.labels) for label in labels):
        return [options.labels[label] for label in labels]
    return value


def _written_list(text: str) -> list:
    """The list that a cell like ["a","b"] or ['a', 'b'] holds, JSON or what Python prints.

    BadRow where it is none, or lacks its commas, as numpy prints it (Python would join such names into one).
    """
    problem = BadRow(
        "labels that look like a list and are none",
        f'the labels {text[:60]!r} look like a list and are none; write ["a", "b"], or names between delimiters',
    )
    try:
        return loads(text)
    except ValueError:
        pass
    try:
        cell = ast.literal_eval(text)
        strings = sum(token.type == tokenize.STRING for token in tokenize.generate_tokens(io.StringIO(text).readline))
    except (ValueError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError):
        raise problem from None
    if not isinstance(cell, list) or strings != sum(isinstance(name, str) for name in cell):
        raise problem
    return cell
