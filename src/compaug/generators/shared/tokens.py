"""Texts as tokens: without the marks around them, and cut where they are too long."""

from collections.abc import Sequence

from compaug.models.loading import say_cut


def token_ids(tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The tokens of each text, without the marks around it."""
    return tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []


def cut(rows: Sequence[list[int]], max_length: int) -> list[list[int]]:
    """At most `max_length` tokens of each row, with a line on standard error where some are cut."""
    say_cut("generator", sum(len(row) > max_length for row in rows), len(rows), max_length)
    return [row[:max_length] for row in rows]
