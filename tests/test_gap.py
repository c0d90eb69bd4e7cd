"""The gap on unseen combinations in words: its two parts, what texts give of it, and the remedy."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from compaug.reports.gap import WORDS, Gap, Part, contribution, remedy, remedy_in_brief, sentence

DECODING_ALONE = "decoding: raise the scores of unseen combinations; "
THESE_AT_LEAST = "these texts, though they are not shown to teach more than repeating the support texts"
REPEATED = "the support texts repeated: it costs nothing, and these texts are not shown to teach more"


def part(mean: float | None, shown: bool = True) -> Part | None:
    return None if mean is None else Part(mean, mean - 1, mean + 1, shown)


def gap(total=20.0, operating_point=12.0, knowledge=8.0, texts=5.0, repeating=1.0, over=4.0, hidden=()) -> Gap:
    """`hidden`: the parts that no test shows."""
    names = ("total", "operating_point", "knowledge", "texts", "repeating", "texts_over_repeating")
    values = zip(names, (total, operating_point, knowledge, texts, repeating, over), strict=True)
    return Gap(**{name: part(value, name not in hidden) for name, value in values})


REMEDIES = {
    "no gap is shown": (
        gap(hidden=["total", "operating_point"]),
        "nothing can be told: no gap is shown on these test rows; test on more rows or other combinations",
    ),
    "a gap below zero": (
        gap(total=-3.0, operating_point=-4.0),
        "nothing can be told: no gap is shown on these test rows; test on more rows or other combinations",
    ),
    "decoding alone": (
        replace(gap(), knowledge=Part(0.5, -0.5, 1.5, shown=False)),
        f"{DECODING_ALONE}it is not shown that even real texts of them would add to that",
    ),
    "decoding alone, by the corrected test": (
        gap(hidden=["knowledge"]),
        DECODING_ALONE
        + "it is not shown, once corrected for all comparisons, that even real texts of them would add to that",
    ),
    "knowledge of less than a point": (
        gap(knowledge=0.9),
        f"{DECODING_ALONE}even real texts of them would add less than 1 point to that",
    ),
    "decoding, which a worse matched arm hides in the whole": (
        gap(total=2.0, operating_point=10.0, knowledge=-8.0, hidden=["total", "knowledge"]),
        f"{DECODING_ALONE}it is not shown that even real texts of them would add to that",
    ),
    "parts of less than a point": (
        gap(operating_point=0.4, knowledge=0.5),
        "nothing can be told: what is shown of either part of the gap is less than 1 point",
    ),
    "neither part": (
        gap(hidden=["operating_point", "knowledge"]),
        "nothing can be told: neither part of the gap is shown; test on more rows",
    ),
    "no texts were written": (
        gap(texts=None, repeating=None, over=None),
        "decoding, and more support texts: real texts of the combinations teach, no texts were written",
    ),
    "texts that do not help": (
        gap(hidden=["texts", "repeating"]),
        "decoding, and more support texts: real texts of the combinations teach, these texts are not shown to help",
    ),
    "texts that harm": (
        gap(texts=-2.0, hidden=["repeating"]),
        "decoding, and more support texts: real texts of the combinations teach, these texts are not shown to help",
    ),
    "repeating helps as much": (gap(hidden=["texts_over_repeating"]), f"decoding, and {REPEATED}"),
    "repeating helps, texts do not": (gap(hidden=["texts"]), f"decoding, and {REPEATED}"),
    "repeating helps, texts take away from it": (gap(over=-2.0), f"decoding, and {REPEATED}"),
    "neither repeating nor more than it": (
        gap(hidden=["repeating", "texts_over_repeating"]),
        f"decoding, and {THESE_AT_LEAST}",
    ),
    "repeating was not trained": (
        gap(repeating=None, hidden=["texts_over_repeating"]),
        f"decoding, and {THESE_AT_LEAST}",
    ),
    "texts, of which there is room for more": (
        gap(),
        "decoding, and these texts; 3.0 points are left, for better texts or more support texts",
    ),
    "texts that give nearly all": (gap(texts=7.5), "decoding, and these texts"),
    "texts that give more than real ones": (gap(texts=9.0), "decoding, and these texts"),
    "texts without a comparison with repeating": (gap(texts=7.5, over=None), "decoding, and these texts"),
    "an operating point that no test shows": (
        gap(hidden=["operating_point"]),
        "these texts; 3.0 points are left, for better texts or more support texts",
    ),
    "an operating point of less than a point": (gap(operating_point=0.9, texts=8.0), "these texts"),
}


@pytest.mark.parametrize("case", REMEDIES)
def test_the_remedy_follows_from_what_is_shown(case):
    evidence, expected = REMEDIES[case]
    assert remedy(evidence) == expected
    named = remedy_in_brief(evidence).split(", ")
    words = re.split("[:;]|, though", expected)[0].split(", and ")
    assert [WORDS.get(name, name) for name in named] == words


def test_the_sentence_has_both_parts_with_their_intervals():
    assert sentence(gap()) == (
        "Of 20.0 points of H that the classifier lacks on unseen combinations, 12.0 [11.0, 13.0] are a matter of "
        "decoding and 8.0 [7.0, 9.0] of texts"
    )


def test_what_texts_give_stands_beside_what_repeating_gives_where_that_was_trained():
    assert (
        contribution(gap()) == "these texts give 5.0 [4.0, 6.0], 4.0 [3.0, 5.0] more than repeating the support texts"
    )
    assert contribution(gap(over=None), "the texts of `ls_pt`") == "the texts of `ls_pt` give 5.0 [4.0, 6.0]"


def test_texts_that_give_less_than_repeating_say_less():
    uneven = replace(gap(), texts_over_repeating=Part(-3.6, -6.7, -0.5, True))
    assert contribution(uneven).endswith(", 3.6 [0.5, 6.7] less than repeating the support texts")
    bare = replace(gap(), texts_over_repeating=Part(-3.6, None, None, False))
    assert contribution(bare).endswith(", 3.6 less than repeating the support texts")


def test_a_part_without_an_interval_has_none_and_one_over_rows_says_so():
    assert str(Part(4.25, None, None, False)) == "4.3"
    assert str(Part(4.0, 2.0, 7.0, True, over_rows=True)) == "4.0 [2.0, 7.0] over test rows"
    assert not Part(4.0, 2.0, 7.0, False).is_gain and not Part(-4.0, -7.0, -2.0, True).is_gain


def test_an_interval_without_zero_is_marked_where_no_test_shows_it():
    assert str(Part(1.6, 0.4, 2.7, shown=False)) == "1.6 [0.4, 2.7]°"
    assert str(Part(-1.6, -2.7, -0.4, shown=False)) == "-1.6 [-2.7, -0.4]°"
    assert str(Part(1.6, 0.4, 2.7, shown=True)) == "1.6 [0.4, 2.7]"
    assert str(Part(1.6, -0.4, 3.6, shown=False)) == "1.6 [-0.4, 3.6]"  # which says so itself
    assert str(Part(1.6, 0.4, 2.7, shown=False, over_rows=True)) == "1.6 [0.4, 2.7] over test rows"
    assert str(Part(1.6, None, None, shown=False)) == "1.6"
