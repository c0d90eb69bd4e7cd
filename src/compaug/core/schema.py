"""What the schemas of parameters are made of; most schemas are in a `parameters.py` beside the code that reads them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1)]  # learning rates
Amount = Annotated[float, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Length = Annotated[int, Field(ge=4)]  # tokens of a text: its two marks and something between them
Count = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Words = Annotated[str, Field(min_length=1)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # SHA-256 of a file


def whole_epochs(steps: int, rows: int, batch_size: int) -> int:
    """How many whole epochs over so many rows take at least the steps."""
    return math.ceil(steps / math.ceil(rows / batch_size))


class Block(BaseModel):
    """A mapping of parameters: no unknown key, no value of another type, no NaN. Its values cannot be set."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def in_force(self) -> dict[str, Any]:
        """What files say of it: all but options that are off, which are None, so that a new one changes no file."""
        return {name: value for name, value in self if value is not None}


class Package(Block):
    """An archive of the Python package index."""

    name: Words
    version: Words
    sha256: Digest


def first_problem(error: ValidationError) -> str:
    """The first place of a file and what is wrong there, in one line; a misspelt key explains a missing one."""
    problem = min(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    place = ".".join(map(str, problem["loc"])) or "the file"
    return f"{place}: {problem['msg'].removeprefix('Value error, ')}"


class Paced(Block):
    """A training that may have a curriculum over a data map (`curricula`, `cartography`).

    With one it has no early stopping: what is still locked is not known to be of no use.
    """

    pacing: Literal["exponential", "linear", "all"] | None = None  # all: no curriculum, for as many steps
    first: Literal["hard", "ambiguous", "easy"] | None = None  # what it begins with
    measure: Words | None = None  # of the map; None: its first

    @model_validator(mode="after")
    def _has_both(self) -> Paced:
        if (self.pacing in ("exponential", "linear")) != (self.first is not None):
            raise ValueError("first: pacing exponential or linear, and no other, begins with hard, ambiguous or easy")
        return self
