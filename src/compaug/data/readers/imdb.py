"""IMDB genres: film plots with 27 genres (paper, "Datasets"): the public table, or the authors' split files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from compaug.core.records import Example, InputError, Labels
from compaug.data.corpus import SPLITS, Corpus, clean, csv_rows, from_sources, indicators, no_options, read_split_files

NAMES = (
    "Action", "Adult", "Adventure", "Animation", "Biography", "Comedy", "Crime", "Documentary", "Drama", "Family",
    "Fantasy", "Game-Show", "History", "Horror", "Music", "Musical", "Mystery", "News", "Reality-TV", "Romance",
    "Sci-Fi", "Short", "Sport", "Talk-Show", "Thriller", "War", "Western",
)  # fmt: skip
LABELS = Labels(NAMES, NAMES)


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """`files`: train, support, test (the authors' split); or movies, the public movies_genres.csv (tab separated)."""
    no_options("imdb", options)
    return from_sources(files, {SPLITS: partial(read_split_files, LABELS), ("movies",): _read_movies})


def _read_movies(files: Mapping[str, Path]) -> Corpus:
    """Columns are found by name: `plot` and one 0/1 column per genre; others (title, plot_lang) are not used."""
    path, examples = files["movies"], []
    for number, row in csv_rows(path, "\t", ("plot", *NAMES)):
        try:
            labels = indicators((row[name] for name in NAMES), NAMES)
            examples.append(Example(f"imdb-{len(examples) + 1:06d}", clean(row["plot"]), labels))
        except ValueError as error:
            raise InputError(f"{path}:{number}: {error}") from None
    return Corpus(examples, LABELS)
