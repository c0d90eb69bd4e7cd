"""Other labels held against those of a request: the arithmetic by hand, which they are, and what is written where
every candidate is known. What each generator writes with it: test_other_generators."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toys import synthesis

from compaug.generators.disentangled.guidance import FAR, Guided, others
from compaug.models import sampling


class Said:
    """A step that says fixed probabilities [B, vocabulary] and remembers what it was given."""

    def __init__(self, probabilities: list[list[float]]) -> None:
        self.logits, self.given = torch.tensor(probabilities).log() + 3.0, []  # a constant is no matter

    def __call__(self, tokens, seen, new):
        self.given.append((tokens.tolist(), seen.tolist(), new))
        return self.logits

    def keep(self, rows):
        self.logits = self.logits[rows]


def test_what_y_says_more_than_y_prime_counts_w_plus_one_times_by_hand():
    own, other = Said([[0.5, 0.3, 0.16, 0.04]]), Said([[0.5, 0.1, 0.32, 0.08]])
    found = Guided(own, other, [[7]], 2.0)(torch.tensor([[5, 6]]), torch.tensor([[1, 1]]), 2)
    expected = [math.log(0.5), math.log(0.3) + 2 * math.log(3), math.log(0.16) + 2 * math.log(0.5)]
    torch.testing.assert_close(found[0, :3], torch.tensor(expected))
    assert found[0].argmax() == 1  # not what y alone finds most likely
    assert found[0, 3] == pytest.approx(math.log(0.04) - FAR)  # below a tenth of the best: no candidate


def test_the_other_side_reads_its_own_prompt_and_then_the_same_tokens():
    own, other = Said([[0.5, 0.5]] * 2), Said([[0.5, 0.5]] * 2)
    step = Guided(own, other, [[1, 2, 3], [4]], 1.0)
    step(torch.tensor([[8, 9], [0, 9]]), torch.tensor([[1, 1], [0, 1]]), 2)
    assert other.given == [([[1, 2, 3], [0, 0, 4]], [[1, 1, 1], [0, 0, 1]], 3)]
    step.keep(torch.tensor([1]))
    step(torch.tensor([[0, 9, 6]]), torch.tensor([[0, 1, 1]]), 1)
    assert other.given[-1] == ([[0, 0, 4, 6]], [[0, 0, 1, 1]], 1)
    assert own.given[-1] == ([[0, 9, 6]], [[0, 1, 1]], 1)
    assert len(own.logits) == len(other.logits) == 1


def test_where_every_candidate_would_repeat_the_text_the_next_best_token_is_written():
    own, other = Said([[0.9, 0.05, 0.03, 0.02]]), Said([[0.25] * 4])
    step = Guided(own, other, [[2, 0, 3]], 2.0)
    (new,) = sampling.sample_tokens(
        step, [[2, 0, 2]], torch.full((1, 5), 0.5), 3, synthesis(max_length=4, no_repeat_ngram=2)
    )
    assert new == [1]  # "2 0" is known


@given(
    st.lists(st.sets(st.integers(0, 5), min_size=1).map(lambda some: tuple(sorted(some))), min_size=1, max_size=8),
    st.integers(0, 99),
)
def test_other_labels_are_as_many_and_none_of_its_own(requests, seed):
    found = others(requests, 6, seed)
    for number, (own, other) in enumerate(zip(requests, found, strict=True)):
        if len(own) == 6:
            assert other == own
        else:
            assert not set(own) & set(other) and len(other) == min(len(own), 6 - len(own))
            assert other == tuple(sorted(other))
        assert found[number] == others([*requests[:number], own], 6, seed)[number]
