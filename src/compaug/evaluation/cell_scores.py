"""The cells of one experiment, from the packs: the metrics of each under each decoding.

The cells of a benchmark are evaluated on the test rows that all of them predict.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from compaug.core.files import InputError
from compaug.evaluation import errors, measures
from compaug.evaluation import gold as golds
from compaug.evaluation.decoding import knowledge
from compaug.evaluation.decoding.composition_prior import ausuc, harmonic_mean, seen_unseen_scores
from compaug.evaluation.decoding.decodings import DECODINGS, PART_OF_SPLIT, Case
from compaug.evaluation.decoding.knowledge import Ranking
from compaug.evaluation.metrics import percent, rates
from compaug.evaluation.packs import Packs
from compaug.evaluation.predictions import Predictions
from compaug.evaluation.text_quality import ratings
from compaug.experiments.cells import NONE, OF_GENERATORS, ON_FOLDS, ORACLE, REAL_TEXTS, Cell, Experiment
from compaug.generators.joint.augmented_language import OTHER, REASONS

ANY = "any"  # decoding of what no decoding changes
BAYES = "bayes"  # generator and classifier of the ceilings of a known grammar
BEST_CONSTANT = "best_constant"  # the measure of `compaug.evaluation.decoding.knowledge`, in the place of a decoding

KIND_OF_MEASURE = {"judge": "judged"}  # the others have one name as a stage and as a kind of `measures`

Metrics = dict[str, dict[str, float]]  # split -> name -> value


@dataclass(frozen=True)
class Outcome:
    """One cell under one decoding.

    right, ids: {split: [n]}, which test rows are right, and their ids; confusions: the wrong predictions of the first
    split under threshold; rankings: how its classifier, of the matched arm its two, ranked seen and unseen rows.
    """

    cell: Cell
    decoding: str
    metrics: Metrics
    right: Mapping[str, np.ndarray] = field(default_factory=dict)
    ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    confusions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    rankings: tuple[Ranking, ...] = ()


@dataclass
class Comparison:
    """One experiment's outcomes that are compared with each other, and what is beside them.

    others: facts about the cells, and outcomes of the oracle; missing: names of what is not there; waiting: benchmarks
    that are left out for it; n_predicted: cells that have predictions.
    """

    experiment: Experiment
    outcomes: list[Outcome] = field(default_factory=list)
    others: list[Outcome] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    n_predicted: int = 0


class Evaluator:
    """Evaluates experiments; what two of them need is read once, a cell on the same rows is evaluated once."""

    def __init__(self, reports: Path, options, evaluation, partial: bool = False):
        """`reports` is the folder of predictions/, gold/ and the measures.

        options, evaluation: the blocks `composition_prior` and `evaluation` of params.yaml.

        partial: evaluate the cells that are there also where some of a benchmark are missing; its means are then of
        other seeds or generators than its table says.
        """
        self.options, self.evaluation, self.partial = options, evaluation, partial
        self.packs = Packs(reports / "predictions")
        self.gold = cache(lambda benchmark: golds.read(reports / "gold" / f"{benchmark}.jsonl.gz"))
        self.predictions = cache(lambda cell: self.packs.read(cell.name, len(self.gold(cell.corpus).labels)))
        self.outcomes = cache(self._outcomes)
        self.measures = cache(lambda kind: measures.read(reports, kind))

    def _measure(self, measure: str, cell: Cell) -> tuple[str, Mapping | None]:
        """Kind and name of a measure (`experiments.MEASURES`) in words, and its values, None where they are missing.

        It is of a cell's texts or of the generator behind them.
        """
        name = cell.generator_name if measure in OF_GENERATORS else cell.selected_name
        kind = KIND_OF_MEASURE.get(measure, measure)
        return f"{kind} of {name}", self.measures(kind).get(name)

    def evaluate(self, experiment: Experiment) -> Comparison:
        comparison, evaluated = Comparison(experiment), set()
        for benchmark in dict.fromkeys(cell.models for cell in experiment.cells):
            cells = [cell for cell in experiment.cells if cell.models == benchmark]
            there = [cell for cell in cells if cell.name in self.packs]
            comparison.n_predicted += len(there)
            if not there:
                continue
            comparison.missing += [cell.name for cell in cells if cell not in set(there)]
            if len(there) < len(cells) and not self.partial:
                comparison.waiting.append(benchmark)
                continue
            evaluated.add(benchmark)
            self._benchmark(comparison, there)
        for measure, cells in experiment.measures.items():
            measured = dict(self._measure(measure, cell) for cell in cells if cell.models in evaluated)
            comparison.missing += [words for words, value in measured.items() if value is None]
        return comparison

    def _benchmark(self, comparison: Comparison, cells: Sequence[Cell]) -> None:
        """The cells of one benchmark that are there."""
        decodings, planned = comparison.experiment.decodings, set(comparison.experiment.cells)
        corrected = not set(ON_FOLDS).isdisjoint(decodings)
        common = self._common(cells)
        halves: dict[Cell, list[tuple[Outcome, ...]]] = {}
        outcomes: list[Outcome] = []
        for cell in cells:
            folds = _folds(cell, planned) if corrected else ()
            if _is_fold(cell) or not set(folds) <= set(cells):
                continue  # a cell whose fold is missing waits for it; the fold is named
            if cell.generator == REAL_TEXTS:
                held = dict.fromkeys(self._half(cell))  # in order
                rows = tuple(held) if common is None else tuple(row_id for row_id in common if row_id in held)
                halves.setdefault(replace(cell, half=""), []).append(self.outcomes(cell, folds, rows, decodings))
                continue
            rows = common if cell.split == "cg" else None
            (comparison.others if cell.generator == ORACLE else outcomes).extend(
                self.outcomes(cell, folds, rows, decodings)
            )
            comparison.others.append(self._facts(cell, corrected))
        for cell, pair in halves.items():
            if len(pair) == 2:
                test = common or tuple(self.gold(cell.corpus).parts["test"])
                outcomes += [joined(cell, both, test) for both in zip(*pair, strict=True)]
        comparison.outcomes += with_knowledge(outcomes)
        if common is None:
            comparison.others += self._bayes(cells[0])

    # ------------------------------------------------------------ test rows

    def _common(self, cells: Iterable[Cell]) -> tuple[str, ...] | None:
        """Ids of the test rows that all cells predict, None for all rows.

        Cells with support sets of other sizes are tested on the texts that none of these sets has, and the other cells
        are compared with them on these.
        """
        varied = [cell for cell in cells if _varies_support(cell)]
        if not varied:
            return None
        test = self.gold(varied[0].corpus).parts["test"]
        ids, *others = (set(self.predictions(cell).ids) for cell in varied)
        if not ids & test.keys() or any(other != ids for other in others):
            raise InputError(f"{varied[0].name}: cells with other support sets predict other rows; predict them again")
        return tuple(row_id for row_id in test if row_id in ids)

    def _half(self, cell: Cell) -> tuple[str, ...]:
        """Ids of the test rows that one classifier of the matched arm was not given."""
        ids = set(self.predictions(cell).ids)
        return tuple(row_id for row_id in self.gold(cell.corpus).parts["test"] if row_id in ids)

    # ------------------------------------------------------------ one cell

    def _outcomes(
        self, cell: Cell, folds: tuple[Cell, ...], rows: tuple[str, ...] | None, decodings: tuple[str, ...]
    ) -> tuple[Outcome, ...]:
        """One cell under every decoding; `rows`: those of its test rows that count, None for all."""
        gold, final = self.gold(cell.corpus), self.predictions(cell)
        test = test_rows(gold, cell.split)
        partial = self._half(cell) if cell.generator == REAL_TEXTS else rows if _varies_support(cell) else None
        covered = test if partial is None else test | {"unseen": partial}
        final.check_covers(row_id for ids in covered.values() for row_id in ids)
        if rows is not None:
            test["unseen"] = rows
        matched, held = cell.generator == REAL_TEXTS, [self.predictions(fold) for fold in folds]
        case = Case(final, gold, test, held, self.options, self.evaluation.threshold, matched)
        return tuple(outcome_of(cell, case, decoding, self.evaluation.empty_both) for decoding in decodings)

    def _facts(self, cell: Cell, corrected: bool) -> Outcome:
        """What no decoding changes.

        Counts; Acc on seen combinations (rows of D_train held out for validation, threshold); reach of the composition
        prior; measures of the texts and of the generator behind them.
        """
        predictions = self.predictions(cell)
        facts: dict[str, float] = {"n_train": predictions.n_train, "n_aug": predictions.n_synthetic}
        if (pieces := predictions.unparsed) is not None:
            facts |= {"unparsed_rows": int((pieces > 0).sum()), "unparsed_pieces": int(pieces.sum())}
        if cell.split == "cg":
            facts |= self._on_validation_rows(cell, predictions)
            if corrected:
                drawn = {} if self.options.target == "support" else predictions.drawn or {}
                reach = predictions.learned.keys() | predictions.support.keys() | drawn.keys()
                facts["known"] = percent(errors.among(self.gold(cell.corpus).matrix("test"), reach).mean())
        if cell.generator != NONE and cell.texts is None:  # of the first n texts nothing was measured
            for measure, facts_of in MEASURES.items():
                if measured := self._measure(measure, cell)[1]:
                    facts |= facts_of(measured)
            if "judged_classifier_acc" in facts:
                facts |= _flat("reader", self._on_real_texts(cell))
        return Outcome(cell, ANY, {"iid" if cell.split == "iid" else "unseen": facts})

    def _on_validation_rows(self, cell: Cell, predictions: Predictions) -> dict[str, float]:
        """Acc on the rows of D_train that the classifier held out for validation, other rows in every cell.

        Where the split holds out no seen rows, also AUSUC with these as the seen side.
        """
        real, gold = predictions.source == "train", self.gold(cell.corpus)
        if not real.any():
            return {}
        right = (predictions.validation > self.evaluation.threshold) == predictions.validation_gold
        facts = {"held_out_train_acc": percent(right[real].all(axis=1).mean())}
        if "seen_test" in gold.parts or cell.generator == REAL_TEXTS:
            return facts
        predicted = set(predictions.ids)
        ids = [row_id for row_id in gold.parts["test"] if row_id in predicted]
        prior = Case(predictions, gold, {}, (), self.options, self.evaluation.threshold).listed()
        sides = (
            (predictions.validation[real], predictions.validation_gold[real]),
            (predictions.of(ids), gold.matrix("test", ids)),
        )
        nothing = np.zeros(len(prior.train))
        area, _ = ausuc(*(seen_unseen_scores(p, prior, truth, nothing) for p, truth in sides))
        return facts | {"held_out_ausuc": percent(area)}

    def _on_real_texts(self, cell: Cell) -> dict[str, float]:
        """How the classifier that read the kept texts reads real ones of its test set (`ratings.shares_of_real`)."""
        measured = self._measure("quality", cell)[1]
        if not measured or cell.reader.name not in self.packs:
            return {}
        gold = self.gold(cell.corpus)
        real = gold.parts.get(PART_OF_SPLIT["iid"], {})
        read = self.predictions(cell.reader).of(list(real)) > self.evaluation.threshold
        per_composition = measured["selection"].get("per_composition", {}).items()
        kept = {gold.labels.composition(key): counts.get("kept") or 0 for key, counts in per_composition}
        return ratings.shares_of_real(list(real.values()), read, set(gold.parts["train"].values()), kept)

    def _bayes(self, cell: Cell) -> list[Outcome]:
        """The ceilings of a known grammar, by the prior that the Bayes classifier is given; they have no seed."""
        ceiling = replace(cell, seed=0, split="cg", generator=BAYES, classifier=BAYES)
        return [
            Outcome(ceiling, prior, {split: metrics})
            for split, priors in self.gold(cell.corpus).facts.get("bayes", {}).items()
            for prior, metrics in priors.items()
        ]


def test_rows(gold: golds.Gold, split: str) -> dict[str, tuple[str, ...]]:
    """Ids of the test rows that a cell of this split has, by test set: iid, or unseen and seen where there are any."""
    names = ("iid",) if split == "iid" else ("unseen", "seen")
    return {name: tuple(ids) for name in names if (ids := gold.parts.get(PART_OF_SPLIT[name]))}


def outcome_of(cell: Cell, case: Case, decoding: str, empty_both: str) -> Outcome:
    """One cell under one decoding; `empty_both`: what two empty sets count for (`evaluation` in params.yaml)."""
    decoded = DECODINGS[decoding](case)
    metrics, right = {}, {}
    for split, truth in case.truth.items():
        sets = decoded.sets[split]
        supported = None if split == "iid" else errors.among(truth, case.final.support)
        metrics[split] = rates(truth, sets, empty_both) | errors.analyse(truth, sets, supported)
        right[split] = (truth == sets).all(axis=1)
    first, rankings, confusions = next(iter(metrics)), (), {}  # first: iid, or unseen
    if "iid" in right:  # what the random split learns of the combinations that the compositional one holds out
        held_out = ~errors.among(case.truth["iid"], set(case.gold.parts["train"].values()))
        if held_out.any():
            shown = {"acc_held_out": percent(right["iid"][held_out].mean()), "n_held_out": int(held_out.sum())}
            metrics["iid"] |= shown
    if "seen" in right:
        ranking = decoded.ranking(case)
        area, curve = ausuc(ranking.ranked["seen"], ranking.ranked["unseen"])
        metrics["unseen"] |= {
            "harmonic": _harmonic(right),
            "ausuc": percent(area),
            "told": percent(harmonic_mean(*curve.max(axis=0))),
        }
    if decoding == "threshold":
        confusions = errors.confusions(case.truth[first], decoded.sets[first], case.gold.labels)
        if "seen" in right:
            rankings = (ranking,)
            if case.folds:
                metrics["unseen"]["fold_ausuc"] = percent(knowledge.fold_ausuc(case.calibrated_folds))
    metrics[first] |= decoded.facts
    return Outcome(cell, decoding, metrics, right, case.test, confusions, rankings)


def _harmonic(right: Mapping[str, np.ndarray]) -> float:
    """H of seen and unseen Acc, from which rows are right."""
    return percent(harmonic_mean(right["seen"].mean(), right["unseen"].mean()))


def _is_fold(cell: Cell) -> bool:
    return bool(cell.half) and cell.generator != REAL_TEXTS


def _varies_support(cell: Cell) -> bool:
    return (cell.label_support, cell.text_support, cell.support) != (None, None, None)


def _folds(cell: Cell, planned: set[Cell]) -> tuple[Cell, ...]:
    """The folds that a cell's weights are chosen on, () where the experiment plans none of them.

    They are its own, else those of the same generator's texts as selected by default. For the matched arm it is the
    classifier itself, since the other one has held out texts that this one is tested on.
    """
    if cell.generator == REAL_TEXTS:
        return (cell,)
    for whole in (cell, replace(cell, selection="", texts=None)):
        folds = (replace(whole, half="a"), replace(whole, half="b"))
        if set(folds) <= planned:
            return folds
    return ()


def joined(cell: Cell, outcomes: Sequence[Outcome], test: Sequence[str]) -> Outcome:
    """The matched arm from its two classifiers.

    Each was tested on the half of the unseen rows that the other one has learned. Every unseen row is right or wrong; a
    seen row, which both predict, may be half right. H is of these rows.
    """
    first, second = (outcome.metrics for outcome in outcomes)
    metrics = {split: _mean(values, second[split]) for split, values in first.items()}
    metrics["unseen"] |= errors.of_both(first["unseen"], second["unseen"])
    right = _of_both([(outcome.ids["unseen"], outcome.right) for outcome in outcomes], test)
    ids = {"unseen": test}
    if "seen" in first:
        ids["seen"] = outcomes[0].ids["seen"]
        metrics["unseen"]["harmonic"] = _harmonic(right)
    rankings = tuple(ranking for outcome in outcomes for ranking in outcome.rankings)
    return Outcome(cell, outcomes[0].decoding, metrics, right, ids, rankings=rankings)


def _mean(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, float]:
    """Of each metric; what one of them has no number for is left out."""
    return {name: (value + second[name]) / 2 for name, value in first.items() if name in second}


def _of_both(parts: Sequence[tuple[Sequence[str], Mapping[str, np.ndarray]]], test: Sequence[str]) -> dict:
    """Which rows are right by side, float [n], from classifiers that share the unseen rows and predict all seen ones.

    parts: of each the ids of its unseen rows, and which rows are right by side; test: all unseen ids in their order.
    """
    unseen = dict(itertools.chain(*(zip(ids, right["unseen"], strict=True) for ids, right in parts)))
    joint = {"unseen": np.array([unseen[row_id] for row_id in test], dtype=float)}
    if "seen" in parts[0][1]:
        joint["seen"] = np.mean([right["seen"] for _, right in parts], axis=0)
    return joint


# ---------------------------------------------------------------- knowledge apart from the operating point


def with_knowledge(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes; those with rankings of both sides get `acc_at_seen`, and another outcome at the best constant."""
    best = {outcome.cell: _at_best_constant(outcome) for outcome in outcomes if outcome.rankings}
    levels = {cell: outcome.right["seen"].mean() for cell, outcome in best.items() if cell.generator == NONE}
    whole = []
    for outcome in outcomes:
        level = levels.get(_without_texts(outcome.cell)) if outcome.rankings else None
        reached = [] if level is None else [ranking.accuracy_at(level) for ranking in outcome.rankings]
        if reached and None not in reached:
            unseen = outcome.metrics["unseen"] | {"acc_at_seen": percent(np.mean(reached))}
            outcome = replace(outcome, metrics=outcome.metrics | {"unseen": unseen})
        whole.append(outcome)
    return [*whole, *best.values()]


def _at_best_constant(outcome: Outcome) -> Outcome:
    each = [(r.ids["unseen"], knowledge.right_at_best_constant(r)) for r in outcome.rankings]
    right = _of_both(each, outcome.ids["unseen"])
    metrics = {split: {"acc": percent(rows.mean()), "n": len(rows)} for split, rows in right.items()}
    metrics["unseen"]["harmonic"] = _harmonic(right)
    return Outcome(outcome.cell, BEST_CONSTANT, metrics, right, outcome.ids)


def _without_texts(cell: Cell) -> Cell:
    """The cell whose Acc on seen rows is the level of `acc_at_seen`: the same classifier, benchmark and seed."""
    return Cell(cell.benchmark, cell.seed, cell.scale, cell.split_options, classifier=cell.classifier)


# ---------------------------------------------------------------- measures of texts and generators


def _quality(measured: Mapping) -> dict[str, float]:
    apart = ("fidelity", "selection", "label_generator", "samples")
    fidelity, counts = measured.get("fidelity") or {}, measured["selection"]
    metrics = _flat("quality", {name: value for name, value in measured.items() if name not in apart})
    metrics |= _flat("fidelity", {name: fidelity.get(name) for name in ("raw", "kept")})
    metrics |= _flat("n", {name: counts.get(name) for name in ("requested", "produced", "kept")})
    n_requests, dropped = counts.get("requested"), counts.get("dropped")
    if n_requests and dropped is not None:
        readable = n_requests - sum(dropped.get(why, 0) for why in ("blank", *REASONS))
        metrics["written_readable"] = 100 * readable / n_requests
        if OTHER in dropped:
            metrics["written_other"] = 100 * dropped[OTHER] / n_requests
    return metrics


def _flat(prefix: str, values: Mapping) -> dict[str, float]:
    """{"copied": {"exact": 1}} as {"<prefix>_copied_exact": 1}; what has no number is left out."""
    flat: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(f"{prefix}_{name}", value)
        elif value is not None:
            flat[f"{prefix}_{name}"] = value
    return flat


def _represented(measured: Mapping) -> dict[str, float]:
    return {
        f"{score}_{view}": scores[score]
        for score in ("silhouette", "probe")
        for view, scores in measured["views"].items()
        if scores.get(score) is not None
    }


def _interpolated(measured: Mapping) -> dict[str, float]:
    """{"between_precision_a_0.5": ...}, and the two texts of a pair against each other."""
    metrics = _flat("between_pair", measured["between"]) | _flat("between_spearman", measured["spearman"])
    for alpha, at_alpha in measured["alphas"].items():
        metrics |= {f"between_{name}_{alpha}": value for name, value in at_alpha.items() if value is not None}
    return metrics


MEASURES = {  # and what they say of a cell
    "quality": _quality,
    "judge": lambda measured: _flat("judged", measured["judged"]),
    "representations": _represented,
    "interpolation": _interpolated,
    "distances": lambda measured: _flat("distance", measured),  # of the kept texts to support texts and to D_train
}
