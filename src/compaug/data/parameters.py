"""Parameters of a corpus and its backbones: configs/benchmarks/<name>.yaml and configs/scales.yaml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from compaug.core.schema import Block, Digest, Package, Positive, Rate, Words

GRAMMARS = ("diagnostic",)  # readers of corpora made from a known grammar (`readers.oracle_for`)


class File(Block):
    """A raw file: its canonical address, the SHA-256 of its uncompressed bytes, its path below the mirror.

    `path`: it is in this repository.
    """

    url: Annotated[str, Field(pattern="^https?://")] | None = None
    sha256: Digest | None = None
    mirror: str | None = None
    path: str | None = None


class Backbone(Block):
    """A model trained here on D_train (tiny), or a pretrained one: of the hub, of packages or in a local folder."""

    kind: Literal["tiny", "hub", "pypi", "path"]
    name: str | None = None
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    version: str | None = None
    sha256: Digest | None = None
    parts: Annotated[list[Package], Field(min_length=2)] | None = None  # of kind pypi, where one archive is not enough
    path: str | None = None  # in the archive; with parts a pattern, of one file in each
    layers: Positive | None = None
    hidden: Positive | None = None
    heads: Positive | None = None
    vocab: Annotated[int, Field(ge=300)] | None = None
    max_positions: Positive | None = None
    epochs: Positive | None = None
    lr: Rate | None = None
    batch_size: Positive | None = None
    pretraining: Literal["prompted", "texts"] | None = None  # of a decoder and a sequence-to-sequence model
    architecture: Literal["t5", "bart"] | None = None  # of a sequence-to-sequence model; None: t5
    cased: bool | None = None  # of an encoder: its tokens keep case and accents; without it ü is u
    characters: bool | None = None  # of an encoder: letters of scripts without blanks, such as Thai, are words each

    @model_validator(mode="after")
    def _complete(self) -> Backbone:
        tiny = ("layers", "hidden", "heads", "vocab", "max_positions", "epochs", "lr", "batch_size")
        pypi = ("parts", "path") if self.parts else ("name", "version", "sha256", "path")
        needed = {"tiny": tiny, "hub": ("name", "revision"), "pypi": pypi, "path": ("path",)}
        for key in needed[self.kind]:
            if getattr(self, key) is None:
                raise ValueError(f"kind {self.kind} needs `{key}`")
        if self.parts:
            _check_parts(self)
        for key in dict.fromkeys(key for keys in needed.values() for key in keys):
            if key not in needed[self.kind] and getattr(self, key) is not None:
                kinds = " and ".join(kind for kind, keys in needed.items() if key in keys)
                raise ValueError(f"`{key}` belongs to kind {kinds}, not to {self.kind}; remove it")
        for key in ("pretraining", "cased", "characters", "architecture"):
            if self.kind != "tiny" and getattr(self, key):
                raise ValueError(f"`{key}` belongs to kind tiny, not to {self.kind}; remove it")
        if self.kind == "tiny" and self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} is not a multiple of heads {self.heads}")
        return self


def _check_parts(backbone: Backbone) -> None:
    """ValueError where the parts are not those of one model."""
    if backbone.kind != "pypi":
        raise ValueError(f"`parts` belongs to kind pypi, not to {backbone.kind}; remove it")
    for key in ("name", "version", "sha256"):
        if getattr(backbone, key) is not None:
            raise ValueError(f"`{key}` is each part's where there are `parts`; remove it")
    first, *others = backbone.parts
    for part in others:
        if part.version != first.version:
            raise ValueError(
                f"parts: {part.name} {part.version} and {first.name} {first.version} are of different versions; "
                "take all of one"
            )
    names = [part.name for part in backbone.parts]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"parts: {repeated[0]} is there twice; name each archive once")


class Backbones(Block):
    encoder: Backbone
    decoder: Backbone
    seq2seq: Backbone

    @model_validator(mode="after")
    def _pretraining(self) -> Backbones:
        for role in ("decoder", "seq2seq"):
            for key in ("cased", "characters"):
                if getattr(getattr(self, role), key):
                    raise ValueError(f"{role}: `{key}` is the encoder's, all others keep every character; remove it")
            if getattr(self, role).kind == "tiny" and not getattr(self, role).pretraining:
                raise ValueError(f"{role}: kind tiny needs `pretraining`: prompted (each text after its P(y)) or texts")
        if self.encoder.architecture or self.decoder.architecture:
            raise ValueError("`architecture` is the sequence-to-sequence model's; remove it from the others")
        if self.encoder.pretraining:
            raise ValueError("encoder: `pretraining` is the decoder's and the sequence-to-sequence model's; remove it")
        return self


class Corpus(Block):
    """A file of configs/benchmarks, but for what it has of the other blocks."""

    reader: Literal["diagnostic", "semeval", "aapd", "imdb", "goemotions", "tabular"]
    paper_column: Literal["SemEval", "AAPD", "IMDB"] | None
    files: dict[str, File]
    options: dict[str, Any]
    label_phrases: dict[str, str] | str | None
    label_separator: Words
    label_prompt: Words
    text_prompt: str

    @model_validator(mode="after")
    def _prompt(self) -> Corpus:
        if self.text_prompt.count("{labels}") != 1:
            raise ValueError("text_prompt must contain {labels} exactly once")
        return self
