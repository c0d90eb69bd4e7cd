"""SemEval-2018 Task 1 E-c, English tweets (paper, "Datasets"): the authors' split files, or the official archive.

The official archive and the list of tweet ids rebuild the authors' split exactly: same ids, texts, labels and order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from compaug.core.records import Example, InputError, Labels
from compaug.data.corpus import (
    SPLITS,
    Corpus,
    clean,
    from_sources,
    indicators,
    no_options,
    read_split_files,
    require_files,
    split_id,
    tsv_rows,
)

NAMES = (
    "anger", "anticipation", "disgust", "fear", "joy", "love", "optimism", "pessimism", "sadness", "surprise", "trust",
)  # fmt: skip
LABELS = Labels(NAMES, NAMES)
OFFICIAL = ("official_train", "official_dev", "official_test")
HEADER = ("ID", "Tweet", *NAMES)
ID_HEADER = ("tweet_id", "official_split", "cg_split", "cg_line")


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """`files`: train, support, test (the authors' split); or the three official files, with `ids` for that split."""
    no_options("semeval", options)
    return from_sources(files, {SPLITS: partial(read_split_files, LABELS), (*OFFICIAL, "ids"): _read_official})


def _read_official(files: Mapping[str, Path]) -> Corpus:
    require_files(files, *OFFICIAL)
    tweets = {}
    for key in OFFICIAL:
        for number, (tweet_id, text, *values) in tsv_rows(files[key], HEADER):
            if tweet_id in tweets:
                raise InputError(f"{files[key]}:{number}: tweet {tweet_id} occurs twice; restore the official file")
            try:
                tweets[tweet_id] = Example(tweet_id, clean(text), indicators(values, NAMES))
            except ValueError as error:
                raise InputError(f"{files[key]}:{number}: {error}") from None
    if "ids" not in files:
        return Corpus(list(tweets.values()), LABELS)
    return _resplit(tweets, files["ids"])


def _resplit(tweets: dict[str, Example], ids: Path) -> Corpus:
    """The authors' split of the official tweets, under the ids that their own files give."""
    placed = []  # (place of the split, line, example)
    for number, (tweet_id, _, split, line) in tsv_rows(ids, ID_HEADER):
        if tweet_id not in tweets or split not in SPLITS or not line.isdecimal():
            raise InputError(f"{ids}:{number}: no unused tweet {tweet_id!r} for line {line!r} of split {split!r}")
        tweet = tweets.pop(tweet_id)
        placed.append(
            (SPLITS.index(split), int(line), Example(split_id(split, int(line) + 1), tweet.text, tweet.labels))
        )
    if tweets:
        raise InputError(f"{ids}: {len(tweets)} official tweets are not listed, such as {min(tweets)}")
    placed.sort(key=lambda row: row[:2])
    return Corpus(
        [example for _, _, example in placed], LABELS, {example.id: SPLITS[split] for split, _, example in placed}
    )
