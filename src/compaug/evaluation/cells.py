"""The cells of one experiment, from their files: what each is worth under each decoding, on the test rows that all of them predict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from compaug import shapes
from compaug.augmented_language import OTHER, REASONS
from compaug.evaluation import errors
from compaug.evaluation import gold as golds
from compaug.evaluation import predictions as predicted
from compaug.evaluation.composition_prior import harmonic_mean
from compaug.evaluation.decoding import DECODINGS, PART_OF_SPLIT, Case
from compaug.evaluation.metrics import percent, rates
from compaug.evaluation.predictions import Predictions
from compaug.experiments import NONE, OF_GENERATORS, ORACLE, REAL_TEXTS, Cell, Experiment
from compaug.records import InputError, read_json

ANY = "any"  # decoding of what no decoding changes
BAYES = "bayes"  # generator and classifier of the ceilings of a known grammar
CHOSEN = {"composition_prior", "uncalibrated", "stacking", "crm", "em", "map_em"}  # what is chosen on folds

Metrics = dict[str, dict[str, float]]  # split -> name -> value


@dataclass(frozen=True)
class Folders:
    """What the heavy stages left: files named after cells, benchmarks, kept texts and generators."""

    predictions: Path
    gold: Path
    quality: Path
    judged: Path
    representations: Path
    interpolation: Path
    distances: Path

    def of(self, cell: Cell) -> Path:
        return self.predictions / f"{cell.name}.jsonl.gz"

    def measured(self, measure: str, cell: Cell) -> Path:
        """Where a measure (`experiments.MEASURES`) of a cell's texts, or of the generator behind them, stands."""
        name = cell.generator_name if measure in OF_GENERATORS else cell.selected_name
        folder = self.judged if measure == "judge" else getattr(self, measure)
        return folder / f"{name}.json"


@dataclass(frozen=True)
class Outcome:
    """One cell under one decoding: its metrics, which test rows are right {split: bool [n]}, and the wrong predictions of the first split
    under threshold."""

    cell: Cell
    decoding: str
    metrics: Metrics
    right: Mapping[str, np.ndarray] = field(default_factory=dict)
    confusions: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass
class Found:
    """One experiment: the outcomes that are compared with each other; facts about its cells and ceilings, which are not; the files that
    are missing; the benchmarks that wait for them; and how many cells have predictions."""

    experiment: Experiment
    outcomes: list[Outcome] = field(default_factory=list)
    others: list[Outcome] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    made: int = 0


class Evaluator:
    """Evaluates experiments; a file that two of them need is read once, a cell on the same rows is evaluated once."""

    def __init__(self, folders: Folders, options, evaluation, partial: bool = False):
        """`options`, `evaluation`: the blocks `composition_prior` and `evaluation` of params.yaml. `partial`: evaluate the cells that are
        there also where an experiment lacks some of a benchmark, whose means would then be of other seeds or generators than its table says.
        """
        self.folders, self.options, self.evaluation, self.partial = folders, options, evaluation, partial
        self.gold = cache(lambda benchmark: golds.read(folders.gold / f"{benchmark}.jsonl.gz"))
        self.predictions = cache(self._predictions)
        self.outcomes = cache(self._outcomes)
        self.measure = cache(lambda path, shape: read_json(path, shape) if path.exists() else None)

    def _predictions(self, cell: Cell) -> Predictions:
        return predicted.read(self.folders.of(cell), len(self.gold(cell.corpus).labels))

    def evaluate(self, experiment: Experiment) -> Found:
        found, evaluated = Found(experiment), set()
        for benchmark in dict.fromkeys(cell.models for cell in experiment.cells):
            cells = [cell for cell in experiment.cells if cell.models == benchmark]
            there = [cell for cell in cells if self.folders.of(cell).exists()]
            found.made += len(there)
            if not there:
                continue
            found.missing += [self.folders.of(cell) for cell in cells if cell not in set(there)]
            if len(there) < len(cells) and not self.partial:
                found.waiting.append(benchmark)
                continue
            evaluated.add(benchmark)
            self._benchmark(found, there)
        for measure, cells in experiment.measures.items():
            paths = (self.folders.measured(measure, cell) for cell in cells if cell.models in evaluated)
            found.missing += [path for path in dict.fromkeys(paths) if not path.exists()]
        return found

    def _benchmark(self, found: Found, cells: Sequence[Cell]) -> None:
        """The cells of one benchmark that are there."""
        decodings, asked = found.experiment.decodings, set(found.experiment.cells)
        corrected = bool(CHOSEN & set(decodings))
        common = self._common(cells)
        halves: dict[Cell, list[tuple[Outcome, ...]]] = {}
        for cell in cells:
            folds = _folds(cell, asked) if corrected else ()
            if _is_fold(cell) or not set(folds) <= set(cells):
                continue  # a cell whose fold is missing waits for it; the fold is named
            if cell.generator == REAL_TEXTS:
                rows = self._half(cell)
                halves.setdefault(replace(cell, half=""), []).append(self.outcomes(cell, folds, rows, decodings))
                continue
            compared = found.others if cell.generator == ORACLE else found.outcomes
            compared += self.outcomes(cell, folds, common if cell.split == "cg" else None, decodings)
            found.others.append(self._facts(cell, corrected))
        for cell, pair in halves.items():
            if len(pair) == 2:
                found.others += [_mean(cell, outcomes) for outcomes in zip(*pair, strict=True)]
        if common is None:
            found.others += self._bayes(cells[0])

    # ------------------------------------------------------------ test rows

    def _common(self, cells: Iterable[Cell]) -> tuple[str, ...] | None:
        """Ids of the test rows that all cells predict; None: all of them. Cells with support sets of other sizes are tested on the texts
        that none of these sets has, and so the others are compared with them on these."""
        varied = [cell for cell in cells if _varies_support(cell)]
        if not varied:
            return None
        first, *others = (self.predictions(cell) for cell in varied)
        test = self.gold(varied[0].corpus).parts["test"]
        if not first.ids or not set(first.ids) <= test.keys():
            raise InputError(f"{first.path}: its rows are not those of the gold file; predict again on this split")
        ids = set(first.ids)
        for other in others:
            if set(other.ids) != ids:
                raise InputError(f"{other.path}: its rows are not those of {first.path}; predict again on this split")
        return tuple(row_id for row_id in test if row_id in ids)

    def _half(self, cell: Cell) -> tuple[str, ...]:
        """Ids of the test rows that one half of the ceiling was not given."""
        found, test = self.predictions(cell), self.gold(cell.corpus).parts["test"]
        ids = set(found.ids)
        held = tuple(row_id for row_id in test if row_id in ids)
        if not 0 < len(held) < len(test):
            raise InputError(f"{found.path}: not a half of the test set; run the ceiling stage and train again")
        return held

    # ------------------------------------------------------------ one cell

    def _outcomes(
        self, cell: Cell, folds: tuple[Cell, ...], rows: tuple[str, ...] | None, decodings: tuple[str, ...]
    ) -> tuple[Outcome, ...]:
        """One cell under every decoding; `rows`: those of its test rows that count, None for all."""
        gold, final = self.gold(cell.corpus), self.predictions(cell)
        splits = ("iid",) if cell.split == "iid" else ("unseen", "seen")
        test = {split: tuple(gold.parts.get(PART_OF_SPLIT[split], ())) for split in splits}
        test = {split: ids for split, ids in test.items() if ids}
        whole = cell.generator != REAL_TEXTS and not _varies_support(cell)
        final.check_covers(row_id for ids in (test if whole else test | {"unseen": rows}).values() for row_id in ids)
        if rows is not None:
            test["unseen"] = rows
        case = Case(final, gold, test, [self.predictions(f) for f in folds], self.options, self.evaluation.threshold)
        supported = {split: errors.among(truth, final.support) for split, truth in case.truth.items() if split != "iid"}
        return tuple(self._outcome(cell, case, decoding, supported) for decoding in decodings)

    def _outcome(self, cell: Cell, case: Case, decoding: str, supported: Mapping[str, np.ndarray]) -> Outcome:
        decoded = DECODINGS[decoding](case)
        metrics, right = {}, {}
        for split, truth in case.truth.items():
            sets = decoded.sets[split]
            metrics[split] = rates(truth, sets, self.evaluation.empty_both)
            metrics[split] |= errors.analyse(truth, sets, supported.get(split))
            right[split] = (truth == sets).all(axis=1)
        first = next(iter(metrics))  # iid, or unseen
        if "seen" in right:
            metrics["unseen"]["harmonic"] = percent(
                harmonic_mean(*(right[split].mean() for split in ("seen", "unseen")))
            )
            metrics["unseen"] |= dict(zip(("ausuc", "told"), map(percent, decoded.curve(case)), strict=True))
        metrics[first] |= decoded.control
        if decoded.chosen:
            metrics[first] |= {"weight": decoded.chosen.weight, "strength": decoded.chosen.strength}
            if decoded.chosen.harmonic is not None:
                metrics[first]["held_out"] = percent(decoded.chosen.harmonic)
        threshold = decoding == "threshold"
        confusions = errors.confusions(case.truth[first], decoded.sets[first], case.gold.labels) if threshold else {}
        return Outcome(cell, decoding, metrics, right, confusions)

    def _facts(self, cell: Cell, corrected: bool) -> Outcome:
        """What no decoding changes: counts, Acc on known combinations (rows of D_train held out for validation, threshold), reach of the
        composition prior, measures of the texts and of the generator behind them."""
        found = self.predictions(cell)
        made: dict[str, float] = {"n_train": found.n_train, "n_aug": found.n_synthetic}
        if found.unparsed is not None:
            made |= {"unparsed_rows": int((found.unparsed > 0).sum()), "unparsed_pieces": int(found.unparsed.sum())}
        real = found.source == "train"
        if cell.split == "cg" and real.any():
            sets, truth = (some[real] for some in (found.validation > self.evaluation.threshold, found.validation_gold))
            made["held_out_train_acc"] = percent((sets == truth).all(axis=1).mean())
        if corrected and cell.split == "cg":
            drawn = {} if self.options.target == "support" else found.drawn or {}
            reach = found.learned.keys() | found.support.keys() | drawn.keys()
            made["known"] = percent(errors.among(self.gold(cell.corpus).matrix("test"), reach).mean())
        if cell.generator != NONE and cell.texts is None:  # of the first n texts nothing was measured
            for measure, (shape, facts) in MEASURES.items():
                if measured := self.measure(self.folders.measured(measure, cell), shape):
                    made |= facts(measured)
        return Outcome(cell, ANY, {"iid" if cell.split == "iid" else "unseen": made})

    def _bayes(self, cell: Cell) -> list[Outcome]:
        """The ceilings of a known grammar, by the prior that the Bayes classifier is given; they have no seed."""
        ceiling = replace(cell, seed=0, split="cg", generator=BAYES, classifier=BAYES)
        return [
            Outcome(ceiling, prior, {split: metrics})
            for split, priors in self.gold(cell.corpus).facts.get("bayes", {}).items()
            for prior, metrics in priors.items()
        ]


def _is_fold(cell: Cell) -> bool:
    return bool(cell.half) and cell.generator != REAL_TEXTS


def _varies_support(cell: Cell) -> bool:
    return (cell.label_support, cell.text_support, cell.support) != (None, None, None)


def _folds(cell: Cell, asked: set[Cell]) -> tuple[Cell, ...]:
    """The folds that a cell's weights are chosen on: its own; else those of the same generator's texts as selected by default; of the
    ceiling those of the cell without augmentation. () where the experiment asks for none of them."""
    whole = replace(cell, half="", generator=NONE if cell.generator == REAL_TEXTS else cell.generator)
    for some in (whole, replace(whole, selection="", texts=None)):
        folds = (replace(some, half="a"), replace(some, half="b"))
        if set(folds) <= asked:
            return folds
    return ()


def _mean(cell: Cell, outcomes: Sequence[Outcome]) -> Outcome:
    """Of both halves; what one of them has no number for is left out."""
    first, second = (outcome.metrics for outcome in outcomes)
    metrics = {
        split: {name: (value + second[split][name]) / 2 for name, value in values.items() if name in second[split]}
        for split, values in first.items()
    }
    return Outcome(cell, outcomes[0].decoding, metrics)


# ---------------------------------------------------------------- measures of texts and generators


def _quality(measured: Mapping) -> dict[str, float]:
    apart = ("fidelity", "selection", "label_generator", "samples")
    made = _flat("quality", {name: value for name, value in measured.items() if name not in apart})
    made |= _flat("fidelity", {name: (measured.get("fidelity") or {}).get(name) for name in ("raw", "kept")})
    counts = measured["selection"]
    made |= _flat("n", {name: counts.get(name) for name in ("requested", "produced", "kept")})
    if (asked := counts.get("requested")) and (dropped := counts.get("dropped")) is not None:
        lost = {
            "readable": asked - sum(dropped.get(why, 0) for why in ("blank", *REASONS)),
            "other": dropped.get(OTHER),
        }
        made |= _flat("written", {name: 100 * n / asked for name, n in lost.items() if n is not None})
    return made


def _flat(prefix: str, values: Mapping) -> dict[str, float]:
    """{"copied": {"exact": 1}} as {"<prefix>_copied_exact": 1}; what has no number is left out."""
    made: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            made |= _flat(f"{prefix}_{name}", value)
        elif value is not None:
            made[f"{prefix}_{name}"] = value
    return made


def _judged(measured: Mapping) -> dict[str, float]:
    return _flat("judged", measured["judged"]) | _flat("reader", measured["reader"])


def _represented(measured: Mapping) -> dict[str, float]:
    views = measured["views"].items()
    return {
        name: value
        for score in ("silhouette", "probe")
        for name, value in _flat(score, {view: found.get(score) for view, found in views}).items()
    }


def _interpolated(measured: Mapping) -> dict[str, float]:
    """{"between_precision_a_0.5": ...}, and the two texts of a pair against each other."""
    made = _flat("between_pair", measured["between"]) | _flat("between_spearman", measured["spearman"])
    for alpha, found in measured["alphas"].items():
        made |= {f"between_{name}_{alpha}": value for name, value in found.items() if value is not None}
    return made


def _distances(measured: Mapping) -> dict[str, float]:
    """{"distance_support_fd": ...}: of the kept texts, to the support texts and to those of D_train."""
    return _flat("distance", measured)


MEASURES = {  # the type of its files, and what they say of a cell
    "quality": (shapes.Quality, _quality),
    "judge": (shapes.Judged, _judged),
    "representations": (shapes.Representations, _represented),
    "interpolation": (shapes.Interpolation, _interpolated),
    "distances": (shapes.Distances, _distances),
}
