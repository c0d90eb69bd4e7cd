"""data/predictions/<cell>.jsonl.gz: one trained classifier's answers on its validation and test rows.

Numbers and ids, no text. Git has those of all cells in packs (`compaug.evaluation.packs`).

Line 1 is a header. A label set is written as its ids joined by commas.

    learned             how often each label set stands in everything that the classifier learned from, validation
                        rows included
    train, support      the same in D_train alone and in its support rows
    drawn               the same in the label generator's requests, where they were given
    n_train, n_synthetic
                        numbers of real and synthetic rows
    losses              the validation loss after every epoch

Then one line a row: `id`, `split` (validation or test), `probabilities`; `unparsed` where an answer was written (its
pieces that are no label). Validation rows alone have `labels` and `source` (train, support or a generator).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compaug.core.records import InputError, label_ids, loads
from compaug.evaluation import packed
from compaug.evaluation.metrics import label_matrix

Composition = tuple[int, ...]

COUNTS = ("learned", "train", "support")  # of label sets; `drawn` is one more that may be there
NUMBERS = ("n_train", "n_synthetic")
FIELDS = {"validation": {"id", "split", "probabilities", "labels", "source"}, "test": {"id", "split", "probabilities"}}


@dataclass(frozen=True, eq=False)
class Predictions:
    """Of one classifier. n test rows, m validation rows, in the order of its file."""

    path: Path
    learned: Counter[Composition]
    train: Counter[Composition]
    support: Counter[Composition]
    drawn: Counter[Composition] | None
    n_train: int
    n_synthetic: int
    losses: tuple[float, ...]
    validation: np.ndarray  # probabilities [m, n_labels]
    validation_gold: np.ndarray  # bool [m, n_labels]
    source: np.ndarray  # str [m]
    ids: tuple[str, ...]
    test: np.ndarray  # probabilities [n, n_labels]
    unparsed: np.ndarray | None  # [n]

    def of(self, ids: Sequence[str]) -> np.ndarray:
        """Probabilities of these test rows, in their order.  # [len(ids), n_labels]

        InputError for a row without prediction.
        """
        row_of = {row_id: row for row, row_id in enumerate(self.ids)}
        if missing := [row_id for row_id in ids if row_id not in row_of]:
            raise InputError(
                f"{self.path}: {len(missing)} of {len(ids)} gold ids have no prediction, first {missing[0]!r}; "
                "predict again on this split"
            )
        return self.test[[row_of[row_id] for row_id in ids]]

    def check_covers(self, ids: Iterable[str]) -> None:
        """InputError unless the test rows are these, once each."""
        gold_ids = set(ids)
        self.of(sorted(gold_ids))
        if extra := sorted(set(self.ids) - gold_ids):
            raise InputError(f"{self.path}: id {extra[0]!r} is not in the gold file; predict again on this split")


# ---------------------------------------------------------------- writing


def counts(label_sets: Iterable[Composition]) -> dict[str, int]:
    """How often each label set occurs, as the header has it."""
    return {",".join(map(str, label_set)): n for label_set, n in sorted(Counter(label_sets).items())}


def write(path: Path | str, header: Mapping, rows: Iterable[Mapping]) -> None:
    """The same header and rows give the same bytes: neither the time nor the name goes into the gzip file."""
    write_lines(path, [header, *rows])


def write_lines(path: Path | str, objects: Iterable[Mapping]) -> None:
    """JSON lines in a gzip file of reproducible bytes."""
    options = {"sort_keys": True, "ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
    packed.write(path, (f"{json.dumps(value, **options)}\n" for value in objects))


# ---------------------------------------------------------------- reading


def read_lines(path: Path | str, remedy: str) -> Iterator[tuple[int, dict]]:
    """Line number (from 1) and object of every line of a gzip file of JSON lines; InputError names what is wrong."""
    for number, line in enumerate(packed.read(path, remedy), start=1):
        try:
            row = loads(line)
        except ValueError as error:
            raise InputError(f"{path}:{number}: not a JSON object ({error}); {remedy}") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}: not a JSON object; {remedy}")
        yield number, row


REMEDY = "take it from Git again or train again"


def read(path: Path | str, n_labels: int) -> Predictions:
    """InputError, one line that names file and line, unless every row is a prediction for n_labels labels."""
    lines = read_lines(path, REMEDY)
    of_all = header(f"{path}:1", next(lines, (1, {}))[1], n_labels)
    rows: dict[str, dict[str, dict]] = {split: {} for split in FIELDS}  # split -> id -> row
    for number, row in lines:
        where, split, row_id = f"{path}:{number}", row.get("split"), row.get("id")
        if split not in FIELDS or not FIELDS[split] <= row.keys() <= FIELDS[split] | {"unparsed"}:
            fields = ", ".join(sorted(FIELDS.get(split, FIELDS["test"])))
            raise InputError(f"{where}: not a prediction; expected the fields {fields}; {REMEDY}")
        if not isinstance(row_id, str):
            raise InputError(f"{where}: not a prediction; its id is no word; {REMEDY}")
        if row_id in rows[split]:
            raise InputError(f"{where}: id {row_id!r} is predicted twice; {REMEDY}")
        if not isinstance(row["probabilities"], list) or len(row["probabilities"]) != n_labels:
            raise InputError(f"{where}: not a list of {n_labels} probabilities, one for each label; {REMEDY}")
        if not all(
            isinstance(value, int | float) and 0 <= value <= 1 for value in row["probabilities"]
        ):  # NaN: neither
            raise InputError(f"{where}: a probability is not a finite number in [0, 1]; {REMEDY}")
        if "labels" in row:
            row["labels"] = _labels(where, row["labels"], n_labels)
        rows[split][row_id] = row
    held, test = rows["validation"].values(), rows["test"].values()
    unparsed = [row["unparsed"] for row in test if "unparsed" in row]
    validation, tested = (
        np.array([row["probabilities"] for row in part], dtype=float).reshape(-1, n_labels) for part in (held, test)
    )
    return Predictions(
        path=Path(path),
        **of_all,
        validation=validation,
        validation_gold=label_matrix([row["labels"] for row in held], n_labels),
        source=np.array([row["source"] for row in held], dtype=str),
        ids=tuple(rows["test"]),
        test=tested,
        unparsed=np.array(unparsed) if unparsed else None,
    )


def header(where: str, values: Mapping, n_labels: int) -> dict:
    """The fields of `Predictions` that a header has. InputError for anything else."""

    def counted(name: str) -> Counter[Composition]:
        return Counter({label_set(where, key, n_labels): int(n) for key, n in values[name].items()})

    try:
        fields = {name: counted(name) for name in COUNTS} | {name: int(values[name]) for name in NUMBERS}
        fields["drawn"] = counted("drawn") if "drawn" in values else None
        return fields | {"losses": tuple(map(float, values.get("losses", ())))}
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{where}: not the header of a predictions file ({error}); {REMEDY}") from None


def label_set(where: str, key: str, n_labels: int) -> Composition:
    """Inverse of the keys of `counts`. InputError, ValueError for a word that is none."""
    return _labels(where, [int(label) for label in key.split(",") if label], n_labels)


def _labels(where: str, values: Sequence[object], n_labels: int) -> Composition:
    try:
        return label_ids(values, n_labels)
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: {error}; {REMEDY}") from None
