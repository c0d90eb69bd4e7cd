"""What a reader returns, what readers share, and the counts of a corpus."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from compaug.core.files import InputError, iter_rows
from compaug.core.records import Example, Labels, text_key

LONGEST = csv.field_size_limit()  # characters of a text


@dataclass(frozen=True)
class Corpus:
    """All texts of a corpus, before any split of ours.

    `reference`: id -> "train" | "support" | "test" of a released compositional split, or None. `phrase_sets`: named
    alternatives to the label names, one phrase per label. `dropped`: reason -> number of rows that were left out.
    `own_split`: id -> "train" | "validation" | "test" of an ordinary split that the corpus came with, or None.
    `notes`: what its owner should know.
    """

    examples: list[Example]
    labels: Labels
    reference: dict[str, str] | None = None
    phrase_sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    own_split: dict[str, str] | None = None
    notes: tuple[str, ...] = ()

    def labels_with(self, phrases: Mapping[str, str] | str | None) -> Labels:
        """The inventory with a benchmark's `label_phrases`: a named set, single replacements, or none."""
        names = self.labels.names
        if phrases is None:
            return self.labels
        if isinstance(phrases, str):
            if phrases not in self.phrase_sets:
                raise InputError(
                    f"label_phrases: no set is named {phrases!r}; the sets of this reader are: "
                    f"{', '.join(self.phrase_sets) or 'none'} (or give a mapping from name to phrase)"
                )
            return Labels(names, self.phrase_sets[phrases])
        for name in phrases:
            self.labels.index(name)  # an unknown name is the user's typing error
        return Labels(names, tuple(phrases.get(name, name) for name in names))


def require_columns(where: str, needed: Iterable[str], columns: Iterable[str]) -> None:
    for name in needed:
        if name not in columns:
            raise InputError(f"{where}: no column {name!r}; there are: {', '.join(columns) or 'none'}")


def rows_as(path: Path, kind: type, may_be_empty: bool = False) -> list:
    """The rows of a JSONL file as dataclasses of that kind; InputError for one that is none, and for a file of none."""
    checked, rows = TypeAdapter(kind), []
    for number, row in iter_rows(path):
        try:
            rows.append(checked.validate_python(row))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join(map(str, first["loc"]))
            raise InputError(f"{path}:{number}: {key}: {first['msg']}; run the stage again that made it") from None
    if not (rows or may_be_empty):
        raise InputError(f"{path}: no rows; run the stage again that made it")
    return rows


def clean(text: str) -> str:
    """The text without white space at its ends, in which releases of one corpus differ.

    ValueError when nothing is left, or so much that it is a file rather than a text: what the reader of CSV refuses.
    """
    if not (text := text.strip()):
        raise ValueError("empty text; remove the row or give it a text")
    if len(text) > LONGEST:
        raise ValueError(f"a text of {len(text):,} characters; cut it, {LONGEST:,} is the limit")
    return text


def require_files(files: Mapping[str, Path], *keys: str) -> None:
    for key in keys:
        if key not in files:
            raise InputError(f"files.{key} is missing; this source needs {', '.join(keys)}")


def no_options(reader: str, options: Mapping[str, Any]) -> None:
    if options:
        raise InputError(f"options: the {reader} reader takes none; remove {', '.join(options)}")


def describe(corpus: Corpus) -> dict:
    """Counts for the data card. A text is a duplicate of another when their `text_key`s are equal."""
    n = len(corpus.examples)
    sizes = [len(example.labels) for example in corpus.examples]
    per_label = Counter(label for example in corpus.examples for label in example.labels)
    first: dict[str, tuple[int, ...]] = {}
    conflicting = 0
    for example in corpus.examples:
        labels = first.setdefault(text_key(example.text), example.labels)
        conflicting += labels != example.labels
    return {
        "n": n,
        "n_labels": len(corpus.labels),
        "labels_per_text": {"min": min(sizes), "mean": round(sum(sizes) / n, 4), "max": max(sizes)},
        "mean_words": round(sum(len(example.text.split()) for example in corpus.examples) / n, 2),
        "per_label": {name: per_label[label] for label, name in enumerate(corpus.labels.names)},
        "compositions": len({example.labels for example in corpus.examples}),
        "repeated_texts": n - len(first),
        "repeated_with_other_labels": conflicting,
        "dropped": dict(corpus.dropped),
    }
