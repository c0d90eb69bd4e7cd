"""Labels of a text between others: their label sets mixed as the texts were, and sharpened (LINDA, Appendix C)."""

from collections.abc import Mapping, Sequence

import numpy as np

DIGITS = 6


def mixed(weights: Sequence[float], label_sets: Sequence[Sequence[int]], n_labels: int) -> np.ndarray:
    """y~ = sum_s w_s y^s: 1 for a label that all sources have.  # [n_labels]"""
    mixture = np.zeros(n_labels)
    for weight, label_set in zip(weights, label_sets, strict=True):
        mixture[list(label_set)] += weight
    return mixture.clip(0.0, 1.0)


def shares_of(alphas: Sequence[float]) -> list[float]:
    """The weight of every source where each alpha is that of all before it.

    alpha_1 x^a + (1 - alpha_1) x^b, then that and x^c, and so on.
    """
    shares = [1.0]
    for alpha in alphas:
        shares = [*(share * alpha for share in shares), 1 - alpha]
    return shares


def of_sources(
    made_of: Mapping, labels_of: Mapping[str, Sequence[int]], n_labels: int, temperature: float = 1.0
) -> tuple[float, ...]:
    """Those of a text by its sources' ids and the weights of the mix, sharpened label by label.  # [n_labels]"""
    sources, shares = made_of["sources"], shares_of(made_of.get("alpha", ()))
    mixture = mixed(shares, [labels_of[source] for source in sources], n_labels)
    return tuple(round(value, DIGITS) for value in sharpened_labels(mixture, temperature).tolist())


def sharpened(distribution: np.ndarray, temperature: float) -> np.ndarray:
    """p_i^(1/T) / sum_j p_j^(1/T) over the last axis; T = 1 changes nothing.

    The printed formula has exp in its denominator, which does not normalise.
    """
    with np.errstate(divide="ignore"):
        scores = np.log(distribution) / temperature  # of 0: -inf, which stays 0
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def sharpened_labels(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Each label by itself: p^(1/T) / (p^(1/T) + (1 - p)^(1/T)).  # [n_labels]"""
    return sharpened(np.stack([probabilities, 1 - probabilities], axis=-1), temperature)[..., 0]
