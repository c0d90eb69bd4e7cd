"""reports/results.csv: one line for each experiment, cell, decoding, split and metric; every table and figure is a query over it.

    experiment,benchmark,scale,generator,selection,classifier,decoding,seed,split,metric,value

experiment  name in configs/experiments.yaml; a cell that two experiments share has its lines in both
benchmark   a block of params.yaml
scale       tiny | pretrained | paper: the sizes of backbones and budgets
generator   none, a generator, with what differs behind a plus sign ("ld_vae+kl_form=reference", "ld_vae+label_support=0"); or a ceiling
            that takes part in no comparison: "real_texts" (halves of the target's real texts in the place of synthetic ones, both halves
            averaged) and "bayes" (the exact classifier of a known grammar)
selection   top_k, or what differs ("mode=random", "scope=per_composition", "score=posterior", "top_k+texts=200")
classifier  bert, ..., "bert+support=250"; of the Bayes classifier "bayes"
decoding    threshold | tuned_thresholds | joint | composition_prior | uncalibrated | em; of the Bayes classifier the prior that it is
            given: training_prior | target_prior | mixed_prior; "any" for facts about the cell that no decoding changes
seed        of the cell; 0 where there is none (the Bayes classifier)
split       iid | unseen | seen: the test set. A generator's cell has unseen (and seen in the generalised protocol), its reference
            without shift is generator none with split iid. Facts and what joins both test sets (harmonic, ausuc) stand under unseen

Metrics of a decoding on a split, in percent as in metrics.json unless named:
    jacc acc corr corr_set comp micro_f1 macro_f1 hamming empty_rate strict_subset strict_superset; n (rows)
    kind_exact kind_subset kind_empty kind_superset kind_overlap kind_disjoint: shares of the rows by kind of answer, adding up to 100
    acc_size_<k>, n_size_<k>: Acc on rows with k gold labels, and their number
    acc_in_support acc_not_in_support n_in_support n_not_in_support: by whether the support set shows the composition (not for iid)
    harmonic ausuc: of seen and unseen Acc (generalised protocol)
    weight strength held_out: of the composition prior, chosen on the folds, and the harmonic mean there
Facts about a cell (decoding any):
    n_train n_aug: real and synthetic rows that it was trained on; n_requested n_produced n_kept: texts asked for, written, selected
    fidelity_raw fidelity_kept: percent of all and of the kept texts with all requested labels and no other (known grammars)
    known: percent of the unseen rows whose composition is a candidate of the composition prior
    unparsed_rows unparsed_pieces: of a classifier that writes its answers
    quality_<measure>: of the kept texts (quality_self_bleu, quality_copied_exact, quality_words_mean, quality_filter_jacc, ...)
    judged_<reader>_<acc|corr|comp>, reader_<acc|corr|comp|n>: what a reader (oracle, classifier) finds in the kept texts against
    what was asked, and how that classifier reads real texts of the same compositions
    silhouette_<latent|state>: of the generator's label representations, from -1 to 1

Values have at most four decimals; lines are sorted; the same inputs give the same bytes. `gains` documents reports/gains.csv.

The cells of an experiment and benchmark are compared on the test rows that all of them predict (all rows, except where support sets of
other sizes have some of them).

reports/confusions.csv has the same first columns, then decoding,split,composition,predicted,rows: the twelve most frequent wrong
predictions of every cell under threshold, in rows over all seeds.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np

from compaug.evaluation import errors
from compaug.evaluation import gold as golds
from compaug.evaluation import predictions as predicted
from compaug.evaluation.composition_prior import harmonic_mean
from compaug.evaluation.decoding import DECODINGS, PART_OF_SPLIT, Case
from compaug.evaluation.gold import Gold
from compaug.evaluation.metrics import DECIMALS, percent, rates
from compaug.evaluation.predictions import Predictions
from compaug.experiments import NONE, REAL_TEXTS, Cell, Experiment
from compaug.records import InputError, read_json, write_text

CELL_COLUMNS = ("experiment", "benchmark", "scale", "generator", "selection", "classifier")
COLUMNS = (*CELL_COLUMNS, "decoding", "seed", "split", "metric", "value")
CONFUSION_COLUMNS = (*CELL_COLUMNS, "decoding", "split", "composition", "predicted", "rows")
ANY = "any"  # decoding of what no decoding changes
CHOSEN = {"composition_prior", "uncalibrated", "em"}  # decodings with a weight and a strength
CONFUSIONS = 12  # pairs that are kept

Row = tuple[str | int | float | None, ...]


@dataclass(frozen=True)
class Folders:
    """What the heavy stages left: files named after cells, benchmarks, kept texts and generators."""

    predictions: Path
    gold: Path
    quality: Path
    judged: Path
    representations: Path

    def of(self, cell: Cell) -> Path:
        return self.predictions / f"{cell.name}.jsonl.gz"


@dataclass(frozen=True)
class Outcome:
    """One cell under one decoding: metrics {split: {name: value}}, and which test rows are right {split: bool [n]}."""

    cell: Cell
    decoding: str
    metrics: Mapping[str, Mapping[str, float]]
    right: Mapping[str, np.ndarray]
    confusions: Mapping[tuple[str, str], int]  # of the first split, under threshold alone


@dataclass
class Found:
    """One experiment: its outcomes, further rows of the long table, and the files that are missing."""

    experiment: Experiment
    outcomes: list[Outcome] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    made: int = 0  # cells that have predictions

    def table(self) -> Iterator[Row]:
        """Rows of results.csv."""
        for outcome in self.outcomes:
            for split, metrics in outcome.metrics.items():
                for name, value in metrics.items():
                    yield self.row(outcome.cell, outcome.decoding, split, name, value)
        yield from self.rows

    def row(self, cell: Cell, decoding: str, split: str, metric: str, value: float) -> Row:
        columns = cell.columns()
        seed = columns.pop("seed")
        return (self.experiment.name, *columns.values(), decoding, seed, split, metric, value)

    def confusions(self) -> Iterator[Row]:
        """Rows of confusions.csv: the most frequent ones of every cell, over its seeds."""
        totals: dict[tuple, Counter[tuple[str, str]]] = {}
        for outcome in self.outcomes:
            *columns, _ = outcome.cell.columns().values()
            totals.setdefault((*columns, outcome.decoding, next(iter(outcome.right))), Counter()).update(
                outcome.confusions
            )
        for key, total in totals.items():
            for pair, n in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:CONFUSIONS]:
                yield (self.experiment.name, *key, *pair, n)


class Evaluator:
    """Evaluates experiments; a file that two of them need is read once, a cell on the same rows is evaluated once."""

    def __init__(self, folders: Folders, options, evaluation):
        """`options`, `evaluation`: the blocks `composition_prior` and `evaluation` of params.yaml."""
        self.folders, self.options, self.evaluation = folders, options, evaluation
        self.gold = cache(lambda benchmark: golds.read(folders.gold / f"{benchmark}.jsonl.gz"))
        self.predictions = cache(self._predictions)
        self.outcomes = cache(self._outcomes)
        self.measured = cache(lambda path: read_json(path) if path.exists() else None)

    def _predictions(self, cell: Cell) -> Predictions:
        return predicted.read(self.folders.of(cell), len(self.gold(cell.benchmark).labels))

    def evaluate(self, experiment: Experiment) -> Found:
        found = Found(experiment)
        there = {cell for cell in experiment.cells if self.folders.of(cell).exists()}
        found.made = len(there)
        found.missing += [str(self.folders.of(cell)) for cell in experiment.cells if cell not in there]
        if not there:
            return found
        for benchmark in dict.fromkeys(cell.benchmark for cell in experiment.cells if cell in there):
            some = [cell for cell in experiment.cells if cell in there and cell.benchmark == benchmark]
            self._benchmark(found, some, set(experiment.cells))
        found.missing += self._missing_measures(experiment)
        return found

    def _benchmark(self, found: Found, cells: Sequence[Cell], asked: set[Cell]) -> None:
        """The cells of one benchmark that are there, on the test rows that all of them predict."""
        gold, decodings = self.gold(cells[0].benchmark), found.experiment.decodings
        finals = [cell for cell in cells if not cell.half]
        common = self._common(gold, finals)
        halves: dict[Cell, list[tuple[Outcome, ...]]] = {}
        for cell in cells:
            if cell.half and cell.generator != REAL_TEXTS:
                continue  # a fold
            folds = _folds(cell, asked) if CHOSEN & set(decodings) else ()
            if not set(folds) <= set(cells):
                continue  # a fold is missing, and named as such
            if cell.generator == REAL_TEXTS:
                ids = self._half(gold, cell)
                halves.setdefault(replace(cell, half=""), []).append(self.outcomes(cell, folds, ids, decodings))
                continue
            found.outcomes += self.outcomes(cell, folds, common if cell.split == "cg" else None, decodings)
            found.rows += [
                found.row(cell, ANY, "iid" if cell.split == "iid" else "unseen", name, value)
                for name, value in self._facts(cell, bool(CHOSEN & set(decodings))).items()
            ]
        for cell, pair in halves.items():
            found.rows += (
                [
                    found.row(
                        cell,
                        outcomes[0].decoding,
                        split,
                        name,
                        float(np.mean([o.metrics[split][name] for o in outcomes])),
                    )
                    for outcomes in zip(*pair, strict=True)
                    for split in outcomes[0].metrics
                    for name in set.intersection(*(set(o.metrics[split]) for o in outcomes))
                ]
                if len(pair) == 2
                else []
            )
        if common is None:
            found.rows += self._bayes(found, cells[0], gold)

    # ------------------------------------------------------------ test rows

    def _common(self, gold: Gold, cells: Iterable[Cell]) -> tuple[str, ...] | None:
        """Ids of the test rows that all cells predict; None: all of them. Every cell has to predict all, except that cells with
        support sets of other sizes are tested on the texts that none of these has."""
        test, common = gold.parts["test"], None
        for cell in cells:
            if cell.split == "cg" and (cell.label_support, cell.text_support, cell.support) != (None, None, None):
                found = self.predictions(cell)
                common = set(found.ids) & (common or set(found.ids))
                if not common or not common <= test.keys():
                    raise InputError(
                        f"{found.path}: its rows are not those of the gold file; predict again on this split"
                    )
        return None if common is None else tuple(row_id for row_id in test if row_id in common)

    def _half(self, gold: Gold, cell: Cell) -> tuple[str, ...]:
        """Ids of the test rows that one half of the ceiling was not given."""
        found = self.predictions(cell)
        ids = set(found.ids)
        held = tuple(row_id for row_id in gold.parts["test"] if row_id in ids)
        if not 0 < len(held) < len(gold.parts["test"]):
            raise InputError(f"{found.path}: not a half of the test set; run the ceiling stage and train again")
        return held

    # ------------------------------------------------------------ one cell

    def _outcomes(
        self, cell: Cell, folds: tuple[Cell, ...], ids: tuple[str, ...] | None, decodings: tuple[str, ...]
    ) -> tuple[Outcome, ...]:
        """One cell under every decoding; `ids`: those of its test rows that count, None for all."""
        gold, final = self.gold(cell.benchmark), self.predictions(cell)
        splits = ("iid",) if cell.split == "iid" else ("unseen", "seen")
        test = {split: tuple(gold.parts.get(PART_OF_SPLIT[split], ())) for split in splits}
        test = {split: rows for split, rows in test.items() if rows}
        if ids is not None:
            final.of(ids)
            test["unseen"] = ids
        else:
            final.check_covers(row_id for rows in test.values() for row_id in rows)
        case = Case(final, gold, test, [self.predictions(f) for f in folds], self.options, self.evaluation.threshold)
        supported = {split: errors.among(truth, final.support) for split, truth in case.truth.items()}
        return tuple(self._outcome(cell, case, decoding, supported) for decoding in decodings)

    def _outcome(self, cell: Cell, case: Case, decoding: str, supported: Mapping[str, np.ndarray]) -> Outcome:
        decoded = DECODINGS[decoding](case)
        metrics, right = {}, {}
        for split, truth in case.truth.items():
            sets = decoded.sets[split]
            metrics[split] = rates(truth, sets, self.evaluation.empty_both)
            metrics[split] |= errors.analyse(truth, sets, None if split == "iid" else supported[split])
            right[split] = (truth == sets).all(axis=1)
        first = next(iter(metrics))  # iid, or unseen
        if "seen" in right:
            accuracies = (float(right[split].mean()) for split in ("seen", "unseen"))
            metrics["unseen"]["harmonic"] = percent(harmonic_mean(*accuracies))
            metrics["unseen"]["ausuc"] = percent(decoded.ausuc(case))
        if decoded.chosen:
            metrics[first] |= {"weight": decoded.weight, "strength": decoded.strength}
            if decoded.chosen.harmonic is not None:
                metrics[first]["held_out"] = percent(decoded.chosen.harmonic)
        threshold = decoding == "threshold"
        confusions = errors.confusions(case.truth[first], decoded.sets[first], case.gold.labels) if threshold else {}
        return Outcome(cell, decoding, metrics, right, confusions)

    def _facts(self, cell: Cell, known: bool) -> dict[str, float]:
        """What no decoding changes: counts, reach of the composition prior, measures of the texts and of the generator behind them."""
        found, gold = self.predictions(cell), self.gold(cell.benchmark)
        made: dict[str, float] = {"n_train": found.n_train, "n_aug": found.n_synthetic}
        if found.unparsed is not None:
            made |= {"unparsed_rows": int((found.unparsed > 0).sum()), "unparsed_pieces": int(found.unparsed.sum())}
        if known and cell.split == "cg":
            drawn = {} if self.options.target == "support" else found.drawn or {}
            reach = found.learned.keys() | found.support.keys() | drawn.keys()
            made["known"] = percent(errors.among(gold.matrix("test"), reach).mean())
        if cell.generator == NONE or cell.texts is not None:
            return made  # no texts, or not those that were measured
        folders = self.folders
        if measured := self.measured(folders.quality / f"{cell.selected_name}.json"):
            made |= _quality(measured)
        if judged := self.measured(folders.judged / f"{cell.selected_name}.json"):
            made |= _flat("judged", judged["judged"]) | _flat("reader", judged["reader"])
        if shown := self.measured(folders.representations / f"{cell.generator_name}.json"):
            views = {f"silhouette_{name}": view["silhouette"] for name, view in shown["views"].items()}
            made |= {name: value for name, value in views.items() if value is not None}
        return made

    def _bayes(self, found: Found, cell: Cell, gold: Gold) -> list[Row]:
        columns = {"generator": "bayes", "selection": "top_k", "classifier": "bayes"}
        return [
            (found.experiment.name, cell.benchmark, cell.scale, *columns.values(), prior, 0, split, metric, value)
            for split, priors in gold.facts.get("bayes", {}).items()
            for prior, metrics in priors.items()
            for metric, value in metrics.items()
        ]

    def _missing_measures(self, experiment: Experiment) -> list[str]:
        files = {
            "quality": lambda cell: self.folders.quality / f"{cell.selected_name}.json",
            "judge": lambda cell: self.folders.judged / f"{cell.selected_name}.json",
            "representations": lambda cell: self.folders.representations / f"{cell.generator_name}.json",
        }
        asked = dict.fromkeys(files[measure](cell) for measure, cells in experiment.measures.items() for cell in cells)
        return [str(path) for path in asked if not path.exists()]


def _folds(cell: Cell, asked: set[Cell]) -> tuple[Cell, ...]:
    """The folds that a cell's weights are chosen on: its own; else those of the same generator's texts as selected by default; else, for
    the ceiling, those of the cell without augmentation. () where the experiment asks for none of them."""
    whole = replace(cell, half="")
    default = replace(whole, selection="", texts=None)
    for some in (
        (whole, default, replace(default, generator=NONE)) if cell.generator == REAL_TEXTS else (whole, default)
    ):
        folds = (replace(some, half="a"), replace(some, half="b"))
        if some.generator != REAL_TEXTS and set(folds) <= asked:
            return folds
    return ()


def _quality(measured: Mapping) -> dict[str, float]:
    apart = ("fidelity", "selection", "label_generator", "samples")
    made = _flat("quality", {name: value for name, value in measured.items() if name not in apart})
    made |= _flat("fidelity", {name: (measured.get("fidelity") or {}).get(name) for name in ("raw", "kept")})
    return made | _flat("n", {name: measured["selection"].get(name) for name in ("requested", "produced", "kept")})


def _flat(prefix: str, values: Mapping) -> dict[str, float]:
    """{"copied": {"exact": 1}} as {"<prefix>_copied_exact": 1}; what has no number is left out."""
    made: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            made |= _flat(f"{prefix}_{name}", value)
        elif value is not None:
            made[f"{prefix}_{name}"] = value
    return made


# ---------------------------------------------------------------- files


def write_table(path: Path | str, columns: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]) -> None:
    """A CSV of sorted rows; None is an empty field, a float has at most four decimals and no negative zero."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(sorted([shown(value) for value in row] for row in rows))
    write_text(path, stream.getvalue())


def shown(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str | int):
        return str(value)
    text = f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
