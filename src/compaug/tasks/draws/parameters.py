"""Parameters of the draws of held-out combinations: configs/draws.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from compaug.core.schema import Block, Positive, Words
from compaug.experiments.params import of_file

FILE = Path("configs/draws.yaml")


class Draws(Block):
    draws: Positive
    corpora: Annotated[dict[Words, str], Field(min_length=1)]


def load(source: Path) -> Draws:
    """InputError: one line naming the key and what is wrong."""
    return of_file(Draws, source)
