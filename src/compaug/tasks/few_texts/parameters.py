"""Parameters of the low-resource experiment: configs/low_resource.yaml."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from compaug.core.schema import Block, Positive, Seed, Words
from compaug.experiments.params import of_file

FILE = Path("configs/low_resource.yaml")


class LowResource(Block):
    benchmark: Words
    scale: Words
    texts: Annotated[list[Positive], Field(min_length=1)]
    tested: Positive
    n_aug: Positive
    seeds: Annotated[list[Seed], Field(min_length=1)]
    classifier: str
    generators: Annotated[dict[Words, str], Field(min_length=1)]


def load(source: Path) -> LowResource:
    """InputError: one line naming the key and what is wrong."""
    return of_file(LowResource, source)
