"""What the schemas of parameters are made of; each schema is a `parameters.py` beside the code that reads it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1)]  # learning rates
Amount = Annotated[float, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Length = Annotated[int, Field(ge=4)]  # tokens of a text: its two marks and something between them
Count = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Words = Annotated[str, Field(min_length=1)]

LATER = "later"  # in an annotation: an option that came when there were models already; None is as it was before


class Block(BaseModel):
    """A mapping of parameters: no key that it does not know, no value of another type, no NaN. Its values cannot be set."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def told(self) -> dict[str, Any]:
        """What a model's folder says of it: all but LATER options that are off, so that what was made before has the same bytes."""
        fields = type(self).model_fields
        later = {name for name, field in fields.items() if LATER in field.metadata}
        return {name: value for name, value in self if name not in later or value is not None}
