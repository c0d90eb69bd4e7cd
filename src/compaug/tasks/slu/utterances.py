"""Utterances with an intent and BIO tags: SNIPS and NLU-ED read strictly, few of them drawn, their files.

A file has one utterance a line.

A file has one utterance a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from compaug.core.records import InputError, iter_rows, read_json, sub_seed, write_json, write_rows
from compaug.data.corpus import lines
from compaug.generators.joint.augmented_language import spans_of

PARTS = ("train", "validation", "test")
INVENTORY = "inventory.json"
Inventory = dict[str, list[str]]  # "intents" and "slots": sorted names of the whole corpus
FACTS = "corpus.json"  # which corpus, and how few of it
HEADER = ("fold", "answerid", "scenario", "intent", "annotated", "text")  # of NLU-ED
BRACKET = re.compile(r"\[([^][:]+):([^][]*)\]")  # [slot : its words]


@dataclass(frozen=True)
class Utterance:
    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]  # BIO, one a word
    intent: str


# ---------------------------------------------------------------- corpora


def read_snips(files: Mapping[str, Path]) -> dict[str, list[Utterance]]:
    """{part: utterances} of files of `intent, words, tags` between tabs, without a header.

    Words and tags between blanks, as many of both. Or of the three files of each part, `train_label`, `train_in` and
    `train_out`, that were published.

    Words and tags between blanks, as many of both. Or of the three files of each part, `train_label`, `train_in` and
    `train_out`, that were published.
    """
    return {part: [_snips(*line) for line in _snips_lines(files, part)] for part in PARTS}


def _snips_lines(files: Mapping[str, Path], part: str) -> Iterator[tuple[Path, int, list[str]]]:
    if part in files:
        yield from ((files[part], number, fields) for number, fields in _rows(files[part], 3))
        return
    columns = [files.get(f"{part}_{kind}") for kind in ("label", "in", "out")]
    if None in columns:
        raise InputError(f"files.{part}: is missing, and so is one of {part}_label, {part}_in and {part}_out")
    sides = [[field for _, (field,) in _rows(path, 1)] for path in columns]
    if len({len(side) for side in sides}) > 1:
        raise InputError(f"{columns[0]}: has not as many lines as {columns[1]} and {columns[2]}; restore the files")
    yield from ((columns[1], number, list(fields)) for number, fields in enumerate(zip(*sides, strict=True), start=1))


def _snips(path: Path, number: int, fields: Sequence[str]) -> Utterance:
    intent, *sides = fields
    words, tags = (tuple(side.split()) for side in sides)
    if not intent.strip() or not words or len(words) != len(tags):
        raise InputError(f"{path}:{number}: {len(words)} words, {len(tags)} tags, intent {intent!r}; restore the file")
    return _checked(path, number, Utterance(f"{path.name.split('.')[0]}-{number}", words, tags, intent.strip()))


def read_nlu_ed(files: Mapping[str, Path], fold: int = 1) -> dict[str, list[Utterance]]:
    """{part: utterances} of the union of ten test folds.

    `fold` is the test, the next one is for validation, eight to train on. An intent is `scenario_intent`.

    `fold` is the test, the next one is for validation, eight to train on. An intent is `scenario_intent`.
    """
    path, rows = files["all"], []
    for number, fields in _rows(path, len(HEADER)):
        if number == 1:
            if tuple(fields) != HEADER:
                raise InputError(f"{path}:1: the columns are not {', '.join(HEADER)}; restore the file")
            continue
        of, _, scenario, intent, annotated, _ = fields
        if not of.isdecimal():
            raise InputError(f"{path}:{number}: the fold {of!r} is no number; restore the file")
        words, tags = _annotated(path, number, annotated)
        utterance = Utterance(f"nlu_ed-{number}", words, tags, f"{scenario}_{intent}")
        rows.append((int(of), _checked(path, number, utterance)))
    folds = sorted({of for of, _ in rows})
    if fold not in folds or len(folds) < len(PARTS):
        raise InputError(f"{path}: has the folds {folds}; {fold} is to be one of at least {len(PARTS)}")
    held = folds[(folds.index(fold) + 1) % len(folds)]
    part_of = {of: "test" if of == fold else "validation" if of == held else "train" for of in folds}
    return {part: [row for of, row in rows if part_of[of] == part] for part in PARTS}


def _annotated(path: Path, number: int, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`wake me at [time : nine am]` as words and tags."""
    words: list[str] = []
    tags: list[str] = []
    end = 0
    for bracket in [*BRACKET.finditer(text), None]:
        plain = text[end : bracket.start() if bracket else len(text)]
        if "[" in plain or "]" in plain:
            raise InputError(f"{path}:{number}: brackets that are no [slot : words]; restore the file")
        words += plain.split()
        tags += ["O"] * len(plain.split())
        if bracket:
            slot, inside = bracket[1].strip().replace(" ", "_"), bracket[2].split()
            words += inside
            tags += [f"{'I' if at else 'B'}-{slot}" for at in range(len(inside))]
            end = bracket.end()
    if not words:
        raise InputError(f"{path}:{number}: has no words; restore the file")
    return tuple(words), tuple(tags)


def _rows(path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """(line, its fields) of a file with tabs, plain or packed."""
    for number, line in lines(path):
        fields = line.split("\t")
        if len(fields) != width:
            raise InputError(f"{path}:{number}: {len(fields)} fields between tabs, not {width}; restore the file")
        yield number, fields


def _checked(path: Path, number: int, utterance: Utterance) -> Utterance:
    try:
        spans_of(utterance.tags)
    except InputError as error:
        raise InputError(f"{path}:{number}: {error}") from None
    return utterance


READERS = {"snips": read_snips, "nlu_ed": read_nlu_ed}


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
    """Without the training utterances whose words stand in the validation or test set too (25 of SNIPS).

    And without those for validation that stand in the test set.

    And without those for validation that stand in the test set.
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


def read(path: Path, names: Inventory | None = None, may_be_empty: bool = False) -> list[Utterance]:
    """Utterances of a file that `write` made.

    InputError names the line that is wrong, or has a name that `names` lacks, and a file without any, unless it may be
    empty: a decoder can write nothing that can be read.

    InputError names the line that is wrong, or has a name that `names` lacks, and a file without any, unless it may be
    empty: a decoder can write nothing that can be read.
    """
    utterances = []
    for number, row in iter_rows(path):
        try:
            utterance = Utterance(row["id"], tuple(row["words"]), tuple(row["tags"]), row["intent"])
            strings = [utterance.id, utterance.intent, *utterance.words, *utterance.tags]
            if not all(isinstance(word, str) for word in strings) or not 0 < len(utterance.words) == len(
                utterance.tags
            ):
                raise ValueError("id, intent, words and tags, as many of both, are strings")
            spans_of(utterance.tags)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}:{number}: no utterance ({error}); run the stage again that made it") from None
        named = inventory([utterance])
        for kind in named if names else ():
            if strange := set(named[kind]) - set(names[kind]):
                raise InputError(f"{path}:{number}: {min(strange)!r} is none of the {kind}; run its stage again")
        utterances.append(utterance)
    if not (utterances or may_be_empty):
        raise InputError(f"{path}: has no utterance; run the stage again that made it")
    if len({row.id for row in utterances}) < len(utterances):
        raise InputError(f"{path}: an id occurs twice; run the stage again that made it")
    return utterances


def read_inventory(folder: Path) -> Inventory:
    names = read_json(folder / INVENTORY)
    if not names["intents"]:
        raise InputError(f"{folder / INVENTORY}: has no intent; run its stage again")
    return names
