"""reports/gains.csv: paired gains with tests over seeds and over test rows, one line each.

    experiment,benchmark,scale,generator,selection,classifier,decoding,split,metric,over,
    seeds,mean,std,ci95,low_rows,high_rows,p_seeds,p_rows

The first columns are those of results.csv.gz and name what gains, and in which metric: acc on split unseen; where there
is a seen test set also harmonic and, under threshold, ausuc and acc_at_seen (`compaug.evaluation.decoding.knowledge`).
`over` names what it is compared with, in everything else alike:

    none, oversample, real_texts
                    the cell of that generator, same decoding (none, real_texts: without repeats). real_texts is the
                    matched arm, half of the test set's own texts; its gain over none is the matched gap
    <default>       of a variant, the cell without the variation: "ld_vae" for ld_vae+kl_form=reference, "top_k" for
                    another selection of the same generator's texts, "bert" for bert+support=250 and bert+region=hard
    threshold       of the same cell under another decoding, or at its best constant, its own threshold

The numbers:

    seeds           how many seeds both have
    mean, std, ci95 of the differences paired by seed, in points; ci95 is the half width of the 95 % t interval
    low_rows, high_rows
                    95 % bootstrap interval over test rows, each row averaged over the seeds; empty for ausuc and
                    acc_at_seen
    p_seeds, p_rows paired t test over seeds, sign-flip test over rows, uncorrected: a table corrects all that it
                    shows (`reports.entries.corrected`). Empty where there is no test (one seed; p_rows of what is no
                    mean over rows)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from compaug.core.records import sub_seed
from compaug.evaluation.cell_scores import Comparison, Outcome
from compaug.evaluation.decoding.composition_prior import harmonic_mean
from compaug.evaluation.results import CELL_COLUMNS, Row
from compaug.evaluation.statistics import resampled_means, sign_flip_test, summarise, t_test
from compaug.experiments.cells import NONE, REAL_TEXTS, REPEATED, Cell

TESTS = ("mean", "std", "ci95", "low_rows", "high_rows", "p_seeds", "p_rows")
COLUMNS = (*CELL_COLUMNS, "decoding", "split", "metric", "over", "seeds", *TESTS)
OVERSAMPLE, THRESHOLD = "oversample", "threshold"
CONTROLS = (NONE, OVERSAMPLE, REAL_TEXTS)
VARIATIONS = {  # column -> the fields of a cell that make a variation of it, and their defaults
    "generator": {
        "options": "",
        "label_support": None,
        "text_support": None,
        "requested": None,
        "text_subset": "",
        "sampling": "",
    },
    "selection": {"selection": "", "texts": None},
    "classifier": {"support": None, "subset": "", "training": ""},
}
RESAMPLES = 10_000  # of the test rows

Seeds = dict[int, Outcome]


def table(comparison: Comparison) -> Iterator[Row]:
    """Rows of gains.csv for one experiment."""
    by_cell: dict[tuple[Cell, str], Seeds] = {}
    for outcome in comparison.outcomes:
        if outcome.cell.split == "cg":
            key = replace(outcome.cell, seed=0), outcome.decoding
            by_cell.setdefault(key, {})[outcome.cell.seed] = outcome
    for (cell, decoding), outcomes in by_cell.items():
        columns = [value for name, value in cell.columns().items() if name != "seed"]
        for over, other in _others(cell, decoding):
            theirs = by_cell.get(other, {})
            seeds = [seed for seed in outcomes if seed in theirs]
            for metric, gain in GAINS.items() if seeds else ():
                pairs = [(outcomes[seed], theirs[seed]) for seed in seeds]
                if not all(_has(outcome, metric) for pair in pairs for outcome in pair):
                    continue
                line = gain(pairs)
                numbers = (line[name] for name in TESTS)
                yield comparison.experiment.name, *columns, decoding, "unseen", metric, over, len(seeds), *numbers


def _others(cell: Cell, decoding: str) -> Iterator[tuple[str, tuple[Cell, str]]]:
    """What a cell under a decoding is compared with, and its name in the column `over`."""
    if decoding != THRESHOLD:
        yield THRESHOLD, (cell, THRESHOLD)
    texts = VARIATIONS["generator"] | VARIATIONS["selection"]
    once = ",".join(part for part in cell.training.split(",") if not part.startswith(REPEATED))
    for control in CONTROLS:
        if cell.generator not in CONTROLS[: CONTROLS.index(control) + 1]:
            training = cell.training if control == OVERSAMPLE else once
            yield control, (replace(cell, generator=control, training=training, **texts), decoding)
    for column, defaults in VARIATIONS.items():
        default = replace(cell, **defaults)
        if default != cell:
            yield str(default.columns()[column]), (default, decoding)


# ---------------------------------------------------------------- one gain

Pairs = Sequence[tuple[Outcome, Outcome]]  # of one seed each


def _has(outcome: Outcome, metric: str) -> bool:
    if metric in CURVES:
        return outcome.decoding == THRESHOLD and metric in outcome.metrics["unseen"]
    return metric != "harmonic" or "seen" in outcome.right


def accuracy_gain(pairs: Pairs) -> dict[str, float | None]:
    """In Acc on unseen compositions, in points."""
    apart = np.array([first.right["unseen"] - second.right["unseen"].astype(float) for first, second in pairs])
    p_rows = sign_flip_test(apart.mean(axis=0), sub_seed(0, "signs"))  # [seeds, rows]
    return _line(apart.mean(axis=1), _differences(_drawn(pairs, "unseen")), p_rows)


def harmonic_gain(pairs: Pairs) -> dict[str, float | None]:
    """In the harmonic mean of seen and unseen Acc, in points; seen and unseen rows are drawn again separately."""
    means = {side: np.array([[o.right[side].mean() for o in pair] for pair in pairs]) for side in ("seen", "unseen")}
    by_seed = harmonic_mean(means["seen"], means["unseen"]) @ [1, -1]
    return _line(by_seed, _differences(harmonic_mean(_drawn(pairs, "seen"), _drawn(pairs, "unseen"))), None)


def curve_gain(metric: str, pairs: Pairs) -> dict[str, float | None]:
    """In a measure of the seen-unseen curve, in points; over seeds alone."""
    values = np.array([[outcome.metrics["unseen"][metric] for outcome in pair] for pair in pairs])
    return _line(values @ [1, -1] / 100, None, None)


def _drawn(pairs: Pairs, split: str) -> np.ndarray:
    """Accuracies on rows drawn again, cells side by side.  # [resamples, 2 seeds]

    The same rows for all seeds and in all comparisons.
    """
    right = np.stack([outcome.right[split] for pair in pairs for outcome in pair], axis=1)
    return resampled_means(right, RESAMPLES, sub_seed(0, "bootstrap", split))


def _differences(drawn: np.ndarray) -> np.ndarray:
    """Gains averaged over seeds.  # [resamples]"""
    return (drawn[:, ::2] - drawn[:, 1::2]).mean(axis=1)


def _line(by_seed: np.ndarray, drawn: np.ndarray | None, p_rows: float | None) -> dict[str, float | None]:
    seeds = summarise(100 * by_seed)
    low, high = (None, None) if drawn is None else map(float, np.quantile(100 * drawn, [0.025, 0.975]))
    values = (seeds.mean, seeds.std, seeds.ci95, low, high, t_test(seeds.mean, seeds.std, seeds.n), p_rows)
    return dict(zip(TESTS, values, strict=True))


CURVES = ("ausuc", "acc_at_seen")
GAINS: dict[str, Callable[[Pairs], dict]] = {
    "acc": accuracy_gain,
    "harmonic": harmonic_gain,
    **{metric: partial(curve_gain, metric) for metric in CURVES},
}
