"""LINDA between a frozen encoder and a frozen decoder: the mixed states become the decoder's prefix (spec/linda.md; the body is ours)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from compaug.generators import interpolation, linda
from compaug.generators.linda import account, feasible  # noqa: F401 - of the contract

ROLES = ("encoder", "decoder")


def body_of(backbones: Mapping[str, Path], params: Mapping):
    """Encoder and decoder of these folders with a new network between them."""
    from compaug.generators.bodies import PrefixBody
    from compaug.pretrained import load_decoder, load_encoder

    encoder, decoder = load_encoder(backbones["encoder"]), load_decoder(backbones["decoder"])
    return PrefixBody(*encoder, *decoder, params["mid_dim"], params["max_length"])


def opened(model_dir: Path, params, backbones: Mapping[str, Path]) -> interpolation.Interpolation:
    """The trained network between its two frozen models."""
    return interpolation.load(model_dir, params, body_of, backbones)


train = partial(interpolation.train, "linda_prefix", body_of, interpolation.save_nothing)
generate = partial(linda.generate_with, opened)
