"""SemEval-2018 Task 1 E-c, English tweets, in the authors' split (paper, "Datasets")."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compaug.core.records import Labels
from compaug.data.corpus import Corpus, no_options, read_split_files

NAMES = (
    "anger", "anticipation", "disgust", "fear", "joy", "love", "optimism", "pessimism", "sadness", "surprise", "trust",
)  # fmt: skip
LABELS = Labels(NAMES, NAMES)


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    no_options("semeval", options)
    return read_split_files(LABELS, files)
