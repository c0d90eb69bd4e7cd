"""Constraints that are taken from real texts, in words, and how well a text keeps them: against values worked by
hand."""

from __future__ import annotations

import builtins
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score
from toys import TASK

from compaug.core.files import InputError
from compaug.core.records import Example
from compaug.generators.coda.constraints import Constraints, Shown, compliance, concepts, lengths, syntactic, wording
from compaug.generators.coda.constraints.concepts import Concept
from compaug.generators.shared import keywords

# ---------------------------------------------------------------- keywords


@pytest.mark.parametrize(
    ("n", "k"),
    [(0, 0), (1, 1), (2, 2), (3, 3), (9, 3), (10, 3), (13, 3), (14, 4), (20, 6), (33, 9), (34, 10), (200, 10)],
)
def test_the_number_of_keywords_follows_the_k_rule(n, k):
    """max(min(3, n), floor(0.3 n)), at most 10 (docs/spec/coda.md, 2); a document of one word has one."""
    assert keywords.n_keywords(" ".join(f"w{at}" for at in range(n))) == k
    assert keywords.n_keywords(" ".join(f"w{at}" for at in range(n)) + " w0" * (n > 0)) == k  # of different words


def test_ngrams_are_lower_cased_words_without_punctuation_stop_words_alone_or_single_characters():
    assert keywords.ngrams("The Sun, it's COLD!", 1) == ["sun", "it's", "cold"]
    assert keywords.ngrams("Of the #Sun.") == ["sun", "the sun", "of the sun"]
    assert keywords.ngrams("x y", 2) == ["x y"]  # one character is too short
    assert keywords.ngrams("x") == [] == keywords.ngrams("!!! :)") == keywords.ngrams("of the")
    assert keywords.ngrams("sun sun sun") == ["sun", "sun sun", "sun sun sun"]
    assert "cry" in keywords.ngrams("do not cry")  # some lists of stop words have it


@given(st.lists(st.sampled_from(["sun", "the", "rain", "of", "Dark!"]), max_size=12), st.integers(1, 3))
def test_every_ngram_stands_in_its_text_and_none_is_there_twice(words, longest):
    ngrams = keywords.ngrams(" ".join(words), longest)
    assert len(set(ngrams)) == len(ngrams)
    assert all(keywords.contains(" ".join(keywords.words_of(" ".join(words))), ngram) for ngram in ngrams)
    assert all(1 <= len(ngram.split()) <= longest for ngram in ngrams)


def test_a_keyword_that_a_better_one_contains_is_left_out_and_one_that_contains_a_better_one_is_kept():
    scores = {0: {"dark night": 0.9, "night": 0.8, "sun": 0.7, "the sun": 0.6, "moon": 0.5}}
    assert keywords.chosen(scores, {0: 3}) == {0: ["dark night", "sun", "the sun"]}
    assert keywords.chosen({0: {"sunday": 0.9, "sun": 0.8}}, {0: 2}) == {0: ["sunday", "sun"]}  # words, not letters
    assert keywords.chosen({0: {}}, {0: 2}) == {0: []}


def test_labels_take_turns_and_share_no_keyword():
    scores = {0: {"sun": 0.9, "day": 0.8, "dark": 0.1}, 1: {"sun": 0.9, "dark": 0.8, "so dark": 0.7}}
    assert keywords.chosen(scores, {0: 2, 1: 2}) == {0: ["sun", "day"], 1: ["dark", "so dark"]}


def test_a_keyword_that_holds_the_labels_name_is_kept():
    assert "such joy" in keywords.ngrams("such joy today")
    assert keywords.chosen({0: {"such joy": 0.9, "today": 0.5}}, {0: 1}) == {0: ["such joy"]}


def test_scores_are_cosines_to_the_text_whatever_else_is_read(folders):
    text, other = "the sun is out and it was so dark", "he broke my cup"
    ngrams = keywords.ngrams(text)
    alone = [keywords.similarities([([ngram], text)], folders["encoder"])[0][0] for ngram in ngrams[:6]]
    together = keywords.similarities([(ngrams, text), (keywords.ngrams(other), other)], folders["encoder"])
    assert together[0][:6] == pytest.approx(alone, abs=2e-4)
    assert keywords.similarities([([text], text), ([], text)], folders["encoder"]) == [[1.0], []]
    assert all(-1 <= score <= 1 for scores in together for score in scores)


# ---------------------------------------------------------------- length


def test_the_length_is_that_of_the_text_give_or_take_a_standard_deviation():
    texts = ["a", "a b c", "a b c d e"]  # 1, 3 and 5 words: variance 8/3
    assert lengths.spread(texts) == pytest.approx((8 / 3) ** 0.5)
    assert lengths.paper(5, lengths.spread(texts)) == (3, 7)
    assert lengths.paper(1, 3.0) == (1, 4)
    assert lengths.paper(4, 0.0) == (4, 4) and lengths.spread(["a b", "c d"]) == 0.0  # sd = 0: [n, n]
    assert lengths.reference(2, 9.9) == (5, 10) and lengths.reference(20, 9.9) == (20, 30)


@given(st.floats(0, 300), st.floats(0, 100), st.sampled_from(["paper", "reference"]))
def test_a_range_is_never_empty_and_begins_at_a_word(n, sd, mode):
    low, high = lengths.MODES[mode](n, sd)
    assert low >= 1 and high >= low


# ---------------------------------------------------------------- tags


@pytest.mark.extra("coda")
def test_tags_are_those_of_each_sentence(tagger):
    tags = syntactic.tags_of(["The cup broke. He was sad!", "", "rain"])
    assert tags[0] == [["DET", "NOUN", "VERB", "PUNCT"], ["PRON", "AUX", "ADJ", "PUNCT"]]
    assert tags[1] == [] and len(tags[2]) == 1 and len(tags[2][0]) == 1
    assert syntactic.tags_of([]) == []


def test_without_spacy_one_line_says_what_to_do(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "spacy":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    syntactic._tagger.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="need spaCy; .*, or set syntactic: false") as refused:
        syntactic.tags_of(["a text"])
    assert "\n" not in str(refused.value)


@pytest.mark.extra("coda")
def test_without_the_model_of_spacy_one_line_says_what_to_do(in_a_temporary_folder, tmp_path, monkeypatch):
    syntactic._tagger.cache_clear()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(InputError, match=r"^generators.coda.syntactic: pip cannot .*, or set syntactic: false$"):
        syntactic.tags_of(["a text"])


# ---------------------------------------------------------------- concepts


def test_mutual_information_of_four_counts_by_hand():
    # f and y on together 2 times of 4, off together 2: I = log 2; independent: 0
    assert keywords.mutual_information(2, 0, 0, 2) == pytest.approx(np.log(2))
    assert keywords.mutual_information(1, 1, 1, 1) == pytest.approx(0)
    by_hand = 0.5 * np.log(0.5 / (0.75 * 0.5)) + 0.25 * np.log(0.25 / (0.75 * 0.5)) + 0.25 * np.log(0.25 / (0.25 * 0.5))
    assert keywords.mutual_information(2, 1, 0, 1) == pytest.approx(by_hand)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_mutual_information_is_what_scikit_learn_has(pairs):
    f, y = ([pair[at] for pair in pairs] for at in (0, 1))
    cells = Counter(pairs)
    information = keywords.mutual_information(
        *(cells[key] for key in ((True, True), (True, False), (False, True), (False, False)))
    )
    assert information == pytest.approx(mutual_info_score(f, y), abs=1e-9)


def _corpus():
    """40 texts, every second one with label 0; "zebra" stands in most of these and nearly nowhere else."""
    texts, labels = [], []
    for at in range(40):
        planted = "zebra" if (at % 2 == 0 and at != 8) or at == 1 else "lion"
        texts.append(f"a {planted} came by on day {'one' if at % 3 else 'two'}")
        labels.append((0,) if at % 2 == 0 else (1,))
    return texts, labels


@pytest.mark.extra("coda")
def test_a_planted_shortcut_word_is_found_for_its_label_and_for_no_other():
    shortcuts = keywords.association(*_corpus(), 3)
    assert next(iter(shortcuts[0])) in ("a zebra", "zebra") and "zebra" in shortcuts[0] and "zebra" not in shortcuts[1]
    assert "lion" in shortcuts[1] and shortcuts[2] == {}
    assert shortcuts[0]["zebra"] == pytest.approx(float(keywords.mutual_information(19, 1, 1, 19)))
    assert list(shortcuts[0].values()) == sorted(shortcuts[0].values(), reverse=True)
    assert any("zebra" in phrase for phrase in concepts.groups(shortcuts[0])[0])


def test_what_is_rare_or_speaks_against_a_label_is_no_shortcut():
    shortcuts = keywords.association(["rare word here"] * 2 + ["plain text"] * 8, [(0,)] * 5 + [(1,)] * 5, 2)
    assert (
        "rare" not in shortcuts[0] and "plain" in shortcuts[1] and "plain" not in shortcuts[0]
    )  # in two texts; below P(y)
    assert keywords.association([], [], 2) == [{}, {}] == keywords.association(["of the"] * 5, [(0,)] * 5, 2)


@pytest.mark.extra("coda")
def test_ngrams_with_a_common_lemma_are_a_group_and_there_are_six_at_most():
    scores = dict.fromkeys(["broken cup", "cups", "the cup", "tears", "crying", *"abcdefgh"], 1.0)
    groups = concepts.groups(scores)
    assert groups[0] == ["broken cup", "cups", "the cup"] and groups[1] == ["tears"] and len(groups) == 6


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("#Family Life#", "family life"),
        ("The concept is # time-travel! # and so on", "time-travel"),
        ("#a very long name#", "a very"),
        ("Weather, of course", "weather of"),
        ("##", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_name_of_a_concept_stands_between_marks(answer, name):
    assert concepts.name_in(answer) == name


def test_concepts_of_one_name_are_one_and_empty_ones_are_none():
    distinct = concepts.distinct(["rain", "", "rain", "sun", "moon", "sea"], [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]])
    assert distinct == [Concept("rain", ("a", "c")), Concept("sun", ("d",)), Concept("moon", ("e",))]


def test_the_question_shows_three_pairs_in_which_the_sentence_holds_the_phrase():
    texts = ["It rained. The cup fell down.", "no match", "My cups! Broken.", "cups and more cups", "a cup, the cup"]
    pairs = concepts.pairs(["the cup", "cups"], texts)
    assert pairs == [("The cup fell down.", "the cup"), ("My cups!", "cups"), ("a cup, the cup", "the cup")]
    question = concepts.question(["the cup", "cups"], texts)
    assert 'Sentence: "My cups!" Phrase: "cups"' in question and "two words between two # characters" in question
    assert concepts.pairs(["absent"], texts) == []


def test_labels_are_tied_by_how_often_they_occur_with_the_wanted_ones():
    # P(2|0) = 6/12, P(3|0) = 2/12; P(2|1) = 6/9, P(3|1) = 3/9
    compositions = {(0, 1, 2): 6, (0,): 4, (0, 3): 2, (1, 3): 3, (3,): 9}
    assert concepts.tied(compositions, (0, 1), 5) == [2, 3]
    assert concepts.tied(compositions, (3,), 5) == [1, 0]
    assert concepts.tied(compositions, (4,), 5) == []


def test_concepts_to_avoid_are_those_of_tied_labels_in_turn_and_three_at_most():
    of = [[Concept(f"c{label}{rank}", ()) for rank in range(3)] for label in range(4)]
    several = {(0, 1, 2): 6, (0, 3): 2}
    assert [concept.name for concept in concepts.to_avoid(of, several, (0, 1))] == ["c20", "c30", "c21"]
    of[2][0] = Concept("c00", ())  # what a wanted label has too is no sign of the other one
    assert [concept.name for concept in concepts.to_avoid(of, several, (0, 1))] == ["c30", "c21", "c31"]
    assert [concept.name for concept in concepts.to_avoid(of, several, (2, 3, 0, 1))] == []
    # no ties: its own
    assert [concept.name for concept in concepts.to_avoid(of, {(0,): 3, (1,): 4}, (1,))] == ["c10", "c11", "c12"]


# ---------------------------------------------------------------- in words


def whole(**changes) -> Constraints:
    shown = (
        Shown(
            "t1", "we laughed and my hands shake", Constraints((0, 1), {0: ["laughed"], 1: ["shake"]}, length=(4, 8))
        ),
        Shown("t2", "the sun is out", Constraints((0,), {0: ["sun"]}, length=(2, 6))),
    )
    constraints = Constraints(
        (0, 1),
        {0: ["the sun"], 1: ["so dark", "hands"]},
        named=True,
        shown=shown,
        tags=("DET", "NOUN"),
        length=(5, 9),
        concepts=(Concept("cups", ("cup",)), Concept("noise", ("noise",))),
        sources=("t0",),
    )
    return replace(constraints, **changes)


INSTRUCTION = """\
Write one short text of one or more sentences that fits this description: A message with joy, fear.
It must meet all of these conditions:
1. It contains all of these keywords: for "joy" "the sun"; for "fear" "so dark", "hands".
2. It expresses all of these labels, and no other label: "joy", "fear".
   Texts that do:
   "we laughed and my hands shake"
   A text that expresses "joy" alone: "the sun is out"
3. One of its sentences has exactly this pattern of parts of speech: DET NOUN.
4. It has 5 to 9 words.
5. It does not express the concept "cups".
6. It does not express the concept "noise".
Answer with the text alone: no title, no remark, no quotation marks."""
OFF = {
    "keywords": ({"keywords": None}, "1."),
    "labels": ({"named": False, "shown": ()}, "2."),
    "tags": ({"tags": ()}, "3."),
    "length": ({"length": None}, "4."),
    "concepts": ({"concepts": ()}, ("5.", "6.")),
}


def _conditions(prompt: str) -> list[str]:
    """The numbered conditions without their numbers, each with the lines that belong to it."""
    _, _, listed = prompt.partition("conditions:\n")
    conditions: list[str] = []
    for at, line in enumerate(listed.splitlines()[:-1]):
        if line.startswith("   "):
            conditions[-1] += f"\n{line}"
        else:
            number, _, words = line.partition(". ")
            assert int(number) == len(conditions) + 1, (at, line)
            conditions.append(words)
    return conditions


def test_the_instruction_is_a_numbered_list_in_the_order_of_the_paper():
    assert wording.instruction(TASK, whole()) == INSTRUCTION


@pytest.mark.parametrize("name", OFF)
def test_a_constraint_that_is_absent_takes_its_numbered_line_along_and_nothing_else(name):
    change, numbers = OFF[name]
    every = _conditions(INSTRUCTION)
    gone = {int(number[:-1]) - 1 for number in ([numbers] if isinstance(numbers, str) else numbers)}
    assert _conditions(wording.instruction(TASK, whole(**change))) == [
        condition for at, condition in enumerate(every) if at not in gone
    ]


def test_without_any_constraint_it_is_the_plain_prompt():
    prompt = wording.instruction(TASK, Constraints((0, 1)))
    assert prompt.splitlines() == [INSTRUCTION.splitlines()[0], INSTRUCTION.splitlines()[-1]]
    assert wording.listing(TASK, Constraints((0, 1))) == "A message with joy, fear :"


def test_of_one_label_it_says_so():
    prompt = wording.instruction(TASK, Constraints((1,), {1: ["dark"]}, named=True, length=(3, 3)))
    assert _conditions(prompt) == [
        'It contains all of these keywords: "dark".',
        'It expresses this label, and no other label: "fear".',
        "It has 3 words.",
    ]


def test_in_the_list_every_exemplar_stands_behind_its_own_constraints_and_the_asked_ones_come_last():
    assert wording.listing(TASK, whole()) == (
        "Keywords: laughed, shake. Words: 4 to 8.\nA message with joy, fear : we laughed and my hands shake\n\n"
        "Keywords: sun. Words: 2 to 6.\nA message with joy : the sun is out\n\n"
        "Keywords: the sun, so dark, hands. Parts of speech: DET NOUN. Words: 5 to 9. Not about: cups, noise.\n"
        "A message with joy, fear :"
    )


@pytest.mark.parametrize("form", wording.FORMS)
def test_a_prompt_that_is_too_long_loses_exemplars_first_and_then_the_pattern(form):
    """In the list what exemplars say of themselves goes before any of them does."""

    def n(prompt):
        return len(prompt)

    of = wording.FORMS[form]
    bare = tuple(replace(exemplar, keeps=Constraints(exemplar.keeps.labels)) for exemplar in whole().shown)
    steps = [whole(), whole(shown=whole().shown[:1]), whole(shown=()), whole(shown=(), tags=())]
    if form == "list":
        steps[1:2] = [whole(shown=bare), whole(shown=bare[:1])]
    sizes = [n(of(TASK, step)) for step in steps]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == len(steps)
    for size, expected in zip(sizes, steps, strict=True):
        assert wording.fitted(form, TASK, whole(), n, size) == (of(TASK, expected), expected)
    assert wording.fitted(form, TASK, whole(), n, sizes[-1] - 1)[0] == ""


# ---------------------------------------------------------------- what a text keeps


@pytest.mark.extra("coda")
def test_compliance_by_hand():
    constraints = whole(shown=())
    scores = compliance.compliance(
        "The Suns rose and it was so dark, cups", constraints, [["DET", "NOUN", "VERB"], ["X"]]
    )
    # "the sun" and "so dark" of three keywords; 9 words; DET NOUN of DET NOUN VERB; cups, not noise
    assert scores["coverage"] == pytest.approx(2 / 3, abs=1e-4) and scores["length"] == 1
    assert scores["tags"] == pytest.approx(2 / 3, abs=1e-4) and scores["violations"] == 0.5
    assert scores["score"] == pytest.approx((2 / 3 + 1 + 2 / 3 + 0.5) / 4, abs=1e-4)
    assert compliance.compliance("anything", Constraints((0,))) == {"score": 1.0}


@pytest.mark.extra("coda")
def test_words_are_compared_by_their_lemmas_in_a_row():
    text = f" {' '.join(compliance.lemmas(keywords.words_of('They were laughing at the broken cups')))} "
    assert compliance.has("laughed", text) and compliance.has("the broken cup", text) and compliance.has("cups", text)
    assert not compliance.has("at cup", text) and not compliance.has("cupboard", text)


@pytest.mark.extra("coda")
def test_a_text_of_the_wrong_length_misses():
    constraints = Constraints((0,), length=(3, 4))
    assert [compliance.compliance(" ".join("a" * n), constraints)["length"] for n in (2, 3, 4, 5)] == [0, 1, 1, 0]


tag_lists = st.lists(st.sampled_from(["NOUN", "VERB", "DET"]), max_size=8)


@given(tag_lists, tag_lists, tag_lists)
def test_the_edit_distance_is_a_distance(first, other, third):
    assert compliance.distance(first, other) == compliance.distance(other, first) <= max(len(first), len(other))
    assert (compliance.distance(first, other) == 0) == (first == other)
    assert compliance.distance(first, third) <= compliance.distance(first, other) + compliance.distance(other, third)
    assert 0 <= compliance.similarity(first, other) <= 1 == compliance.similarity(first, first)


def test_totals_are_means_over_the_texts_that_were_asked():
    totals = compliance.totals([{"coverage": 1.0, "score": 1.0}, {"coverage": 0.0, "length": 1.0, "score": 0.5}])
    rows = [
        Example("a", "x", (0,), made_of={"compliance": {"score": 0.5}}),
        Example("b", "y", (0,), made_of={"sources": []}),
    ]
    assert compliance.of_rows([*rows, Example("c", "z", (0,))]) == {"n": 1, "score": 0.5}
    assert totals == {"n": 2, "coverage": 0.5, "length": 1.0, "score": 0.75} and compliance.totals([]) == {"n": 0}
