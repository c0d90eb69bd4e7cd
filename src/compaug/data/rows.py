"""Rows of a table, one report of all that is wrong with them, and the tables that `datasets` opens.

These have types already: Parquet, Arrow, a folder of `save_to_disk`, a data set of the hub. It takes a second to
import, so only they load it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compaug.core.files import InputError
from compaug.data.corpus import require_columns

TYPED = (".parquet", ".arrow")
DROP = "--on-bad-rows drop (options.on_bad_rows: drop)"
MANY = 0.5  # of the rows: who leaves so many out has read the file wrong
FIRST = 5  # places of a kind of fault that are named
SPLITS = {  # what people call the parts of their own split
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


class BadRow(ValueError):
    """A row that cannot be used: its kind, by which the report counts, and what is wrong with this one."""

    def __init__(self, kind: str, message: str | None = None) -> None:
        super().__init__(message or kind)
        self.kind = kind


IDS = '{"ImportId"'  # of questions, in the third row of an export of Qualtrics


def refuse_ids(number: int, values: Iterable[Any]) -> None:
    """BadRow where the row of that number is Qualtrics' row of ids, which stands below one of questions."""
    if number == 2 and any(str(value).startswith(IDS) for value in values):
        what = "Qualtrics' row of ids"
        raise BadRow(what, f"{what}; remove it and the row of questions above it")


@dataclass
class Faults:
    """What is wrong with the rows of one source."""

    source: str
    rows: int = 0  # seen, bad ones included
    places: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # kind -> (line, what is wrong there)

    def add(self, line: int, error: ValueError) -> None:
        self.places.setdefault(getattr(error, "kind", str(error)), []).append((line, str(error)))

    def __len__(self) -> int:
        return sum(map(len, self.places.values()))

    def counts(self) -> dict[str, int]:
        return {kind: len(places) for kind, places in self.places.items()}

    def report(self) -> str:
        """One line: each kind with its count and first lines; of a single fault its place and what to do."""
        kinds = sorted(self.places.items(), key=lambda item: (-len(item[1]), item[0]))
        if len(self) == 1:
            ((line, message),) = kinds[0][1]
            return f"{self.source}:{line}: {message}"
        listed = "; ".join(f"{len(places)} x {kind} ({_first(kind, places)})" for kind, places in kinds)
        remedy = "Mend them, or check the options that say how the file is read"
        if len(self) <= MANY * self.rows:
            remedy = f"Mend or remove them, or leave these {len(self):,} rows out with {DROP}"
        return f"{self.source}: {len(self):,} of {self.rows:,} rows cannot be used: {listed}. {remedy}"


def _first(kind: str, places: Sequence[tuple[int, str]]) -> str:
    shown = ", ".join(str(line) for line, _ in places[:FIRST]) + (", ..." if len(places) > FIRST else "")
    example = "" if places[0][1] == kind else f": {places[0][1]}"
    return f"line{'s' if len(places) > 1 else ''} {shown}{example}"


@dataclass(frozen=True)
class Row:
    """Its line, or its number where there are no lines; its values by column, or what is wrong with it."""

    line: int
    values: Mapping[str, Any] | None
    split: str | None = None  # of a data set that comes in parts
    bad: BadRow | None = None


# ---------------------------------------------------------------- what `datasets` opens


def typed_rows(path: Path, kind: str, needed: Sequence[str]) -> Iterator[Row]:
    """Rows of a file or folder. InputError where it is none of these, or a column is missing."""
    if not path.exists():
        raise InputError(f"{path}: no such file; check the path")
    try:
        opened = _opened(path, kind)
    except Exception as error:  # a damaged file is found out in many places of two libraries, with errors of their own
        what = " ".join(str(error).split())[:200] or type(error).__name__
        remedy = "a folder must be one that save_to_disk wrote" if path.is_dir() else "write the file again"
        raise InputError(f"{path}: cannot be opened as a table ({what}); {remedy}") from error
    yield from _rows_of_dataset(str(path), opened, needed)


def _opened(path: Path, kind: str):
    import datasets

    datasets.disable_progress_bars()
    if path.is_dir():
        return datasets.load_from_disk(str(path))
    import pyarrow

    if kind == ".parquet":
        from pyarrow import parquet

        return datasets.Dataset(parquet.read_table(path))  # `from_parquet` would copy it into a cache of its own
    try:
        return datasets.Dataset.from_file(str(path))
    except pyarrow.ArrowInvalid:  # the other of Arrow's two formats
        with pyarrow.OSFile(str(path)) as stream, pyarrow.ipc.open_file(stream) as reader:
            return datasets.Dataset(reader.read_all())


def hub_rows(name: str, revision: str, config: str | None, needed: Sequence[str]) -> Iterator[Row]:
    """Rows of a data set of the hub at a pinned revision; InputError where it cannot be had."""
    import datasets

    datasets.disable_progress_bars()
    try:
        opened = datasets.load_dataset(name, config, revision=revision)
    except Exception as error:  # of the network, of the hub and of every reader that datasets has
        what = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"options.hub: {name} at revision {revision} cannot be had ({what}); "
            "check name, config and revision, connect once, or give a file with options.path"
        ) from error
    yield from _rows_of_dataset(name, opened, needed)


def _rows_of_dataset(source: str, opened, needed: Sequence[str]) -> Iterator[Row]:
    """Rows of a data set, or of all parts of one, class numbers as names."""
    parts = opened if isinstance(opened, dict) else {None: opened}
    number = 0
    for split, part in parts.items():
        require_columns(source if split is None else f"{source}, {split}", needed, part.column_names)
        named = {column: names for column, f in part.features.items() if (names := _class_names(f))}
        for values in part:
            number += 1
            row = {
                column: _named(value, named[column]) if column in named else value for column, value in values.items()
            }
            yield Row(number, row, split=split)


def _class_names(feature: object) -> Sequence[str] | None:
    """The names of a `ClassLabel`, or of the `ClassLabel` that a list is of."""
    inner = feature[0] if isinstance(feature, list) and feature else getattr(feature, "feature", feature)
    return getattr(inner, "names", None)


def _named(value: object, names: Sequence[str]) -> object:
    """-1 is what `datasets` writes for a class that is not known."""
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value
