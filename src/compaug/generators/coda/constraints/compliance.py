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
PARTS = ("coverage", "spans", "tags", "length", "violations")


def lemmas(words: Iterable[str]) -> list[str]:
    return [_lemma(word) for word in words]


@cache
def _lemma(word: str) -> str:
    import simplemma  # its tables take a moment to load

    return simplemma.lemmatize(word, lang="en").lower()


def has(phrase: str, text_lemmas: str) -> bool:
    """Whether the lemmas of an n-gram stand in those of a text, in a row; `text_lemmas`: joined by blanks, one at each end."""
    return f" {' '.join(lemmas(phrase.split()))} " in text_lemmas


def compliance(text: str, asked: Constraints, tags: Sequence[Sequence[str]] = ()) -> dict[str, float]:
    """Shares from 0 to 1 of what was asked for, and of nothing else:

    coverage    of the keywords that the text has; spans: of the required spans, word for word
    tags        1 - the edit distance to the pattern, over the longer of both; the best sentence of `tags`, the text's
    length      1 within the range, else 0
    violations  of the concepts to avoid that the text expresses, by the n-grams that stand for them
    score       mean of all these, violations turned round; 1 where nothing was asked for
    """
    joined = f" {' '.join(lemmas(words_of(text)))} "
    found: dict[str, float] = {}
    if words := asked.words:
        found["coverage"] = sum(has(word, joined) for word in words) / len(words)
    if asked.required_spans:
        found["spans"] = sum(span in text for span in asked.required_spans) / len(asked.required_spans)
    if asked.tags:
        found["tags"] = max((similarity(asked.tags, sentence) for sentence in tags), default=0.0)
    if asked.length:
        low, high = asked.length
        found["length"] = float(low <= n_words(text) <= high)
    if asked.concepts:
        expressed = [any(has(phrase, joined) for phrase in concept.phrases) for concept in asked.concepts]
        found["violations"] = sum(expressed) / len(expressed)
    kept = [1 - value if part == "violations" else value for part, value in found.items()]
    found["score"] = sum(kept) / len(kept) if kept else 1.0
    return {part: round(value, DECIMALS) for part, value in found.items()}


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """1 - edit distance over the longer length; 1 for two empty sequences."""
    longer = max(len(one), len(other))
    return 1 - distance(one, other) / longer if longer else 1.0


def distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Insertions, deletions and substitutions from one sequence to the other (Levenshtein)."""
    row = list(range(len(other) + 1))
    for at, left in enumerate(one, start=1):
        diagonal, row[0] = row[0], at
        for to, right in enumerate(other, start=1):
            diagonal, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, diagonal + (left != right))
    return row[-1]


def totals(found: Sequence[Mapping[str, float]]) -> dict[str, float | int | None]:
    """Means over texts, each part over those that it was asked of; `n` texts."""
    made: dict[str, float | int | None] = {"n": len(found)}
    for part in (*PARTS, "score"):
        if values := [one[part] for one in found if part in one]:
            made[part] = round(sum(values) / len(values), DECIMALS)
    return made


def of_rows(rows: Iterable[Example]) -> dict[str, float | int | None]:
    """The totals of synthetic rows that say what they keep."""
    return totals([row.made_of["compliance"] for row in rows if "compliance" in (row.made_of or {})])
