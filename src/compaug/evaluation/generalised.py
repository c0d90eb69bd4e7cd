"""The generalised protocol: one classifier's predictions under several decodings, on seen and on unseen compositions.

A decoding is a function from probabilities to label sets; the composition prior's weights are chosen on held-out rows of the
training data (cross-fitted: the classifiers of the folds have not seen them), never on a test set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compaug.evaluation.composition_prior import (
    STRENGTHS,
    WEIGHTS,
    Composition,
    Fold,
    Prior,
    Weights,
    ausuc,
    calibrate,
    choose,
    decode,
    em_target,
    harmonic_mean,
    prior_of,
    seen_unseen_scores,
    target_of,
)
from compaug.evaluation.decoding import read_validation
from compaug.evaluation.metrics import DECIMALS, evaluate, label_matrix, percent, read_predictions
from compaug.records import Example, InputError, Labels, iter_rows, label_ids, read_jsonl

UNSEEN_METRICS = ("jacc", "corr", "comp")
FOLDS = ("a", "b")


@dataclass(frozen=True)
class Trained:
    """One trained classifier: its predictions.jsonl and the rows that it was trained and validated on."""

    predictions: Path
    train: Sequence[Example]  # D_train
    added: Sequence[Example]  # support and synthetic rows


def prior_for(
    trained: Trained, support: Sequence[Example], drawn: Sequence[Composition], source: str, labels: Labels
) -> Prior:
    """P_train of everything that the classifier was trained on; `seen` are the compositions of D_train alone."""
    target = target_of([e.labels for e in support], drawn, source)
    learned = [e.labels for e in (*trained.train, *trained.added)]
    known = {e.labels for e in trained.train}
    return prior_of(learned, target, len(labels), [e.labels for e in support], known)


def fold_of(
    trained: Trained, held: Sequence[Example], support: Sequence[Example], calibrated: bool, labels: Labels
) -> Fold:
    """Held-out rows of one fold: the validation rows that come from D_train, and the support rows that it was not given. P_t is that
    of its own half of the support set, whatever the final source is: label generator samples know all of it (as do the generator
    and the filter behind its synthetic rows, of which only copies of held-out texts are left out). A validation row is calibrated
    without itself."""
    n = len(labels)
    validation, gold = read_validation(trained.predictions, [*trained.train, *trained.added], n)
    ids = [row["id"] for _, row in iter_rows(trained.predictions) if row["split"] == "validation"]
    real = np.isin(ids, [e.id for e in trained.train])
    unseen = read_predictions(trained.predictions, [e.id for e in held], n)
    if calibrated:
        adjust, validation = calibrate(validation, gold), cross_calibrated(validation, gold)
        unseen = adjust(unseen)
    held_gold = label_matrix([e.labels for e in held], n)
    prior = prior_for(trained, support, [], "support", labels)
    return Fold(prior, validation[real], gold[real], unseen, held_gold)


def cross_calibrated(probabilities: np.ndarray, gold: np.ndarray, parts: int = 5) -> np.ndarray:
    """Every row adjusted by a calibration on the rows of the other parts: fitted to itself it would look better than a new row does."""
    part = np.arange(len(probabilities)) % parts
    made = probabilities.astype(np.float64)
    for at in range(parts):
        own = part == at
        made[own] = calibrate(probabilities[~own], gold[~own])(probabilities[own])
    return made


def read_drawn(path: Path, n_labels: int) -> list[Composition]:
    """What the label generator drew, the requests of `path`. InputError names file and line."""
    drawn = []
    for number, row in iter_rows(path):
        try:
            drawn.append(label_ids(row["requested_labels"], n_labels))
        except (KeyError, TypeError, InputError):
            raise InputError(
                f"{path}:{number}: `requested_labels` is no list of label ids; run label_generator again"
            ) from None
    return drawn


def folds_of(
    folder: Path,
    predictions: Sequence[Path],
    train: Sequence[Example],
    labels: Labels,
    calibrated: bool,
) -> list[Fold]:
    """The folds of a cell: what the stage `folds` wrote into `folder`, and the predictions.jsonl of their classifiers."""
    made = []
    for name, path in zip(FOLDS, predictions, strict=True):
        support, synthetic, held = (
            read_jsonl(folder / name / f"{part}.jsonl", len(labels)) for part in ("support", "synthetic", "held")
        )
        made.append(fold_of(Trained(path, train, [*support, *synthetic]), held, support, calibrated, labels))
    return made


def results(
    final: Trained,
    parts: Mapping[str, Sequence[Example]],
    support: Sequence[Example],
    drawn: Sequence[Composition],
    folds: Sequence[Fold],
    plain_folds: Sequence[Fold],
    options,
    labels: Labels,
    empty_both: str,
) -> dict:
    """{"decodings": {decoding: result}, "known": percent of the unseen rows whose composition is a candidate}; `parts` are the test
    sets "seen" and "unseen". `plain_folds`: the same rows without calibration.

    threshold: labels above 0.5. joint: the best known composition, uncorrected. composition_prior: corrected, on calibrated
    probabilities. uncalibrated: the same without calibration. em: with P_t re-estimated from the test texts, transductive.
    """
    n = len(labels)
    for name, rows in parts.items():
        if not rows:
            raise InputError(
                f"the {name} test set has no row; set split.seen_test and split.test_share, and split again"
            )
    validation = read_validation(final.predictions, [*final.train, *final.added], n)
    adjust = calibrate(*validation) if options.calibrate else np.asarray
    everything = read_predictions(final.predictions, [e.id for rows in parts.values() for e in rows], n)
    ends = np.cumsum([len(rows) for rows in parts.values()])[:-1]
    raw = dict(zip(parts, np.split(everything, ends), strict=True))
    gold = {name: label_matrix([e.labels for e in rows], n) for name, rows in parts.items()}
    calibrated = {name: adjust(p) for name, p in raw.items()}
    prior = prior_for(final, support, drawn, options.target, labels)
    weights, plain = weights_of(folds, options), weights_of(plain_folds, options)
    moved = Prior(
        prior.candidates, prior.train, em_target(np.concatenate(list(calibrated.values())), prior), prior.seen
    )

    def result(predicted, scored: Mapping[str, tuple], chosen: Weights | None = None) -> dict:
        right = {name: (predicted[name] == gold[name]).all(1) for name in parts}
        accuracy = {name: float(rows.mean()) for name, rows in right.items()}
        metrics = evaluate(gold["unseen"], predicted["unseen"], labels, empty_both)
        made = {name: percent(value) for name, value in accuracy.items()}  # seen, unseen
        made |= {
            "harmonic": percent(harmonic_mean(*accuracy.values())),
            "ausuc": percent(ausuc(scored["seen"], scored["unseen"])[0]),
        }
        made |= {f"unseen_{name}": metrics[name] for name in UNSEEN_METRICS}
        made["correct"] = {name: "".join("1" if value else "0" for value in rows) for name, rows in right.items()}
        if chosen:
            made |= {"weight": chosen.weight, "strength": chosen.strength, "held_out": percent(chosen.harmonic)}
        return made

    def scored(p: Mapping[str, np.ndarray], some: Prior, weight: float, strength: float) -> dict:
        return {name: seen_unseen_scores(p[name], some, gold[name], weight, strength) for name in parts}

    def corrected(p: Mapping[str, np.ndarray], some: Prior, chosen: Weights) -> dict:
        sets = {name: decode(p[name], some, chosen.weight, chosen.strength, options.back_off) for name in parts}
        return result(sets, scored(p, some, chosen.weight, chosen.strength), chosen)

    uncorrected = scored(raw, prior, 0.0, 0.0)
    decodings = {
        "threshold": result({name: p > 0.5 for name, p in raw.items()}, uncorrected),
        "joint": result({name: decode(p, prior, 0.0, 0.0, back_off=False) for name, p in raw.items()}, uncorrected),
        "composition_prior": corrected(calibrated, prior, weights),
        "uncalibrated": corrected(raw, prior, plain),
        "em": corrected(calibrated, moved, weights),
    }
    candidates = set(map(tuple, prior.candidates))
    known = np.mean([tuple(row) in candidates for row in gold["unseen"]])
    return {"decodings": decodings, "known": percent(float(known))}


def corrected(
    probabilities: np.ndarray,
    trained: Trained,
    support: Sequence[Example],
    drawn: Sequence[Composition],
    options,
    labels: Labels,
) -> np.ndarray:
    """Label sets [n, n_labels] by the composition prior with the weight and strength of `options`, for a cell without folds. Without
    support rows (the iid arm) the target is the training data."""
    if support:
        prior = prior_for(trained, support, drawn, options.target, labels)
    else:
        prior = prior_for(trained, trained.train, [], "support", labels)
    validation = read_validation(trained.predictions, [*trained.train, *trained.added], len(labels))
    adjust = calibrate(*validation) if options.calibrate else np.asarray
    return decode(adjust(probabilities), prior, options.weight, options.strength, options.back_off)


def weights_of(folds: Sequence[Fold], options) -> Weights:
    """The best on the folds; what params.yaml sets is not searched."""
    weights = WEIGHTS if options.weight is None else (options.weight,)
    strengths = STRENGTHS if options.strength is None else (options.strength,)
    return choose(folds, weights, strengths, options.back_off)


# ---------------------------------------------------------------- ceilings

CEILING_DECODINGS = ("threshold", "composition_prior")
CEILING_METRICS = ("seen", "unseen", "harmonic", "ausuc")


def mean_of(halves: Sequence[Mapping]) -> dict:
    """The two decodings' metrics, averaged over halves of the test set (cross-fitted)."""
    return {
        decoding: {
            metric: round(float(np.mean([half[decoding][metric] for half in halves])), DECIMALS)
            for metric in CEILING_METRICS
        }
        for decoding in CEILING_DECODINGS
    }


def bayes(grammar, learned: Sequence[Example], parts: Mapping[str, Sequence[Example]]) -> dict:
    """The exact Bayes classifier of a known grammar: under the compositions of the training rows (in the place of `threshold`), and
    under those mixed with the compositions of the unseen test rows, at the weight of the best harmonic mean on the test sets."""
    train, target = (_shares(examples) for examples in (learned, parts["unseen"]))

    def scores(weight: float) -> dict[str, float]:
        mixed = {c: (1 - weight) * train.get(c, 0.0) + weight * target.get(c, 0.0) for c in train | target}
        right = {
            name: [
                tuple(said) == example.labels
                for said, example in zip(grammar.bayes_predictions([e.text for e in some], mixed), some, strict=True)
            ]
            for name, some in parts.items()
        }
        accuracy = {name: float(np.mean(rows)) for name, rows in right.items()}
        made = {name: percent(value) for name, value in accuracy.items()}
        return made | {"harmonic": percent(harmonic_mean(*accuracy.values()))}

    best = max((scores(weight) for weight in WEIGHTS), key=lambda found: found["harmonic"])
    return dict(zip(CEILING_DECODINGS, (scores(0.0), best), strict=True))


def _shares(examples: Sequence[Example]) -> dict[Composition, float]:
    return {c: n / len(examples) for c, n in Counter(e.labels for e in examples).items()}
