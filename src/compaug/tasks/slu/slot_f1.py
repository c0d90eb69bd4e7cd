"""Slot F1 over whole spans by the rule of conlleval, and intent accuracy, in percent (joint generation, Table 2)."""

from collections.abc import Sequence

from compaug.generators.joint.augmented_language import bio_tags

Chunk = tuple[int, int, str]  # first word, behind the last, slot


def chunks(tags: Sequence[str]) -> set[Chunk]:
    """The spans that conlleval finds: one begins at a B-, and at an I- behind an O or another slot.

    In the strict reading of BIO the latter begins none; a tagger can write it, a corpus cannot.
    """
    spans: set[Chunk] = set()
    first, slot = 0, ""  # of the open span; no slot: none is open
    for at, tag in enumerate([*tags, "O"]):
        mark, _, name = tag.partition("-")
        if slot and (mark != "I" or name != slot):
            spans.add((first, at, slot))
            slot = ""
        if mark != "O" and not slot:
            first, slot = at, name
    return spans


def as_bio(tags: Sequence[str]) -> tuple[str, ...]:
    """The same spans, each with a B- at its beginning: what a tagger found, as a corpus writes it."""
    return tuple(bio_tags(len(tags), chunks(tags)))


def slot_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """2 PR / (P + R) over the spans of all utterances; 100 where there is none on either side."""
    both = [(chunks(real), chunks(tagged)) for real, tagged in zip(gold, predicted, strict=True)]
    right = sum(len(real & tagged) for real, tagged in both)
    total = sum(len(real) + len(tagged) for real, tagged in both)
    return 200 * right / total if total else 100.0


def intent_accuracy(gold: Sequence[str], predicted: Sequence[str]) -> float:
    return 100 * sum(real == chosen for real, chosen in zip(gold, predicted, strict=True)) / len(gold)
