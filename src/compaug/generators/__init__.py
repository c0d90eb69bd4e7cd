"""Conditional text generators P(x | y) (paper, "Conditional Text Generative Models").

A generator is one file named after it, in the folder of its paper, and one block of `generators` in params.yaml:

    train(examples, task, params, backbones, out_dir, seed) -> None
        examples: D_cg, support rows have source "support"; task: one of compaug.data.task; params: its resolved block;
        backbones: folder by role, for its `ROLES`. Writes the folder `out_dir` in one piece; it must hold everything
        that generation needs except the backbones and the labels: `task.facts()` too.
    generate(model_dir, requests, task, synthesis, backbones, seed) -> Iterator[Draft]
        requests: label sets. A draft is a text for one of them, by its number: any number of drafts a request, none
        where it has no text, in any order that is the same at every call. Of the task the labels alone are set;
        `task.of_model` gives the rest. The drafts of a request depend on the seed, its number and its label set only
        (of aeda, coda, eda, linda and llm also on the requests before it).

and, where they apply,

    ROLES: the backbones that it opens, of "encoder", "decoder" and "seq2seq"
    COPIES = True: the texts are copies of real ones on purpose, so synthesis drops no duplicates
    TAKES_REQUESTS = False: it yields nothing on purpose, so synthesis counts no request as unanswered
    GUIDED = True: it can hold other labels against those of a request (`synthesis.guidance`)
    feasible(model_dir, requests, task) -> list[bool]: which label sets it can make at all; synthesis skips and counts
        the others and draws further requests in their place
    account(model_dir, requests, task, seed) -> dict: what the side-car is to say about its answers

A file without `generate` is what generators share: of a paper in its folder, of several in `shared`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compaug.core import registry
from compaug.core.records import Draft

Requests = Sequence[Sequence[int]]
Backbones = Mapping[str, Path]


@dataclass(frozen=True)
class Generator:
    train: Callable[..., None]
    generate: Callable[..., Iterator[Draft]]
    roles: tuple[str, ...]
    copies: bool
    takes_requests: bool
    guided: bool
    account: Callable[..., dict] | None
    feasible: Callable[..., list[bool]] | None


def roles_of(name: str) -> tuple[str, ...]:
    return registry.roles_of(sys.modules[__name__], name)


def load(name: str) -> Generator:
    """The generator of that name. InputError when there is no such file, or the file is no generator."""
    module = registry.load(sys.modules[__name__], name, ("train", "generate"))
    return Generator(
        module.train,
        module.generate,
        getattr(module, "ROLES", ()),
        getattr(module, "COPIES", False),
        getattr(module, "TAKES_REQUESTS", True),
        getattr(module, "GUIDED", False),
        getattr(module, "account", None),
        getattr(module, "feasible", None),
    )
