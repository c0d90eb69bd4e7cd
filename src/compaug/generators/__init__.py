"""Conditional text generators P(x | y), by name (paper, "Conditional Text Generative Models"; spec sections 5 to 8).

A generator is one file with two functions, one line below and one block of `generators` in params.yaml:

    train(examples, labels, params, prompt, backbones, out_dir, seed) -> None
        examples: D_cg, support rows have source "support"; params: its resolved block; prompt: `prefix.Prompt`;
        backbones: folder by role ("encoder", "decoder"). Writes the folder `out_dir` in one piece; it must hold everything
        that generation needs except the backbones.
    generate(model_dir, label_sets, labels, synthesis, backbones, seed) -> list[str]
        One text per requested label set, "" where there is none; or an empty list: the generator takes no requests.
        The text of a request depends on the seed, its number and its label set only.

`copies`: the texts are copies of real ones on purpose, so synthesis drops no duplicates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compaug.generators import controls, ld_vae, ls_pt


@dataclass(frozen=True)
class Generator:
    train: Callable[..., None]
    generate: Callable[..., list[str]]
    copies: bool = False


GENERATORS = {
    "none": Generator(controls.train, controls.nothing),
    "oversample": Generator(controls.train, controls.oversample, copies=True),
    "shuffled": Generator(controls.train, controls.shuffled, copies=True),
    "ls_pt": Generator(ls_pt.train, ls_pt.generate),
    "ld_vae": Generator(ld_vae.train, ld_vae.generate),
}
