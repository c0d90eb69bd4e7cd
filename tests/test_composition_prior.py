"""The composition prior against closed forms, brute force and its invariants."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaug.core.files import InputError
from compaug.evaluation.decoding.composition_prior import (
    Calibration,
    Fold,
    Prior,
    ausuc,
    best_label_sets,
    calibrate,
    choose,
    em_target,
    harmonic_mean,
    log_joint,
    posteriors,
    prior_of,
    seen_unseen_scores,
    target_of,
)

RNG = np.random.default_rng(0)
TRAIN = [(0,)] * 6 + [(0, 1)] * 3 + [(2,)] * 1
SUPPORT = {(1,): 2.0, (0, 1): 2.0}
weights = st.floats(0, 0.95)
strengths = st.floats(0, 1.5)


def probabilities(n: int, n_labels: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.01, 0.99, (n, n_labels))


def sets(matrix) -> list[tuple[int, ...]]:
    return [tuple(np.flatnonzero(row).tolist()) for row in matrix]


# ---------------------------------------------------------------- the prior


def test_the_training_prior_is_the_smoothed_frequency_and_leaves_mass_for_the_rest():
    prior = prior_of(TRAIN, SUPPORT, 3)
    assert sets(prior.candidates) == [(0,), (0, 1), (1,), (2,)]
    assert prior.seen.tolist() == [True, True, False, True]
    # labels 0, 1, 2 stand in 0.9, 0.3, 0.1 of the rows; independent labels count for one row
    independent = [0.9 * 0.7 * 0.9, 0.9 * 0.3 * 0.9, 0.1 * 0.3 * 0.9, 0.1 * 0.7 * 0.1]
    assert prior.train == pytest.approx([(n + i) / 11 for n, i in zip((6, 3, 0, 1), independent, strict=True)])
    assert 0 < prior.train.sum() < 1 and prior.target.tolist() == [0, 0.5, 0.5, 0]


def test_the_target_comes_from_support_label_generator_or_half_of_both():
    support, drawn = [(0,), (0,), (1,), (1,)], [(1,)] * 3 + [(2,)]
    assert target_of(support, drawn, "support") == {(0,): 0.5, (1,): 0.5}
    assert target_of(support, drawn, "label_generator") == {(1,): 0.75, (2,): 0.25}
    assert target_of(support, drawn, "both") == {(0,): 0.5, (1,): 1.25, (2,): 0.25}
    assert target_of({(0,): 2, (1,): 2}, {}, "support") == target_of(support, drawn, "support")  # counted already
    with pytest.raises(InputError, match="no target composition"):
        prior_of(TRAIN, {}, 3)


# ---------------------------------------------------------------- decoding


@given(st.integers(0, 100), weights, strengths)
def test_with_the_training_prior_as_target_it_is_the_plain_argmax(seed, weight, strength):
    prior = prior_of(TRAIN, SUPPORT, 3)
    same = Prior(prior.candidates, prior.train, prior.train, prior.seen)
    p = probabilities(20, seed=seed)
    plain = prior.candidates[log_joint(p, prior.candidates).argmax(1)]
    assert np.array_equal(best_label_sets(p, same, weight, strength, back_off=False), plain)


@given(st.integers(0, 100), weights)
def test_without_strength_it_is_the_uncorrected_joint_argmax_and_the_threshold_with_back_off(seed, weight):
    prior, p = prior_of(TRAIN, SUPPORT, 3), probabilities(20, seed=seed)
    plain = prior.candidates[log_joint(p, prior.candidates).argmax(1)]
    assert np.array_equal(best_label_sets(p, prior, weight, 0.0, back_off=False), plain)
    assert np.array_equal(best_label_sets(p, prior, weight, 0.0), p > 0.5)


def test_two_compositions_have_the_closed_form_posterior():
    # {0} against {1}: 9 to 1 in training, 1 to 1 in the target. p({0} | x) : p({1} | x) = 0.8 * 0.7 : 0.2 * 0.3 = 28 :
    # 3. Corrected in full the odds are 28 / 3 * (0.5 / 0.9) / (0.5 / 0.1) = 28 / 27: still {0}; at 0.7 : 0.3 they are
    # below 1.
    prior = Prior(np.array([[1, 0], [0, 1]], bool), np.array([0.9, 0.1]), np.array([0.5, 0.5]), np.array([True, False]))
    odds = np.exp(np.diff(log_joint(np.array([[0.8, 0.3]]), prior.candidates)[0]))
    assert odds == pytest.approx([3 / 28])
    assert np.exp(np.diff(prior.correction(1.0))) == pytest.approx([9.0])
    assert prior.correction(0.5) == pytest.approx(np.log([0.7 / 0.9, 0.3 / 0.1]))
    texts = np.array([[0.8, 0.3], [0.7, 0.35]])
    assert sets(best_label_sets(texts, prior, 1 - 1e-12, 1.0, back_off=False)) == [(0,), (1,)]
    assert sets(best_label_sets(texts, prior, 1 - 1e-12, 0.0, back_off=False)) == [(0,), (0,)]


@given(st.integers(0, 100), weights, strengths)
def test_the_posterior_of_what_was_asked_is_a_softmax_over_the_candidates_by_brute_force(seed, weight, strength):
    prior, p = prior_of(TRAIN, SUPPORT, 3), probabilities(4, seed=seed)
    mixed = (1 - weight) * prior.train + weight * prior.target
    for row, values in enumerate(p):
        scores = [
            np.prod([values[label] if label in c else 1 - values[label] for label in range(3)]) * (m / t) ** strength
            for c, m, t in zip(sets(prior.candidates), mixed, prior.train, strict=True)
        ]
        posterior = [posteriors(p, prior, [c] * 4, weight, strength)[row] for c in sets(prior.candidates)]
        assert posterior == pytest.approx([score / sum(scores) for score in scores])


@given(st.integers(0, 50), weights, strengths, st.permutations(range(3)))
def test_permuting_labels_permutes_the_answer(seed, weight, strength, order):
    p = probabilities(15, seed=seed)
    new_id = {old: new for new, old in enumerate(order)}
    renamed = lambda composition: tuple(sorted(new_id[label] for label in composition))
    prior = prior_of(TRAIN, SUPPORT, 3)
    other = prior_of([renamed(c) for c in TRAIN], {renamed(c): n for c, n in SUPPORT.items()}, 3)
    assert np.array_equal(
        best_label_sets(p, prior, weight, strength)[:, list(order)],
        best_label_sets(p[:, list(order)], other, weight, strength),
    )


@given(st.integers(0, 50), weights, strengths)
@settings(max_examples=30)
def test_it_is_the_best_of_all_label_sets_by_brute_force(seed, weight, strength):
    prior, p = prior_of(TRAIN, SUPPORT, 3), probabilities(8, seed=seed)
    correction = dict(zip(sets(prior.candidates), prior.correction(weight), strict=True))
    every = [c for size in range(4) for c in itertools.combinations(range(3), size)]

    def score(row, composition):
        joint = sum(np.log(row[label] if label in composition else 1 - row[label]) for label in range(3))
        return joint + strength * correction.get(composition, np.log1p(-weight))

    for row, chosen in zip(p, sets(best_label_sets(p, prior, weight, strength)), strict=True):
        assert score(row, chosen) == pytest.approx(max(score(row, c) for c in every))


def test_an_unknown_label_set_is_answered_when_the_text_is_clear_enough():
    prior = prior_of(TRAIN, SUPPORT, 3)
    clear, vague = np.array([[0.01, 0.99, 0.99]]), np.array([[0.45, 0.6, 0.55]])
    assert sets(best_label_sets(clear, prior, 0.1, 1.0)) == [(1, 2)]  # no candidate
    assert sets(best_label_sets(vague, prior, 0.1, 1.0))[0] in sets(prior.candidates)


@pytest.mark.slow
def test_many_rows_and_compositions_are_fast():
    n, k, n_labels = 50_000, 4_400, 54
    rng = np.random.default_rng(0)
    drawn = {tuple(sorted(rng.choice(n_labels, rng.integers(1, 6), replace=False).tolist())) for _ in range(k)}
    prior = prior_of(sorted(drawn), {c: 1.0 for c in sorted(drawn)[:20]}, n_labels)
    p = rng.random((n, n_labels)).astype(np.float32)
    start = time.perf_counter()
    best_label_sets(p, prior, 0.1, 0.5)
    assert time.perf_counter() - start < 60


# ---------------------------------------------------------------- seen and unseen


def test_the_area_is_that_of_all_constants_by_brute_force():
    prior = prior_of(TRAIN, SUPPORT, 3)
    seen_p, unseen_p = probabilities(30, seed=1), probabilities(20, seed=2)
    seen_gold = prior.candidates[RNG.choice(np.flatnonzero(prior.seen), 30)]
    unseen_gold = prior.candidates[RNG.choice(np.flatnonzero(~prior.seen), 20)]
    scored = [
        seen_unseen_scores(p, prior, g, 0.5 * prior.correction(0.3))
        for p, g in ((seen_p, seen_gold), (unseen_p, unseen_gold))
    ]
    area, curve = ausuc(*scored)
    assert (np.diff(curve[:, 0]) >= 0).all() and (np.diff(curve[:, 1]) <= 0).all()
    for constant in np.linspace(-8, 8, 60):
        accuracies = []
        for p, gold in ((seen_p, seen_gold), (unseen_p, unseen_gold)):
            scores = log_joint(p, prior.candidates) + 0.5 * prior.correction(0.3) + constant * ~prior.seen
            accuracies.append((prior.candidates[scores.argmax(1)] == gold).all(1).mean())
        assert np.isclose(curve, accuracies).all(1).any()
    assert 0 <= area <= curve[:, 0].max() * curve[:, 1].max() + 1e-12


def test_a_perfect_separation_has_area_one_and_a_blind_one_less():
    right = np.ones(4, dtype=bool)
    assert ausuc((np.full(4, 5.0), right, right), (np.full(4, -5.0), right, right))[0] == 1
    assert ausuc((np.zeros(4), right, right), (np.zeros(4), right, right))[0] == 0.5
    assert ausuc((np.zeros(4), ~right, right), (np.zeros(4), right, right))[0] == 0


# ---------------------------------------------------------------- calibration, choice, EM


def test_calibration_finds_the_temperature_and_the_biases_that_made_the_probabilities():
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 1.5, (20_000, 3))
    true = Calibration(1.0, np.zeros(3))
    gold = rng.random(logits.shape) < 1 / (1 + np.exp(-logits))
    spoilt = 1 / (1 + np.exp(-(2.5 * logits + np.array([0.5, 0.0, -1.0]))))  # too sure and biased
    calibration = calibrate(spoilt, gold)
    assert calibration.temperature == pytest.approx(2.5, rel=0.05)
    assert calibration.bias == pytest.approx([-0.2, 0.0, 0.4], abs=0.06)
    assert np.abs(calibration(spoilt) - true(1 / (1 + np.exp(-logits)))).max() < 0.05
    nothing = calibrate(np.zeros((0, 3)), np.zeros((0, 3)))
    assert nothing.temperature == 1 and not nothing.bias.any()
    one_sided = calibrate(np.full((5, 1), 0.3), np.zeros((5, 1)))
    assert np.isfinite(one_sided.bias).all()


@pytest.mark.parametrize(("right_way_round", "temperature"), [(True, 0.1), (False, 10.0)])
def test_calibration_keeps_to_temperatures_that_leave_a_ranking(right_way_round, temperature):
    gold = np.random.default_rng(0).random((25, 4)) < 0.5
    spread = np.random.default_rng(1).uniform(0.6, 0.9, gold.shape)
    probabilities = np.where(gold == right_way_round, spread, 1 - spread)
    calibration = calibrate(probabilities, gold)
    assert calibration.temperature == pytest.approx(temperature)
    assert len(np.unique(calibration(probabilities))) == gold.size


def test_the_weights_are_those_of_the_best_harmonic_mean_and_the_weakest_of_equals():
    prior = prior_of(TRAIN, SUPPORT, 3)
    seen, unseen = probabilities(40, seed=5), probabilities(30, seed=6)
    seen_gold, unseen_gold = prior.candidates[[0, 1] * 20], prior.candidates[[2] * 30]
    fold = Fold(prior, seen, seen_gold, unseen, unseen_gold)
    choice = choose([fold])
    grid = {
        (w, s): harmonic_mean(
            (best_label_sets(seen, prior, w, s) == seen_gold).all(1).mean(),
            (best_label_sets(unseen, prior, w, s) == unseen_gold).all(1).mean(),
        )
        for w in (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
        for s in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
    }
    assert choice.harmonic == pytest.approx(max(grid.values())) == pytest.approx(grid[choice.weight, choice.strength])
    equals = [pair for pair, value in grid.items() if value == pytest.approx(max(grid.values()))]
    assert choice.strength == min(s for _, s in equals)
    with pytest.raises(InputError, match="no held-out rows"):
        choose([Fold(prior, seen, seen_gold, unseen[:0], unseen_gold[:0])])


def test_em_finds_the_target_of_well_separated_texts():
    prior = prior_of([(0,), (0, 1), (1,), (2,)] * 25, SUPPORT, 3)
    rng = np.random.default_rng(0)
    true = np.array([0.1, 0.2, 0.6, 0.1])
    gold = prior.candidates[rng.choice(4, 3000, p=true)]
    p = np.where(gold, 0.99, 0.01)
    target = em_target(p, prior)
    assert target.sum() == pytest.approx(1) and target == pytest.approx(true, abs=0.03)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.booleans())
def test_weights_are_chosen_by_what_decoding_gets_right(seed, back_off):
    """The search does not decode every row for every weight, and finds what that would find."""
    rng = np.random.default_rng(seed)
    gold = [rng.random((n, 3)) > 0.5 for n in (9, 5)]
    folds = []
    for _ in range(2):
        p = [np.clip(truth * 0.5 + rng.random(truth.shape) * 0.5, 0.01, 0.99) for truth in gold]
        folds.append(Fold(prior_of(TRAIN, SUPPORT, 3), p[0], gold[0], p[1], gold[1]))
    for weight, strength in ((0.1, 0.3), (0.9, 1.0), (0.5, 0.0)):
        choice = choose(folds, (weight,), (strength,), back_off)
        for name in ("seen", "unseen"):
            right = [
                (
                    best_label_sets(getattr(fold, name), fold.prior, weight, strength, back_off)
                    == getattr(fold, f"{name}_gold")
                ).all(1)
                for fold in folds
            ]
            assert getattr(choice, name) == pytest.approx(np.concatenate(right).mean())
