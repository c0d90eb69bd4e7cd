"""Pages and tables made from result files: what people read, and the numbers `dvc metrics diff` compares."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from compaug.data.multi_label import METRICS
from compaug.data.parameters import Backbone, Backbones

__all__ = ["METRICS", "backbone_names"]


def backbone_names(backbones: Backbones, roles: Collection[str]) -> dict[str, str]:
    """Each role's pre-trained model in words, from the benchmark's `backbones` block.

    Of the filter's and classifier's encoder, the label generator's decoder, and the roles that the text generator
    opens.
    """

    def name(backbone: Backbone) -> str:
        if backbone.kind == "tiny":
            return f"tiny, {backbone.layers} layers of {backbone.hidden}"
        return Path(backbone.path).name if backbone.kind == "path" else backbone.name

    return {role: name(backbone) for role, backbone in backbones if role in {"encoder", "decoder", *roles}}
