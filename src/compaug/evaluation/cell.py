"""The numbers of one cell: its arms, their gain and gap, coverage, and the ceilings of a known grammar.

Arms of a cell: `augmented` and its twin `baseline` (trained on D_cg, both evaluated on D_test) and `iid` (no
augmentation, trained and evaluated on the iid split: the accuracy without compositional shift).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from compaug.evaluation.metrics import DECIMALS, evaluate, instance_scores, label_matrix, percent
from compaug.records import Example, Labels, sub_seed
from compaug.evaluation.statistics import paired_bootstrap, sign_flip_test

SPLIT_OF_ARM = {"augmented": "test", "baseline": "test", "iid": "iid_test"}  # gold file of every arm
GAINS = ("jacc", "acc", "corr", "corr_set", "comp", "micro_f1", "macro_f1")
SELECTION = ("requested", "produced", "kept")
SELECTION_QUALITY = ("mean_filter_jacc", "share_jacc_1", "total_variation")


class KnownGrammar(Protocol):
    """What only a corpus made from a grammar offers; used by reports, never by a method."""

    oracle: Callable[[str], Collection[tuple[int, ...]]]
    fidelity: Callable[[str, tuple[int, ...]], bool]
    bayes_predictions: Callable[[Sequence[str], Mapping[tuple[int, ...], float]], Sequence[tuple[int, ...]]]


def summary(arms: Mapping[str, dict], side_car: Mapping) -> dict:
    """metrics.json: one flat block per arm, their gain and gap in points, and the selection's counts."""
    blocks = {arm: {k: v for k, v in result.items() if k != "per_composition"} for arm, result in arms.items()}
    augmented, baseline = blocks["augmented"], blocks["baseline"]
    blocks["gain"] = {name: round(augmented[name] - baseline[name], DECIMALS) for name in GAINS}
    if "iid" in arms:
        iid_acc, cg_acc = blocks["iid"]["acc"], baseline["acc"]
        blocks["gap"] = {"iid_acc": iid_acc, "cg_acc": cg_acc}
        if cg_acc:
            blocks["gap"]["ratio"] = round(iid_acc / cg_acc, DECIMALS)
    blocks["selection"] = {f"n_{name}": side_car[name] for name in SELECTION if name in side_car}
    blocks["selection"] |= {
        name: round(side_car[name], DECIMALS) for name in SELECTION_QUALITY if side_car.get(name) is not None
    }
    return blocks


def accuracy_gain(gold: np.ndarray, augmented: np.ndarray, baseline: np.ndarray, seed: int = 0) -> dict:
    """Gain in Acc (points) over the same rows [n, n_labels], its 95 % bootstrap interval and sign-flip p."""
    difference = instance_scores(gold, augmented)["acc"] - instance_scores(gold, baseline)["acc"]  # [n]
    low, high = paired_bootstrap(difference, sub_seed(seed, "bootstrap"))
    return {
        "mean": percent(difference.mean()),
        "low": percent(low),
        "high": percent(high),
        "p_value": round(sign_flip_test(difference, sub_seed(seed, "sign_flip")), DECIMALS),
        "n": len(gold),
    }


def coverage(requested: Mapping[str, int], train: Collection[str], test: Collection[str]) -> dict:
    """How well the requested compositions (key -> times) meet the test compositions. Never used upstream."""
    asked, test = {key for key, times in requested.items() if times}, set(test)
    in_test = asked & test
    n_requests = sum(requested.values())
    return {
        "requested_compositions": len(asked),
        "in_test": len(in_test),
        "unseen_in_training": len(asked - set(train)),
        "test_compositions": len(test),
        "test_never_requested": sorted(test - asked),
        "share_of_requests_in_test": percent(sum(requested[key] for key in in_test) / n_requests)
        if n_requests
        else 0.0,
    }


def prior(examples: Iterable[Example]) -> dict[tuple[int, ...], float]:
    """Relative frequency of every composition."""
    counts = Counter(example.labels for example in examples)
    return {composition: count / counts.total() for composition, count in sorted(counts.items())}


def bayes_ceilings(
    grammar: KnownGrammar,
    labels: Labels,
    empty_both: str,
    *,
    train: Sequence[Example],
    test: Sequence[Example],
    iid_train: Sequence[Example],
    iid_test: Sequence[Example],
) -> dict[str, dict]:
    """Metrics of the Bayes classifier: iid, and on D_test under the prior of D_cg (`train`) and of D_test."""
    settings = {
        "iid": (iid_test, prior(iid_train)),
        "cg_training_prior": (test, prior(train)),
        "cg_target_prior": (test, prior(test)),
    }
    results = {}
    for name, (examples, composition_prior) in settings.items():
        predicted = grammar.bayes_predictions([example.text for example in examples], composition_prior)
        gold = label_matrix([example.labels for example in examples], len(labels))
        result = evaluate(gold, label_matrix(predicted, len(labels)), labels, empty_both)
        results[name] = {metric: result[metric] for metric in ("jacc", "acc", "corr", "corr_set", "comp", "n")}
    return results


def requested_of(example: Example) -> tuple[int, ...]:
    """The composition a synthetic row was asked for (controls that copy real rows ask for their labels)."""
    return example.labels if example.requested_labels is None else example.requested_labels


def oracle_fidelity(grammar: KnownGrammar, selected: Sequence[Example]) -> float | None:
    """Percentage of synthetic texts that express all requested labels and no other; None without a text."""
    verdicts = [grammar.fidelity(example.text, requested_of(example)) for example in selected]
    return percent(np.mean(verdicts)) if verdicts else None


def judged_samples(grammar: KnownGrammar, selected: Sequence[Example], labels: Labels, n: int = 10) -> list[dict]:
    """n texts, evenly spaced through the selection, with what was asked and what the oracle reads."""
    rows = np.unique(np.linspace(0, len(selected) - 1, min(n, len(selected))).round().astype(int))
    return [
        {
            "text": example.text,
            "requested": labels.key(requested_of(example)),
            "faithful": bool(grammar.fidelity(example.text, requested_of(example))),
            "readings": sorted(labels.key(reading) for reading in grammar.oracle(example.text)),
        }
        for example in (selected[row] for row in rows)
    ]
