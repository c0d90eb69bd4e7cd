"""Constraints that a prompt can state, taken from real texts, and how a text keeps them (docs/spec/coda.md, 2 to 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compaug.generators.coda.constraints.concepts import Concept

LabelSet = tuple[int, ...]


@dataclass(frozen=True)
class Shown:
    """A real text in a prompt, with the constraints that it keeps itself."""

    id: str
    text: str
    keeps: Constraints


@dataclass(frozen=True)
class Constraints:
    """What a text is asked to keep; what is empty or None is not asked for."""

    labels: LabelSet
    keywords: Mapping[int, Sequence[str]] | None = None  # by the label that they stand for
    named: bool = False  # whether the labels are a constraint: all of them and no other
    shown: Sequence[Shown] = ()  # exemplars
    tags: Sequence[str] = ()  # of one sentence
    length: tuple[int, int] | None = None  # words, both ends included
    concepts: Sequence[Concept] = ()  # not to be expressed
    sources: Sequence[str] = ()  # ids of the texts that all of it is taken from

    @property
    def words(self) -> list[str]:
        """All keywords."""
        return [word for keywords in (self.keywords or {}).values() for word in keywords]

    def record(self) -> dict:
        """As JSON, without texts: what is kept beside a text that was asked for so."""
        fields = {
            "sources": list(self.sources),
            "length": list(self.length or ()),
            "tags": list(self.tags),
            "keywords": {str(label): list(keywords) for label, keywords in (self.keywords or {}).items()},
            "exemplars": [exemplar.id for exemplar in self.shown],
            "concepts": [concept.name for concept in self.concepts],
        }
        return {name: value for name, value in fields.items() if value}
