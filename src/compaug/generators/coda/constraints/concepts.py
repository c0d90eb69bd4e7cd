"""What gives a label away in training without meaning it: n-grams by mutual information, and the concepts behind
them (docs/spec/coda.md, 3; the cheap miner, Friedman et al. 2022 induce a grammar)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compaug.generators.coda.constraints.compliance import lemmas
from compaug.generators.shared.keywords import STOP_WORDS, words_of

CONCEPTS = 3  # of a label, and of a prompt
GROUPS = 2 * CONCEPTS  # of n-grams, of a label: some concepts have no name, or the same
PAIRS = 3  # of a text and a phrase, when a concept is to be named
LONGEST_NAME = 2  # words
MARKED = re.compile(r"#\s*([^#]+?)\s*#")


@dataclass(frozen=True)
class Concept:
    """A name and the n-grams that it was made from, best first: they stand for it when texts are judged."""

    name: str
    phrases: tuple[str, ...]


def groups(scores: Mapping[str, float]) -> list[list[str]]:
    """N-grams that share a content word's lemma with the best of their group, groups by their best."""
    grouped: list[tuple[set[str], list[str]]] = []
    for ngram in scores:
        content = set(lemmas(word for word in ngram.split() if word not in STOP_WORDS))
        for seen, group in grouped:
            if seen & content:
                group.append(ngram)
                break
        else:
            if len(grouped) < GROUPS:
                grouped.append((content, [ngram]))
    return [group for _, group in grouped]


# ---------------------------------------------------------------- names


def question(group: Sequence[str], texts: Sequence[str]) -> str:
    """Ask for the concept that the phrases of a group share, with up to three pairs of a sentence and its phrase."""
    lines = [
        "Each line has a sentence and a phrase from it.",
        *(f'Sentence: "{sentence}" Phrase: "{phrase}"' for sentence, phrase in pairs(group, texts)),
        "Which one high-level concept do the phrases have in common? Answer with exactly one concept of at most",
        "two words between two # characters, such as #family life#, and with nothing else.",
    ]
    return "\n".join(lines)


def pairs(group: Sequence[str], texts: Sequence[str]) -> list[tuple[str, str]]:
    """(sentence, phrase): another text each time, the phrases of the group in turn."""
    chosen: list[tuple[str, str]] = []
    used: set[int] = set()
    for phrase in (*group, *group, *group):
        for at, text in enumerate(texts):
            if len(chosen) < PAIRS and at not in used and (sentence := _sentence_with(phrase, text)):
                chosen.append((sentence, phrase))
                used.add(at)
                break
    return chosen


def _sentence_with(phrase: str, text: str) -> str | None:
    for sentence in (*re.split(r"(?<=[.!?])\s+", text), text):  # a phrase may lie across a boundary
        if f" {phrase} " in f" {' '.join(words_of(sentence))} ":
            return " ".join(sentence.split())
    return None


def name_in(answer: str | None) -> str:
    """The concept in an answer: what is between two #, else its first two words; "" where there is none.

    It is lower-cased, without punctuation, and has at most two words.
    """
    marked = MARKED.search(answer or "")
    return " ".join(words_of(marked[1] if marked else answer or "")[:LONGEST_NAME])


def distinct(names: Sequence[str], of_groups: Sequence[Sequence[str]]) -> list[Concept]:
    """The first concepts that have a name, groups of the same name together."""
    groups_by_name: dict[str, list[str]] = {}
    for name, group in zip(names, of_groups, strict=True):
        if name:
            groups_by_name.setdefault(name, []).extend(group)
    return [Concept(name, tuple(phrases)) for name, phrases in list(groups_by_name.items())[:CONCEPTS]]


# ---------------------------------------------------------------- which of them a request is to avoid


def tied(compositions: Mapping[Sequence[int], int], labels: Sequence[int], n_labels: int) -> list[int]:
    """Other labels that training ties to `labels`, strongest first: by the sum of P(other | label) over `labels`.

    `compositions`: how often each occurs.
    """
    ties = np.zeros(n_labels)
    for label in labels:
        having = {composition: n for composition, n in compositions.items() if label in composition}
        for composition, n in having.items():
            ties[list(composition)] += n / sum(having.values())
    return sorted((y for y in range(n_labels) if ties[y] and y not in labels), key=lambda y: (-ties[y], y))


def to_avoid(
    concepts: Sequence[Sequence[Concept]], compositions: Mapping[Sequence[int], int], labels: Sequence[int]
) -> list[Concept]:
    """At most three concepts that a text with `labels` is to avoid (docs/spec/coda.md, 2 and 8).

    Where texts have several labels: those of the labels tied to `labels`, in turns, without those that `labels` have
    too. Where every text has one label there are no ties: the label's concepts, which give it away without meaning it.
    """
    several = any(len(composition) > 1 for composition in compositions)
    order = tied(compositions, labels, len(concepts)) if several else list(labels)
    excluded = {concept.name for label in labels for concept in concepts[label]} if several else set()
    chosen: dict[str, Concept] = {}
    for rank in range(CONCEPTS):
        for label in order:
            for concept in concepts[label][rank : rank + 1]:
                if concept.name not in excluded:
                    chosen.setdefault(concept.name, concept)
    return list(chosen.values())[:CONCEPTS]
