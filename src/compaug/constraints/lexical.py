"""Keywords: the n-grams of a text that mean what the text means (CoDa, "Lexical Constraints")."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

LONGEST = 3  # words of an n-gram
MOST = 10  # keywords of a text
DECIMALS = 4  # of a kept score: what differs behind them is the CPU's
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# That list has some words that mean something, most of all in texts about feelings.
STOP_WORDS = ENGLISH_STOP_WORDS - {"bill", "cry", "fire", "interest", "serious", "sincere", "system"}


def words_of(text: str) -> list[str]:
    """Lower-cased words without punctuation; a hyphen or an apostrophe inside a word stays."""
    return WORD.findall(text.lower())


def ngrams(text: str, longest: int = LONGEST) -> list[str]:
    """The different 1- to n-grams of words, shorter ones first, in the order of the text; without those that are stop words alone or
    shorter than two characters."""
    words = words_of(text)
    found: dict[str, None] = {}
    for size in range(1, longest + 1):
        for at in range(len(words) - size + 1):
            some = words[at : at + size]
            if not STOP_WORDS.issuperset(some) and len(ngram := " ".join(some)) > 1:
                found[ngram] = None
    return list(found)


def n_keywords(text: str) -> int:
    """k: three tenths of the different words, at least three or all that there are, at most ten."""
    unigrams = len(set(words_of(text)))
    return min(max(min(3, unigrams), 3 * unigrams // 10), MOST)


def similarities(
    groups: Sequence[tuple[Sequence[str], str]], encoder: Path, batch_size: int = 256
) -> list[list[float]]:
    """For each (n-grams, text) the cosine of every n-gram and the text, by the mean token states of the encoder in that folder.

    An n-gram that many texts have is read once."""
    from compaug.pretrained import load_encoder, mean_states  # torch is slow to import
    from compaug.training import device

    strings = list(dict.fromkeys(string for some, text in groups for string in (*some, text)))
    tokenizer, model = load_encoder(encoder)
    states = mean_states(model.to(device()), tokenizer, strings, model.config.max_position_embeddings, batch_size)
    vectors = states.double().numpy()  # [n, H]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    row = {string: at for at, string in enumerate(strings)}
    found = []
    for some, text in groups:
        cosines = vectors[[row[ngram] for ngram in some]] @ vectors[row[text]] if some else np.zeros(0)
        found.append([round(float(cosine), DECIMALS) for cosine in cosines])
    return found


def chosen(scores: Mapping[int, Mapping[str, float]], how_many: Mapping[int, int]) -> dict[int, list[str]]:
    """So many keywords of each label, best first, none in two labels and none that a better-ranked one contains.

    `scores`: {label: {n-gram: score}}. The labels take turns, so that none is left with what the others do not want; among equal scores the
    n-gram that stands first wins.
    """
    ranked = {label: sorted(some, key=lambda ngram: -some[ngram]) for label, some in scores.items()}
    taken: list[str] = []
    made: dict[int, list[str]] = {label: [] for label in scores}
    while open_ := [label for label in scores if ranked[label] and len(made[label]) < how_many[label]]:
        for label in open_:
            while ranked[label]:
                ngram = ranked[label].pop(0)
                if not any(contains(better, ngram) for better in taken):
                    made[label].append(ngram)
                    taken.append(ngram)
                    break
    return made


def contains(longer: str, shorter: str) -> bool:
    """Whether the words of one n-gram stand in the other, in a row."""
    return f" {shorter} " in f" {longer} "
