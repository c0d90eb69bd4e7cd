"""Corpora: `READERS` turns a benchmark's raw files into one list of examples and a label inventory."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from compaug.core.files import InputError
from compaug.data.corpus import Corpus, describe
from compaug.data.parameters import GRAMMARS
from compaug.data.readers import authors_split, goemotions, tabular

__all__ = ["READERS", "Corpus", "describe", "oracle_for", "read"]


def _diagnostic(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """The corpus made by the project; `options.seed` is the seed of its texts."""
    from compaug.data.readers import diagnostic

    if files:
        raise InputError("files: the diagnostic corpus is made, not read; set files: {}")
    if "seed" not in options:
        raise InputError("options.seed is missing; the diagnostic corpus needs one")
    return Corpus(*diagnostic.read({k: v for k, v in options.items() if k != "seed"}, options["seed"]))


# Reader name -> read(files: key -> verified path, options) -> Corpus
READERS: dict[str, Callable[[Mapping[str, Path], Mapping[str, Any]], Corpus]] = {
    "diagnostic": _diagnostic,
    "semeval": partial(authors_split.read, "semeval"),
    "aapd": partial(authors_split.read, "aapd"),
    "imdb": partial(authors_split.read, "imdb"),
    "goemotions": goemotions.read,
    "tabular": tabular.read,
}


def read(reader: str, files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """The corpus of a benchmark, from its checked files."""
    corpus = READERS[reader](files, options)
    if not corpus.examples:
        raise InputError(f"files: the {reader} reader found no text in {', '.join(map(str, files.values()))}")
    return corpus


def oracle_for(reader: str, options: Mapping[str, Any]) -> SimpleNamespace | None:
    """The grammar of a corpus made from one (`evaluation.text_quality.grammar.KnownGrammar`), or None.

    Reports judge with it; no method may.
    """
    if reader not in GRAMMARS:
        return None
    from compaug.data.readers import diagnostic

    ambiguity = options.get("ambiguity", diagnostic.AMBIGUITY)
    return SimpleNamespace(
        oracle=diagnostic.oracle,
        fidelity=diagnostic.fidelity,
        compose=partial(diagnostic.compose, ambiguity=ambiguity),
        bayes_predictions=partial(diagnostic.bayes_predictions, ambiguity=ambiguity),
    )
