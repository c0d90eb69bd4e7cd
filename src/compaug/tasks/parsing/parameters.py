"""Parameters of the parsing task: configs/parsing.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from compaug.core.files import InputError
from compaug.core.schema import Block, Count, Paced, Positive, Probability, Rate, Seed, Share
from compaug.data.parameters import File
from compaug.experiments.params import of_file

FILE = Path("configs/parsing.yaml")


class Corpus(Block):
    reader: Literal["cogs", "cfq"]
    files: dict[str, File]


class Size(Block):
    """A Transformer, its training and its map: cartography spec, sections 1 and 4."""

    sample: Probability  # of the training rows, every word kept; 1: all of them
    width: Positive
    inner: Positive  # of the feed-forward part
    heads: Positive
    layers: Positive  # of the encoder, and as many of the decoder
    dropout: Share
    steps: Positive
    batch_size: Positive
    lr: Rate  # its highest
    warmup: Share  # of the steps
    schedule: Literal["decay", "constant", "root"]  # root: Noam's, which falls with the square root of the steps
    map_epochs: Annotated[int, Field(ge=2)]
    min_epoch: Count
    convergence_epoch: Positive | None
    bleu: Annotated[float, Field(ge=0, le=1)]  # of the rows: BLEU takes a decoding

    @model_validator(mode="after")
    def _divides(self) -> Size:
        if self.width % (2 * self.heads):
            raise ValueError(f"width: {self.width} is not a multiple of twice the heads, {2 * self.heads}")
        return self


class Choice(Paced):
    """What a parser learns from, and in which order: cartography spec, sections 2 and 3."""

    region: Literal["all", "random", "hard", "ambiguous", "easy", "hard_ambiguous", "hard_easy", "ambiguous_easy"]
    ratio: Probability
    keep: Positive  # rows that have each word, on either side; or all that there are

    @property
    def mapped(self) -> bool:
        """Whether a data map must say which rows these are."""
        return self.region not in ("all", "random") or self.first is not None


class Runs(Block):
    """Every choice with every seed, at one size."""

    corpus: str
    scale: str
    seeds: Annotated[list[Seed], Field(min_length=1)]
    choices: Annotated[list[str], Field(min_length=1)]  # "region=hard,measure=bleu": what differs from `choice`


class Parsing(Block):
    corpora: dict[str, Corpus]
    scales: dict[str, dict[str, Size]]
    choice: Choice
    runs: Annotated[list[Runs], Field(min_length=1)]

    def corpus_of(self, name: str) -> Corpus:
        """InputError where there is no such corpus."""
        if name not in self.corpora:
            raise InputError(f"{FILE}: corpora has no {name!r}; there is {', '.join(self.corpora)}")
        return self.corpora[name]

    def size(self, scale: str, corpus: str) -> Size:
        """InputError where the scale says nothing of the corpus."""
        if corpus not in self.scales.get(scale, {}):
            choices = ", ".join(
                f"{scale_name} of {name}" for scale_name, sizes in self.scales.items() for name in sizes
            )
            raise InputError(f"{FILE}: scales.{scale} has no {corpus!r}; there is {choices}")
        return self.scales[scale][corpus]


def load(source) -> Parsing:
    return of_file(Parsing, source)
