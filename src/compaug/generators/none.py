"""None: the control without augmentation answers no request at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.generators.controls import train
from compaug.records import Labels

__all__ = ["generate", "train"]


def generate(
    model_dir: Path,
    label_sets: Sequence[Sequence[int]],
    labels: Labels,
    synthesis,
    backbones: Mapping[str, Path],
    seed: int,
) -> list[str]:
    """No text."""
    return []
