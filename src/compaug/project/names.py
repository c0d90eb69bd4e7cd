"""The label names of a trained classifier: its folder has their phrases, the split's labels.json the names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from compaug.core.records import InputError, Labels, read_json

FACTS = "classifier.json"  # as classifiers/body.py calls it, which is slow to import


class Facts(TypedDict):
    """What predictions and an export need of it."""

    classifier: str
    phrases: list[str]
    settings: dict[str, Any]


def facts_of(model_dir: Path) -> dict:
    """What a classifier's folder says of it. InputError where it is none."""
    if not (model_dir / FACTS).is_file():
        hint = "; an exported classifier is opened by transformers" if (model_dir / "thresholds.json").is_file() else ""
        raise InputError(f"{model_dir}: no {FACTS}, so this is no classifier that was trained here{hint}")
    return read_json(model_dir / FACTS, Facts)


def names_of(model_dir: Path, labels: Path) -> tuple[str, ...]:
    """Label names in the order of ids. InputError where the file's phrases are not the classifier's."""
    phrases, inventory = facts_of(model_dir)["phrases"], Labels.read(labels)
    if list(inventory.phrases) != phrases:
        raise InputError(
            f"{labels}: its {len(inventory)} labels are not the {len(phrases)} of {model_dir}; give --labels, the "
            "labels.json of its split"
        )
    return inventory.names
