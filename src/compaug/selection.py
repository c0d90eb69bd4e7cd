"""Drop what is no text, score the rest with the filter, keep the best, report (paper, "Quality Control").

The filter is a classifier trained on D_cg with a seed of its own; a text's score says how well what the filter reads in
it agrees with the request: the Jaccard index of the filter's label set and the requested one (the paper), or the
probability of the requested set.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import Draft, Example, Labels, sub_seed, text_key

CERTAIN = 1e-6  # a probability is never closer to 0 or 1: one saturated label must not decide alone
DROPPED = ("blank", "duplicate", "copied")  # what may become of any draft
HISTOGRAM_BINS = 10  # Jaccard scores in tenths; a perfect score has its own bin


def replaced(
    label_sets: Sequence[tuple[int, ...]], possible: Sequence[bool], labels: Labels, generator: str, seed: int
) -> tuple[list[tuple[int, ...]], Counter]:
    """As many requests, those that a generator cannot answer (not `possible`) replaced by draws from the others.

    Also how often each composition was skipped. InputError when none is possible. Source: the paper, Concat.
    """
    able = [label_set for label_set, can in zip(label_sets, possible, strict=True) if can]
    skipped = Counter(labels.key(label_set) for label_set, can in zip(label_sets, possible, strict=True) if not can)
    if not skipped:
        return able, skipped
    if not able:
        raise InputError(
            f"{generator} can make none of the requested compositions ({', '.join(sorted(skipped)[:5])}, ...); "
            "take it out of the generators for this benchmark"
        )
    draws = iter(np.random.default_rng(sub_seed(seed, "further draws")).integers(len(able), size=skipped.total()))
    return [
        label_set if can else able[next(draws)] for label_set, can in zip(label_sets, possible, strict=True)
    ], skipped


def judge(drafts: Iterable[Draft], real_keys: Collection[str], copies: bool) -> Iterator[tuple[Draft, str]]:
    """Every draft with its fate: the one that it brings, blank, copied, duplicate or kept.

    A copied text has its key in `real_keys`, a duplicate that of an earlier draft. With `copies` only blank texts go.
    """
    seen = set()
    for draft in drafts:
        key = text_key(draft.text)
        if not key:
            yield draft, draft.fate or "blank"
        elif not copies and key in real_keys:
            yield draft, "copied"
        elif not copies and key in seen:
            yield draft, "duplicate"
        else:
            yield draft, "kept"
        seen.add(key)


def counts(requests: Sequence[tuple[int, ...]], fates: Sequence[tuple[int, str]], labels: Labels) -> dict:
    """What became of the requests, in all and per composition.

    `fates` are those of the drafts, each with the number of its request. A request without a draft counts as blank.
    """
    total = Counter(fate for _, fate in fates)
    total["blank"] += len(requests) - len({number for number, _ in fates})
    requested = Counter(map(labels.key, requests))
    kept = Counter(labels.key(requests[number]) for number, fate in fates if fate == "kept")
    return {
        "requested": len(requests),
        "produced": total["duplicate"] + total["copied"] + total["kept"],
        "dropped": {reason: total[reason] for reason in (*DROPPED, *sorted(set(total) - {*DROPPED, "kept"}))},
        "kept": total["kept"],
        "per_composition": {key: {"requested": requested[key], "kept": kept[key]} for key in sorted(requested)},
    }


def log_probability(probabilities: np.ndarray, requested: np.ndarray) -> np.ndarray:
    """log of the filter's probability of exactly the requested labels, which are independent given the text.  # [n]

    Unlike the Jaccard index it tells a text that just passes from one without doubt, so that few texts tie.

    Args: both [n, n_labels], requested bool.
    """
    bounded = np.clip(probabilities.astype(np.float64), CERTAIN, 1 - CERTAIN)
    return np.where(requested, np.log(bounded), np.log1p(-bounded)).sum(1)


def among(n: int, k: int, overgenerate: float | None) -> int:
    """How many of n texts, in the order in which they were written, the filter may choose k from."""
    return n if overgenerate is None else min(n, share_of(overgenerate, k))


def share_of(share: float, n: int) -> int:
    """share x n, rounded up; 1.1 x 100 is 110, though the product of floats is a little more."""
    return math.ceil(round(share * n, 9))


def select(examples: Sequence[Example], scores: np.ndarray, k: int, mode: str, scope: str, seed: int) -> list[int]:
    """Positions of the kept rows; order: best first, ties in a seeded order.

    mode `top_k` keeps the highest scores, `random` any k. scope `global` ranks all rows together (the paper);
    `per_composition` gives every requested composition its share of k, so that the histogram of compositions survives
    (the reference code). The same seed breaks the same ties. InputError when k exceeds the rows there are.
    """
    if k > len(examples):
        raise InputError(
            f"sizes.k, or selection.k of a cell, is {k} but only {len(examples)} synthetic texts are left after "
            "dropping blank and repeated ones; lower it or raise sizes.requested"
        )
    shuffled = np.random.default_rng(seed).permutation(len(examples))
    keys = -scores[shuffled] if mode == "top_k" else np.zeros(len(examples))
    ranked = shuffled[np.argsort(keys, kind="stable")].tolist()
    if scope == "global":
        return ranked[:k]
    left = quotas(Counter(e.requested_labels for e in examples), k)
    chosen = []
    for row in ranked:
        if left[examples[row].requested_labels] > 0:
            left[examples[row].requested_labels] -= 1
            chosen.append(row)
    return chosen


def quotas(counts: Counter, k: int) -> dict[tuple[int, ...], int]:
    """k shared out in proportion to `counts` by largest remainders; no composition gets more than it has."""
    total = sum(counts.values())
    exact = {key: k * count / total for key, count in counts.items()} if total else {}
    shares = {key: int(value) for key, value in exact.items()}
    for key in sorted(exact, key=lambda key: (shares[key] - exact[key], key))[: k - sum(shares.values())]:
        shares[key] += 1
    return shares


def report(examples: Sequence[Example], scores: np.ndarray, kept: Sequence[int], labels: Labels) -> dict:
    """What the filter did: score histograms, composition histograms before and after, and how far apart those are."""
    before = Counter(labels.key(e.requested_labels) for e in examples)
    after = Counter(labels.key(examples[row].requested_labels) for row in kept)
    kept_scores = scores[np.array(kept, dtype=int)]
    distance = None
    if kept:
        distance = round(sum(abs(before[key] / len(examples) - after[key] / len(kept)) for key in before) / 2, 4)
    return {
        "kept": len(kept),
        "mean_filter_jacc": _mean(kept_scores),
        "mean_filter_jacc_before": _mean(scores),
        "share_jacc_1": _mean(kept_scores == 1.0),
        "total_variation": distance,
        "histogram": {"before": _histogram(scores), "kept": _histogram(kept_scores)},
        "per_composition": {
            key: {
                "produced": before[key],
                "kept": after[key],
                "mean_filter_jacc": _mean(scores[[labels.key(e.requested_labels) == key for e in examples]]),
            }
            for key in sorted(before)
        },
    }


def _mean(values: np.ndarray) -> float | None:
    return round(float(values.mean()), 4) if len(values) else None


def _histogram(scores: np.ndarray) -> dict[str, int]:
    bins = Counter(min(int(score * HISTOGRAM_BINS + 1e-9), HISTOGRAM_BINS) for score in scores)
    return {f"{bin_ / HISTOGRAM_BINS:.1f}": bins[bin_] for bin_ in range(HISTOGRAM_BINS + 1)}
