"""The numbers of the root cell: its arms, their gain and gap, coverage.

Arms of a cell: `augmented` and its twins `oversample` (support texts again in the place of synthetic ones) and `baseline` (D_cg alone),
all evaluated on D_test; and `iid` (no augmentation, trained and evaluated on the iid split: the accuracy without compositional shift).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from compaug.evaluation.errors import per_composition
from compaug.evaluation.gold import Gold
from compaug.evaluation.metrics import DECIMALS, instance_scores, percent, rates
from compaug.evaluation.statistics import paired_bootstrap, sign_flip_test
from compaug.records import Labels, sub_seed

SPLIT_OF_ARM = {"augmented": "unseen", "baseline": "unseen", "oversample": "unseen", "iid": "iid"}
GAINS = ("jacc", "acc", "corr", "corr_set", "comp", "micro_f1", "macro_f1")
SELECTION = ("requested", "produced", "kept")
SELECTION_QUALITY = ("mean_filter_jacc", "share_jacc_1", "total_variation")


def evaluate(gold: np.ndarray, predicted: np.ndarray, labels: Labels, empty_both: str = "one") -> dict:
    """Of one arm: `metrics.rates`, and `errors.per_composition` under that name."""
    return rates(gold, predicted, empty_both) | {"per_composition": per_composition(gold, predicted, labels)}


def summary(arms: Mapping[str, dict], side_car: Mapping) -> dict:
    """metrics.json: one flat block per arm, their gain and gap in points, and the selection's counts."""
    blocks = {arm: {k: v for k, v in result.items() if k != "per_composition"} for arm, result in arms.items()}
    augmented, baseline = blocks["augmented"], blocks["baseline"]
    blocks["gain"] = {name: round(augmented[name] - baseline[name], DECIMALS) for name in GAINS}
    if repeated := blocks.get("oversample"):
        blocks["gain_over_oversample"] = {name: round(augmented[name] - repeated[name], DECIMALS) for name in GAINS}
    if "iid" in arms:
        iid_acc, cg_acc = blocks["iid"]["acc"], baseline["acc"]
        blocks["gap"] = {"iid_acc": iid_acc, "cg_acc": cg_acc}
        if cg_acc:
            blocks["gap"]["ratio"] = round(iid_acc / cg_acc, DECIMALS)
    counts = {f"n_{name}": side_car[name] for name in SELECTION if name in side_car}
    measured = {name: side_car[name] for name in SELECTION_QUALITY if side_car.get(name) is not None}
    blocks["selection"] = counts | {name: round(value, DECIMALS) for name, value in measured.items()}
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


def trivial(gold: Gold) -> dict:
    """The classifier that always answers the most frequent combination of the iid training rows: its answer, and its accuracy on the iid test
    rows. One that has learned something is better."""
    times = gold.compositions("iid_train")
    answer = min(times, key=lambda key: (-times[key], key))
    tested = gold.compositions("iid_test")
    return {"answer": answer, "iid_acc": percent(tested[answer] / tested.total())}


def coverage(requested: Mapping[str, int], train: Collection[str], test: Collection[str]) -> dict:
    """How well the requested compositions (key -> times) meet the test compositions. Never used upstream."""
    asked, test = {key for key, times in requested.items() if times}, set(test)
    in_test, n_requests = asked & test, sum(requested.values())
    return {
        "requested_compositions": len(asked),
        "in_test": len(in_test),
        "unseen_in_training": len(asked - set(train)),
        "test_compositions": len(test),
        "test_never_requested": sorted(test - asked),
        "share_of_requests_in_test": percent(sum(requested[key] for key in in_test) / max(n_requests, 1)),
    }
