"""Augmented language: nothing is lost there and back, what is no sentence is refused with its reason (§2.2)."""

from __future__ import annotations

import itertools
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.core.files import InputError
from compaug.generators.joint.augmented_language import (
    ESCAPE,
    MARKS,
    REASONS,
    WIDE,
    Language,
    Sentence,
    Unreadable,
    bio_tags,
    in_words,
    spans_of,
)

NAMES = ("PlayMusic", "RateBook", "hard;one", "odd")
SLOTS = ("artist", "object_name", "bar")
MUSIC = Language(
    [("PlayMusic", "play music"), ("RateBook", "rate book"), ("hard;one", "this ; [ that ]"), ("odd", "(( odd ))")],
    [("artist", "artist"), ("object_name", "object name"), ("bar", "a | b")],
)
INTENTS = Language([(name, in_words(name)) for name in ("PlayMusic", "RateBook")], [("artist", "artist")], single=True)

marks = st.sampled_from([*MARKS, *WIDE, *(ESCAPE * n + wide for n in (1, 2) for wide in WIDE), ESCAPE])
ordinary = st.text(min_size=1, max_size=6).filter(lambda word: word.split() == [word])
words = st.lists(st.one_of(marks, ordinary, st.sampled_from(["[a]", "f(x)", "a|b", "none"])), min_size=1, max_size=12)


@st.composite
def sentences(draw):
    chosen = draw(words)
    cuts = sorted(draw(st.sets(st.integers(0, len(chosen)), max_size=6)))
    spans = [(a, b, draw(st.sampled_from(SLOTS))) for a, b in itertools.pairwise(cuts) if draw(st.booleans())]
    names = draw(st.sets(st.sampled_from(NAMES)))
    return Sentence(tuple(name for name in NAMES if name in names), tuple(chosen), tuple(spans))


@given(sentences())
def test_reading_gives_back_what_was_written(sentence):
    assert MUSIC.read(MUSIC.write(sentence)) == sentence


@given(sentences())
def test_tags_and_spans_are_each_others_inverse(sentence):
    assert spans_of(bio_tags(len(sentence.words), sentence.spans)) == sentence.spans
    assert [tag[0] for tag in bio_tags(len(sentence.words), sentence.spans)].count("B") == len(sentence.spans)


@given(st.lists(st.sampled_from([*MARKS, "play", "music", "artist", "rate", "book", "x"]), max_size=14))
def test_any_string_is_a_sentence_or_has_a_reason_and_a_sentence_is_written_as_it_was_read(tokens):
    text = " ".join(tokens)
    try:
        sentence = INTENTS.read(text)
    except Unreadable as refused:
        assert str(refused) in REASONS
    else:
        assert INTENTS.read(INTENTS.write(sentence)) == sentence and len(sentence.names) == 1


def test_a_sentence_by_hand():
    sentence = Sentence(("PlayMusic",), ("hear", "the", "beat", "[", "now"), ((1, 3, "artist"), (3, 4, "object_name")))
    text = "(( play music )) hear [ the beat | artist ] [ ［ | object name ] now"
    assert MUSIC.write(sentence) == text and MUSIC.read(text) == sentence
    assert bio_tags(len(sentence.words), sentence.spans) == ["O", "B-artist", "I-artist", "B-object_name", "O"]


def test_names_stand_in_the_order_of_the_inventory_and_none_stands_for_no_name():
    assert MUSIC.marker(["RateBook", "PlayMusic"]) == "(( play music ; rate book ))"
    assert MUSIC.read("(( rate book ; Play Music )) x").names == ("PlayMusic", "RateBook")
    assert MUSIC.marker([]) == "(( none ))" and MUSIC.read("(( none )) x").names == ()


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("no marker", ""),
        ("no marker", "play some music"),
        ("no marker", "so (( play music )) x"),
        ("no marker", "(( play music x"),
        ("no marker", "(( )) x"),
        ("unknown name", "(( play songs )) x"),
        ("unknown name", "(( none )) x"),
        ("repeated name", "(( play music ; play music )) x"),
        ("not one name", "(( play music ; rate book )) x"),
        ("unbalanced brackets", "(( play music )) [ x | artist"),
        ("unbalanced brackets", "(( play music )) x ]"),
        ("unbalanced brackets", "(( play music )) x | artist"),
        ("unbalanced brackets", "(( play music )) x (( rate book )) y"),
        ("nested brackets", "(( play music )) [ x [ y | artist ] | artist ]"),
        ("nested brackets", "(( play music )) [ x | artist [ y | artist ] ]"),
        ("no bar", "(( play music )) [ x artist ]"),
        ("no bar", "(( play music )) [ x | artist | artist ]"),
        ("empty span", "(( play music )) x [ | artist ]"),
        ("unknown slot", "(( play music )) [ x | singer ]"),
        ("unknown slot", "(( play music )) [ x | ]"),
        ("no words", "(( play music ))"),
    ],
)
def test_what_is_no_sentence_is_refused_with_its_reason(reason, text):
    with pytest.raises(Unreadable) as refused:
        INTENTS.read(text)
    assert str(refused.value) == reason


def test_every_reason_is_tried_above():
    tried = next(mark for mark in test_what_is_no_sentence_is_refused_with_its_reason.pytestmark).args[1]
    assert {reason for reason, _ in tried} == set(REASONS)


@pytest.mark.parametrize("tags", [["I-artist"], ["O", "I-artist"], ["B-artist", "I-song"], ["B-"], ["X"], [""]])
def test_tags_that_could_not_be_given_back_are_refused(tags):
    with pytest.raises(InputError, match=f"tag {len(tags)}"):
        spans_of(tags)


def test_names_in_words():
    phrases = {"AddToPlaylist": "add to playlist", "object_name": "object name", "cs.AI": "cs ai", "TVShow": "tv show"}
    assert {name: in_words(name) for name in phrases} == phrases


def test_names_that_words_do_not_tell_apart_are_refused():
    with pytest.raises(InputError, match="the same in words"):
        Language([("a_b", "a b"), ("aB", "A b")])
    with pytest.raises(InputError, match="has no words"):
        Language([("_", in_words("_"))])
    with pytest.raises(InputError, match="stands for no name"):
        Language([("x", "None")])


def test_nothing_of_snips_is_lost():
    if "COMPAUG_MIRROR" not in os.environ:
        pytest.skip("SNIPS is read from the folder named by COMPAUG_MIRROR")
    with lzma.open(Path(os.environ["COMPAUG_MIRROR"]) / "slu_snips/train.tsv.xz", "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    slots = sorted({tag[2:] for _, _, tags in rows for tag in tags.split() if tag != "O"})
    language = Language(
        [(i, in_words(i)) for i in sorted({row[0] for row in rows})], [(s, in_words(s)) for s in slots], single=True
    )
    for intent, text, tags in rows:
        sentence = Sentence((intent,), tuple(text.split()), spans_of(tags.split()))
        again = language.read(language.write(sentence))
        assert again == sentence and bio_tags(len(again.words), again.spans) == tags.split()
