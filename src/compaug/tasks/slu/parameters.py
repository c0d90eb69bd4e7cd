"""configs/slu.yaml: the corpora, how few of their utterances are used, the joint classifier."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from compaug.core.files import InputError
from compaug.core.schema import Block, Length, Positive, Probability, Rate, Seed, Share, Words
from compaug.data.parameters import File
from compaug.experiments.params import of_file

FILE = Path("configs/slu.yaml")
FACTORISED = "factorised"  # the baseline
Mode = Literal["labels", "words", "span", "multi_spans", "factorised"]


class SluCorpus(Block):
    reader: Literal["snips"]
    files: dict[Words, File]


class Joint(Block):
    """Two heads on an encoder.

    As many steps whatever it learns from, so that what is compared is the utterances. The last one counts, here and for
    the writer, because few utterances leave none for validation.
    """

    steps: Positive
    batch_size: Positive
    balanced: bool  # real utterances as often as makes them as many as the written ones
    lr: Rate
    lr_head: Rate
    warmup: Share
    dropout: Share
    max_length: Length


class Writer(Block):
    epochs: Positive
    batch_size: Positive
    mode: Mode
    strict: bool
    masked: Share
    lora: Positive
    lr: Rate
    warmup: Share
    max_length: Length
    each: Positive
    temperature: Annotated[float, Field(gt=0)]
    top_p: Probability


class Experiment(Block):
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
