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
        self.logits, self.calls = torch.tensor(probabilities).log() + 3.0, []  # a constant is no matter

    def __call__(self, tokens, seen, new):
        self.calls.append((tokens.tolist(), seen.tolist(), new))
        return self.logits

    def keep(self, rows):
        self.logits = self.logits[rows]


def test_what_y_says_more_than_y_prime_counts_w_plus_one_times_by_hand():
    asked_side, other = Said([[0.5, 0.3, 0.16, 0.04]]), Said([[0.5, 0.1, 0.32, 0.08]])
    logits = Guided(asked_side, other, [[7]], 2.0)(torch.tensor([[5, 6]]), torch.tensor([[1, 1]]), 2)
    expected = [math.log(0.5), math.log(0.3) + 2 * math.log(3), math.log(0.16) + 2 * math.log(0.5)]
    torch.testing.assert_close(logits[0, :3], torch.tensor(expected))
    assert logits[0].argmax() == 1  # not what y alone finds most likely
    assert logits[0, 3] == pytest.approx(math.log(0.04) - FAR)  # below a tenth of the best: no candidate


def test_the_other_side_reads_its_own_prompt_and_then_the_same_tokens():
    left, other = Said([[0.5, 0.5]] * 2), Said([[0.5, 0.5]] * 2)
    step = Guided(left, other, [[1, 2, 3], [4]], 1.0)
    step(torch.tensor([[8, 9], [0, 9]]), torch.tensor([[1, 1], [0, 1]]), 2)
    assert other.calls == [([[1, 2, 3], [0, 0, 4]], [[1, 1, 1], [0, 0, 1]], 3)]
    step.keep(torch.tensor([1]))
    step(torch.tensor([[0, 9, 6]]), torch.tensor([[0, 1, 1]]), 1)
    assert other.calls[-1] == ([[0, 0, 4, 6]], [[0, 0, 1, 1]], 1)
    assert left.calls[-1] == ([[0, 9, 6]], [[0, 1, 1]], 1)
    assert len(left.logits) == len(other.logits) == 1


def test_where_every_candidate_would_repeat_the_text_the_next_best_token_is_written():
    left, other = Said([[0.9, 0.05, 0.03, 0.02]]), Said([[0.25] * 4])
    step = Guided(left, other, [[2, 0, 3]], 2.0)
    (new,) = sampling.sample_tokens(
        step, [[2, 0, 2]], torch.full((1, 5), 0.5), 3, synthesis(max_length=4, no_repeat_ngram=2)
    )
    assert new == [1]  # "2 0" is known


@given(
    st.lists(st.sets(st.integers(0, 5), min_size=1).map(lambda labels: tuple(sorted(labels))), min_size=1, max_size=8),
    st.integers(0, 99),
)
def test_other_labels_are_as_many_and_none_of_its_own(requests, seed):
    other_sets = others(requests, 6, seed)
    for number, (label_set, other) in enumerate(zip(requests, other_sets, strict=True)):
        if len(label_set) == 6:
            assert other == label_set
        else:
            assert not set(label_set) & set(other) and len(other) == min(len(label_set), 6 - len(label_set))
            assert other == tuple(sorted(other))
        assert other_sets[number] == others([*requests[:number], label_set], 6, seed)[number]
