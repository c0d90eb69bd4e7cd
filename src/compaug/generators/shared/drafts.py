"""From examples to drafts: the rows of D_cg that generators learn from, one draft for each text (paper, Eq. 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaug.core.records import Draft, Example, InputError


def training_examples(examples: Sequence[Example], generator_data: str) -> list[Example]:
    """Rows of D_cg with labels; `train_only` leaves the support set out (docs/spec/ld-vae.md, 11.1)."""
    return [e for e in examples if e.labels and (generator_data == "all" or e.source != "support")]


def check_prompts(prompts: Sequence[Sequence[int]], max_length: int) -> None:
    longest = max(map(len, prompts), default=0)
    if longest >= max_length:
        raise InputError(
            f"max_length {max_length} leaves no room for a text after a text_prompt of {longest} tokens; raise it"
        )


def one_each(requests: Sequence[Sequence[int]], texts: Sequence[str]) -> Iterator[Draft]:
    """The texts, one for each request and in their order, as drafts; a blank one is none."""
    for number, (label_set, text) in enumerate(zip(requests, texts, strict=True)):
        if text:
            yield Draft(number, text, tuple(label_set))
