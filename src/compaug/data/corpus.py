"""What a reader returns, and what readers share: numbered lines, the authors' split files, counts of a corpus."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from compaug.core.records import Example, InputError, Labels, iter_rows, loads, text_key
from compaug.data.download import open_bytes

LONGEST = csv.field_size_limit()  # characters of a text
SPLITS = ("train", "support", "test")  # of the authors' compositional split (paper, Table 6)


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


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of every line; only a newline ends a line, and a byte-order mark is dropped."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(f"{path}:{number}: not UTF-8 ({error.reason}); convert the file to UTF-8") from None
            yield number, line.removesuffix("\n").removesuffix("\r")


def csv_rows(path: Path, delimiter: str, needed: Iterable[str]) -> Iterator[tuple[int, dict[str, str] | str]]:
    """Number of its last line and values by column of every row of a CSV file with a header; blank lines are skipped.

    A row with another number of columns has a sentence that says so in the place of its values.
    """
    reader = csv.reader((f"{line}\n" for _, line in lines(path)), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        require_columns(f"{path}:1", needed, header)
        if len(set(header)) != len(header):
            raise InputError(f"{path}:1: a column name occurs twice; rename one")
        for values in filter(None, reader):
            if len(values) == len(header):
                yield reader.line_num, dict(zip(header, values, strict=True))
            else:
                fault = f"{len(values)} columns, the header has {len(header)}"
                yield reader.line_num, f"{fault}; quote values that contain the delimiter, a quote or a line break"
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: not valid CSV ({error}); mend the line") from None


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


def indicators(values: Iterable[object], names: Sequence[str]) -> tuple[int, ...]:
    """Label ids of a row of zeros and ones; ValueError says what is wrong with it."""
    values = list(values)
    if len(values) != len(names):
        raise ValueError(f"{len(values)} label values, expected {len(names)}")
    for name, value in zip(names, values, strict=True):
        if value not in (0, 1, "0", "1"):
            raise ValueError(f"the value {value!r} of label {name!r} is neither 0 nor 1")
    return tuple(label for label, value in enumerate(values) if int(value))


def clean(text: str) -> str:
    """The text without white space at its ends, in which releases of one corpus differ.

    ValueError when nothing is left, or so much that it is a file rather than a text: what the reader of CSV refuses.
    """
    if not (text := text.strip()):
        raise ValueError("empty text; remove the row or give it a text")
    if len(text) > LONGEST:
        raise ValueError(f"a text of {len(text):,} characters; cut it, {LONGEST:,} is the limit")
    return text


def read_split_files(
    labels: Labels, files: Mapping[str, Path], phrase_sets: Mapping[str, tuple[str, ...]] | None = None
) -> Corpus:
    """The authors' release: one file per split, lines `[0, 1, ...]<TAB>text`, ids by split and line.

    A file may lack the newline of its last line. Any of the three splits can be given.
    """
    if not files or not set(files) <= set(SPLITS):
        raise InputError(f"files: got {', '.join(files) or 'nothing'}; this reader takes {', '.join(SPLITS)}")
    examples, reference = [], {}
    for split in (split for split in SPLITS if split in files):
        for number, line in lines(files[split]):
            vector, tab, text = line.partition("\t")
            try:
                if not tab:
                    raise ValueError("no tab between labels and text")
                labels_of_text = indicators(loads(vector), labels.names)
                example = Example(f"cg-{split}-{number:05d}", clean(text), labels_of_text)
            except (ValueError, TypeError) as error:
                raise InputError(f"{files[split]}:{number}: expected '[0, 1, ...]<TAB>text' ({error})") from None
            examples.append(example)
            reference[example.id] = split
    return Corpus(examples, labels, reference, phrase_sets or {})


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
