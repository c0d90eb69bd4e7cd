"""What gives a label away in training without meaning it: n-grams by mutual information, and the concepts behind
them (docs/spec/coda.md, 3; the cheap miner, Friedman et al. 2022 induce a grammar)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compaug.generators.coda.constraints.compliance import lemmas
from compaug.generators.shared.keywords import STOP_WORDS, words_of

CONCEPTS = 3  # of a label, and of a prompt
PAIRS = 3  # of a text and a phrase, when a concept is to be named
LONGEST_NAME = 2  # words
MARKED = re.compile(r"#\s*([^#]+?)\s*#")


@dataclass(frozen=True)
class Concept:
    """A name and the n-grams that it was made from, best first: they stand for it when texts are judged."""

    name: str
    phrases: tuple[str, ...]


def groups(found: Mapping[str, float], most: int = 2 * CONCEPTS) -> list[list[str]]:
    """N-grams that share a content word's lemma with the best of their group, groups by their best."""
    made: list[tuple[set[str], list[str]]] = []
    for ngram in found:
        own = set(lemmas(word for word in ngram.split() if word not in STOP_WORDS))
        for content, group in made:
            if content & own:
                group.append(ngram)
                break
        else:
            if len(made) < most:
                made.append((own, [ngram]))
    return [group for _, group in made]


# ---------------------------------------------------------------- names


def question(group: Sequence[str], texts: Sequence[str]) -> str:
    """Ask for the concept that the phrases of a group have in common, with up to three pairs of a sentence and a phrase in it."""
    lines = ["Each line has a sentence and a phrase from it."]
    for sentence, phrase in pairs(group, texts):
        lines.append(f'Sentence: "{sentence}" Phrase: "{phrase}"')
    lines.append(
        "Which one high-level concept do the phrases have in common? Answer with exactly one concept of at most"
    )
    lines.append("two words between two # characters, such as #family life#, and with nothing else.")
    return "\n".join(lines)


def pairs(group: Sequence[str], texts: Sequence[str], most: int = PAIRS) -> list[tuple[str, str]]:
    """(sentence, phrase): another text each time, the phrases of the group in turn."""
    found: list[tuple[str, str]] = []
    used: set[int] = set()
    for phrase in (*group, *group, *group):
        for at, text in enumerate(texts):
            if len(found) < most and at not in used and (sentence := _sentence_with(phrase, text)):
                found.append((sentence, phrase))
                used.add(at)
                break
    return found


def _sentence_with(phrase: str, text: str) -> str | None:
    for sentence in (*re.split(r"(?<=[.!?])\s+", text), text):  # a phrase may lie across a boundary
        if f" {phrase} " in f" {' '.join(words_of(sentence))} ":
            return " ".join(sentence.split())
    return None


def name_in(answer: str | None) -> str:
    """The concept in an answer: what is between two #, else its first two words; lower-cased, without punctuation, at most two words; ""
    where there is none."""
    marked = MARKED.search(answer or "")
    return " ".join(words_of(marked[1] if marked else answer or "")[:LONGEST_NAME])


def distinct(names: Sequence[str], of_groups: Sequence[Sequence[str]], most: int = CONCEPTS) -> list[Concept]:
    """The first concepts that have a name, groups of the same name together."""
    found: dict[str, list[str]] = {}
    for name, group in zip(names, of_groups, strict=True):
        if name:
            found.setdefault(name, []).extend(group)
    return [Concept(name, tuple(phrases)) for name, phrases in list(found.items())[:most]]


# ---------------------------------------------------------------- which of them a request is to avoid


def tied(compositions: Mapping[Sequence[int], int], wanted: Sequence[int], n_labels: int) -> list[int]:
    """The labels that training ties to the wanted ones, strongest first: those that are not wanted, by the sum of P(label | wanted one) over
    the wanted ones. `compositions`: how often each occurs."""
    ties = np.zeros(n_labels)
    for label in wanted:
        having = {some: n for some, n in compositions.items() if label in some}
        for some, n in having.items():
            ties[list(some)] += n / sum(having.values())
    return sorted((y for y in range(n_labels) if ties[y] and y not in wanted), key=lambda y: (-ties[y], y))


def to_avoid(
    concepts: Sequence[Sequence[Concept]], compositions: Mapping[Sequence[int], int], wanted: Sequence[int]
) -> list[Concept]:
    """At most three concepts. Where texts have several labels, those of the labels tied to the wanted ones, which take turns, without what the
    wanted ones have too; where every text has one label there are no ties, and they are the wanted label's own: what gives it away without
    meaning it (docs/spec/coda.md, 2 and 8)."""
    several = any(len(some) > 1 for some in compositions)
    order = tied(compositions, wanted, len(concepts)) if several else list(wanted)
    own = {concept.name for label in wanted for concept in concepts[label]} if several else set()
    made: dict[str, Concept] = {}
    for rank in range(CONCEPTS):
        for label in order:
            for concept in concepts[label][rank : rank + 1]:
                if concept.name not in own:
                    made.setdefault(concept.name, concept)
    return list(made.values())[:CONCEPTS]
