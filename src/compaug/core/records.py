"""Examples, the inventory of labels, and the seeds that follow from a name.

The record schema is documented for readers in data/README.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import TypedDict

from compaug.core.files import InputError, iter_rows, read_json, write_json, write_rows

EMPTY_KEY = "<none>"  # key of the empty label set
PLUS = "\uff0b"  # in keys, for a + in a label's name


Composition = tuple[int, ...]  # sorted label ids


@dataclass(frozen=True, slots=True)
class Example:
    """One text with its composition. `labels` are sorted label ids; the optional fields belong to synthetic rows."""

    id: str
    text: str
    labels: tuple[int, ...]
    source: str = "train"
    requested_labels: tuple[int, ...] | None = None
    seed: int | None = None
    filter_jacc: float | None = None
    soft_labels: tuple[float, ...] | None = None
    made_of: dict | None = field(default=None, hash=False)

    def as_row(self) -> dict:
        """The JSONL row: absent optional fields are left out."""
        row = {"id": self.id, "text": self.text, "labels": list(self.labels), "source": self.source}
        for name in ("requested_labels", "seed", "filter_jacc", "soft_labels", "made_of"):
            value = getattr(self, name)
            if value is not None:
                row[name] = list(value) if isinstance(value, tuple) else value
        return row


@dataclass(frozen=True, slots=True)
class Draft:
    """What a generator yields: a text for the request of that number, with the labels that it vouches for.

    `soft_labels` are probabilities of all labels; `made_of` is any JSON object: the constraints or sources that made
    the text. A draft with a `fate` has no text: it says why, and the side-car counts it.
    """

    request: int
    text: str
    labels: tuple[int, ...]
    soft_labels: tuple[float, ...] | None = None
    made_of: dict | None = field(default=None, hash=False)
    fate: str | None = None


class LabelNames(TypedDict):
    """labels.json"""

    names: list[str]
    phrases: list[str]


@dataclass(frozen=True)
class Labels:
    """The label inventory: a label's id is its position; `phrases` are the words prompts use for it."""

    names: tuple[str, ...]
    phrases: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names or len(self.names) != len(self.phrases):
            raise InputError(
                f"labels: {len(self.names)} names but {len(self.phrases)} phrases; give one phrase per name"
            )
        for what, values in (("name", self.names), ("phrase", self.phrases)):
            first: dict[str, str] = {}
            for value in values:
                if not value.strip():
                    raise InputError(f"labels: an empty label {what}; every label needs one")
                if len(value.splitlines()) > 1 or "\t" in value:
                    raise InputError(f"labels: the label {what} {value!r} holds a line break or a tab; take it out")
                key = value.casefold().strip().replace("+", PLUS)
                if other := first.get(key):
                    raise InputError(f"labels: the label {what}s {other!r} and {value!r} collide; make them distinct")
                first[key] = value

    def __len__(self) -> int:
        return len(self.names)

    def key(self, labels: Iterable[int]) -> str:
        """Readable key of a composition: names in label-id order joined by '+', a + in a name written wide."""
        return "+".join(self.names[label].replace("+", PLUS) for label in sorted(labels)) or EMPTY_KEY

    def index(self, name: str) -> int:
        """Id of a label name; InputError when unknown."""
        try:
            return self.names.index(name)
        except ValueError:
            raise InputError(f"unknown label {name!r}; the labels are {', '.join(self.names)}") from None

    def composition(self, key: str) -> tuple[int, ...]:
        """Inverse of `key`."""
        if key == EMPTY_KEY:
            return ()
        names = {name.replace("+", PLUS): name for name in self.names}
        return tuple(sorted(self.index(names.get(word, word)) for word in key.split("+")))

    def phrase(self, labels: Iterable[int], separator: str) -> str:
        """Label phrases in label-id order joined by the benchmark's separator."""
        return separator.join(self.phrases[label] for label in sorted(labels))

    def check_separator(self, separator: str) -> None:
        """A phrase that contains the separator could not be parsed back out of a generated list."""
        for phrase in self.phrases:
            if separator.strip() in phrase:
                raise InputError(
                    f"label phrase {phrase!r} contains the separator {separator!r}; set another label_separator"
                )

    @classmethod
    def read(cls, path: Path | str) -> Labels:
        row = read_json(path, LabelNames, "give the labels.json that the stage split writes")
        try:
            return cls(tuple(row["names"]), tuple(row["phrases"]))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def write(self, path: Path | str) -> None:
        write_json(path, {"names": list(self.names), "phrases": list(self.phrases)})


def text_key(text: str) -> str:
    """Two texts are the same text when their keys are equal: white space collapsed, case folded."""
    return " ".join(text.split()).casefold()


def sub_seed(seed: int, *names: str | int) -> int:
    """A 31-bit seed for a named purpose: depends on the names, never on the order of calls."""
    digest = hashlib.sha256("/".join(map(str, (seed, *names))).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def halves(ids: Sequence[str], seed: int, word: str) -> tuple[list[int], list[int]]:
    """Positions of every second id and of the others, in an order that follows from seed, word and the ids alone."""
    order = sorted(range(len(ids)), key=lambda at: sub_seed(seed, word, ids[at]))
    return order[::2], order[1::2]


def read_label_sets(path: Path, n_labels: int) -> list[tuple[int, ...]]:
    """The "requested_labels" of every line."""
    label_sets = []
    for number, row in iter_rows(path):
        try:
            label_sets.append(label_ids(row["requested_labels"], n_labels))
            if not label_sets[-1]:
                raise InputError("an empty label set cannot be requested; remove the line")
        except (KeyError, TypeError):
            raise InputError(f"{path}:{number}: field 'requested_labels' is missing or not a list") from None
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
    return label_sets


def write_jsonl(path: Path | str, examples: Iterable[Example]) -> int:
    return write_rows(path, (example.as_row() for example in examples))


def read_jsonl(path: Path | str, n_labels: int | None = None, may_be_empty: bool = True) -> list[Example]:
    """Examples of `iter_jsonl`. InputError where there is none and there must be.

    A training set without rows, for example, beside a support set that would be trained on alone.
    """
    examples = list(iter_jsonl(path, n_labels))
    if not (examples or may_be_empty):
        raise InputError(f"{path}: no rows; run the stage that makes it (`dvc repro`)")
    return examples


def iter_jsonl(path: Path | str, n_labels: int | None = None) -> Iterator[Example]:
    """Examples of a file in the project's schema.

    InputError names file and line for: malformed JSON, no id, text or labels, empty text, duplicate id, a label id that
    is negative, repeated or not below `n_labels`.
    """
    seen: set[str] = set()
    for number, row in iter_rows(path):
        try:
            example = example_of(row, n_labels)
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
        if example.id in seen:
            raise InputError(f"{path}:{number}: duplicate id {example.id!r}; ids must be unique in a file")
        seen.add(example.id)
        yield example


def example_of(row: dict, n_labels: int | None) -> Example:
    """Validate one row."""
    for name, kind in (("id", str), ("text", str), ("labels", list)):
        if not isinstance(row.get(name), kind):
            raise InputError(f"field {name!r} is missing or not a {kind.__name__}")
    if unknown := set(row) - set(Example.__slots__):
        raise InputError(f"unknown field {min(unknown)!r}; the fields are {', '.join(Example.__slots__)}")
    if not row["text"].strip():
        raise InputError(f"empty text (id {row['id']!r}); remove the row or give it a text")
    values = row | {"labels": label_ids(row["labels"], n_labels)}
    if row.get("requested_labels") is not None:
        values["requested_labels"] = label_ids(row["requested_labels"], n_labels)
    if row.get("soft_labels") is not None:
        values["soft_labels"] = tuple(map(float, row["soft_labels"]))
    return Example(**values)


def label_ids(values: Sequence[object], n_labels: int | None) -> tuple[int, ...]:
    for value in values:
        if type(value) is not int or value < 0 or (n_labels is not None and value >= n_labels):
            limit = "" if n_labels is None else f" between 0 and {n_labels - 1}"
            raise InputError(f"unknown label {value!r}; label ids are whole numbers{limit}")
    if len(set(values)) != len(values):
        raise InputError(f"a label is repeated in {list(values)}")
    return tuple(sorted(values))
