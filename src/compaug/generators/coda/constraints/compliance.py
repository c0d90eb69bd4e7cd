"""Which of its constraints a text keeps (docs/spec/coda.md, 6). Words are compared by simplemma's English lemmas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from compaug.core.records import Example
from compaug.generators.coda.constraints.lengths import n_words
from compaug.generators.shared.keywords import words_of

if TYPE_CHECKING:
    from compaug.generators.coda.constraints import Constraints

DECIMALS = 4
PARTS = ("coverage", "tags", "length", "violations")


def lemmas(words: Iterable[str]) -> list[str]:
    return [_lemma(word) for word in words]


@cache
def _lemma(word: str) -> str:
    import simplemma  # its tables take a moment to load

    return simplemma.lemmatize(word, lang="en").lower()


def has(phrase: str, text_lemmas: str) -> bool:
    """Whether the lemmas of an n-gram stand in a row in `text_lemmas`, joined by blanks, one at each end."""
    return f" {' '.join(lemmas(phrase.split()))} " in text_lemmas


def compliance(text: str, constraints: Constraints, tags: Sequence[Sequence[str]] = ()) -> dict[str, float]:
    """Shares from 0 to 1 of what was asked for, and of nothing else:

    coverage    of the keywords that the text has
    tags        1 - the edit distance to the pattern, over the longer of both; the best sentence of `tags`, the text's
    length      1 within the range, else 0
    violations  of the concepts to avoid that the text expresses, by the n-grams that stand for them
    score       mean of all these, violations turned round; 1 where nothing was asked for
    """
    joined = f" {' '.join(lemmas(words_of(text)))} "
    shares: dict[str, float] = {}
    if words := constraints.words:
        shares["coverage"] = sum(has(word, joined) for word in words) / len(words)
    if constraints.tags:
        shares["tags"] = max((similarity(constraints.tags, sentence) for sentence in tags), default=0.0)
    if constraints.length:
        low, high = constraints.length
        shares["length"] = float(low <= n_words(text) <= high)
    if constraints.concepts:
        expressed = [any(has(phrase, joined) for phrase in concept.phrases) for concept in constraints.concepts]
        shares["violations"] = sum(expressed) / len(expressed)
    kept = [1 - value if part == "violations" else value for part, value in shares.items()]
    shares["score"] = sum(kept) / len(kept) if kept else 1.0
    return {part: round(value, DECIMALS) for part, value in shares.items()}


def similarity(first: Sequence[str], second: Sequence[str]) -> float:
    """1 - edit distance over the longer length; 1 for two empty sequences."""
    longer = max(len(first), len(second))
    return 1 - distance(first, second) / longer if longer else 1.0


def distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Insertions, deletions and substitutions from one sequence to the other (Levenshtein)."""
    row = list(range(len(second) + 1))
    for at, left in enumerate(first, start=1):
        diagonal, row[0] = row[0], at
        for to, right in enumerate(second, start=1):
            diagonal, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, diagonal + (left != right))
    return row[-1]


def totals(records: Sequence[Mapping[str, float]]) -> dict[str, float | int | None]:
    """Means over texts, each part over those that it was asked of; `n` texts."""
    means: dict[str, float | int | None] = {"n": len(records)}
    for part in (*PARTS, "score"):
        if values := [record[part] for record in records if part in record]:
            means[part] = round(sum(values) / len(values), DECIMALS)
    return means


def of_rows(rows: Iterable[Example]) -> dict[str, float | int | None]:
    """The totals of synthetic rows that say what they keep."""
    return totals([row.made_of["compliance"] for row in rows if "compliance" in (row.made_of or {})])
