"""None: the control without augmentation answers no request at all."""

from collections.abc import Iterator
from pathlib import Path

from compaug.core.records import Draft
from compaug.generators import Backbones, Requests
from compaug.generators.shared.real_rows import train

TAKES_REQUESTS = False
__all__ = ["TAKES_REQUESTS", "generate", "train"]


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """No draft."""
    return iter(())
