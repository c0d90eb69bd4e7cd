"""AEDA and EDA: real texts of the requested labels, edited."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toys import TASK, examples, synthesis

from compaug.generators.baselines import aeda, eda

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")
BY_ID = {example.id: example for example in examples()}
texts = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=30)
seeds = st.integers(0, 9).map(np.random.default_rng)


@given(texts, seeds)
def test_aeda_adds_one_to_a_third_of_the_words_in_marks_and_changes_nothing_else(words, rng):
    tokens = aeda.punctuated(" ".join(words), rng).split()
    assert [word for word in tokens if word not in aeda.MARKS] == words
    marks = len(tokens) - len(words)
    assert marks >= 1 and marks <= max(1, len(words) // 3)
    assert not any(token in aeda.MARKS and other in aeda.MARKS for token, other in pairwise(tokens))


@given(texts, seeds)
def test_eda_swaps_words_or_deletes_some_and_leaves_one(words, rng):
    assert Counter(eda.swapped(words, rng)) == Counter(words)
    left = eda.deleted(words, rng)
    assert left and not Counter(left) - Counter(words)


def test_swaps_and_deletions_are_as_many_as_alpha_says():
    words, rng = [f"w{at}" for at in range(100)], np.random.default_rng(0)
    moved = [sum(word != other for word, other in zip(words, eda.swapped(words, rng), strict=True)) for _ in range(50)]
    assert max(moved) <= 20 and np.mean(moved) > 15  # ten swaps of two words
    assert np.mean([len(eda.deleted(words, rng)) for _ in range(200)]) == pytest.approx(90, abs=1)
    assert eda.swapped(["one"], rng) == ["one"] == eda.deleted(["one"], rng)


@pytest.mark.parametrize("generator", [aeda, eda])
def test_the_rows_of_a_composition_take_turns_and_others_are_not_asked(generator):
    generator.train(examples(), TASK, None, {}, Path("m"), 13)
    requests = [(0, 1)] * 6 + [(2,)] * 3
    assert generator.feasible(Path("m"), [*requests, (0, 1, 2, 3), (3, 2)], TASK) == [True] * 11
    assert generator.feasible(Path("m"), [(0, 1)], TASK) == [True]
    drafts = list(generator.generate(Path("m"), requests, TASK, synthesis(), {}, 3))
    assert [draft.request for draft in drafts] == list(range(9))
    used = Counter(draft.made_of["sources"][0] for draft in drafts[:6])
    assert set(used.values()) == {3} and all(BY_ID[source].labels == (0, 1) for source in used)
    assert all(draft.labels == requests[draft.request] for draft in drafts)
    assert drafts == list(generator.generate(Path("m"), requests, TASK, synthesis(), {}, 3))
    assert [d.text for d in drafts] != [
        d.text for d in generator.generate(Path("m"), requests, TASK, synthesis(), {}, 4)
    ]


@pytest.mark.parametrize("generator", [aeda, eda])
def test_a_composition_without_a_row_is_infeasible_and_has_no_draft(generator):
    generator.train([e for e in examples() if e.labels != (0, 1)], TASK, None, {}, Path("m"), 13)
    assert generator.feasible(Path("m"), [(0, 1), (0,)], TASK) == [False, True]
    assert [draft.request for draft in generator.generate(Path("m"), [(0, 1), (0,)], TASK, synthesis(), {}, 3)] == [1]
