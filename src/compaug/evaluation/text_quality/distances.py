"""How far written texts are from real ones, without a classifier: FD, PR, BLEU, FDa, PRa (joint generation, §2.4).

Features are mean states of a frozen encoder; the suffix `a` (augmented language) reads `(( labels )) text` in the place
of the text. Both sets always have the same number of texts, because all of these depend on it; where there are more,
several draws count. Never with test texts: a measure that has seen them could not choose a generator.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from compaug.core.records import Example, Labels, sub_seed
from compaug.generators.joint.augmented_language import Language, Sentence

SAMPLE = 500  # texts of each side, at most
DRAWS = 3  # of them, where there are more
REPEATS = 10  # clusterings of PR, of the draws in turn
CLUSTERS, RESTARTS = 20, 10
ANGLES = 1001
TILT = 8.0  # F_8 weighs recall, F_1/8 precision
BATCH = 64
MIN_TEXTS = 4  # of each side; below it there is no covariance to speak of


def frechet(real: np.ndarray, synthetic: np.ndarray) -> float:
    """|m_r - m_g|^2 + Tr(C_r + C_g - 2 (C_r C_g)^1/2) with sample covariances.  # [n, d], [m, d]; n, m > 1

    With C = A^T A, A [n, d] the centred rows over sqrt(n - 1), the trace of the root is the sum of the singular values
    of A_r A_g^T. It is exact also where covariances lack full rank, as for fewer texts than dimensions: nothing has to
    be added to a diagonal.
    """
    real, synthetic = np.asarray(real, dtype=np.float64), np.asarray(synthetic, dtype=np.float64)
    shift = real.mean(0) - synthetic.mean(0)
    roots = [(rows - rows.mean(0)) / math.sqrt(len(rows) - 1) for rows in (real, synthetic)]
    common = np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False).sum()
    return max(0.0, float(shift @ shift + sum((root**2).sum() for root in roots) - 2 * common))


def precision_recall_curve(real: np.ndarray, synthetic: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(alpha, beta) of two histograms P (real) and Q (synthetic) [k] (Sajjadi et al. 2018).  # [ANGLES] each

    For lambda = tan of `ANGLES` angles in (0, pi / 2): alpha = sum_c min(lambda P_c, Q_c), beta = alpha / lambda, both
    from 0 to 1.
    """
    slopes = np.tan(np.linspace(0, math.pi / 2, ANGLES + 2)[1:-1])  # lambda
    alpha = np.minimum(slopes[:, None] * real, synthetic).sum(1)
    return alpha.clip(0, 1), (alpha / slopes).clip(0, 1)


def f_beta(alpha: np.ndarray, beta: np.ndarray, weight: float) -> float:
    """The largest F of the curve, recall counting `weight` times as much as precision."""
    square = weight**2
    scores = (1 + square) * alpha * beta / np.maximum(square * alpha + beta, np.finfo(float).tiny)
    return float(scores.max())


def precision_recall(*draws: tuple[np.ndarray, np.ndarray]) -> tuple[float, float]:
    """(F_1/8, F_8) in percent: precision and recall of synthetic features against real ones, over clusters of both.

    A draw is (real, synthetic), as many of both.  # [n, d] each

    Curves are means over `REPEATS` clusterings, of the draws in turn; fewer than 5 texts a cluster make fewer clusters.
    """
    from sklearn.cluster import MiniBatchKMeans

    pools, kinds = [], []
    for real, synthetic in draws:
        pools.append(np.concatenate([real, synthetic]).astype(np.float64))
        kinds.append(min(CLUSTERS, max(2, len(real) // 5), len(np.unique(pools[-1], axis=0))))
    curves = []
    with threadpool_limits(1, user_api="openmp"):  # threads add up their parts in any order: not the same digits twice
        for number in range(REPEATS):
            both, clusters = (of[number % len(draws)] for of in (pools, kinds))
            state = sub_seed(0, "precision and recall", number)
            members = MiniBatchKMeans(clusters, n_init=RESTARTS, random_state=state, batch_size=1024).fit_predict(both)
            sides = [2 * np.bincount(side, minlength=clusters) / len(both) for side in np.split(members, 2)]
            curves.append(precision_recall_curve(*sides))
    alpha, beta = np.mean(curves, axis=0)
    return 100 * f_beta(alpha, beta, 1 / TILT), 100 * f_beta(alpha, beta, TILT)


def bleu(texts: Sequence[str], real: Sequence[str]) -> float:
    """Mean sentence BLEU-4 of the texts, each against all real ones, 0 to 100."""
    from sacrebleu.metrics import BLEU

    # of a corpus of one sentence; the real texts are read once, where `sentence_score` reads them again for each
    judge = BLEU(effective_order=True, lowercase=True, references=[[text] for text in real])
    return float(np.mean([judge.corpus_score([text], None).score for text in texts]))


def augmented(examples: Sequence[Example], labels: Labels) -> list[str]:
    """`(( phrase ; phrase )) text` of each."""
    language = Language(zip(labels.names, labels.phrases, strict=True))
    return [
        language.write(Sentence(tuple(labels.names[at] for at in row.labels), tuple(row.text.split())))
        for row in examples
    ]


def reader(folder: Path) -> Callable[[Sequence[str]], np.ndarray]:
    """texts -> mean states [n, H] of the encoder in this folder.

    The same texts are read once: real ones are those of every generator.
    """
    from compaug.models.loading import load_encoder, mean_states
    from compaug.training.loop import device

    tokenizer, model = load_encoder(folder)
    model.to(device()).eval()
    longest = model.config.max_position_embeddings
    states = functools.cache(lambda texts: mean_states(model, tokenizer, texts, longest, BATCH).numpy())
    return lambda texts: states(tuple(texts))


def measure(
    real: Sequence[Example], synthetic: Sequence[Example], labels: Labels, read: Callable[[Sequence[str]], np.ndarray]
) -> Mapping[str, float | int | None]:
    """All distances between synthetic and real texts, `n` of both, at most `SAMPLE`; None where one side has too few.

    `fd` and `fda` are of features as they are, `fd_unit` and `fda_unit` of features of length 1; `precision`, `recall`
    and those with `_a` in percent.
    """
    n = min(len(real), len(synthetic), SAMPLE)
    names = ("fd", "fd_unit", "precision", "recall", "fda", "fda_unit", "precision_a", "recall_a", "bleu")
    if n < MIN_TEXTS:
        return {"n": n} | dict.fromkeys(names)
    numbers = range(DRAWS if max(len(real), len(synthetic)) > n else 1)
    draws = [[[rows[at] for at in _draw(len(rows), n, number)] for rows in (real, synthetic)] for number in numbers]
    distances: dict[str, float] = {}
    for suffix, texts_of in (
        ("", lambda rows: [row.text for row in rows]),
        ("a", lambda rows: augmented(rows, labels)),
    ):
        texts = [[texts_of(side) for side in draw] for draw in draws]
        raw = list(zip(*(_states(side, read) for side in zip(*texts, strict=True)), strict=True))
        unit = [[side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-12) for side in d] for d in raw]
        behind = f"_{suffix}" if suffix else ""
        distances[f"fd{suffix}"], distances[f"fd{suffix}_unit"] = (
            float(np.mean([frechet(*d) for d in of])) for of in (raw, unit)
        )
        distances[f"precision{behind}"], distances[f"recall{behind}"] = precision_recall(*raw)
    real_texts, synthetic_texts = ([row.text for row in side] for side in draws[0])
    distances["bleu"] = bleu(synthetic_texts, real_texts)
    return {"n": n} | {name: distances[name] for name in names}


def _states(draws: Sequence[Sequence[str]], read: Callable[[Sequence[str]], np.ndarray]) -> list[np.ndarray]:
    """Of the texts of each draw; each text is read once.  # [n, H] each"""
    every = list(dict.fromkeys(text for texts in draws for text in texts))
    states = dict(zip(every, read(every), strict=True))
    return [np.stack([states[text] for text in texts]) for texts in draws]


def _draw(size: int, n: int, number: int) -> np.ndarray:
    """n of `size` row numbers, in order.  # [n]"""
    return np.sort(np.random.default_rng(sub_seed(0, "distances", number)).permutation(size)[:n])
