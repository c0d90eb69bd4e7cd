"""Utterances with an intent and BIO tags: SNIPS, few of them drawn, their files, one utterance a line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from compaug.core.files import InputError, read_json, write_json, write_rows
from compaug.core.records import sub_seed
from compaug.data.corpus import require_files, rows_as
from compaug.data.streams import lines
from compaug.generators.joint.augmented_language import spans_of

PARTS = ("train", "validation", "test")
INVENTORY = "inventory.json"
Inventory = dict[str, list[str]]  # "intents" and "slots": sorted names of the whole corpus
FACTS = "corpus.json"  # which corpus, and how few of it


@dataclass(frozen=True)
class Utterance:
    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]  # BIO, one a word
    intent: str


# ---------------------------------------------------------------- corpora


def read_snips(files: Mapping[str, Path]) -> dict[str, list[Utterance]]:
    """{part: utterances} of files of `intent, words, tags` between tabs, words and tags between blanks, no header."""
    require_files(files, *PARTS)
    return {part: list(_snips_rows(files[part])) for part in PARTS}


def _snips_rows(path: Path) -> Iterator[Utterance]:
    for number, (intent, words, tags) in _rows(path, 3):
        yield _utterance(path, number, path.name.split(".")[0], words.split(), tags.split(), intent.strip())


def _rows(path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """(number, fields) of the lines of a file with tabs, plain or packed."""
    for number, line in lines(path):
        fields = line.split("\t")
        if len(fields) != width:
            raise InputError(f"{path}:{number}: {len(fields)} fields between tabs, not {width}; restore the file")
        yield number, fields


def _utterance(
    path: Path, number: int, source: str, words: Sequence[str], tags: Sequence[str], intent: str
) -> Utterance:
    if not intent or not words or len(words) != len(tags):
        raise InputError(f"{path}:{number}: {len(words)} words, {len(tags)} tags, intent {intent!r}; restore the file")
    try:
        spans_of(tags)
    except InputError as error:
        raise InputError(f"{path}:{number}: {error}") from None
    return Utterance(f"{source}-{number}", tuple(words), tuple(tags), intent)


READERS = {"snips": read_snips}


# ---------------------------------------------------------------- few of them


def few(utterances: Sequence[Utterance], share: float, seed: int) -> list[Utterance]:
    """The same share of each intent, at least one, in the corpus' order; smaller shares are part of larger ones."""
    by_intent: dict[str, list[int]] = {}
    for at, utterance in enumerate(utterances):
        by_intent.setdefault(utterance.intent, []).append(at)
    chosen: list[int] = []
    for intent, rows in sorted(by_intent.items()):
        order = np.random.default_rng(sub_seed(seed, "few", intent)).permutation(len(rows))
        chosen += [rows[at] for at in order[: max(1, round(share * len(rows)))]]
    return [utterances[at] for at in sorted(chosen)]


def apart(parts: Mapping[str, Sequence[Utterance]]) -> dict[str, list[Utterance]]:
    """Without training utterances whose words the validation or test set has (25 of SNIPS).

    And without utterances for validation whose words the test set has.
    """
    seen: set[tuple[str, ...]] = set()
    kept = {}
    for part in reversed(PARTS):
        kept[part] = [row for row in parts[part] if row.words not in seen]
        seen |= {row.words for row in parts[part]}
    return {part: kept[part] for part in PARTS}


def inventory(utterances: Iterable[Utterance]) -> Inventory:
    intents, slots = set(), set()
    for utterance in utterances:
        intents.add(utterance.intent)
        slots |= {tag[2:] for tag in utterance.tags if tag != "O"}
    return {"intents": sorted(intents), "slots": sorted(slots)}


# ---------------------------------------------------------------- files


def write(folder: Path, parts: Mapping[str, Sequence[Utterance]], names: Inventory) -> None:
    for part, utterances in parts.items():
        write_rows(folder / f"{part}.jsonl", map(asdict, utterances))
    write_json(folder / INVENTORY, names)


def read(path: Path, names: Inventory, may_be_empty: bool = False) -> list[Utterance]:
    """What `write` wrote, with intents and slots of `names`. Empty is what a decoder wrote that cannot be read."""
    utterances = rows_as(path, Utterance, may_be_empty)
    tags = {"O", *(f"{mark}-{slot}" for slot in names["slots"] for mark in "BI")}
    for row in utterances:
        if not 0 < len(row.words) == len(row.tags) or row.intent not in names["intents"] or not tags >= {*row.tags}:
            raise InputError(f"{path}: {row.id!r} is no utterance of this corpus; run the stage again that made it")
    return utterances


def read_inventory(folder: Path) -> Inventory:
    return read_json(folder / INVENTORY)
