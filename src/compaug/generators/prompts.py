"""What generators read: the prompt P(y) of a label set and the rows of D_cg (spec sections 5 and 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaug.records import Example, InputError, Labels


@dataclass(frozen=True)
class Prompt:
    """P(y): the words before the text; `template` holds "{labels}" once, where the label phrases go."""

    template: str
    separator: str

    def of(self, labels: Labels, label_set: Sequence[int]) -> str:
        return self.template.replace("{labels}", labels.phrase(label_set, self.separator))


def training_examples(examples: Sequence[Example], generator_data: str) -> list[Example]:
    """The part of D_cg a generator learns from: rows with labels; `train_only` leaves the support set out (spec 13, row 1)."""
    return [e for e in examples if e.labels and (generator_data == "all" or e.source != "support")]


def check_prompts(prompts: Sequence[Sequence[int]], max_length: int) -> None:
    longest = max(map(len, prompts), default=0)
    if longest >= max_length:
        raise InputError(
            f"max_length {max_length} leaves no room for a text after a text_prompt of {longest} tokens; raise it"
        )
