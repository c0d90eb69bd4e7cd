"""Decodings: from one classifier's probabilities to label sets, without training again.

docs/spec/acceptance.md, E3. `DECODINGS` maps a name to a function of a `Case`, a cell's predictions with what is needed
to read them. What a decoding learns, it learns from rows that the classifier was not trained on (validation rows,
held-out support rows of the folds) and never from a test label.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from compaug.core.files import InputError
from compaug.evaluation.decoding import composition_prior, prior_controls
from compaug.evaluation.decoding.composition_prior import (
    Composition,
    Fold,
    Prior,
    Weights,
    best_label_sets,
    calibrate,
    target_of,
)
from compaug.evaluation.decoding.knowledge import Ranking
from compaug.evaluation.gold import Gold
from compaug.evaluation.metrics import percent
from compaug.evaluation.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Case:
    """One trained classifier on the test rows of one comparison.

    test: {split: ids}, split being unseen (the part `test`), seen (`seen_test`) or iid (`iid_test`).

    folds: the predictions of the classifiers that did not see one half of the support set and predict it, empty where
    there are none, of the matched arm its own.

    options, threshold: the blocks `composition_prior` and `evaluation.threshold` of params.yaml.

    matched: it is of the matched arm, which has learned texts of the target, and chooses on those that it held out.
    """

    final: Predictions
    gold: Gold
    test: Mapping[str, Sequence[str]]
    folds: Sequence[Predictions]
    options: object
    threshold: float
    matched: bool = False

    @cached_property
    def raw(self) -> dict[str, np.ndarray]:
        """{split: probabilities [n, n_labels]}"""
        return {split: self.final.of(ids) for split, ids in self.test.items()}

    @cached_property
    def truth(self) -> dict[str, np.ndarray]:
        """{split: gold label sets [n, n_labels]}"""
        return {split: self.gold.matrix(PART_OF_SPLIT[split], ids) for split, ids in self.test.items()}

    @cached_property
    def calibrated(self) -> dict[str, np.ndarray]:
        adjust = calibrate(self.final.validation, self.final.validation_gold)
        return {split: adjust(p) for split, p in self.raw.items()}

    @cached_property
    def prior(self) -> Prior:
        """P_train of all that the classifier learned from; `seen` are the compositions of D_train alone."""
        return _prior(self.final, self.target)

    @cached_property
    def target(self) -> Mapping:
        """P_t, not normalised. On the iid split, and where no source names a combination, that of the training data."""
        if "iid" in self.test:
            return self.final.train
        source = self.options.target
        if source != "support" and self.final.drawn is None:
            raise InputError(
                f"{self.final.path}: composition_prior.target is {source}, but the requests were not given; "
                "train with --compositions"
            )
        return target_of(self.final.support, self.final.drawn or {}, source) or self.final.train

    def listed(self, target: Mapping | None = None) -> Prior:
        """The candidates of the seen-unseen curve: compositions of D_train and of the unseen test rows.

        They are the same for every classifier, since what texts teach is more than that a combination occurs. `target`:
        another P_t.
        """
        compositions = {*self.final.train, *self.gold.parts["test"].values()}
        return _prior(self.final, target or self.target, compositions).among(compositions)

    @cached_property
    def weights(self) -> Weights:
        """Chosen on the folds' calibrated rows."""
        return self.weights_on(self.calibrated_folds)

    @cached_property
    def calibrated_folds(self) -> list[Fold]:
        return self.folds_with(True)

    def folds_with(self, calibrated: bool) -> list[Fold]:
        if self.matched:
            return [held_out_of(learner, calibrated) for learner in self.folds]
        return [fold_of(fold, self.gold, calibrated) for fold in self.folds]

    def weights_on(self, folds: Sequence[Fold]) -> Weights:
        """The best on the folds; what params.yaml sets is not searched, and without folds it has to set both."""
        weight, strength = self.options.weight, self.options.strength
        if folds:
            weights = composition_prior.WEIGHTS if weight is None else (weight,)
            strengths = composition_prior.STRENGTHS if strength is None else (strength,)
            return composition_prior.choose(folds, weights, strengths, self.options.back_off)
        if weight is None or strength is None:
            raise InputError(
                f"{self.final.path}: no folds to choose the composition prior's weights on; add `half: "
                '["", a, b]` to the cell\'s axes, or set composition_prior.weight and .strength in params.yaml'
            )
        return Weights(weight, strength)


PART_OF_SPLIT = {"unseen": "test", "seen": "seen_test", "iid": "iid_test"}


def _prior(learner: Predictions, target: Mapping, more: Collection[Composition] = ()) -> Prior:
    extra = {*learner.support, *more}
    return composition_prior.prior_of(learner.learned, target, learner.test.shape[1], extra, learner.train)


# ---------------------------------------------------------------- the decodings


Correction = Callable[[Prior], np.ndarray]


def uncorrected(prior: Prior) -> np.ndarray:
    return np.zeros(len(prior.train))


@dataclass(frozen=True, eq=False)
class Decoded:
    """Label sets {split: bool [n, n_labels]}, and how they were scored, for the seen-unseen curve.

    probabilities: that the scores are of, by split; correction: what moves the scores of a prior's candidates [K];
    target: P_t where it is not that of the case; facts: what was chosen on the folds, by name.
    """

    sets: Mapping[str, np.ndarray]
    probabilities: Mapping[str, np.ndarray]
    correction: Correction = uncorrected
    target: Mapping | None = None
    facts: Mapping[str, float] = field(default_factory=dict)

    def ranking(self, case: Case) -> Ranking:
        """Of the test rows on both sides."""
        prior = case.listed(self.target)
        correction = self.correction(prior)
        ranked = {
            side: composition_prior.seen_unseen_scores(p, prior, case.truth[side], correction)
            for side, p in self.probabilities.items()
        }
        return Ranking(case.test, ranked)


def _threshold(case: Case) -> Decoded:
    """Labels above the threshold (the paper)."""
    return Decoded({split: p > case.threshold for split, p in case.raw.items()}, case.raw)


def _tuned_thresholds(case: Case) -> Decoded:
    """Labels above the threshold of the label's best F1 on the validation rows."""
    thresholds = tune_thresholds(case.final.validation, case.final.validation_gold, case.threshold)
    return Decoded({split: p > thresholds for split, p in case.raw.items()}, case.raw)


def _joint(case: Case) -> Decoded:
    """The best known composition, uncorrected."""
    sets = {split: best_label_sets(p, case.prior, 0.0, 0.0, back_off=False) for split, p in case.raw.items()}
    return Decoded(sets, case.raw)


def _composition_prior(case: Case) -> Decoded:
    """Corrected by the composition prior, on calibrated probabilities."""
    return _corrected(case, case.calibrated, case.prior, case.weights)


def _uncalibrated(case: Case) -> Decoded:
    """The same without calibration."""
    return _corrected(case, case.raw, case.prior, case.weights_on(case.folds_with(False)))


def _stacking(case: Case) -> Decoded:
    """One constant for all unseen compositions, chosen on the folds; P_t takes no part."""
    constant = prior_controls.best_constant(*prior_controls.held_out_scores(case.calibrated_folds))
    return _moved(case, lambda prior: prior_controls.stacking_correction(prior, constant), {"constant": constant})


def _crm(case: Case) -> Decoded:
    """Compositional Risk Minimization, under the mixed prior: normalised as if training had shown every composition."""
    validation, truth, real = _validation(case.final, True)
    weight = prior_controls.crm_weight(case.calibrated_folds)

    def correction(prior: Prior) -> np.ndarray:
        bias = prior_controls.extrapolated_bias(validation[real], truth[real], prior)
        return prior_controls.crm_correction(prior, bias, weight)

    return _moved(case, correction, {"weight": weight})


def _moved(case: Case, correction: Correction, facts: Mapping[str, float]) -> Decoded:
    moved = correction(case.prior)
    sets = {s: prior_controls.best_candidates(p, case.prior, moved) for s, p in case.calibrated.items()}
    return Decoded(sets, case.calibrated, correction, facts=facts)


def _logit_adjustment(case: Case) -> Decoded:
    """A share of log P_train taken from every composition (logit adjustment), chosen on the folds."""
    strength = prior_controls.adjustment_strength(case.calibrated_folds)
    return _moved(case, lambda prior: prior_controls.adjustment_correction(prior, strength), {"strength": strength})


def _em(case: Case) -> Decoded:
    """P_t estimated again from the texts of all test sets, not from their labels: transductive."""
    return _re_estimated(case, 0.0)


def _map_em(case: Case) -> Decoded:
    """The same with the support rows, and as many of training, as rows that were read already: a Dirichlet prior."""
    return _re_estimated(case, 2.0 * sum(case.final.support.values()))


def _re_estimated(case: Case, pseudo_rows: float) -> Decoded:
    prior, everything = case.prior, np.concatenate(list(case.calibrated.values()))
    target = composition_prior.em_target(everything, prior, pseudo_rows)
    moved = Prior(prior.candidates, prior.train, target, prior.seen)
    by_composition = {tuple(np.flatnonzero(c)): share for c, share in zip(prior.candidates, target, strict=True)}
    return _corrected(case, case.calibrated, moved, case.weights, by_composition)


def _corrected(
    case: Case, probabilities: Mapping[str, np.ndarray], prior: Prior, chosen: Weights, target: Mapping | None = None
) -> Decoded:
    how = chosen.weight, chosen.strength, case.options.back_off
    sets = {split: best_label_sets(p, prior, *how) for split, p in probabilities.items()}
    facts = {"weight": chosen.weight, "strength": chosen.strength}
    if chosen.harmonic is not None:
        facts["held_out"] = percent(chosen.harmonic)
    return Decoded(sets, probabilities, lambda prior: chosen.strength * prior.correction(chosen.weight), target, facts)


DECODINGS: dict[str, Callable[[Case], Decoded]] = {
    "threshold": _threshold,
    "tuned_thresholds": _tuned_thresholds,
    "joint": _joint,
    "composition_prior": _composition_prior,
    "uncalibrated": _uncalibrated,
    "stacking": _stacking,
    "crm": _crm,
    "logit_adjustment": _logit_adjustment,
    "em": _em,
    "map_em": _map_em,
}


# ---------------------------------------------------------------- learned from held-out rows


def tune_thresholds(probabilities: np.ndarray, gold: np.ndarray, default: float) -> np.ndarray:
    """For every label the threshold of the best F1 on these rows (Yang 2001, "SCut").  # [n_labels]

    Half-way between two neighbouring probabilities, of equally good ones the nearest to `default`; `default` for a
    label that no row has.
    """
    thresholds = np.full(probabilities.shape[1], default)
    for label, (scores, truth) in enumerate(zip(probabilities.T, gold.T.astype(bool), strict=True)):
        if not truth.any():
            continue
        cuts = np.unique(scores)
        candidates = np.concatenate([(cuts[1:] + cuts[:-1]) / 2, [0.0, default]])
        above = scores[:, None] > candidates  # [m, candidates]
        hits = (above & truth[:, None]).sum(0)
        f1 = 2 * hits / (above.sum(0) + truth.sum())
        best = np.flatnonzero(f1 >= f1.max() - 1e-12)
        thresholds[label] = candidates[best[np.abs(candidates[best] - default).argmin()]]
    return thresholds


def fold_of(fold: Predictions, gold: Gold, calibrated: bool) -> Fold:
    """Held-out rows of one fold: validation rows that come from D_train, and support rows that it did not have.

    P_t is that of its own half of the support set, whatever the final source is: label generator samples know all of it
    (as do the generator and the filter behind its synthetic rows, of which only copies of held-out texts are left out).
    A validation row is calibrated without itself.
    """
    unseen = calibrate(fold.validation, fold.validation_gold)(fold.test) if calibrated else fold.test
    validation, truth, real = _validation(fold, calibrated)
    prior = _prior(fold, target_of(fold.support, {}, "support"))
    return Fold(prior, validation[real], truth[real], unseen, gold.matrix("support", fold.ids))


def held_out_of(learner: Predictions, calibrated: bool) -> Fold:
    """What a classifier of the matched arm held out for validation, in the place of a fold.

    On the seen side rows of D_train, on the unseen side support rows and those texts of the target that it has. Its
    test rows take no part.
    """
    validation, truth, real = _validation(learner, calibrated)
    prior = _prior(learner, target_of(learner.support, {}, "support"))
    return Fold(prior, validation[real], truth[real], validation[~real], truth[~real])


def _validation(learner: Predictions, calibrated: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities and label sets [m, n_labels] of the validation rows, and which of them are of D_train [m]."""
    p, truth = learner.validation, learner.validation_gold
    return cross_calibrated(p, truth) if calibrated else p, truth, learner.source == "train"


def cross_calibrated(probabilities: np.ndarray, gold: np.ndarray, parts: int = 5) -> np.ndarray:
    """Every row adjusted by a calibration on the rows of the other parts.

    Fitted to itself it would look better than a new row does.
    """
    part = np.arange(len(probabilities)) % parts
    adjusted = probabilities.astype(np.float64)
    for at in range(parts):
        held_out = part == at
        adjust = calibrate(probabilities[~held_out], gold[~held_out])
        adjusted[held_out] = adjust(probabilities[held_out])
    return adjusted
