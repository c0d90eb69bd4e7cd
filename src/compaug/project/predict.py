"""Labels for new texts: from a table to the same rows with label names and probabilities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from compaug.core.files import InputError, read_json, write_csv, write_rows
from compaug.data.corpus import clean
from compaug.data.readers import columns, user_files
from compaug.data.rows import BadRow, Faults, Row, refuse_ids
from compaug.project.classifier import Classifier, Decode


class Thresholds(TypedDict):
    """thresholds.json of an exported classifier"""

    tuned: dict[str, float]


@dataclass
class Texts:
    """Texts of a table, "" where a row has none, with the line and the carried values of each."""

    account: list[str]
    lines: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    carried: list[dict[str, Any]] = field(default_factory=list)


def kept_as(keep: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Columns of a file -> what they are called beside the answers, another name where the answers have that one."""
    ours = {"line", "text", "labels", "probabilities", *map(_column_of, names)}
    return {name: f"{name} (file)" if name in ours else name for name in keep}


def _column_of(name: str) -> str:
    return f"p({name})"


def read_texts(
    path: Path, chosen: Mapping[str, Any], keep: Mapping[str, str] | None = None, drop: bool = False
) -> Texts:
    """Read as `compaug inspect` does, with the same options; `keep`: columns to carry along, by `kept_as`.

    A row without a text is kept, so that every row has an answer. InputError, one line, for all rows that cannot be
    read, unless they may be dropped.
    """
    column = chosen.get("text_column") or columns.text_of(path, chosen)
    file = user_files.opened(path, chosen)
    keep = keep or {}
    account = [f"{path}: {file.described()}", f"texts: {column}", *(f"note: {doubt}" for doubt in file.doubts)]
    account += [f"note: the file's {old!r} is kept as {new!r}" for old, new in keep.items() if new != old]
    read, faults = Texts(account), Faults(str(path))
    for row in _rows(file, column, list(keep)):
        faults.rows += 1
        try:
            if row.bad:
                raise row.bad
            refuse_ids(faults.rows, row.values.values())
            text = row.values[column]
            if text is not None and not isinstance(text, str):
                raise BadRow(f"{column!r} is not a string")
            read.texts.append(clean(text) if (text or "").strip() else "")
            read.lines.append(row.line)
            read.carried.append({new: row.values.get(old) for old, new in keep.items()})
        except ValueError as error:
            faults.add(row.line, error)
    if len(faults) and not drop:
        raise InputError(faults.report())
    if len(faults):
        account.append(f"note: {len(faults):,} rows are left out: {', '.join(faults.counts())}")
    if not any(read.texts):
        raise InputError(f"{path}: no rows; give the file at least one text")
    if empty := sum(not text for text in read.texts):
        account.append(f"note: {empty:,} rows without a text, answered without labels")
    return read


def _rows(file: user_files.UserFile, text_column: str, keep: Sequence[str]) -> Iterator[Row]:
    cells = file.dialect is not None
    try:
        yield from file.rows([text_column, *(keep if cells else ())])
    except InputError as error:
        remedy = "; name it with --text-column" if f"no column {text_column!r}" in str(error) else ""
        raise InputError(f"{error}{remedy}") from None


def read_thresholds(path: Path, names: Sequence[str]) -> dict[str, float]:
    """One a label, the `tuned` of an exported thresholds.json."""
    tuned = read_json(path, Thresholds, "give the thresholds.json that `compaug export` writes")["tuned"]
    if set(tuned) != set(names):
        raise InputError(
            f"{path}: has thresholds for other labels than the classifier's; take the file of its own export"
        )
    return tuned


def predictions(model: Classifier, names: Sequence[str], read: Texts, decode: Decode) -> Iterator[dict[str, Any]]:
    """A row for each text: its line, what is carried, the text, the names of its labels, every probability.

    A row without a text has no labels and no
    probabilities.
    """
    probabilities = model.predict_proba([text for text in read.texts if text])
    answers = zip(probabilities.tolist(), decode(probabilities), strict=True)
    for line, carried, text in zip(read.lines, read.carried, read.texts, strict=True):
        row, label_set = next(answers) if text else ([], [])
        yield {
            "line": line,
            **carried,
            "text": text,
            "labels": [name for name, is_in in zip(names, label_set, strict=bool(text)) if is_in],
            "probabilities": {name: round(p, 6) for name, p in zip(names, row, strict=bool(text))},
        }


def write(path: Path, names: Sequence[str], rows: Sequence[Mapping], keep: Sequence[str] = ()) -> None:
    """As JSON lines, or as CSV with a JSON list of names and a column of probabilities for each label."""
    if path.suffix == ".jsonl":
        write_rows(path, rows)
        return
    header = ["line", *keep, "text", "labels", *map(_column_of, names)]
    write_csv(
        path,
        header,
        (
            [
                *(row[name] for name in ("line", *keep, "text")),
                json.dumps(row["labels"], ensure_ascii=False),
                *(row["probabilities"].get(name, "") for name in names),
            ]
            for row in rows
        ),
    )
