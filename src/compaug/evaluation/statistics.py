"""Spread and significance: t intervals over seeds, paired bootstrap, paired tests, Holm's correction."""

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

SAME = 1e-12  # differences of shares that are apart by less differ in rounding alone


@dataclass(frozen=True)
class Summary:
    """Mean of n values, their standard deviation (ddof = 1) and the half width of the mean's 95 % t interval.

    One value has no spread: std and ci95 are then None.
    """

    n: int
    mean: float
    std: float | None = None
    ci95: float | None = None

    @property
    def excludes_zero(self) -> bool:
        """Equal values say nothing of how far another would be."""
        return self.ci95 is not None and self.std > SAME and abs(self.mean) > self.ci95


def summarise(values: Sequence[float]) -> Summary:
    """Summary over seeds; of differences paired by seed, it is the paired t interval."""
    values = np.asarray(values, dtype=float)
    n, mean = len(values), float(values.mean())
    if n < 2:
        return Summary(n, mean)
    std = float(values.std(ddof=1))
    return Summary(n, mean, std, float(_t_quantile(n)) * std / n**0.5)


def _t_quantile(n: int) -> np.float64:
    """Standard errors from the mean of n values to either end of its 95 % interval."""
    from scipy.stats import t  # half a second, and not in the base install, where one cell has no seeds

    return t.ppf(0.975, n - 1)


def ratio_interval(numerators: Sequence[float], denominators: Sequence[float]) -> tuple[float, float, float] | None:
    """The ratio of two means of values paired by seed [n], and its 95 % interval by Fieller's theorem.

    None where the mean of the denominators is not apart from zero at that level, for then the interval has no bounds.
    """
    values = np.array([numerators, denominators], dtype=float)
    n = values.shape[1]
    if n < 2:
        return None
    a, b = values.mean(axis=1)
    (var_a, cov), (_, var_b) = _t_quantile(n) ** 2 * np.cov(values) / n
    if b**2 <= var_b:
        return None
    middle, spread = a * b - cov, (a * b - cov) ** 2 - (a**2 - var_a) * (b**2 - var_b)
    low, high = ((middle + sign * max(spread, 0.0) ** 0.5) / (b**2 - var_b) for sign in (-1, 1))
    return float(a / b), float(low), float(high)


def paired_bootstrap(
    differences: Sequence[float], seed: int, n_resamples: int = 10_000, level: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean of paired differences [n], the n pairs drawn again with replacement.

    The mean depends only on how often each distinct value is drawn, which is multinomial: that is exact, and
    differences of 0/1 scores have three distinct values however long the test set is.
    """
    values, counts = np.unique(np.asarray(differences, dtype=float), return_counts=True)  # [k]
    n = int(counts.sum())
    means = np.random.default_rng(seed).multinomial(n, counts / n, size=n_resamples) @ values / n  # [resamples]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def resampled_means(values: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Means of the columns of `values` [n, m], the n rows drawn again with replacement.  # [n_resamples, m]

    The draws are the same for every `values` of n rows, so that differences between them are paired.
    """
    draws = _draws(len(values), n_resamples, seed)
    return (draws @ values.astype(np.float32)).astype(float) / len(values)


@lru_cache(maxsize=4)  # a few ten megabytes each
def _draws(n: int, n_resamples: int, seed: int) -> np.ndarray:
    """How often each of n rows is drawn.  # [n_resamples, n]

    float32 has half the memory of float64, and sums of whole numbers stay exact.
    """
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_resamples)
    return counts.astype(np.float32)


def sign_flip_test(differences: Sequence[float], seed: int, n_resamples: int = 10_000) -> float:
    """Two-sided p value of "the paired differences are symmetric around zero" (paired permutation test).

    Exact over all 2^n sign patterns when there are at most n_resamples of them (seeds), else Monte Carlo with
    the observed pattern counted in, (hits + 1) / (n_resamples + 1) (test rows); of m differences of one size
    a Binomial(m, 1/2) number keeps its sign, so that again only the distinct sizes count.
    """
    values = np.asarray(differences, dtype=float)
    values = values[values != 0]  # a zero does not change with its sign
    if not len(values):
        return 1.0
    observed = abs(values.sum()) - 1e-9 * np.abs(values).sum()  # equal sums must count as equal after rounding
    if len(values) <= np.log2(n_resamples):
        signs = np.array(list(itertools.product([-1, 1], repeat=len(values))))  # [2^n, n]
        return float((np.abs(signs @ values) >= observed).mean())
    sizes, counts = np.unique(np.abs(values), return_counts=True)  # [k]
    signs = 2 * np.random.default_rng(seed).binomial(counts, 0.5, size=(n_resamples, len(sizes))) - counts  # their sums
    hits = int((np.abs(signs @ sizes) >= observed).sum())
    return (hits + 1) / (n_resamples + 1)


def t_test(mean: float, std: float | None, n: int) -> float | None:
    """Two-sided p value of "the mean of n differences is zero", by their mean and standard deviation.

    None for less than two of them, and where all are the same: a lattice of shares has such ties by chance, and they do
    not say how far another seed would be.
    """
    if n < 2 or std is None or std < SAME:
        return None
    from scipy.stats import t

    return float(2 * t.sf(abs(mean) * n**0.5 / std, n - 1))


def holm(p_values: Mapping[Hashable, float | None]) -> dict[Hashable, float | None]:
    """Holm's correction of a family of p values by name; None (no test) stays None and does not count."""
    tested = sorted((p, name) for name, p in p_values.items() if p is not None)
    scaled = (min(1.0, (len(tested) - rank) * p) for rank, (p, _) in enumerate(tested))
    raised = itertools.accumulate(scaled, max)  # never below that of a smaller one
    return dict.fromkeys(p_values) | {name: p for (_, name), p in zip(tested, raised, strict=True)}
