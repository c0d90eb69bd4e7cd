"""reports/predictions/<pack>.parquet: the predictions of all cells, one row a cell. Numbers and ids, no text.

A cell's own file (`compaug.evaluation.predictions`) is an output that DVC keeps; Git has the packs. Of a cell's file a
pack lacks what nothing reads: ids and `unparsed` of validation rows. Columns:

    cell, md5                      words; md5 is that of the cell's own file
    learned, train, support, drawn label sets and how often each occurs, JSON; `drawn` may be null
    n_train, n_synthetic, losses   as in the header
    labels, source                 lists with an item for each validation row
    validation, test               probabilities row after row, each as its place in VALUES
    ids                            of the test rows, JSON
    unparsed                       list with an item for each test row, or null

VALUES has four digits, and near 0 and 1, whose logarithms decodings read, three that count: with four digits alone the
gain of EM moved by up to 0.3 points of H, with these by 0.02. What is read at 0.5 does not change at all.

The name of a cell alone says which pack it is in: corpus with split and scale, who wrote its texts, seed. The same
cells give the same bytes, whatever came first. Every cell has data pages of its own: Git stores a new cell, not the
pack again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from compaug.core.files import InputError, atomic_path, loads
from compaug.evaluation import predictions
from compaug.evaluation.metrics import label_matrix
from compaug.evaluation.predictions import COUNTS, NUMBERS, Predictions, refused

if TYPE_CHECKING:
    from pyarrow import Table  # slow to load, and what reads gold alone does not need it

_UP_TO_HALF = np.concatenate([np.arange(1000) / 1e6, np.arange(100, 1000) / 1e5, np.arange(100, 5001) / 1e4])
HALF = len(_UP_TO_HALF) - 1
VALUES = np.concatenate([_UP_TO_HALF, 1 - _UP_TO_HALF[HALF - 1 :: -1]]).round(6)  # what a probability may be
PRECISION = 1e-4
MATRICES = ("validation", "test")  # of probabilities
PAGE = 1 << 14  # bytes before compression: no more than a cell has
NAME = re.compile(r"(?P<models>[^-]+)-(iid-)?(?P<generator>\w+)(?P<options>\+?).*-(?P<seed>\d+)(-[ab])?")
CONTROLS = ("none", "oversample", "shuffled", "oracle", "real_texts")  # no generator wrote their texts
REMEDY = "take it from Git again (`git checkout`)"


def pack_of(cell: str) -> str:
    """Name of the pack of a cell. InputError for a word that is no cell's name."""
    if not (parts := NAME.fullmatch(cell)):
        raise InputError(f"{cell}: no name of a cell, <corpus>-<generator>-<classifier>-<seed>; rename or remove it")
    kind = "controls" if parts["generator"] in CONTROLS else "variants" if parts["options"] else "generators"
    return f"{parts['models']}-{kind}-{parts['seed']}"


# ---------------------------------------------------------------- reading


class Packs:
    """The cells of a folder of packs. A pack is opened once, when the first of its cells is asked for."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._rows = cache(lambda name: _rows(folder / f"{name}.parquet"))

    def __contains__(self, cell: str) -> bool:
        return cell in self._rows(pack_of(cell))

    def __iter__(self) -> Iterator[str]:
        """Names of all cells, pack by pack."""
        for path in sorted(self.folder.glob("*.parquet")):
            yield from self._rows(path.stem)

    def md5(self, cell: str) -> str:
        """Of the cell's own file."""
        return self._rows(pack_of(cell))[cell]["md5"][0].as_py()

    def read(self, cell: str, n_labels: int) -> Predictions:
        """InputError, one line that names pack and cell, unless every row is a prediction for n_labels labels."""
        where = self.folder / f"{pack_of(cell)}.parquet" / cell
        if cell not in self:
            raise InputError(f"{where}: no such cell; `make grid` builds it")
        with refused(where, "the predictions of a cell", REMEDY):
            return _predictions(where, self._rows(pack_of(cell))[cell], n_labels)


def _rows(path: Path) -> dict[str, Table]:
    """The row of each cell, a table of its own; {} for a pack that is not there."""
    if not path.exists():
        return {}
    table = _read(path)
    return {cell: table.slice(at, 1) for at, cell in enumerate(table.column("cell").to_pylist())}


def _read(path: Path) -> Table:
    """InputError for a damaged file and for another one."""
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(path, page_checksum_verification=True).combine_chunks()
        table.cast(_schema()).validate(full=True)
        if {path.stem} != {pack_of(cell) for cell in table.column("cell").to_pylist()}:
            raise ValueError("its cells are others")
    except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{path}: not a whole pack of predictions ({' '.join(str(error).split())}); {REMEDY}"
        ) from None
    return table


def _predictions(where: Path, row: Table, n_labels: int) -> Predictions:
    def value(column: str):
        return row[column][0].as_py()

    def matrix(column: str) -> np.ndarray:
        return VALUES[row[column][0].values.to_numpy()].reshape(-1, n_labels)

    values = {name: loads(text) for name in (*COUNTS, "drawn", "ids") if (text := value(name)) is not None}
    values |= {name: value(name) for name in (*NUMBERS, "losses")}
    unparsed = value("unparsed")
    return Predictions(
        path=where,
        **predictions.header(values, n_labels),
        validation=matrix("validation"),
        validation_gold=label_matrix([predictions.label_set(key, n_labels) for key in value("labels")], n_labels),
        source=np.array(value("source"), dtype=str),
        ids=tuple(values["ids"]),
        test=matrix("test"),
        unparsed=None if unparsed is None else np.array(unparsed),
    )


def agrees(folder: Path, cell: str, path: Path) -> bool:
    """Whether the pack has what the cell's own file says: the header, the rows, probabilities to four digits.

    InputError where the cell is in no pack.
    """
    n_labels = _n_labels(path)
    left, kept = predictions.read(path, n_labels), Packs(folder).read(cell, n_labels)
    pairs = {field.name: (getattr(left, field.name), getattr(kept, field.name)) for field in fields(Predictions)}
    return all(
        np.abs(np.subtract(*pair)).max(initial=0) <= PRECISION if name in MATRICES else np.array_equal(*pair)
        for name, pair in pairs.items()
        if name != "path"
    )


# ---------------------------------------------------------------- writing


def merge(folder: Path, files: Mapping[str, Path]) -> list[str]:
    """Put cells' own files into the packs: a cell replaces its row, those without a file stay as they are.

    Returns: the cells whose file is another than the one that was packed. InputError names the file that is wrong and
    the remedy; the packs are then as they were.
    """
    packs, rows = Packs(folder), {}
    for cell, path in sorted(files.items()):
        if not NAME.fullmatch(cell):
            raise InputError(f"{path}: not named after a cell; rename or remove it")
        md5 = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        if cell not in packs or packs.md5(cell) != md5:
            rows.setdefault(pack_of(cell), {})[cell] = _row(cell, path, md5)
    tables = {name: _merged(folder / f"{name}.parquet", changed) for name, changed in rows.items()}
    for name, table in tables.items():
        _write(folder / f"{name}.parquet", table)
    return sorted(itertools.chain.from_iterable(rows.values()))


def _row(cell: str, path: Path, md5: str) -> dict:
    kept = predictions.read(path, _n_labels(path))
    counted = {name: label_sets for name in (*COUNTS, "drawn") if (label_sets := getattr(kept, name)) is not None}
    return {
        "cell": cell,
        "md5": md5,
        **{name: json.dumps(predictions.counts(label_sets.elements())) for name, label_sets in counted.items()},
        **{name: getattr(kept, name) for name in NUMBERS},
        "losses": kept.losses,
        "labels": [",".join(map(str, np.flatnonzero(label_set))) for label_set in kept.validation_gold],
        "source": kept.source.tolist(),
        "validation": _places(kept.validation),
        "ids": json.dumps(kept.ids, ensure_ascii=False),
        "test": _places(kept.test),
        "unparsed": None if kept.unparsed is None else kept.unparsed.tolist(),
    }


def _n_labels(path: Path) -> int:
    """As many as the first row has probabilities."""
    with refused(path, "the predictions of a cell", predictions.REMEDY):
        _, row = next(itertools.islice(predictions.read_lines(path, predictions.REMEDY), 1, None), (2, {}))
        return len(row.get("probabilities", ()))


def _places(probabilities: np.ndarray) -> np.ndarray:
    """Of the nearest of VALUES, but of what is above a half never a half: no answer at 0.5 changes."""
    nearest = np.searchsorted((VALUES[1:] + VALUES[:-1]) / 2, probabilities).astype(np.uint16)
    nearest[(probabilities > 0.5) & (nearest == HALF)] += 1
    return nearest.ravel()


def _merged(path: Path, changed: Mapping[str, Mapping]) -> Table:
    """The pack with these rows in place of those of the same cells."""
    import pyarrow

    new = pyarrow.Table.from_pylist([*changed.values()], schema=_schema())
    if path.exists():
        old = _read(path)
        kept = [cell not in changed for cell in old.column("cell").to_pylist()]
        new = pyarrow.concat_tables([old.filter(pyarrow.array(kept)), new])
    return new.sort_by("cell").combine_chunks()


def _schema():
    import pyarrow as pa

    words, numbers = pa.string(), pa.int64()
    many = lambda kind: pa.list_(pa.field("element", kind))
    columns = {"cell": words, "md5": words} | {name: words for name in (*COUNTS, "drawn")}
    columns |= {name: numbers for name in NUMBERS} | {"losses": many(pa.float64())}
    columns |= {"labels": many(words), "source": many(words), "validation": many(pa.uint16())}
    columns |= {"ids": words, "test": many(pa.uint16()), "unparsed": many(numbers)}
    return pa.schema(columns)


def _write(path: Path, table: Table) -> None:
    from pyarrow import parquet

    repeated = [*COUNTS, "drawn", "ids", "labels.list.element", "source.list.element", "unparsed.list.element"]
    split = {f"{column}.list.element": "BYTE_STREAM_SPLIT" for column in MATRICES}
    with atomic_path(path) as temporary:
        parquet.write_table(
            table,
            temporary,
            row_group_size=len(table),
            compression="brotli",  # 7 % smaller than zstd at its best
            compression_level=11,
            use_dictionary=repeated,
            dictionary_pagesize_limit=1 << 26,
            column_encoding=split,
            write_statistics=False,
            data_page_size=PAGE,
            write_batch_size=1,
            write_page_checksum=True,
        )
