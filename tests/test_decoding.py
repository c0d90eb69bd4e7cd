"""Decodings of one classifier's predictions: what they learn and from which rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st
from worlds import PARTS

from compaug.core.files import InputError
from compaug.core.records import Example
from compaug.evaluation import gold as golds
from compaug.evaluation import predictions
from compaug.evaluation.decoding import composition_prior
from compaug.evaluation.decoding.decodings import (
    DECODINGS,
    PART_OF_SPLIT,
    Case,
    cross_calibrated,
    fold_of,
    held_out_of,
    tune_thresholds,
)
from compaug.experiments.params import CompositionPrior

OPTIONS = CompositionPrior(target="support", back_off=True, weight=None, strength=None)
HALVES = {name: [e for i, e in enumerate(PARTS["support"]) if (i // 2) % 2 == at] for at, name in enumerate("ab")}


def f1(scores, truth, threshold):
    predicted = scores > threshold
    return 2 * (predicted & truth).sum() / (predicted.sum() + truth.sum())


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0]), st.booleans()), min_size=1, max_size=12)
)
def test_no_threshold_has_a_better_f1_than_the_tuned_one(rows):
    scores, truth = (np.array(column) for column in zip(*rows, strict=True))
    (tuned,) = tune_thresholds(scores[:, None], truth[:, None], 0.5)
    if not truth.any():
        assert tuned == 0.5
        return
    best = max(f1(scores, truth, threshold) for threshold in np.linspace(0, 1, 101))
    assert f1(scores, truth, tuned) == pytest.approx(best)
    if f1(scores, truth, 0.5) == pytest.approx(best):
        assert tuned == 0.5  # nothing to gain: the paper's threshold stays


def test_a_threshold_lies_half_way_between_the_scores_that_it_separates():
    scores, truth = np.array([[0.1], [0.2], [0.3]]), np.array([[0], [0], [1]])
    assert tune_thresholds(scores, truth, 0.5).tolist() == [pytest.approx(0.25)]
    final = SimpleNamespace(validation=scores, validation_gold=truth)
    case = SimpleNamespace(final=final, raw={"iid": np.array([[0.24], [0.26]])}, threshold=0.5)
    assert DECODINGS["tuned_thresholds"](case).sets["iid"].tolist() == [[False], [True]]
    assert DECODINGS["threshold"](case).sets["iid"].tolist() == [[False], [False]]


def test_without_validation_rows_the_threshold_is_the_default():
    none = np.zeros((0, 3))
    assert tune_thresholds(none, none, 0.4).tolist() == [0.4] * 3


# ---------------------------------------------------------------- the composition prior


@pytest.fixture
def case(tmp_path):
    """Makes the case of a classifier that reads joy or love alone as both; keywords change it."""
    worlds.write_gold(tmp_path, "own")
    gold = golds.read(tmp_path / "gold" / "own.jsonl.gz")
    held_out = [(e, "train") for e in PARTS["train"][:16]] + [(Example("y0", "a new text", (0,)), "ld_vae")]
    test = worlds.beliefs([*PARTS["test"], *PARTS["seen_test"]])
    final = worlds.write_cell(tmp_path, "final", test, [*held_out, (PARTS["support"][0], "support")], drawn={"0": 1})
    folds = [
        worlds.write_cell(tmp_path, name, worlds.beliefs(held), held_out, HALVES["ba"["ab".index(name)]])
        for name, held in HALVES.items()
    ]

    def make(folds=folds, final=final, gold=gold, **options) -> Case:
        ids = {"unseen": tuple(gold.parts["test"]), "seen": tuple(gold.parts["seen_test"])}
        read = [predictions.read(path, 3) for path in folds]
        settings = OPTIONS.model_copy(update=options)
        return Case(predictions.read(final, 3), gold, ids, read, settings, 0.5)

    return make


def accuracy(case: Case, decoding: str) -> dict[str, float]:
    sets = DECODINGS[decoding](case).sets
    return {split: (sets[split] == truth).all(1).mean() for split, truth in case.truth.items()}


def curve_of(case: Case, decoding: str) -> tuple[float, float]:
    """Area under the seen-unseen curve, and the harmonic mean of the best accuracy of either side."""
    ranked = DECODINGS[decoding](case).ranking(case).ranked
    area, curve = composition_prior.ausuc(ranked["seen"], ranked["unseen"])
    return area, composition_prior.harmonic_mean(*curve.max(axis=0))


def test_the_correction_helps_where_only_the_prior_was_wrong(case):
    accuracies = {decoding: accuracy(case(), decoding) for decoding in DECODINGS}
    assert accuracies["threshold"]["seen"] > 0.8 and accuracies["threshold"]["unseen"] < 0.2
    assert accuracies["joint"]["unseen"] < 0.2
    for decoding in ("composition_prior", "uncalibrated"):
        assert accuracies[decoding]["unseen"] > 0.5 and accuracies[decoding]["seen"] > 0.5
    assert case().weights.harmonic > 0.5


def test_the_area_under_the_curve_is_that_of_the_decodings_own_scores(case):
    areas = {decoding: curve_of(case(), decoding)[0] for decoding in DECODINGS}
    assert areas["threshold"] == areas["joint"] == areas["tuned_thresholds"]
    assert all(0 <= area <= 1 for area in areas.values()) and areas["threshold"] > 0.5


def test_a_reader_who_is_told_the_side_is_at_least_as_good_as_any_constant_between_the_sides(case):
    """Its accuracies are those of the best candidate of each side, so neither can be more than the harmonic mean lets
    on."""
    for decoding in ("joint", "stacking", "composition_prior"):
        bound = curve_of(case(), decoding)[1]
        seen, unseen = accuracy(case(), "joint").values()
        assert bound >= 2 * seen * unseen / (seen + unseen)
    scores = DECODINGS["joint"](case())
    ranked = {
        side: composition_prior.seen_unseen_scores(
            scores.probabilities[side], case().prior, case().truth[side], np.zeros(len(case().prior.seen))
        )
        for side in ("seen", "unseen")
    }
    best = ranked["seen"][1].mean(), ranked["unseen"][2].mean()
    assert curve_of(case(), "joint")[1] == pytest.approx(2 * best[0] * best[1] / sum(best))


def test_support_and_synthetic_rows_among_the_validation_rows_are_no_held_out_seen_rows(case):
    whole = case()
    fold = whole.folds[0]
    assert len(fold_of(fold, whole.gold, False).seen) == 16
    mixed = predictions.Predictions(**(vars(fold) | {"source": np.array(["train"] * 15 + ["support", "ld_vae"])}))
    assert len(fold_of(mixed, whole.gold, False).seen) == 15


def test_a_fold_knows_its_own_half_of_the_support_set_alone(case, tmp_path):
    joy, love = PARTS["support"][::2], PARTS["support"][1::2]
    path = worlds.write_cell(tmp_path, "half", worlds.beliefs(joy), [(PARTS["train"][0], "train")], love)
    fold = fold_of(predictions.read(path, 3), case().gold, False)
    assert fold.unseen_gold.tolist() == [[True, False, False]] * 10
    candidates = {tuple(np.flatnonzero(row)) for row in fold.prior.candidates[fold.prior.target > 0]}
    assert candidates == {(1,)}


def test_weights_that_params_set_are_not_searched(case):
    weights = case(weight=0.8, strength=0.65).weights
    assert (weights.weight, weights.strength) == (0.8, 0.65) and weights.harmonic > 0


def test_without_folds_weight_and_strength_come_from_the_parameters(case):
    decoded = DECODINGS["composition_prior"](case(folds=[], weight=0.5, strength=1.0))
    assert decoded.facts == {"weight": 0.5, "strength": 1.0}
    with pytest.raises(InputError, match="final.jsonl.gz: no folds to choose the composition prior's weights on"):
        DECODINGS["composition_prior"](case(folds=[], weight=0.5))


def test_without_support_rows_nothing_is_corrected(case, tmp_path):
    """The iid arm: P_t is P_train up to its smoothing."""
    iid = worlds.write_cell(tmp_path, "iid", worlds.beliefs([*PARTS["test"], *PARTS["seen_test"]]), support=())
    sets = [
        DECODINGS["uncalibrated"](case(folds=[], final=iid, weight=0.5, strength=s)).sets["seen"] for s in (0.0, 1.0)
    ]
    assert (sets[0] == sets[1]).mean() > 0.99


def test_the_target_can_be_what_the_label_generator_drew(case, tmp_path):
    prior = case(target="both").prior
    target = {tuple(np.flatnonzero(row)): t for row, t in zip(prior.candidates, prior.target, strict=True) if t}
    assert target == {(0,): 0.75, (1,): 0.25}  # half of each: the support set has both equally often, drawn was joy
    silent = worlds.write_cell(tmp_path, "silent", worlds.beliefs([*PARTS["test"], *PARTS["seen_test"]]))
    with pytest.raises(
        InputError, match="target is label_generator, but the requests were not given; train with --comp"
    ):
        DECODINGS["joint"](case(final=silent, target="label_generator"))


def test_a_calibrated_row_had_no_part_in_its_calibration():
    rng = np.random.default_rng(0)
    p, gold = rng.random((40, 3)), rng.random((40, 3)) > 0.5
    before = cross_calibrated(p, gold)
    gold[7] = ~gold[7]
    after = cross_calibrated(p, gold)
    assert (before[7] == after[7]).all() and (before[8] != after[8]).any()
    assert cross_calibrated(p[:0], gold[:0]).shape == (0, 3)


# ---------------------------------------------------------------- no label of the test set


class Closed(Case):
    """A case whose test labels nobody may open."""

    @property
    def truth(self):
        raise AssertionError("a decoding looked at labels of the test set")


class Shut(dict):
    def __missing__(self, part):
        raise AssertionError(f"a decoding looked at labels of {part}")


class ClosedGold:
    """Gold of which the parts that are tested on are shut."""

    def __init__(self, gold):
        self.labels, self.whole = gold.labels, gold
        self.parts = Shut({name: part for name, part in gold.parts.items() if name not in PART_OF_SPLIT.values()})

    def matrix(self, part, ids=None):
        assert part in self.parts, f"a decoding looked at labels of {part}"
        return self.whole.matrix(part, ids)


@pytest.mark.parametrize("matched", [False, True], ids=["folds", "matched"])
@pytest.mark.parametrize("decoding", DECODINGS)
def test_no_decoding_looks_at_a_label_of_the_test_set(case, decoding, matched):
    """docs/spec/acceptance.md, E5: choices are made on validation rows, and on support rows that the folds held out."""
    whole = case()
    folds = [whole.final] if matched else whole.folds
    closed = Closed(whole.final, ClosedGold(whole.gold), whole.test, folds, whole.options, 0.5, matched)
    opened = Case(whole.final, whole.gold, whole.test, folds, whole.options, 0.5, matched)
    decoded, expected = DECODINGS[decoding](closed), DECODINGS[decoding](opened)
    assert all((decoded.sets[split] == expected.sets[split]).all() for split in ("seen", "unseen"))
    with pytest.raises(AssertionError, match="looked at labels"):
        decoded.ranking(closed)  # a measure does


def test_the_matched_arm_chooses_on_the_rows_that_it_held_out(case):
    """16 rows of D_train on the one side; a synthetic and a support row, which its validation has, on the other."""
    whole = case()
    held = held_out_of(whole.final, False)
    assert (len(held.seen), len(held.unseen)) == (16, 2)
    assert held.unseen_gold.tolist() == [[True, False, False]] * 2
    assert (held.unseen == whole.final.validation[16:]).all() and (held.seen == whole.final.validation[:16]).all()
    calibrated = held_out_of(whole.final, True)
    assert not np.allclose(calibrated.seen, held.seen) and (calibrated.seen_gold == held.seen_gold).all()
