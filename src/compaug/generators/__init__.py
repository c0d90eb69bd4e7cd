"""Conditional text generators P(x | y) (paper, "Conditional Text Generative Models"; spec sections 5 to 8).

A generator is one file of this folder, whose name is the generator's, and one block of `generators` in params.yaml:

    train(examples, labels, params, prompt, backbones, out_dir, seed) -> None
        examples: D_cg, support rows have source "support"; params: its resolved block; prompt: `prompts.Prompt`;
        backbones: folder by role, for its `ROLES`. Writes the folder `out_dir` in one piece; it must hold everything
        that generation needs except the backbones.
    generate(model_dir, label_sets, labels, synthesis, backbones, seed) -> list[str]
        One text per requested label set, "" where there is none; or an empty list: the generator takes no requests.
        The text of a request depends on the seed, its number and its label set only.

and, where they apply,

    ROLES: the backbones that it opens, of "encoder", "decoder" and "seq2seq"
    COPIES = True: the texts are copies of real ones on purpose, so synthesis drops no duplicates
    feasible(model_dir, label_sets, labels) -> list[bool]: which label sets it can make at all; synthesis skips and counts the
        others and draws further requests in their place
    account(model_dir, label_sets, labels, seed) -> dict: what the side-car is to say about its answers

Files without `generate` (controls, latents, posterior, prefix, prompts, sampling) are what generators share.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from compaug import named


@dataclass(frozen=True)
class Generator:
    train: Callable[..., None]
    generate: Callable[..., list[str]]
    roles: tuple[str, ...]
    copies: bool
    account: Callable[..., dict] | None
    feasible: Callable[..., list[bool]] | None


def roles_of(name: str) -> tuple[str, ...]:
    return named.roles_of(sys.modules[__name__], name)


def load(name: str) -> Generator:
    """The generator of that name. InputError when there is no such file, or the file is no generator."""
    module = named.load(sys.modules[__name__], name, ("train", "generate"))
    return Generator(
        module.train,
        module.generate,
        getattr(module, "ROLES", ()),
        getattr(module, "COPIES", False),
        getattr(module, "account", None),
        getattr(module, "feasible", None),
    )
