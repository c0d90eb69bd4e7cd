"""A decoder that can write nothing but augmented language: all that it writes to an end is read, and all that can be
read it can write."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from compaug.generators.joint import lora
from compaug.generators.joint.augmented_language import Follows, Language, Sentence, Unreadable
from compaug.generators.joint.strict_decoding import StrictStep, Vocabulary
from compaug.models import sampling
from compaug.models.loading import load_decoder

SLOTS = [("song", "song"), ("name", "song name"), ("odd", "a b")]
INTENT = Language([("PlayMusic", "play music"), ("Play", "play")], SLOTS, single=True)
LABELS = Language([("joy", "joy"), ("fear", "fear"), ("none", "not a b")])


@pytest.fixture(scope="module")
def tokenizer(folders):
    return load_decoder(folders["decoder"])[0]


@pytest.fixture(scope="module")
def vocabulary(tokenizer):
    return Vocabulary(tokenizer)


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("", Follows(("(( play music ))", "(( play ))"))),
        ("(( play", Follows((" music ))", " ))"))),
        ("(( stop", Follows()),
        ("(( play ))", Follows(mark="[")),
        ("(( play )) put on", Follows(mark="[", end=True)),
        ("(( play )) [", Follows()),
        ("(( play )) [ the", Follows(mark="|")),
        ("(( play )) [ the |", Follows((" song ]", " song name ]", " a b ]"))),
        ("(( play )) [ the | song", Follows((" ]", " name ]"))),
        ("(( play )) [ the | song ]", Follows(mark="[", end=True)),
    ],
)
def test_what_may_follow(text, follows):
    assert INTENT.follows(text) == follows


def test_further_names_may_follow_a_name_and_none_twice():
    phrases = LABELS.follows("(( joy ; ").phrases
    assert set(phrases) == {"fear ))", "fear ; ", "not a b ))", "not a b ; "}
    assert LABELS.follows("(( joy ; fear ; ").phrases == ("not a b ))",)
    assert LABELS.follows("(( no").phrases == ("t a b ))", "t a b ; ", "ne ))")
    assert LABELS.follows("(( joy )) so").mark == ""  # it has no slots


WORDS = st.lists(st.sampled_from(["the", "sun", "is", "out", "f(x)", "a", ":)", "[a"]), min_size=1, max_size=6)


@st.composite
def sentences(draw):
    words = draw(WORDS)
    at = draw(st.integers(0, len(words) - 1))
    slot = draw(st.sampled_from([name for name, _ in SLOTS]))
    spans = ((at, draw(st.integers(at + 1, len(words))), slot),) if draw(st.booleans()) else ()
    return Sentence(("PlayMusic",), tuple(words), spans)


@given(sentences())
def test_every_sentence_can_be_written(tokenizer, vocabulary, sentence):
    """By the tokens of the tokenizer, but for a bracket within a word."""
    if any("[" in word for word in sentence.words):
        return
    ids = tokenizer(INTENT.write(sentence))["input_ids"]
    for at in range(len(ids)):
        (text,) = vocabulary.texts_of(torch.tensor([ids[:at]], dtype=torch.long))
        assert vocabulary.allowed(text, INTENT.follows(text))[ids[at]], (text, tokenizer.decode(ids[at]))
    (text,) = vocabulary.texts_of(torch.tensor([ids]))
    assert vocabulary.allowed(text, INTENT.follows(text))[tokenizer.eos_token_id]


class Chance:
    """A step that knows nothing; half of what it says are marks and letters of phrases."""

    def __init__(self, tokenizer, width: int, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        liked = [
            at for at in range(len(tokenizer)) if tokenizer.decode([at]).strip() in (*"[]|()", "((", "))", "s", "so")
        ]
        self.bonus = torch.zeros(width)
        self.bonus[[*liked, tokenizer.eos_token_id]] = 4.0

    def __call__(self, tokens, seen, new):
        return torch.randn(len(tokens), len(self.bonus), generator=self.generator) + self.bonus

    def keep(self, rows):
        pass


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([INTENT, LABELS]))
def test_what_is_written_to_its_end_can_be_read(tokenizer, vocabulary, seed, language):
    step = StrictStep(Chance(tokenizer, len(tokenizer) + 3, seed), language, vocabulary)  # some models have unused rows
    decoding = SimpleNamespace(max_length=60, temperature=1.0, top_k=0, top_p=1.0, no_repeat_ngram=0)
    uniforms = torch.rand(8, 60, generator=torch.Generator().manual_seed(seed))
    tokens = sampling.sample_tokens(step, [[5], [5, 6]] * 4, uniforms, tokenizer.eos_token_id, decoding)
    for ids, shown in zip(tokens, [1, 2] * 4, strict=True):
        (written,), text = vocabulary.texts_of(torch.tensor([ids], dtype=torch.long)), tokenizer.decode(ids)
        if len(ids) < 60 - shown and "\ufffd" not in written:  # letters of several tokens may be any, also a space
            assert language.read(text) and written == text


def test_a_decoder_that_has_learned_nothing_writes_sentences(folders, tokenizer):
    model = AutoModelForCausalLM.from_pretrained(folders["decoder"]).eval()
    decoding = SimpleNamespace(max_length=64, batch_size=5, temperature=1.0, top_k=0, top_p=1.0, no_repeat_ngram=0)
    shown = ["the sun is out"] * 12
    read = []
    for text in lora.written(tokenizer, model, shown, decoding, 1, INTENT):
        try:
            read.append(INTENT.read(text))
        except Unreadable:
            assert len(tokenizer(text)["input_ids"]) > 40  # cut
    with pytest.raises(Unreadable):
        INTENT.read(lora.written(tokenizer, model, shown[:1], decoding, 1)[0])
    assert len(read) >= 6


def test_a_phrase_whose_letters_take_several_tokens_is_written_freely(tokenizer, vocabulary):
    assert vocabulary.spells(INTENT)
    assert not vocabulary.spells(Language([("joy", "喜び")]))
    assert not vocabulary.spells(Language([("joy", "joy ; fear")]))  # its mark is in full-width form
