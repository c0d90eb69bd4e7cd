"""From examples to drafts: the rows of D_cg that generators learn from, one draft for each text (paper, Eq. 4)."""

from collections.abc import Iterator, Sequence

from compaug.core.files import InputError
from compaug.core.records import Draft, Example
from compaug.generators import Requests


def training_examples(examples: Sequence[Example], generator_data: str) -> list[Example]:
    """Rows of D_cg with labels; `train_only` leaves the support set out (docs/spec/ld-vae.md, 11.1)."""
    labeled = [e for e in examples if e.labels and (generator_data == "all" or e.source != "support")]
    if not labeled:
        raise InputError("generator: no training example has a label")
    return labeled


def one_each(requests: Requests, texts: Sequence[str]) -> Iterator[Draft]:
    """The texts, one for each request and in their order, as drafts; a blank one is none."""
    for number, (label_set, text) in enumerate(zip(requests, texts, strict=True)):
        if text:
            yield Draft(number, text, tuple(label_set))
