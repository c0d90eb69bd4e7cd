"""Your own corpus: a JSONL, CSV or TSV file (plain, .gz or .xz) with a text and its labels in every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from compaug.benchmarks.corpus import Corpus, clean, csv_rows, indicators, lines, require_columns
from compaug.blocks import Block
from compaug.records import Example, InputError, Labels, loads

DELIMITERS = {".csv": ",", ".tsv": "\t"}


class Options(Block):
    """`options` of a corpus with this reader."""

    path: str | None = None  # of the file, instead of files.data
    text_column: str = "text"
    id_column: str | None = None  # ids are row numbers without it
    label_column: str | None = None  # a column of label names: a JSON list, or one string
    label_delimiter: str = ","  # between the names of such a string
    label_columns: list[str] | None = None  # or one 0/1 column per label
    labels: list[str] | None = None  # inventory in the order of ids; default: the names found, sorted

    @model_validator(mode="after")
    def _one_kind_of_label(self) -> Options:
        if (self.label_column is None) == (self.label_columns is None):
            raise ValueError("set label_column (names) or label_columns (0/1), one of them")
        if self.label_columns is not None and self.labels is not None:
            raise ValueError("labels belongs to label_column; the order of label_columns is the inventory")
        if not self.label_delimiter:
            raise ValueError("label_delimiter is empty")
        return self

    @property
    def needed(self) -> list[str]:
        """The columns that must exist."""
        return [c for c in (self.text_column, self.id_column, self.label_column, *(self.label_columns or ())) if c]


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """The file is `options.path`, or `files.data`. InputError names file and line of every malformed row.

    Texts that repeat with other labels are kept: they are facts of the corpus, and are counted in its description.
    """
    chosen = _options(options)
    path = _only_path(files, chosen.path)
    rows, names_of = [], _label_reader(chosen)
    seen: set[str] = set()
    for number, row in _rows(path, chosen.needed):
        try:
            row_id = _id(row[chosen.id_column]) if chosen.id_column else f"row-{len(rows) + 1:06d}"
            if not row_id or row_id in seen:
                raise ValueError(f"duplicate id {row_id!r}" if row_id else "empty id")
            if not isinstance(text := row[chosen.text_column], str):
                raise TypeError(f"{chosen.text_column!r} is not a string")
            rows.append((row_id, clean(text), names_of(row)))
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}:{number}: {error}") from None
        seen.add(row_id)
    if not rows:
        raise InputError(f"{path}: no rows; give the file at least one text")
    names = chosen.label_columns or chosen.labels or sorted({name for _, _, found in rows for name in found})
    if not names:
        raise InputError(f"{path}: no row has a label; check options.label_column")
    id_of = {name: label for label, name in enumerate(names)}
    examples = [Example(i, text, tuple(sorted({id_of[name] for name in found}))) for i, text, found in rows]
    return Corpus(examples, Labels(tuple(names), tuple(names)))


def _id(value: object) -> str:
    """ValueError for what is no name of a row: a list, null, a truth value, a fraction."""
    if type(value) not in (str, int):
        raise ValueError(f"the id {value!r} is neither a string nor a whole number")
    return str(value).strip()


def _options(options: Mapping[str, Any]) -> Options:
    try:
        return Options.model_validate(dict(options))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, ("options", *problem["loc"])))
        message = problem["msg"].removeprefix("Value error, ")
        known = ", ".join(Options.model_fields)
        raise InputError(f"{key}: {message}; the keys of the tabular reader are {known}") from None


def _only_path(files: Mapping[str, Path], path: str | None) -> Path:
    if (path is None) == (not files) or set(files) - {"data"}:
        raise InputError("tabular: set options.path, or files with the one key 'data', not both")
    return Path(path) if path is not None else files["data"]


def _rows(path: Path, needed: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    kind = Path(path.stem).suffix if path.suffix in (".gz", ".xz") else path.suffix
    if kind in DELIMITERS:
        return csv_rows(path, DELIMITERS[kind], needed)
    if kind == ".jsonl":
        return _json_rows(path, needed)
    raise InputError(f"{path}: unknown kind of file {kind!r}; use .jsonl, .csv or .tsv (also with .gz or .xz)")


def _json_rows(path: Path, needed: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in lines(path):
        if not line.strip():
            continue
        try:
            row = loads(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: not valid JSON ({error}); mend or remove the line") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}: not a JSON object; mend or remove the line")
        require_columns(f"{path}:{number}", needed, row)
        yield number, row


def _label_reader(options: Options) -> Callable[[Mapping[str, Any]], list[str]]:
    """Names of the labels of a row; ValueError says what is wrong with them."""
    known = frozenset(options.labels) if options.labels is not None else None

    def from_indicators(row: Mapping[str, Any]) -> list[str]:
        columns = options.label_columns
        return [columns[label] for label in indicators((row[column] for column in columns), columns)]

    def from_names(row: Mapping[str, Any]) -> list[str]:
        value = row[options.label_column]
        found = value.split(options.label_delimiter) if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise ValueError(f"{options.label_column!r} is neither a string nor a list of strings")
        names = [name.strip() for name in found if name.strip()]
        for name in names:
            if known is None and name == "nan":
                raise ValueError(
                    "the label 'nan' is what pandas writes for no value; leave it empty, or list it in options.labels"
                )
            if known is not None and name not in known:
                raise ValueError(f"unknown label {name!r}; options.labels has {', '.join(options.labels)}")
        return names

    return from_indicators if options.label_columns is not None else from_names
