"""None: the control without augmentation answers no request at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compaug.core.records import Draft
from compaug.generators.shared.real_rows import train

TAKES_REQUESTS = False
__all__ = ["TAKES_REQUESTS", "generate", "train"]


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """No draft."""
    return iter(())
