"""Intervals and tests against hand-worked values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from compaug.evaluation.statistics import (
    holm,
    paired_bootstrap,
    ratio_interval,
    sign_flip_test,
    summarise,
    t_test,
)


def test_mean_deviation_and_t_interval_equal_the_textbook_values():
    summary = summarise([1, 2, 3, 4, 5])
    assert (summary.n, summary.mean) == (5, 3)
    assert summary.std == pytest.approx(2.5**0.5)
    assert summary.ci95 == pytest.approx(2.776445 * 2.5**0.5 / 5**0.5, rel=1e-6)  # t(0.975, 4) = 2.776445
    assert summary.excludes_zero


def test_one_value_has_no_spread_and_claims_nothing():
    summary = summarise([7.0])
    assert (summary.mean, summary.std, summary.ci95, summary.excludes_zero) == (7.0, None, None, False)


def test_an_interval_around_zero_does_not_exclude_it():
    assert not summarise([-1.0, 1.0, 0.5]).excludes_zero


def test_the_bootstrap_interval_of_a_coin_is_near_the_normal_interval():
    differences = [1.0] * 300 + [0.0] * 600 + [-1.0] * 100  # mean 0.2, variance 0.36
    low, high = paired_bootstrap(differences, seed=1)
    half_width = 1.96 * (0.36 / 1000) ** 0.5
    assert (low, high) == pytest.approx((0.2 - half_width, 0.2 + half_width), abs=0.003)


def test_the_bootstrap_is_seeded_and_does_not_depend_on_the_order_of_rows():
    differences = np.random.default_rng(0).normal(size=50)
    assert paired_bootstrap(differences, seed=3) == paired_bootstrap(differences[::-1], seed=3)
    assert paired_bootstrap(differences, seed=3) != paired_bootstrap(differences, seed=4)


def test_the_bootstrap_of_a_constant_is_that_constant():
    assert paired_bootstrap([0.25] * 8, seed=0) == pytest.approx((0.25, 0.25))


def test_the_exact_sign_flip_test_counts_the_patterns_by_hand():
    # sums of +-1 +-2 +-3: 6, 4, 2, 0, 0, -2, -4, -6; |sum| >= 6 in 2 of 8, |1 + 2 - 3| >= 0 always
    assert sign_flip_test([1, 2, 3], seed=0) == 2 / 8
    assert sign_flip_test([1, 2, -3], seed=0) == 1.0
    assert sign_flip_test([1, 0, 2, 0, 3], seed=0) == 2 / 8
    assert sign_flip_test([0.1] * 5, seed=0) == 2 / 32
    assert sign_flip_test([0.0, 0.0], seed=0) == 1.0


def test_the_sampled_sign_flip_test_agrees_with_the_binomial_tail():
    differences = [1.0] * 40 + [-1.0] * 20
    # |2 B - 60| >= 20 for B ~ Binomial(60, 1/2): p = 0.01349
    assert sign_flip_test(differences, seed=0, n_resamples=200_000) == pytest.approx(0.01349, abs=0.001)


@given(st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=1, max_size=10), st.floats(0.1, 9))
def test_the_sign_flip_p_value_ignores_scale_and_direction(values, scale):
    p = sign_flip_test(values, seed=0)
    assert 0 < p <= 1
    assert sign_flip_test([-scale * value for value in values], seed=0) == pytest.approx(p)


def test_holm_multiplies_the_smallest_p_by_all_and_never_falls_below_a_smaller_one():
    corrected = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": None})
    assert corrected == {"a": pytest.approx(0.03), "c": pytest.approx(0.06), "b": pytest.approx(0.06), "d": None}
    assert holm({"a": 0.9, "b": 0.8}) == {"b": 1.0, "a": 1.0}
    assert holm({}) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=6))
def test_holm_keeps_the_order_and_never_lowers_a_p_value(p_values):
    corrected = holm(p_values)
    assert all(p <= corrected[name] <= 1 for name, p in p_values.items())
    names = sorted(p_values, key=p_values.get)
    assert [corrected[name] for name in names] == sorted(corrected.values())


def of_values(values) -> float | None:
    summary = summarise(values)
    return t_test(summary.mean, summary.std, summary.n)


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0], [0.3, -0.1, 0.2, 0.4, 0.9]])
def test_a_t_test_by_mean_and_deviation_is_that_of_scipy(values):
    assert of_values(values) == pytest.approx(scipy.stats.ttest_1samp(values, 0.0).pvalue, rel=1e-9)


def test_the_t_test_against_hand_worked_values():
    # mean 2, std 1, n 3: t = 2 sqrt(3) = 3.4641, p = 0.0742 with 2 degrees of freedom
    assert of_values([1.0, 2.0, 3.0]) == pytest.approx(0.0742, abs=1e-4)
    assert of_values([1.0]) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[0.0, 0.0], [1.0, 1.0], [0.3 - 0.2, 0.2 - 0.1, 0.1]])
def test_equal_differences_are_no_test_whatever_rounding_makes_of_them(values):
    """Shares of few rows are equal by chance; p = 0 would say that no seed could be elsewhere."""
    assert of_values(values) is None and not summarise(values).excludes_zero


def test_at_the_bounds_of_a_ratio_the_difference_is_as_far_from_zero_as_its_interval_reaches():
    gains, knowledge = np.array([1.0, 1.6, 0.7, 1.2, 1.4]), np.array([2.0, 2.6, 2.1, 1.8, 2.9])
    share, low, high = ratio_interval(gains, knowledge)
    assert share == pytest.approx(gains.mean() / knowledge.mean()) and low < share < high
    for bound in (low, high):
        apart = summarise(gains - bound * knowledge)
        assert abs(apart.mean) == pytest.approx(apart.ci95)


def test_a_ratio_to_what_may_be_nothing_has_no_interval():
    assert ratio_interval([1.0, 2.0, 1.5], [1.0, -1.0, 0.5]) is None
    assert ratio_interval([1.0], [2.0]) is None
