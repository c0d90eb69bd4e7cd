"""Proof that no stage trains on anything of D_test and that a split keeps the protocol (paper, "Problem Setting").

An equal text is fatal. In a split made here texts are compared by `text_key`, which ignores white space and case. A
published split stays as it is, and SemEval's has a train and a test text one space apart: there only verbatim equality
is fatal, near duplicates are counted. The ordinary (iid) split is there for comparison and trains nothing that is
tested on D_test; texts that its two parts share are only counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compaug.core.files import InputError, digest, iter_rows, read_json
from compaug.core.records import Example, Labels, iter_jsonl, read_jsonl, text_key


@dataclass(frozen=True)
class Held:
    """What must not be met again of a test part: its ids, its texts verbatim and as `text_key`s."""

    ids: frozenset[str]
    texts: frozenset[str]
    keys: frozenset[str]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Held:
        return cls(
            frozenset(example.id for example in examples),
            frozenset(example.text.strip() for example in examples),
            frozenset(text_key(example.text) for example in examples),
        )


def audit_split(folder: Path) -> dict:
    """Counts of every check on a folder of the split stage; InputError names the first offending file and id."""
    labels, facts = Labels.read(folder / "labels.json"), read_json(folder / "split.json")
    test = read_jsonl(folder / "test.jsonl", len(labels), may_be_empty=False)
    held, published = Held.of(test), facts["mode"] == "reference"
    report = {
        "test": {"examples": len(test), "compositions": len({example.labels for example in test})},
        "inputs": {
            path.as_posix(): scan(path, held, near_is_fatal=not published)
            for path in (folder / "train.jsonl", folder / "support.jsonl")
        },
        "split": check_protocol(folder, test, labels, facts),
        "test_inputs": check_inputs(folder / "test_inputs.jsonl", test),
    }
    iid_test = read_jsonl(folder / "iid_test.jsonl", len(labels))
    if "seen_test" in facts["ids"]:
        report["seen_test"] = check_seen(folder, test, labels, facts)
    report["iid"] = check_iid(folder, iid_test, labels, facts)
    report["iid_test_inputs"] = check_inputs(folder / "iid_test_inputs.jsonl", iid_test)
    return report


def scan(path: Path, held: Held, near_is_fatal: bool) -> dict[str, int]:
    """Compare a training input with D_test row by row; InputError at the first shared id or text."""
    counts = {"rows": 0, "ids": 0, "texts": 0, "shared_ids": 0, "shared_texts": 0, "near_duplicates": 0}
    for number, row in iter_rows(path):
        identifier, text = row.get("id"), row.get("text")
        counts["rows"] += 1
        if isinstance(identifier, str):
            counts["ids"] += 1
            if identifier in held.ids:
                raise InputError(f"{path}:{number}: {identifier!r} is in D_test; no stage may train on it")
        if isinstance(text, str):
            counts["texts"] += 1
            near = text_key(text) in held.keys
            if text.strip() in held.texts or (near and near_is_fatal):
                raise InputError(f"{path}:{number}: the text of {identifier!r} is in D_test; no stage may train on it")
            counts["near_duplicates"] += near
    return counts


def check_protocol(folder: Path, test: Sequence[Example], labels: Labels, facts: Mapping) -> dict[str, int]:
    """No composition of D_test or D_s in D_train, none in D_s that D'_test lacks, every label in D_train."""
    support = read_jsonl(folder / "support.jsonl", len(labels))
    chosen = {labels.composition(key) for key in facts["test_compositions"]}
    for part, examples in (("support", support), ("test", test)):
        for example in examples:
            if example.labels not in chosen:
                raise InputError(
                    f"{folder / part}.jsonl: {example.id!r} has {labels.key(example.labels)}, which is no "
                    "test composition of split.json; run the split stage again"
                )
    train = read_jsonl(folder / "train.jsonl", len(labels))
    for example in train:
        if example.labels in chosen:
            raise InputError(
                f"{folder / 'train.jsonl'}: {example.id!r} has the test composition "
                f"{labels.key(example.labels)}; run the split stage again"
            )
    compositions = {example.labels for example in train}
    seen = {label for composition in compositions for label in composition}
    if unseen := set(range(len(labels))) - seen:
        name = labels.names[min(unseen)]
        raise InputError(f"{folder / 'train.jsonl'}: no example has the label {name!r}; change split.seed")
    for part, examples in (("train", train), ("support", support), ("test", test)):
        _check_hash(folder, part, examples, facts)
    return {
        "train_compositions": len(compositions),
        "test_compositions": len({example.labels for example in test}),
        "support_compositions": len({example.labels for example in support}),
        "shared_compositions": 0,
        "labels_in_train": len(seen),
    }


def check_inputs(path: Path, test: Sequence[Example]) -> dict[str, int]:
    """The file that classifiers predict on: the test examples in order, without their labels."""
    rows = read_jsonl(path)
    for row in rows:
        if row.labels:
            raise InputError(f"{path}: {row.id!r} carries labels; run the split stage again")
    if [(row.id, row.text) for row in rows] != [(example.id, example.text) for example in test]:
        raise InputError(f"{path}: ids and texts differ from the gold file; run the split stage again")
    return {"rows": len(rows), "labelled": 0}


def check_seen(folder: Path, test: Sequence[Example], labels: Labels, facts: Mapping) -> dict[str, int]:
    """The seen test set: its compositions are in D_train, none of its ids and texts is in D_train, D_s or D_test."""
    seen = read_jsonl(folder / "seen_test.jsonl", len(labels))
    held = Held.of(seen)
    for part in ("train", "support", "test"):
        for row in iter_jsonl(folder / f"{part}.jsonl", len(labels)):
            if row.id in held.ids or row.text.strip() in held.texts:
                raise InputError(f"{folder / part}.jsonl: {row.id!r} is in seen_test too; run the split stage again")
    train_compositions = {example.labels for example in iter_jsonl(folder / "train.jsonl", len(labels))}
    for example in seen:
        if example.labels not in train_compositions:
            raise InputError(
                f"{folder / 'seen_test.jsonl'}: {example.id!r} has {labels.key(example.labels)}, which D_train lacks; "
                "run the split stage again"
            )
    _check_hash(folder, "seen_test", seen, facts)
    check_inputs(folder / "both_inputs.jsonl", [*test, *seen])
    return check_inputs(folder / "seen_test_inputs.jsonl", seen)


def check_iid(folder: Path, test: Sequence[Example], labels: Labels, facts: Mapping) -> dict[str, int]:
    """The ordinary split: no id in both parts; texts in both are counted."""
    held, train = Held.of(test), read_jsonl(folder / "iid_train.jsonl", len(labels))
    for example in train:
        if example.id in held.ids:
            raise InputError(
                f"{folder / 'iid_train.jsonl'}: {example.id!r} is in iid_test too; run the split stage again"
            )
    _check_hash(folder, "iid_train", train, facts)
    _check_hash(folder, "iid_test", test, facts)
    repeated = sum(text_key(example.text) in held.keys for example in train)
    return {"train": len(train), "test": len(test), "shared_ids": 0, "train_texts_in_test": repeated}


def _check_hash(folder: Path, part: str, examples: Sequence[Example], facts: Mapping) -> None:
    if digest([example.id for example in examples]) != facts["ids"].get(part):
        raise InputError(f"{folder / part}.jsonl: ids differ from split.json; run the split stage again")
