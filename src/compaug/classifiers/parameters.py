"""Parameters of the classifiers and of the filter (paper, "MLTC Models")."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from compaug.core.schema import (
    Amount,
    Block,
    Count,
    Length,
    Paced,
    Positive,
    Probability,
    Rate,
    Share,
    Words,
    whole_epochs,
)


class Selection(Block):
    """Paper, "Quality Control"."""

    mode: Literal["top_k", "random"]
    scope: Literal["global", "per_composition"]
    score: Literal["log_joint", "jaccard", "posterior", "hard", "ambiguous", "easy"]
    measure: Words | None = None  # of the data map, for the last three; None: its first
    overgenerate: Annotated[float, Field(ge=1)] | None
    weight: Share
    strength: Amount
    k: Count
    labels: Literal["soft", "teacher"] | None = None  # of what is kept; None: those that it brings
    sharpening: Probability | None = None  # T of soft labels; None: 1, which leaves them as they are

    @model_validator(mode="after")
    def _sharpens_something(self) -> Selection:
        if self.sharpening is not None and self.labels is None:
            raise ValueError("sharpening: goes with labels: soft or teacher")
        return self


class Classifier(Paced):
    """What all classifiers have (paper, "MLTC Models", Appendix A)."""

    epochs: Positive
    steps: Positive | None = None  # in place of epochs: as many, to a whole one, whatever it learns from
    lr: Rate
    lr_head: Rate
    batch_size: Positive
    max_length: Length
    patience: Positive | None = None
    validation: Annotated[float, Field(gt=0, lt=1)]
    dropout: Share
    support_repeat: Positive
    synthetic_repeat: Positive | None = None  # how often an epoch has each synthetic text; None: once
    dynamics: bool | Literal["during"]
    mixout: Probability | None = None  # mu: the share of a weight matrix that a step trains
    mixout_mask: Literal["entry", "column"] | None = None  # what a draw is for; None: entry

    def epochs_over(self, rows: int) -> int:
        """How many epochs over so many rows."""
        return whole_epochs(self.steps, rows, self.batch_size) if self.steps else self.epochs

    def without_texts(self) -> Classifier:
        """What holds for one that learns from no synthetic text, such as the filter."""
        return self.model_copy(update={"synthetic_repeat": None})


class Tuned(Classifier):
    """Those that tune an encoder."""

    freeze_layers: Count | None = None  # its embeddings and so many layers stay as they are; 0: none


class Pooled(Tuned):
    """Those that read one state of the text."""

    pool: Literal["cls", "mean"]


class Bert(Pooled):
    """BERT of "MLTC Models"."""

    head_hidden: Count
    mixup: bool | None = None  # learns from states of two texts that are mixed, and their labels alike
    prediction_head: bool | None = None  # ModernBERT's own head before the labels' heads: transformers opens it

    @model_validator(mode="after")
    def _one_middle(self) -> Bert:
        if self.prediction_head and self.head_hidden:
            raise ValueError("prediction_head and head_hidden are two middle layers; set one of them")
        return self


class BertP(Classifier):
    """BERT+P (docs/spec/ld-vae.md, 10)."""

    pool: Literal["cls", "mean"]
    prefix_length: Positive


class Dbloss(Pooled):
    """BERT+DBloss (Wu et al. 2020)."""

    gamma: Amount
    negative_scale: Annotated[float, Field(gt=0)]
    bias_scale: Amount
    weight_offset: Amount
    weight_slope: Annotated[float, Field(gt=0)]
    weight_centre: float


class Magnet(Tuned):
    """BERT+MAGNET (Pal et al. 2020)."""

    gat_layers: Positive
    gat_heads: Positive
    adjacency: Literal["xavier", "identity", "co_occurrence"]
    adjacency_mask: bool


class Sgm(Tuned):
    """BERT+SGM (Yang et al. 2018)."""

    embedding: Positive
    hidden: Positive
    beams: Positive


class T5Clp(Classifier):
    """T5+CLP (Chai et al. 2022)."""

    template: Words
    empty_word: Words
    separator: Words | None = None  # None: the paper's [SSEP]
    contrast: Annotated[float, Field(ge=0, le=1)]
    tau: Annotated[float, Field(gt=0)]
    beams: Positive
    show_labels: bool
    strict: bool
    warmup: Share
    lr_schedule: Literal["decay", "increase"]


class Custom(Classifier):
    """A classifier of the user's own: anything beside what all have."""

    model_config = ConfigDict(extra="allow")


BLOCKS: dict[str, type[Block]] = {  # a further name is a further file of this folder
    "bert": Bert,
    "bert_p": BertP,
    "dbloss": Dbloss,
    "magnet": Magnet,
    "sgm": Sgm,
    "t5_clp": T5Clp,
}
