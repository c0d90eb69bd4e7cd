"""Composition prior: label-shift correction at the level of label combinations (beyond the paper).

A classifier learns p(y | x) under the training compositions P_train(y); the target has others. The chosen label set is

    argmax_y  log p(y | x) + strength * [ log((1 - weight) P_train(y) + weight P_t(y)) - log P_train(y) ]

over the compositions that the classifier has learned from (also from synthetic texts) or that P_t has, and the
independent label decisions as a back-off, whose correction is log(1 - weight) since P_t does not know them.

Saerens et al. 2002 (label shift, EM), Menon et al. 2021 (logit adjustment), Chao et al. 2016 (calibrated stacking,
AUSUC), Alexandari et al. 2020 (calibrate first).
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import Composition
from compaug.evaluation.metrics import label_matrix, rows_among

Counted = Iterable[Composition] | Mapping[Composition, int]  # compositions of rows, or how often each occurs

SMALLEST = 1e-6  # predictions have six digits: probabilities are kept this far from 0 and 1
STEEPEST = math.log(10)  # of a calibration: temperatures are from a tenth to ten
SMOOTHING = 1.0  # rows that independent labels count for in P_train
ROWS = 2048  # scored at a time: 2,048 x 4,400 numbers are 72 MB
WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)


@dataclass(frozen=True)
class Prior:
    """K known compositions with their probability in training (smoothed, so never 0) and in the target.

    candidates [K, n_labels] bool, one row a composition; train, target [K]; seen [K]: training has it.
    """

    candidates: np.ndarray
    train: np.ndarray
    target: np.ndarray
    seen: np.ndarray

    def correction(self, weight: float) -> np.ndarray:
        """log((1 - weight) P_train + weight P_t) - log P_train of every candidate.  # [K]"""
        return np.log1p(weight * (self.target / self.train - 1))

    def among(self, compositions: Iterable[Composition]) -> "Prior":
        """Of these candidates alone; the shares of others are not given to them."""
        kept = rows_among(self.candidates, label_matrix(sorted(set(compositions)), self.candidates.shape[1]))
        return Prior(self.candidates[kept], self.train[kept], self.target[kept], self.seen[kept])


def prior_of(
    train: Counted,
    target: Mapping[Composition, float],
    n_labels: int,
    extra: Iterable[Composition] = (),
    seen: Collection[Composition] | None = None,
) -> Prior:
    """P_train from the training rows' compositions, smoothed by independent labels, and P_t, normalised.

    extra: further candidates; seen: the compositions that count as seen, by default those of `train` (synthetic rows
    show compositions that D_train lacks).

    InputError when `target` is empty or has no weight.
    """
    counts = Counter(train)
    compositions = sorted({*counts, *target, *extra})
    candidates, n = label_matrix(compositions, n_labels), counts.total()
    times, weights = (np.array([of.get(c, 0) for c in compositions], dtype=float) for of in (counts, target))  # [K]
    if not weights.sum() > 0:
        raise InputError("composition prior: no target composition; give a support set or label generator samples")
    share = (times @ candidates / max(n, 1)).clip(SMALLEST, 1 - SMALLEST)  # of rows with the label [n_labels]
    independent = np.exp(candidates @ np.log(share) + ~candidates @ np.log1p(-share))
    smoothed = (times + SMOOTHING * independent) / (n + SMOOTHING)
    shown = counts if seen is None else seen
    return Prior(candidates, smoothed, weights / weights.sum(), np.array([c in shown for c in compositions]))


def target_of(support: Counted, drawn: Counted, source: str) -> dict[Composition, float]:
    """P_t from the support rows' compositions, from the label generator's samples, or half of both."""
    frequencies: Counter = Counter()
    for compositions in {"support": [support], "label_generator": [drawn], "both": [support, drawn]}[source]:
        counts = Counter(compositions)
        for composition, count in counts.items():
            frequencies[composition] += count / counts.total()
    return dict(frequencies)


# ---------------------------------------------------------------- scores, decoding


def log_joint(probabilities: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """log p(y | x) of every candidate: labels are independent given the text.  # [n, K]"""
    p = probabilities.clip(SMALLEST, 1 - SMALLEST)
    absent = np.log1p(-p)  # [n, n_labels]
    return (np.log(p) - absent) @ candidates.T.astype(p.dtype) + absent.sum(1, keepdims=True)


def corrected(probabilities: np.ndarray, prior: Prior, correction: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows, a block at a time, and the scores of all candidates for them, moved by `correction` [K].  # [block, K]"""
    for rows in _blocks(len(probabilities)):
        yield rows, log_joint(probabilities[rows].astype(np.float64), prior.candidates) + correction


def best_label_sets(
    probabilities: np.ndarray, prior: Prior, weight: float, strength: float, back_off: bool = True
) -> np.ndarray:
    """Label sets [n, n_labels] of the best score; ties go to the first candidate. See the module for the formula."""
    predicted = np.zeros(probabilities.shape, dtype=bool)
    for rows in _blocks(len(probabilities)):
        predicted[rows] = reader(probabilities[rows], prior)(weight, strength, back_off)
    return predicted


def reader(probabilities: np.ndarray, prior: Prior) -> Callable[[float, float, bool], np.ndarray]:
    """`best_label_sets` of these rows as a function of weight, strength and back-off.

    What does not depend on these is computed once: the correction of candidates that P_t does not have is one constant,
    so that of these only the best one matters.
    """
    p = probabilities.astype(np.float64)
    scores, decisions = log_joint(p, prior.candidates), p > 0.5
    p, rows = p.clip(SMALLEST, 1 - SMALLEST), np.arange(len(p))
    alone = np.log(np.maximum(p, 1 - p)).sum(1)  # of the independent label decisions [n]
    unknown = ~rows_among(decisions, prior.candidates)
    columns = np.tile(np.flatnonzero(prior.target > 0), (len(p), 1))
    if len(rest := np.flatnonzero(prior.target == 0)):
        best_of_rest = rest[scores[:, rest].argmax(1)]
        columns = np.sort(np.column_stack([columns, best_of_rest]), axis=1)  # [n, 1 + |P_t|]: candidates that can win
    scores = np.take_along_axis(scores, columns, axis=1)

    def best(weight: float, strength: float, back_off: bool) -> np.ndarray:
        adjusted = scores + (strength * prior.correction(weight))[columns]
        place = adjusted.argmax(1)
        chosen = prior.candidates[columns[rows, place]]
        if back_off:
            better = unknown & (alone + strength * np.log1p(-weight) > adjusted[rows, place])
            chosen = np.where(better[:, None], decisions, chosen)
        return chosen

    return best


def posteriors(
    probabilities: np.ndarray, prior: Prior, compositions: Sequence[Composition], weight: float, strength: float
) -> np.ndarray:
    """Corrected probability of each row's own composition among all candidates, one of which it must be.  # [n]"""
    from scipy.special import logsumexp

    place = {tuple(np.flatnonzero(row)): at for at, row in enumerate(prior.candidates)}
    columns = np.array([place[tuple(sorted(composition))] for composition in compositions], dtype=int)
    posterior = np.zeros(len(probabilities))
    for rows, scores in corrected(probabilities, prior, strength * prior.correction(weight)):
        score = scores[np.arange(len(scores)), columns[rows]]
        posterior[rows] = np.exp(score - logsumexp(scores, axis=1))
    return posterior


def seen_unseen_scores(
    probabilities: np.ndarray, prior: Prior, gold: np.ndarray, correction: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Margin of every row, and whether its best seen and its best unseen candidate are right.  # [n] each

    The margin is how much the best unseen candidate would have to be raised to be chosen: the score of the best seen
    one minus its own.
    """
    n = len(probabilities)
    top, right = np.full((2, n), -np.inf), np.zeros((2, n), dtype=bool)
    for rows, scores in corrected(probabilities, prior, correction):
        for which, part in enumerate((prior.seen, ~prior.seen)):
            if part.any():
                best = np.flatnonzero(part)[scores[:, part].argmax(1)]
                top[which, rows] = scores[np.arange(len(best)), best]
                right[which, rows] = (prior.candidates[best] == gold[rows]).all(1)
    return top[0] - top[1], *right


def ausuc(
    seen: tuple[np.ndarray, np.ndarray, np.ndarray], unseen: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[float, np.ndarray]:
    """Area under the seen-unseen curve and the curve [points, 2] (Chao et al. 2016).

    The curve has accuracy on seen rows and on unseen rows, both in [0, 1], as a constant is added to the scores of the
    unseen candidates from minus to plus infinity. Both arguments are `seen_unseen_scores` of the rows of one test set.
    """
    _, curve = seen_unseen_curve(seen, unseen)
    curve = curve[::-1]  # accuracy on seen rows ascends
    return float(np.trapezoid(curve[:, 1], curve[:, 0])), curve


def seen_unseen_curve(
    seen: tuple[np.ndarray, np.ndarray, np.ndarray], unseen: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Constants at which a row's reading changes, and the accuracies there.

    Every constant [points] from which on some row is read otherwise, ascending; accuracy on seen and on unseen rows
    [points, 2].
    """
    seen_margin, seen_right, _ = seen
    unseen_margin, _, unseen_right = unseen
    constants = np.concatenate([[-np.inf], np.unique(np.concatenate([seen_margin, unseen_margin])), [np.inf]])
    left = np.sort(seen_margin[seen_right])  # a seen row stays right while the constant is below its margin
    gained = np.sort(unseen_margin[unseen_right])  # an unseen row becomes right at its margin
    on_seen = (len(left) - np.searchsorted(left, constants, side="right")) / max(len(seen_right), 1)
    on_unseen = np.searchsorted(gained, constants, side="right") / max(len(unseen_right), 1)
    return constants, np.stack([on_seen, on_unseen], axis=1)


def harmonic_mean(a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray | float:
    """0 where both are 0."""
    return 2 * a * b / np.maximum(a + b, 1e-12)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS))


# ---------------------------------------------------------------- calibration, choice of the weights, EM


@dataclass(frozen=True)
class Calibration:
    """p' = sigmoid(logit(p) / temperature + bias): one temperature, one bias a label (Alexandari et al. 2020)."""

    temperature: float
    bias: np.ndarray  # [n_labels]

    def __call__(self, probabilities: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        p = probabilities.clip(SMALLEST, 1 - SMALLEST)
        return expit((np.log(p) - np.log1p(-p)) / self.temperature + self.bias)


def calibrate(probabilities: np.ndarray, gold: np.ndarray) -> Calibration:
    """The temperature and biases of the least cross-entropy on held-out rows [m, n_labels].

    A small pull to 0 keeps the bias of a label that no row has finite, and STEEPEST the temperature of rows that a
    classifier ranks without an error, or the wrong way round. Without rows: the identity.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n_labels = probabilities.shape[1]
    if not len(probabilities):
        return Calibration(1.0, np.zeros(n_labels))
    p = probabilities.astype(np.float64).clip(SMALLEST, 1 - SMALLEST)
    logits, truth = np.log(p) - np.log1p(-p), gold.astype(np.float64)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        sharpness, bias = np.exp(parameters[0]), parameters[1:]
        z = sharpness * logits + bias
        value = (np.logaddexp(0, z) - truth * z).sum() + 0.5 * (bias**2).sum()
        error = expit(z) - truth  # [m, n_labels]
        return value, np.concatenate([[sharpness * (error * logits).sum()], error.sum(0) + bias])

    best = minimize(loss, np.zeros(n_labels + 1), jac=True, method="L-BFGS-B").x
    return Calibration(float(np.exp(-np.clip(best[0], -STEEPEST, STEEPEST))), best[1:])


@dataclass(frozen=True)
class Fold:
    """Held-out rows of one cross-fitting fold: training rows (seen) and support rows (unseen).

    Its classifier was trained on none of them, and P_t of its prior does not know these support rows.
    """

    prior: Prior
    seen: np.ndarray  # probabilities [n, n_labels]
    seen_gold: np.ndarray
    unseen: np.ndarray
    unseen_gold: np.ndarray


@dataclass(frozen=True)
class Weights:
    weight: float
    strength: float
    seen: float | None = None  # accuracies on the held-out rows, in [0, 1]; None: nobody chose
    unseen: float | None = None

    @property
    def harmonic(self) -> float | None:
        return None if self.seen is None or self.unseen is None else harmonic_mean(self.seen, self.unseen)


def choose(
    folds: Sequence[Fold],
    weights: Sequence[float] = WEIGHTS,
    strengths: Sequence[float] = STRENGTHS,
    back_off: bool = True,
) -> Weights:
    """The weight and strength of the best harmonic mean of seen and unseen accuracy.

    It is over all folds' held-out rows; of equally good ones the weakest correction. InputError without held-out rows
    of both kinds.
    """
    seen = [(reader(fold.seen, fold.prior), fold.seen_gold) for fold in folds]
    unseen = [(reader(fold.unseen, fold.prior), fold.unseen_gold) for fold in folds]
    if not all(sum(len(gold) for _, gold in side) for side in (seen, unseen)):
        raise InputError(
            "composition prior: no held-out rows to choose weights on; folds lack validation or support rows"
        )

    def tried(weight: float, strength: float) -> Weights:
        right = (
            np.concatenate([(read(weight, strength, back_off) == gold).all(1) for read, gold in side])
            for side in (seen, unseen)
        )
        return Weights(weight, strength, *(int(rows.sum()) / len(rows) for rows in right))

    grid = [tried(weight, strength) for strength in strengths for weight in weights]
    return max(grid, key=lambda w: (round(w.harmonic, 12), -w.strength, -w.weight))


def em_target(
    probabilities: np.ndarray, prior: Prior, pseudo_rows: float = 0.0, rounds: int = 50, tolerance: float = 1e-6
) -> np.ndarray:
    """P_t re-estimated from the predictions on unlabelled target texts (Saerens et al. 2002).  # [K]

    Transductive: it looks at the test texts, not at their labels. Starts from P_t mixed with P_train.

    pseudo_rows: above 0, the maximum a posteriori under a Dirichlet prior, as if so many further texts had been read,
    with the compositions of the start. Without it one unseen composition can take all, and what the classifier never
    finds probable vanishes for good.
    """
    from scipy.special import softmax

    scores = [scores for _, scores in corrected(probabilities, prior, np.zeros(len(prior.train)))]
    log_likelihood = np.concatenate(scores) - np.log(prior.train)
    target = start = (prior.train / prior.train.sum() + prior.target) / 2
    for _ in range(rounds):
        with np.errstate(divide="ignore"):
            posterior = softmax(log_likelihood + np.log(target), axis=1)
        last, target = target, (posterior.sum(0) + pseudo_rows * start) / (len(posterior) + pseudo_rows)
        if np.abs(target - last).sum() < tolerance:
            break
    return target
