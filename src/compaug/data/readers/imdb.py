"""IMDB genres: film plots with 27 genres, in the authors' split (paper, "Datasets")."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compaug.core.records import Labels
from compaug.data.corpus import Corpus, no_options, read_split_files

NAMES = (
    "Action", "Adult", "Adventure", "Animation", "Biography", "Comedy", "Crime", "Documentary", "Drama", "Family",
    "Fantasy", "Game-Show", "History", "Horror", "Music", "Musical", "Mystery", "News", "Reality-TV", "Romance",
    "Sci-Fi", "Short", "Sport", "Talk-Show", "Thriller", "War", "Western",
)  # fmt: skip
LABELS = Labels(NAMES, NAMES)


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    no_options("imdb", options)
    return read_split_files(LABELS, files)
