"""The numbers of the root cell: its arms, their gains, the gap in its two parts, coverage.

Arms of a cell: `augmented` and its twins `oversample` (support texts again in the place of synthetic ones), `baseline`
(D_cg alone) and `matched` (half of the test set's own texts, tested on the other half, both ways: its files are
matched_a and matched_b), all evaluated on the same unseen and seen test rows; and `iid` (no augmentation, trained and
evaluated on the iid split, which has other combinations).
"""

from collections.abc import Collection, Mapping

import numpy as np

from compaug.core.records import Labels, sub_seed
from compaug.evaluation.cell_scores import Outcome, with_knowledge
from compaug.evaluation.errors import kinds, per_composition
from compaug.evaluation.gains import harmonic_gain
from compaug.evaluation.gold import Gold
from compaug.evaluation.metrics import DECIMALS, instance_scores, percent, rates
from compaug.evaluation.statistics import paired_bootstrap, sign_flip_test
from compaug.experiments.cells import NONE

MATCHED, HALVES = "matched", ("matched_a", "matched_b")
SPLIT_OF_ARM = dict.fromkeys(("augmented", "baseline", "oversample", *HALVES), "unseen") | {"iid": "iid"}
GENERATORS = {
    "augmented": "augmented",
    "baseline": NONE,
    "oversample": "oversample",
}  # of the arm's texts; the matched arm's are real
CURVE = ("ausuc", "acc_at_seen")  # of an arm on both sides, over all constants
GAINS = ("jacc", "acc", "corr", "corr_set", "comp", "micro_f1", "macro_f1")
SELECTION = ("requested", "produced", "kept")
SELECTION_QUALITY = ("mean_filter_jacc", "share_jacc_1", "total_variation")


def evaluate(gold: np.ndarray, predicted: np.ndarray, labels: Labels, empty_both: str = "one") -> dict:
    """Of one arm: `metrics.rates`, `errors.per_composition` under that name, and as `kind_empty` the percentage of rows
    that have labels and get none."""
    more = {"kind_empty": percent(kinds(gold, predicted)["empty"].mean())}
    more |= {"per_composition": per_composition(gold, predicted, labels)}
    return rates(gold, predicted, empty_both) | more


def headline(arms: Mapping[str, Mapping[str, float]], gain: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """metrics.json, the few numbers that commits are compared by.

    Acc on unseen and seen test rows under the cell's decoding and AUSUC of each arm on the compositional split, and the
    gain in Acc of the synthetic texts with its 95 % interval.
    """
    ordered = {arm: arms[arm] for arm in (*GENERATORS, MATCHED) if arm in arms}
    columns = {"acc_unseen": "acc", "acc_seen": "seen_acc", "ausuc": "ausuc"}
    blocks = {
        column: {arm: round(result[name], DECIMALS) for arm, result in ordered.items() if name in result}
        for column, name in columns.items()
    }
    blocks = {column: block for column, block in blocks.items() if block}
    return blocks | {"gain": {name: gain[name] for name in ("mean", "low", "high")}}


def summary(arms: Mapping[str, dict], side_car: Mapping, gap: Mapping[str, Mapping] | None = None) -> dict:
    """measures.json: one flat block per arm, gains and parts of the gap in points, the selection's counts."""
    blocks = {arm: {k: v for k, v in result.items() if k != "per_composition"} for arm, result in arms.items()}
    augmented, baseline = blocks["augmented"], blocks["baseline"]
    blocks["gain"] = {name: round(augmented[name] - baseline[name], DECIMALS) for name in GAINS}
    if repeated := blocks.get("oversample"):
        blocks["gain_over_oversample"] = {name: round(augmented[name] - repeated[name], DECIMALS) for name in GAINS}
    if gap:
        blocks["gap"] = {name: part["mean"] for name, part in gap.items()}
    counts = {f"n_{name}": side_car[name] for name in SELECTION if name in side_car}
    measured = {name: side_car[name] for name in SELECTION_QUALITY if side_car.get(name) is not None}
    blocks["selection"] = counts | {name: round(value, DECIMALS) for name, value in measured.items()}
    return blocks


def knowledge(
    outcomes: Mapping[str, Outcome], decoded: Mapping[str, Outcome]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """{arm: its measures on both sides} and {part of the gap: mean, low, high}.

    Parts are in points of H with the 95 % bootstrap interval over test rows.

    outcomes: of the arms under threshold, from which all constants start; decoded: under the cell's decoding, to which
    Acc and H belong. Empty dicts where there are no seen test rows, no parts without a matched arm.
    """
    arms = {arm: outcome for arm, outcome in outcomes.items() if outcome.rankings}
    whole = with_knowledge(list(arms.values()))
    plain, best = (dict(zip(arms, half, strict=True)) for half in (whole[: len(arms)], whole[len(arms) :]))
    measures = {
        arm: {name: outcome.metrics["unseen"][name] for name in CURVE if name in outcome.metrics["unseen"]}
        | {f"seen_{name}": decoded[arm].metrics["seen"][name] for name in ("acc", "n")}
        | {"harmonic": decoded[arm].metrics["unseen"]["harmonic"]}
        | {"best_harmonic": best[arm].metrics["unseen"]["harmonic"]}
        for arm, outcome in plain.items()
    }
    if not {"baseline", MATCHED} <= arms.keys():
        return measures, {}
    pairs = {
        "total": (best[MATCHED], plain["baseline"]),
        "operating_point": (best["baseline"], plain["baseline"]),
        "knowledge": (best[MATCHED], best["baseline"]),
    }
    for name, arm, over in (
        ("texts", "augmented", "baseline"),
        ("repeating", "oversample", "baseline"),
        ("texts_over_repeating", "augmented", "oversample"),
    ):
        if {arm, over} <= arms.keys():
            pairs[name] = (best[arm], best[over])
    gains = {name: harmonic_gain([pair]) for name, pair in pairs.items()}
    names = {"mean": "mean", "low": "low_rows", "high": "high_rows"}
    return measures, {
        part: {name: round(gain[key], DECIMALS) for name, key in names.items()} for part, gain in gains.items()
    }


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
    """The classifier that always answers the most frequent combination of the iid training rows.

    Its answer, and its accuracy on the iid test rows; one that has learned something is better.
    """
    times = gold.compositions("iid_train")
    answer = min(times, key=lambda key: (-times[key], key))
    tested = gold.compositions("iid_test")
    return {"answer": answer, "iid_acc": percent(tested[answer] / tested.total())}


def coverage(requested: Mapping[str, int], train: Collection[str], test: Collection[str]) -> dict:
    """How well the requested compositions (key -> times) meet the test compositions. Never used upstream."""
    compositions, test = {key for key, times in requested.items() if times}, set(test)
    in_test, n_requests = compositions & test, sum(requested.values())
    return {
        "requested_compositions": len(compositions),
        "in_test": len(in_test),
        "unseen_in_training": len(compositions - set(train)),
        "test_compositions": len(test),
        "test_never_requested": sorted(test - compositions),
        "share_of_requests_in_test": percent(sum(requested[key] for key in in_test) / max(n_requests, 1)),
    }
