"""LINDA's length converter and its mixing: equations by hand, symmetry, lengths, padding (§3.2)."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from compaug.generators.linda.length_converter import LengthConverter, mask_of, mix, mixed_lengths

ALPHAS = st.integers(0, 1024).map(lambda n: n / 1024)  # 1 - alpha is exact: no length is at the edge of rounding
LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), ALPHAS), min_size=1, max_size=5)


def states_of(lengths, width=3, seed=0, filler=7.0):
    """Random states; padding is not zero, so that what reads it is found out."""
    states = torch.randn(len(lengths), max(lengths), width, generator=torch.Generator().manual_seed(seed))
    return torch.where(mask_of(torch.tensor(lengths), max(lengths))[..., None] == 1, states, filler)


def pairs_of(rows):
    a, b, alpha = zip(*rows, strict=True)
    return (states_of(a), torch.tensor(a)), (states_of(b, seed=1), torch.tensor(b)), torch.tensor(alpha)


def by_hand(states, length, to, sigma):
    """One sequence, with loops, as printed: k and j count from 1."""
    weighted = []
    for j in range(1, to + 1):
        scores = [math.exp(-((k - length / to * j) ** 2) / (2 * sigma**2)) for k in range(1, length + 1)]
        weighted.append(sum(w / sum(scores) * states[k] for k, w in enumerate(scores)))
    return torch.stack(weighted)


@pytest.mark.parametrize(
    ("alpha", "a", "b", "length"),
    [(0.5, 3, 4, 4), (1.0, 5, 3, 5), (0.0, 5, 3, 3), (0.3, 10, 10, 10), (0.7, 10, 20, 13), (0.1, 1, 1, 1)],
)
def test_the_mixed_length_is_the_weighted_mean_rounded_up(alpha, a, b, length):
    assert mixed_lengths(torch.tensor([alpha]), torch.tensor([a]), torch.tensor([b])).tolist() == [length]


def test_the_weights_are_the_printed_formula():
    states, converter = states_of([4, 2]), LengthConverter(0.7)
    converted = converter(states, torch.tensor([4, 2]), torch.tensor([3, 5]), 5)
    torch.testing.assert_close(converted[0, :3], by_hand(states[0], 4, 3, 0.7))
    torch.testing.assert_close(converted[1], by_hand(states[1], 2, 5, 0.7))
    assert converted[0, 3:].abs().max() == 0  # behind its end
    # L = 2, L~ = 1, sigma = 1: the centre is k = 2, so the weights are e^-1/2 : 1
    weights = LengthConverter(1.0).weights(torch.tensor([2]), 2, torch.tensor([1]), 1)[0, 0]
    torch.testing.assert_close(weights[0] / weights[1], torch.tensor(math.exp(-0.5)))


@given(LENGTHS)
def test_the_mixed_states_have_their_length_and_no_row_or_padding_reaches_another(rows):
    a, b, alpha = pairs_of(rows)
    mixed, mask = mix(LengthConverter(0.5), *a, *b, alpha)
    assert mixed.shape[:2] == mask.shape and mask.shape[1] == mask.sum(1).max()
    for at, (length_a, length_b, weight) in enumerate(rows):
        length = int(mask[at].sum())
        assert min(length_a, length_b) <= length <= max(length_a, length_b)
        assert length == mixed_lengths(torch.tensor([weight]), a[1][at : at + 1], b[1][at : at + 1])
        alone, _ = mix(
            LengthConverter(0.5),
            a[0][at : at + 1, :length_a],
            a[1][at : at + 1],
            b[0][at : at + 1, :length_b],
            b[1][at : at + 1],
            alpha[at : at + 1],
        )
        torch.testing.assert_close(mixed[at, :length], alone[0], rtol=1e-5, atol=1e-6)
        assert not mixed[at, length:].any()


@given(LENGTHS)
def test_swapped_texts_with_the_rest_of_alpha_give_the_same(rows):
    a, b, alpha = pairs_of(rows)
    for first, other in zip(
        mix(LengthConverter(0.5), *a, *b, alpha), mix(LengthConverter(0.5), *b, *a, 1 - alpha), strict=True
    ):
        torch.testing.assert_close(first, other, rtol=1e-4, atol=1e-5)


@given(st.integers(1, 9), st.integers(1, 9))
def test_alpha_1_with_a_small_sigma_is_the_first_text_and_alpha_0_the_second(length_a, length_b):
    a, b, _ = pairs_of([(length_a, length_b, 0.0)])
    for alpha, (states, length) in ((1.0, a), (0.0, b)):
        mixed, mask = mix(LengthConverter(0.01), *a, *b, torch.tensor([alpha]))
        assert mask.sum() == length
        torch.testing.assert_close(mixed, states)


def test_the_same_text_twice_is_that_text_whatever_alpha():
    (states, lengths), _, _ = pairs_of([(5, 5, 0.0)])
    mixed, _ = mix(LengthConverter(0.01), states, lengths, states, lengths, torch.tensor([0.3]))
    torch.testing.assert_close(mixed, states)


@given(st.floats(-1e4, 1e4, allow_nan=False), st.integers(1, 1024), st.integers(1, 1024))
@settings(max_examples=50)
def test_the_weights_are_a_distribution_at_any_sigma(width, length, to):
    converter = LengthConverter(0.5)
    converter.width.data.fill_(width)
    assert converter.sigma > 0
    weights = converter.weights(torch.tensor([length]), length, torch.tensor([to]), to)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, to))


def test_sigma_begins_as_given_and_is_trained():
    a, b, alpha = pairs_of([(4, 6, 0.5)])
    converter = LengthConverter(0.5)
    assert converter.sigma.item() == pytest.approx(0.5)
    mix(converter, *a, *b, alpha)[0].square().sum().backward()
    assert [name for name, _ in converter.named_parameters()] == ["width"] and converter.width.grad.abs() > 0


def test_the_softmax_is_in_float32_whatever_the_states_are():
    a, b, alpha = pairs_of([(300, 280, 0.4)])
    exact, _ = mix(LengthConverter(0.5), *a, *b, alpha)
    with torch.autocast("cpu", torch.bfloat16):
        weights = LengthConverter(0.5).weights(a[1], 300, torch.tensor([290]), 290)
    assert weights.dtype == torch.float32
    half, _ = mix(LengthConverter(0.5), a[0].bfloat16(), a[1], b[0].bfloat16(), b[1], alpha)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), exact, rtol=0.05, atol=0.05)
