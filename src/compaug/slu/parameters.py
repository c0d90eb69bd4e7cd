"""configs/slu.yaml: the corpora, how few of their utterances are used, the joint classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from compaug.benchmarks.parameters import File
from compaug.blocks import Block, Length, Positive, Probability, Rate, Seed, Share, Words
from compaug.params import of_file
from compaug.records import InputError

FILE = Path("configs/slu.yaml")
FACTORISED = "factorised"  # the baseline
Mode = Literal["labels", "words", "span", "multi_spans", "factorised"]


class SluCorpus(Block):
    reader: Literal["snips", "nlu_ed"]
    files: dict[Words, File]


class Joint(Block):
    """Two heads on an encoder; the last step counts, because few utterances leave none for validation."""

    steps: Positive  # as many with written utterances as without: what is compared is the utterances
    batch_size: Positive
    lr: Rate
    lr_head: Rate
    warmup: Share
    dropout: Share
    max_length: Length


class Writer(Block):
    mode: Mode
    strict: bool
    masked: Share
    lora: Positive
    epochs: Positive
    batch_size: Positive
    lr: Rate
    warmup: Share
    max_length: Length
    each: Positive
    temperature: Annotated[float, Field(gt=0)]
    top_p: Probability


class Experiment(Block):
    on_request: bool
    corpus: Words
    scale: Words  # of configs/scales.yaml: its encoder and decoder
    shares: Annotated[list[Probability], Field(min_length=1)]  # of the training utterances
    modes: Annotated[list[Literal["none"] | Mode], Field(min_length=1)]  # none: real utterances alone
    seeds: Annotated[list[Seed], Field(min_length=1)]


class Slu(Block):
    corpora: dict[Words, SluCorpus]
    joint: Joint
    writer: Writer
    experiment: Experiment

    def corpus_of(self, name: str) -> SluCorpus:
        """InputError where there is no such corpus."""
        if name not in self.corpora:
            raise InputError(f"{FILE}: there is no corpus {name!r}; choose from {', '.join(sorted(self.corpora))}")
        return self.corpora[name]


def load(source) -> Slu:
    return of_file(Slu, source)
