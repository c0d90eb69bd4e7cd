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

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compaug.core.files import InputError, loads
from compaug.core.records import Composition, label_ids
from compaug.evaluation import packed
from compaug.evaluation.metrics import label_matrix

COUNTS = ("learned", "train", "support")  # of label sets; `drawn` is one more that may be there
NUMBERS = ("n_train", "n_synthetic")


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


@contextlib.contextmanager
def refused(where: object, what: str, remedy: str) -> Iterator[None]:
    """InputError, one line that says where, for what goes wrong while a file is read that should be `what`."""
    try:
        yield
    except InputError as error:
        raise error if str(where) in str(error) else InputError(f"{where}: {error}; {remedy}") from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{where}: not {what} ({' '.join(str(error).split())}); {remedy}") from None


def read_lines(path: Path | str, remedy: str) -> Iterator[tuple[int, dict]]:
    """Line number (from 1) and object of every line of a gzip file of JSON lines; InputError names what is wrong."""
    for number, line in enumerate(packed.read(path, remedy), start=1):
        with refused(f"{path}:{number}", "a JSON object", remedy):
            row = {**loads(line)}
        yield number, row


REMEDY = "take it from Git again or train again"


def read(path: Path | str, n_labels: int) -> Predictions:
    """InputError, one line that names file and line, unless every row is a prediction for n_labels labels."""
    lines = read_lines(path, REMEDY)
    with refused(f"{path}:1", "the header of a predictions file", REMEDY):
        of_all = header(next(lines, (1, {}))[1], n_labels)
    rows: dict[str, dict[str, dict]] = {"validation": {}, "test": {}}  # split -> id -> row
    for number, row in lines:
        with refused(f"{path}:{number}", "a prediction", REMEDY):
            row["probabilities"] = np.array(row["probabilities"], dtype=float).reshape(n_labels)
            if row["split"] == "validation":
                row["labels"], row["source"] = label_ids(row["labels"], n_labels), str(row["source"])
            if not ((row["probabilities"] >= 0) & (row["probabilities"] <= 1)).all():
                raise ValueError("a probability outside 0 and 1")
            if row["id"] in rows[row["split"]]:
                raise ValueError(f"the id {row['id']!r} again")
            rows[row["split"]][row["id"]] = row
    held, test = rows["validation"].values(), rows["test"].values()
    unparsed = [row["unparsed"] for row in test if "unparsed" in row]
    if unparsed and len(unparsed) < len(test):
        raise InputError(f"{path}: {len(unparsed)} of {len(test)} test rows say what was not parsed; {REMEDY}")
    validation, tested = (
        np.array([row["probabilities"] for row in part]).reshape(-1, n_labels) for part in (held, test)
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


def header(values: Mapping, n_labels: int) -> dict:
    """The fields of `Predictions` that a header has."""
    fields = {name: counted(values[name], n_labels) for name in COUNTS} | {name: int(values[name]) for name in NUMBERS}
    fields["drawn"] = counted(values["drawn"], n_labels) if "drawn" in values else None
    return fields | {"losses": tuple(map(float, values.get("losses", ())))}


def counted(values: Mapping[str, int], n_labels: int) -> Counter[Composition]:
    """Inverse of `counts`."""
    return Counter({label_set(key, n_labels): int(n) for key, n in values.items()})


def label_set(key: str, n_labels: int) -> Composition:
    """Inverse of the keys of `counts`."""
    return label_ids([int(label) for label in key.split(",") if label], n_labels)
