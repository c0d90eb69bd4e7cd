"""Two simpler ways to give unseen compositions their due, beside the composition prior and chosen on the same folds.

stacking    calibrated stacking (Chao et al. 2016): one constant for all unseen candidates, whatever P_t says of them
crm         the extrapolated bias of Compositional Risk Minimization (Mahajan et al., ICML 2025): labels are additive energies of a text, and what
            a composition's scores would be normalised by, had training shown it, follows from the training texts alone
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from compaug.evaluation.composition_prior import (
    WEIGHTS,
    Fold,
    Prior,
    corrected,
    harmonic_mean,
    log_joint,
    seen_unseen_curve,
    seen_unseen_scores,
)

PULL = 1.0  # of the biases to 0: a composition with few validation rows keeps a small one


def best_candidates(probabilities: np.ndarray, prior: Prior, correction: np.ndarray) -> np.ndarray:
    """The label set of each row's best candidate; ties go to the first.  # [n, n_labels]"""
    predicted = np.zeros(probabilities.shape, dtype=bool)
    for rows, scores in corrected(probabilities, prior, correction):
        predicted[rows] = prior.candidates[scores.argmax(1)]
    return predicted


# ---------------------------------------------------------------- calibrated stacking


def stacking_correction(prior: Prior, constant: float) -> np.ndarray:
    """The constant for every candidate that training has not.  # [K]"""
    return np.where(prior.seen, 0.0, constant)


def stacking_constant(folds: Sequence[Fold]) -> float:
    """The constant of the best harmonic mean of seen and unseen accuracy on the folds' held-out rows; in the middle of those that are as
    good, so that no single row decides."""
    margins = {"seen": [], "unseen": []}
    for fold in folds:
        for name, found in margins.items():
            rows, gold = getattr(fold, name), getattr(fold, f"{name}_gold")
            found.append(seen_unseen_scores(rows, fold.prior, gold, np.zeros(len(fold.prior.train))))
    seen, unseen = (tuple(map(np.concatenate, zip(*found, strict=True))) for found in margins.values())
    constants, curve = seen_unseen_curve(seen, unseen)
    harmonic = harmonic_mean(curve[:, 0], curve[:, 1])
    best = int(np.flatnonzero(harmonic >= harmonic.max() - 1e-12)[0])
    around = constants[best : best + 2]  # the accuracies hold from the one up to the other
    finite = [value for value in around if np.isfinite(value)]
    return float(np.mean(finite)) if finite else 0.0


# ---------------------------------------------------------------- compositional risk minimization


def extrapolated_bias(probabilities: np.ndarray, gold: np.ndarray, prior: Prior) -> np.ndarray:
    """B*(y) of every candidate from rows of D_train that the classifier has not learned from [m, n_labels].  # [K]

    With s(x, y) = log p(y | x) of independent labels, the sum of the labels' energies, training is modelled as
    P(y | x) = softmax over the seen y of s(x, y) + log P_train(y) - B(y). B is fitted to the rows; then for every y, seen or not,
    B*(y) = log mean over x of exp s(x, y) / sum over seen y' of exp(s(x, y') + log P_train(y') - B(y')).
    """
    scores = log_joint(probabilities.astype(np.float64), prior.candidates)  # [m, K]
    seen, log_train = np.flatnonzero(prior.seen), np.log(prior.train)
    if not len(scores) or not len(seen):
        return log_train
    own = (prior.candidates[seen][None] == gold[:, None].astype(bool)).all(2)  # [m, seen]
    known = own.any(1)
    moved = scores[:, seen] + log_train[seen]

    def loss(bias: np.ndarray) -> tuple[float, np.ndarray]:
        z = moved[known] - bias
        value = (scipy.special.logsumexp(z, axis=1) - z[own[known]]).sum() + 0.5 * PULL * (bias**2).sum()
        return value, (own[known] - scipy.special.softmax(z, axis=1)).sum(0) + PULL * bias

    bias = scipy.optimize.minimize(loss, np.zeros(len(seen)), jac=True, method="L-BFGS-B").x
    normaliser = scipy.special.logsumexp(moved - bias, axis=1)  # [m]
    return scipy.special.logsumexp(scores - normaliser[:, None], axis=0) - np.log(len(scores))


def crm_correction(prior: Prior, bias: np.ndarray, weight: float) -> np.ndarray:
    """log((1 - weight) P_train + weight P_t) - B*.  # [K]"""
    return np.log((1 - weight) * prior.train + weight * prior.target) - bias


def crm_weight(folds: Sequence[Fold]) -> float:
    """The weight of P_t of the best harmonic mean on the folds' held-out rows, the smallest of equally good ones."""
    biases = [extrapolated_bias(fold.seen, fold.seen_gold, fold.prior) for fold in folds]

    def harmonic(weight: float) -> float:
        right = {"seen": [], "unseen": []}
        for fold, bias in zip(folds, biases, strict=True):
            for name, found in right.items():
                sets = best_candidates(getattr(fold, name), fold.prior, crm_correction(fold.prior, bias, weight))
                found.append((sets == getattr(fold, f"{name}_gold")).all(1))
        return float(harmonic_mean(*(np.concatenate(found).mean() for found in right.values())))

    return max(WEIGHTS, key=lambda weight: (round(harmonic(weight), 12), -weight))
