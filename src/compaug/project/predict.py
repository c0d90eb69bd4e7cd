"""Labels for new texts: from a table to the same rows with label names and probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from typing_extensions import TypedDict

from compaug import classifiers
from compaug.core.records import InputError, read_json, write_csv, write_rows
from compaug.data.corpus import clean
from compaug.data.rows import BadRow, Faults, rows_of
from compaug.project.names import facts_of

DEFAULT = 0.5  # a label is given where its probability is above this


class Thresholds(TypedDict):
    """thresholds.json of an exported classifier"""

    tuned: dict[str, float | int]


def read_texts(path: Path, text_column: str) -> tuple[list[int], list[str]]:
    """(lines, texts) of a table, whatever other columns it has. InputError, one line for all rows that hold no text."""
    faults, numbers, texts = Faults(str(path)), [], []
    for row in _rows(path, text_column):
        faults.rows += 1
        try:
            if row.bad:
                raise row.bad
            if not isinstance(text := row.values[text_column], str):
                raise BadRow(f"{text_column!r} is not a string")
            texts.append(clean(text))
            numbers.append(row.line)
        except ValueError as error:
            faults.add(row.line, error)
    if faults:
        raise InputError(faults.report().replace(", or leave them out with options.on_bad_rows: drop", ""))
    if not texts:
        raise InputError(f"{path}: no rows; give the file at least one text")
    return numbers, texts


def _rows(path: Path, text_column: str) -> Iterator:
    try:
        yield from rows_of(path, [text_column])
    except InputError as error:
        remedy = "; name it with --text-column" if f"no column {text_column!r}" in str(error) else ""
        raise InputError(f"{error}{remedy}") from None


def read_thresholds(path: Path, names: Sequence[str]) -> list[float]:
    """One a label, from the `tuned` of an exported thresholds.json."""
    tuned = read_json(path, Thresholds)["tuned"]
    if set(tuned) != set(names):
        raise InputError(
            f"{path}: has thresholds for other labels than the classifier's; take the file of its own export"
        )
    return [float(tuned[name]) for name in names]


def predictions(
    model_dir: Path, names: Sequence[str], numbers: Sequence[int], texts: Sequence[str], thresholds: Sequence[float]
) -> Iterator[dict]:
    """A row for each text: its line, the text, the names above their thresholds, every label's probability."""
    model = classifiers.load(facts_of(model_dir)["classifier"])
    for number, text, probabilities in zip(numbers, texts, model.predict(model_dir, texts).tolist(), strict=True):
        labels = [name for name, p, least in zip(names, probabilities, thresholds, strict=True) if p > least]
        yield {
            "line": number,
            "text": text,
            "labels": labels,
            "probabilities": {name: round(p, 6) for name, p in zip(names, probabilities, strict=True)},
        }


def write(path: Path, names: Sequence[str], rows: Sequence[Mapping]) -> None:
    """As JSON lines, or as CSV with a column of names between semicolons and one of probabilities for each label."""
    if path.suffix == ".jsonl":
        write_rows(path, rows)
        return
    columns = ["line", "text", "labels", *(f"p({name})" for name in names)]
    write_csv(
        path, columns, ([r["line"], r["text"], ";".join(r["labels"]), *r["probabilities"].values()] for r in rows)
    )
