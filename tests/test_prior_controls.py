"""Calibrated stacking and the extrapolated bias of CRM, against models in which the right answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit

from compaug.evaluation.decoding.composition_prior import Fold, em_target, log_joint, prior_of
from compaug.evaluation.decoding.prior_controls import (
    best_candidates,
    best_constant,
    crm_correction,
    crm_weight,
    extrapolated_bias,
    held_out_scores,
    stacking_correction,
)

SEEN = [(0,)] * 30 + [(1,)] * 30 + [(2,)] * 30 + [(0, 1)] * 20 + [(1, 2)] * 20
UNSEEN = {(0, 2): 2.0, (0, 1, 2): 1.0}
BIAS = np.array([1.5, -0.5, 0.7])  # what a training in which label 0 is frequent adds to its logit


def world(compositions, n: int, seed: int):
    """Texts of three independent cues a label, P(cue | label has it) = 0.8, else 0.2; beliefs of a classifier of
    independent labels whose
    logits are off by BIAS.  # probabilities [n, 3], gold [n, 3]"""
    rng = np.random.default_rng(seed)
    gold = np.zeros((n, 3), dtype=bool)
    for row, at in enumerate(rng.integers(len(compositions), size=n)):
        gold[row, list(compositions[at])] = True
    cues = rng.random((n, 3, 3)) < np.where(gold, 0.8, 0.2)[..., None]
    logits = (2 * cues.sum(2) - 3) * np.log(4)  # of the label given its cues, both ways equally likely
    return expit(logits + BIAS), gold


def test_the_bias_that_training_added_is_found_for_compositions_that_it_never_had():
    prior = prior_of(SEEN, UNSEEN, 3)
    bias = extrapolated_bias(*world(SEEN, 6000, 1), prior)
    expected = prior.candidates @ BIAS  # log P(x | y) differs from the score by that, and by what is the same for all y
    assert bias - bias.mean() == pytest.approx(expected - expected.mean(), abs=0.15)


def test_with_that_bias_texts_of_unseen_compositions_are_read_as_by_the_exact_classifier():
    prior = prior_of(SEEN, UNSEEN, 3)
    bias = extrapolated_bias(*world(SEEN, 6000, 1), prior)
    p, _ = world(list(UNSEEN), 2000, 2)
    exact = log_joint(expit(np.log(p / (1 - p)) - BIAS), prior.candidates) + np.log(prior.target.clip(1e-9))
    read = best_candidates(p, prior, crm_correction(prior, bias, 0.9))
    plain = best_candidates(p, prior, np.zeros(len(prior.train)))
    same, before = ((sets == prior.candidates[exact.argmax(1)]).all(1).mean() for sets in (read, plain))
    assert same > 0.95 > before


def test_without_rows_the_bias_is_that_of_the_training_prior():
    prior = prior_of(SEEN, UNSEEN, 3)
    none = np.zeros((0, 3))
    assert extrapolated_bias(none, none, prior) == pytest.approx(np.log(prior.train))


def fold(seed: int = 3) -> Fold:
    return Fold(prior_of(SEEN, UNSEEN, 3), *world(SEEN, 300, seed), *world(list(UNSEEN), 100, seed + 1))


def test_the_constant_is_the_best_of_all_by_brute_force():
    folds = [fold(3), fold(5)]
    constant = best_constant(*held_out_scores(folds))

    def harmonic(value: float) -> float:
        right = {"seen": [], "unseen": []}
        for source in folds:
            for name, hits in right.items():
                sets = best_candidates(getattr(source, name), source.prior, stacking_correction(source.prior, value))
                hits.append((sets == getattr(source, f"{name}_gold")).all(1))
        a, b = (np.concatenate(hits).mean() for hits in right.values())
        return 2 * a * b / max(a + b, 1e-12)

    best = max(harmonic(value) for value in np.linspace(-15, 15, 1201))
    assert harmonic(constant) >= best - 1e-9
    assert harmonic(constant) > harmonic(0.0)  # unseen compositions need it


def test_the_constant_moves_unseen_candidates_alone():
    prior = prior_of(SEEN, UNSEEN, 3)
    moved = stacking_correction(prior, 2.5)
    assert moved[prior.seen].tolist() == [0.0] * prior.seen.sum() and set(moved[~prior.seen]) == {2.5}


def test_the_weight_is_chosen_on_the_held_out_rows():
    assert crm_weight([fold()]) > 0.02  # their unseen rows are a quarter of all


def test_rows_that_count_as_read_keep_one_composition_from_taking_all_and_many_keep_the_start():
    prior = prior_of(SEEN, UNSEEN, 3)
    p = np.tile([[0.95, 0.02, 0.02]], (500, 1))  # nothing but label 0 is ever read
    plain, hundred, many = (em_target(p, prior, rows) for rows in (0.0, 100.0, 1e9))
    alone = [tuple(np.flatnonzero(row)) for row in prior.candidates].index((0, 2))
    start = (prior.train / prior.train.sum() + prior.target) / 2
    assert start[alone] < hundred[alone] < 0.9 < plain[alone]  # unseen, so the least evidence for it is taken for much
    assert many == pytest.approx(start, abs=1e-4)
    assert all(target.sum() == pytest.approx(1) for target in (plain, hundred, many))


def test_every_pair_of_weight_and_bias_gives_a_known_candidate():
    prior = prior_of(SEEN, UNSEEN, 3)
    p, _ = world(SEEN, 50, 9)
    candidates = {tuple(row) for row in prior.candidates.tolist()}
    for weight, shift in itertools.product((0.02, 0.5, 0.9), (-3.0, 0.0, 3.0)):
        read = best_candidates(p, prior, crm_correction(prior, shift * np.arange(len(prior.train)), weight))
        assert {tuple(row) for row in read.tolist()} <= candidates
