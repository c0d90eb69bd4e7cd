"""reports/gains.csv: paired gains with tests over seeds and over test rows, one line each.

    experiment,benchmark,scale,generator,selection,classifier,decoding,split,metric,over,seeds,mean,std,ci95,low_rows,high_rows,p_seeds,p_rows

The first columns are those of results.csv and name what gains, and in which metric: acc on split unseen; harmonic (split unseen) too
where there is a seen test set. `over` names what it is compared with, in everything else alike:
    none, oversample            the cell of that generator, same decoding
    <generator>                 of a variant, the cell without the variation: "ld_vae" for ld_vae+kl_form=reference,
                                "top_k" for another selection of the same generator's texts, "bert" for bert+support=250
    threshold                   of the same cell under another decoding, its own threshold

seeds      how many seeds both have; mean, std, ci95 (half width of the 95 % t interval): of the differences paired by seed, in points
low_rows, high_rows  95 % bootstrap interval over test rows, each row averaged over the seeds
p_seeds, p_rows      paired t test over seeds, sign-flip test over rows, Holm-corrected over the lines of one experiment, benchmark,
                     selection, decoding, metric and `over`; empty where there is no test (one seed; p_rows of a harmonic mean)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from compaug.evaluation.results import CELL_COLUMNS, Found, Outcome, Row
from compaug.evaluation.statistics import (
    Summary,
    holm,
    paired_bootstrap,
    paired_t_test,
    resampled_means,
    sign_flip_test,
    summarise,
)
from compaug.experiments import NONE, Cell
from compaug.records import sub_seed

TESTS = ("mean", "std", "ci95", "low_rows", "high_rows", "p_seeds", "p_rows")
COLUMNS = (*CELL_COLUMNS, "decoding", "split", "metric", "over", "seeds", *TESTS)
OVERSAMPLE, THRESHOLD = "oversample", "threshold"
VARIATIONS = {  # column -> the fields of a cell that make a variation of it, and their defaults
    "generator": {"options": "", "label_support": None, "text_support": None},
    "selection": {"selection": "", "texts": None},
    "classifier": {"support": None},
}
RESAMPLES = 4000  # of the test rows, for the harmonic mean

Seeds = dict[int, Outcome]


def table(found: Found) -> Iterator[Row]:
    """Rows of gains.csv for one experiment."""
    by_cell: dict[tuple[Cell, str], Seeds] = {}
    for outcome in found.outcomes:
        if outcome.cell.split == "cg":
            key = replace(outcome.cell, seed=0), outcome.decoding
            by_cell.setdefault(key, {})[outcome.cell.seed] = outcome
    lines: dict[tuple, dict] = {}
    families: dict[tuple, list[tuple]] = {}
    for (cell, decoding), own in by_cell.items():
        columns = [value for name, value in cell.columns().items() if name != "seed"]
        for over, other in _others(cell, decoding):
            theirs = by_cell.get(other, {})
            seeds = [seed for seed in own if seed in theirs]
            for metric, gain in GAINS.items() if seeds else ():
                pairs = [(own[seed].right, theirs[seed].right) for seed in seeds]
                if metric == "harmonic" and not all("seen" in right for pair in pairs for right in pair):
                    continue
                key = (found.experiment.name, *columns, decoding, "unseen", metric, over, len(seeds))
                lines[key] = gain(pairs, sub_seed(0, "gain", *columns, decoding, metric, over))
                family = (cell.benchmark, columns[CELL_COLUMNS.index("selection") - 1], decoding, metric, over)
                families.setdefault(family, []).append(key)
    for keys in families.values():
        for test in ("p_seeds", "p_rows"):
            corrected = holm({str(at): lines[key][test] for at, key in enumerate(keys)})
            for at, key in enumerate(keys):
                lines[key][test] = corrected[str(at)]
    for key, line in lines.items():
        yield (*key, *(line[name] for name in TESTS))


def _others(cell: Cell, decoding: str) -> Iterator[tuple[str, tuple[Cell, str]]]:
    """What a cell under a decoding is compared with, and its name in the column `over`."""
    if decoding != THRESHOLD:
        yield THRESHOLD, (cell, THRESHOLD)
    texts = VARIATIONS["generator"] | VARIATIONS["selection"]
    for control in (NONE, OVERSAMPLE):
        if cell.generator not in (NONE, control):
            yield control, (replace(cell, generator=control, **texts), decoding)
    for column, defaults in VARIATIONS.items():
        default = replace(cell, **defaults)
        if default != cell:
            yield str(default.columns()[column]), (default, decoding)


# ---------------------------------------------------------------- one gain

Pairs = Sequence[
    tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
]  # of one seed each: {split: right [n]} of both cells


def accuracy_gain(pairs: Pairs, seed: int) -> dict[str, float | None]:
    """In Acc on unseen compositions, in points."""
    apart = 100 * np.array([own["unseen"].astype(float) - other["unseen"] for own, other in pairs])  # [seeds, rows]
    by_seed, by_row = apart.mean(axis=1), apart.mean(axis=0)
    low, high = paired_bootstrap(by_row, sub_seed(seed, "bootstrap"))
    return _line(summarise(by_seed), low, high, paired_t_test(by_seed), sign_flip_test(by_row, sub_seed(seed, "signs")))


def harmonic_gain(pairs: Pairs, seed: int) -> dict[str, float | None]:
    """In the harmonic mean of seen and unseen Acc, in points. Seen and unseen rows are drawn again separately, the same for all seeds."""
    accuracies = {
        part: np.array([[right[part].mean() for right in pair] for pair in pairs]) for part in ("seen", "unseen")
    }
    by_seed = 100 * _harmonic(accuracies["seen"], accuracies["unseen"]) @ [1, -1]  # [seeds]
    drawn = {
        part: resampled_means(
            np.stack([right[part] for pair in pairs for right in pair], axis=1), RESAMPLES, sub_seed(seed, part)
        )
        for part in accuracies
    }  # [resamples, 2 seeds]
    means = _harmonic(drawn["seen"], drawn["unseen"])
    low, high = np.quantile(100 * (means[:, ::2] - means[:, 1::2]).mean(axis=1), [0.025, 0.975])
    return _line(summarise(by_seed), float(low), float(high), paired_t_test(by_seed), None)


GAINS = {"acc": accuracy_gain, "harmonic": harmonic_gain}


def _harmonic(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return 2 * a * b / np.maximum(a + b, 1e-12)


def _line(
    seeds: Summary, low: float, high: float, p_seeds: float | None, p_rows: float | None
) -> dict[str, float | None]:
    values = (seeds.mean, seeds.std, seeds.ci95, low, high, p_seeds, p_rows)
    return dict(zip(TESTS, values, strict=True))
