"""Multi-label texts: a text has a set of labels, and P(y), the set in words, stands before it (paper, Eq. 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from compaug.core.files import InputError
from compaug.core.records import Example, Labels

METRICS = {"jacc": "Jacc", "acc": "Acc", "corr": "Corr", "comp": "Comp"}  # the paper's four, in its order


@dataclass(frozen=True)
class Task:
    """A set of labels as the prompt before a text.

    `template` holds "{labels}" once, where the label phrases go with `separator` between them; both are None until
    `of_model` has read them from a model's folder.
    """

    labels: Labels
    template: str | None = None
    separator: str | None = None
    metrics: ClassVar[Mapping[str, str]] = METRICS

    def source(self, label_set: Sequence[int]) -> str:
        """P(y): the words before the text."""
        return self.template.replace("{labels}", self.phrase(label_set))

    def target(self, example: Example) -> str:
        return example.text.strip()

    def phrase(self, label_set: Sequence[int]) -> str:
        return self.labels.phrase(label_set, self.separator)

    def facts(self) -> dict:
        prompt = {"template": self.template, "separator": self.separator}
        return {"labels": list(self.labels.names), "prompt": prompt}

    def of_model(self, facts: Mapping, folder: Path) -> Task:
        """This task with the prompt that the model in `folder` learned. InputError when it belongs to other labels."""
        labels, prompt = facts.get("labels"), facts.get("prompt")
        if (
            not isinstance(labels, list | tuple)
            or not isinstance(prompt, dict)
            or set(prompt) != set(self.facts()["prompt"])
        ):
            raise InputError(f"{folder}: says no labels or no prompt; train the generator again")
        if tuple(labels) != self.labels.names:
            raise InputError(f"{folder}: trained for other labels than those of the split; train the generator again")
        return replace(self, **prompt)
