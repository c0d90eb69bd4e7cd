"""Keywords: the n-grams of a text that mean what the text means (CoDa, "Lexical Constraints")."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

BATCH = 256  # n-grams in one pass of the encoder
LONGEST = 3  # words of an n-gram
MOST = 10  # keywords of a text
RARE, RARE_SHARE = 3, 0.005  # an n-gram that speaks for a label stands in at least so many texts
DECIMALS = 4  # of a kept score: what differs behind them is the CPU's
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# That list has some words that mean something, most of all in texts about feelings.
STOP_WORDS = ENGLISH_STOP_WORDS - {"bill", "cry", "fire", "interest", "serious", "sincere", "system"}


def words_of(text: str) -> list[str]:
    """Lower-cased words without punctuation; a hyphen or an apostrophe inside a word stays."""
    return WORD.findall(text.lower())


def ngrams(text: str, longest: int = LONGEST) -> list[str]:
    """The different 1- to n-grams of words, shorter ones first, in the order of the text.

    Without those that are stop words alone or shorter than two characters.
    """
    words = words_of(text)
    unique: dict[str, None] = {}
    for size in range(1, longest + 1):
        for at in range(len(words) - size + 1):
            window = words[at : at + size]
            if not STOP_WORDS.issuperset(window) and len(ngram := " ".join(window)) > 1:
                unique[ngram] = None
    return list(unique)


def n_keywords(text: str) -> int:
    """k: three tenths of the different words, at least three or all that there are, at most ten."""
    unigrams = len(set(words_of(text)))
    return min(max(min(3, unigrams), 3 * unigrams // 10), MOST)


def similarities(groups: Sequence[tuple[Sequence[str], str]], encoder: Path) -> list[list[float]]:
    """For each (n-grams, text) the cosine of every n-gram and the text, by mean token states of the encoder."""
    from compaug.models.loading import load_encoder, mean_states  # torch is slow to import
    from compaug.training.loop import device

    strings = list(dict.fromkeys(string for phrases, text in groups for string in (*phrases, text)))
    tokenizer, model = load_encoder(encoder)
    states = mean_states(model.to(device()), tokenizer, strings, model.config.max_position_embeddings, BATCH)
    vectors = states.double().numpy()  # [n, H]
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    row = {string: at for at, string in enumerate(strings)}
    rows = []
    for phrases, text in groups:
        cosines = vectors[[row[ngram] for ngram in phrases]] @ vectors[row[text]] if phrases else np.zeros(0)
        rows.append([round(float(cosine), DECIMALS) for cosine in cosines])
    return rows


def association(
    texts: Sequence[str], label_sets: Sequence[Sequence[int]], n_labels: int, longest: int = LONGEST
) -> list[dict[str, float]]:
    """For each label the n-grams that speak for it, P(y | f) > P(y), and their mutual information with it, best first.

    I(f; y) = sum over f and y in {0, 1} of p(f, y) log(p(f, y) / (p(f) p(y))) in nats, presence against the label's own
    indicator, no smoothing.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    n, least = len(texts), max(RARE, math.ceil(RARE_SHARE * len(texts)))
    counted = CountVectorizer(analyzer=lambda text: ngrams(text, longest), binary=True)
    if n < least or not any(ngrams(text, longest) for text in texts):
        return [{} for _ in range(n_labels)]
    present = counted.fit_transform(texts)  # [n, F]
    df = np.asarray(present.sum(0)).ravel()
    kept = np.flatnonzero(df >= least)
    present, df = present[:, kept], df[kept]
    names = counted.get_feature_names_out()[kept]
    has = np.zeros((n, n_labels))
    for row, labels in enumerate(label_sets):
        has[row, list(labels)] = 1
    both = present.T @ has  # [F, n_labels], how often n-gram and label
    associations = []
    for label in range(n_labels):
        of_label, joint = has[:, label].sum(), both[:, label]
        information = mutual_information(joint, df - joint, of_label - joint, n - df - of_label + joint)
        speaks = np.flatnonzero(joint * n > df * of_label)
        order = sorted(speaks, key=lambda at: (-round(information[at], 12), names[at]))
        associations.append({str(names[at]): float(information[at]) for at in order})
    return associations


def mutual_information(both, only_f, only_y, neither) -> np.ndarray:
    """Of two binary variables, from how often they are on together, each alone, and off together, in nats."""
    cells = np.stack([np.asarray(part, dtype=float) for part in (both, only_f, only_y, neither)])  # [4, F]
    n = cells.sum(0)
    f, y = cells[0] + cells[1], cells[0] + cells[2]
    expected = np.stack([f * y, f * (n - y), (n - f) * y, (n - f) * (n - y)]) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = cells / n * np.log(cells / expected)
    return np.where(cells > 0, terms, 0.0).sum(0)


def chosen(scores: Mapping[int, Mapping[str, float]], how_many: Mapping[int, int]) -> dict[int, list[str]]:
    """So many keywords of each label, best first, none in two labels and none that a better-ranked one contains.

    `scores`: {label: {n-gram: score}}. The labels take turns, so that none is left with what the others do not want;
    among equal scores the n-gram that stands first wins.
    """
    ranked = {label: sorted(of_label, key=lambda ngram: -of_label[ngram]) for label, of_label in scores.items()}
    taken: list[str] = []
    kept: dict[int, list[str]] = {label: [] for label in scores}
    while open_ := [label for label in scores if ranked[label] and len(kept[label]) < how_many[label]]:
        for label in open_:
            while ranked[label]:
                ngram = ranked[label].pop(0)
                if not any(contains(better, ngram) for better in taken):
                    kept[label].append(ngram)
                    taken.append(ngram)
                    break
    return kept


def contains(longer: str, shorter: str) -> bool:
    """Whether the words of one n-gram stand in the other, in a row."""
    return f" {shorter} " in f" {longer} "
