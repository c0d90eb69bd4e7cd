"""LINDA before a frozen decoder (docs/spec/linda.md, 2; both bodies are ours).

A frozen encoder reads both texts and their mixed states become the decoder's prefix, or the decoder reads the mixed
text itself.
"""

from functools import partial
from pathlib import Path

from compaug.generators import Backbones
from compaug.generators.linda import interpolation, linda
from compaug.generators.linda.linda import account, feasible  # noqa: F401 - of the contract

ROLES = ("encoder", "decoder")
READER = "decoder"  # of `reads`


def body_of(backbones: Backbones, params):
    """The decoder of these folders with what is new before it."""
    from compaug.generators.linda import bodies
    from compaug.models.loading import load_decoder, load_encoder

    decoder = load_decoder(backbones["decoder"])
    if getattr(params, "reads", None) == READER:
        return bodies.ReadingBody(*decoder, params.max_length)
    return bodies.PrefixBody(*load_encoder(backbones["encoder"]), *decoder, params.mid_dim, params.max_length)


def opened(model_dir: Path, params, backbones: Backbones) -> interpolation.Interpolation:
    """What was trained, before its frozen decoder."""
    return interpolation.load(model_dir, params, body_of, backbones)


train = partial(interpolation.train, "linda_prefix", body_of)
generate = partial(linda.generate_with, opened)
