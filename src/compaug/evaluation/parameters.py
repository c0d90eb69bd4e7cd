"""Parameters of decoding and of the measures (spec section 3)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from compaug.blocks import Amount, Block


class Evaluation(Block):
    decoding: Literal["threshold", "tuned_thresholds", "composition_prior"]
    threshold: Annotated[float, Field(gt=0, lt=1)]
    empty_both: Literal["one", "reference"]


class CompositionPrior(Block):
    """Label-shift correction at the level of compositions."""

    target: Literal["support", "label_generator", "both"]
    calibrate: bool
    back_off: bool
    weight: Annotated[float, Field(ge=0, lt=1)] | None
    strength: Amount | None
