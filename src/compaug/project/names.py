"""The label names of a trained classifier, from its folder; and from a split's labels.json, which must be its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired

from typing_extensions import TypedDict

from compaug.core.files import InputError, read_json
from compaug.core.records import Labels

FACTS = "classifier.json"  # as classifiers/body.py calls it, which is slow to import
THRESHOLDS, COMBINATIONS = "thresholds.json", "combinations.json"  # of an exported classifier


class Facts(TypedDict):
    """What predictions and an export need of it."""

    classifier: str
    phrases: list[str]
    names: NotRequired[list[str]]  # where they are not the phrases
    settings: dict[str, Any]


def is_exported(model_dir: Path) -> bool:
    """Whether `compaug export` wrote the folder, for plain transformers."""
    return (model_dir / THRESHOLDS).is_file() and not (model_dir / FACTS).is_file()


def facts_of(model_dir: Path) -> dict:
    """What a classifier's folder says of it. InputError where it is none."""
    if not model_dir.is_dir():
        raise InputError(f"{model_dir}: no such folder; give that of a classifier, such as models/repair of an audit")
    if not (model_dir / FACTS).is_file():
        exported = is_exported(model_dir)
        hint = "an exported classifier is opened by transformers" if exported else "models/repair of an audit is one"
        raise InputError(f"{model_dir}: no {FACTS}, so this is no classifier that was trained here; {hint}")
    return read_json(model_dir / FACTS, Facts)


def names_of(model_dir: Path, labels: Path) -> tuple[str, ...]:
    """Label names in the order of ids, by a split. InputError where the file's phrases are not the classifier's."""
    phrases, inventory = facts_of(model_dir)["phrases"], Labels.read(labels)
    if list(inventory.phrases) != phrases:
        raise InputError(
            f"{labels}: its {len(inventory)} labels are not the {len(phrases)} of {model_dir}; give --labels, the "
            "labels.json of its split"
        )
    return inventory.names
