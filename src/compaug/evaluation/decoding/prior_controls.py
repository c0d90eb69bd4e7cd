"""Three simpler ways to give unseen compositions their due, on the same folds as the composition prior.

docs/spec/acceptance.md, E3.

    stacking    calibrated stacking (Chao et al. 2016): one constant for all unseen candidates, whatever P_t says of
                them
    crm         the extrapolated bias of Compositional Risk Minimization (Mahajan et al., ICML 2025): labels are
                additive energies of a text, and what a composition's scores would be normalised by, had training shown
                it, follows from the training texts alone
    adjustment  logit adjustment (Menon et al. 2021): a share of log P_train(y) is taken from every candidate, P_t
                takes no part
"""

from collections.abc import Callable, Sequence

import numpy as np

from compaug.evaluation.decoding.composition_prior import (
    STRENGTHS,
    WEIGHTS,
    Fold,
    Prior,
    corrected,
    harmonic_mean,
    log_joint,
    seen_unseen_curve,
    seen_unseen_scores,
)

Ranked = tuple[np.ndarray, np.ndarray, np.ndarray]  # of `seen_unseen_scores`
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


def held_out_scores(folds: Sequence[Fold]) -> tuple[Ranked, Ranked]:
    """`seen_unseen_scores` of all folds' held-out rows, uncorrected: training rows (seen), support rows (unseen)."""
    sides: dict[str, list[Ranked]] = {"seen": [], "unseen": []}
    for fold in folds:
        for side, ranked in sides.items():
            rows, gold = getattr(fold, side), getattr(fold, f"{side}_gold")
            ranked.append(seen_unseen_scores(rows, fold.prior, gold, np.zeros(len(fold.prior.train))))
    seen, unseen = (tuple(map(np.concatenate, zip(*ranked, strict=True))) for ranked in sides.values())
    return seen, unseen


def best_constant(seen: Ranked, unseen: Ranked) -> float:
    """The constant of the best harmonic mean of both accuracies.

    It lies in the middle of the first stretch of those that are as good, so that no single row decides.

    Args: `seen_unseen_scores` of the rows of either side.
    """
    constants, curve = seen_unseen_curve(seen, unseen)
    harmonic = harmonic_mean(curve[:, 0], curve[:, 1])
    as_good = harmonic >= harmonic.max() - 1e-12
    first = int(as_good.argmax())
    beyond = first + int((~np.append(as_good[first:], False)).argmax())
    around = constants[first], constants[min(beyond, len(constants) - 1)]  # they hold from the one up to the other
    finite = [value for value in around if np.isfinite(value)]
    return float(np.mean(finite)) if finite else 0.0


# ---------------------------------------------------------------- compositional risk minimization


def extrapolated_bias(probabilities: np.ndarray, gold: np.ndarray, prior: Prior) -> np.ndarray:
    """B*(y) of every candidate from rows of D_train that the classifier has not learned from [m, n_labels].  # [K]

    With s(x, y) = log p(y | x) of independent labels, the sum of the labels' energies, training is modelled as P(y | x)
    = softmax over the seen y of s(x, y) + log P_train(y) - B(y). B is fitted to the rows; then for every y, seen or
    not, B*(y) = log mean over x of exp s(x, y) / sum over seen y' of exp(s(x, y') + log P_train(y') - B(y')).
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    scores = log_joint(probabilities.astype(np.float64), prior.candidates)  # [m, K]
    seen, log_train = np.flatnonzero(prior.seen), np.log(prior.train)
    if not len(scores) or not len(seen):
        return log_train
    is_gold = (prior.candidates[seen][None] == gold[:, None].astype(bool)).all(2)  # [m, seen]
    moved = scores[:, seen] + log_train[seen]
    fitted = is_gold.any(1)
    rows, gold_of_row = moved[fitted], is_gold[fitted].argmax(1)
    rows -= rows.max(1, keepdims=True)
    times = np.bincount(gold_of_row, minlength=len(seen))
    of_gold = rows[np.arange(len(rows)), gold_of_row].sum()

    def loss(bias: np.ndarray) -> tuple[float, np.ndarray]:
        p = np.exp(rows - (bias - bias.min()))  # no overflow: rows are at most 0
        total = np.maximum(p.sum(1, keepdims=True), np.finfo(p.dtype).tiny)  # of biases hundreds apart
        value = np.log(total).sum() - bias.min() * len(rows) - of_gold + times @ bias + 0.5 * PULL * (bias**2).sum()
        return value, times - (p / total).sum(0) + PULL * bias

    bias = minimize(loss, np.zeros(len(seen)), jac=True, method="L-BFGS-B").x
    normaliser = logsumexp(moved - bias, axis=1)  # [m]
    return logsumexp(scores - normaliser[:, None], axis=0) - np.log(len(scores))


def crm_correction(prior: Prior, bias: np.ndarray, weight: float) -> np.ndarray:
    """log((1 - weight) P_train + weight P_t) - B*.  # [K]"""
    return np.log((1 - weight) * prior.train + weight * prior.target) - bias


def crm_weight(folds: Sequence[Fold]) -> float:
    """The weight of P_t of the best harmonic mean on the folds' held-out rows, the smallest of equally good ones."""
    biases = {id(fold): extrapolated_bias(fold.seen, fold.seen_gold, fold.prior) for fold in folds}
    return _best(WEIGHTS, folds, lambda weight, fold: crm_correction(fold.prior, biases[id(fold)], weight))


# ---------------------------------------------------------------- logit adjustment


def adjustment_correction(prior: Prior, strength: float) -> np.ndarray:
    """-strength * log P_train of every candidate.  # [K]"""
    return -strength * np.log(prior.train)


def adjustment_strength(folds: Sequence[Fold]) -> float:
    """The strength of the best harmonic mean on the folds' held-out rows, the smallest of equally good ones."""
    return _best(STRENGTHS, folds, lambda strength, fold: adjustment_correction(fold.prior, strength))


def _best(values: Sequence[float], folds: Sequence[Fold], correction: Callable[[float, Fold], np.ndarray]) -> float:
    """The value of the best harmonic mean on the folds' held-out rows, the smallest of equally good ones."""

    def harmonic(value: float) -> float:
        right = {"seen": [], "unseen": []}
        for fold in folds:
            moved = correction(value, fold)
            for side, rows in right.items():
                sets = best_candidates(getattr(fold, side), fold.prior, moved)
                rows.append((sets == getattr(fold, f"{side}_gold")).all(1))
        return float(harmonic_mean(*(np.concatenate(rows).mean() for rows in right.values())))

    return max(values, key=lambda value: (round(harmonic(value), 12), -value))
