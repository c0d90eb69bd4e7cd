"""reports/results.csv.gz: one line for each experiment, cell, decoding, split and metric.

Every table and figure is a query over it.

    experiment,benchmark,scale,generator,selection,classifier,decoding,seed,split,metric,value

experiment  name in configs/experiments.yaml; a cell that two experiments share has its lines in both
benchmark   a file of configs/benchmarks, and after a + what differs: semeval+seen_test=1400, semeval+pretrained
scale       tiny | pretrained | paper: the sizes of backbones and budgets
generator   none, a generator, with what differs behind a plus sign ("ld_vae+kl_form=reference",
            "ld_vae+label_support=0"); or a ceiling: "real_texts" (the matched arm: half of the target's real texts in
            the place of synthetic ones, tested on the other half, both ways), "oracle" (fresh texts of a known grammar;
            "oracle+right=0.6": of which so many say what was asked for) and "bayes" (the exact classifier of a known
            grammar)
selection   top_k, or what differs ("mode=random", "scope=per_composition", "score=posterior", "labels=teacher",
            "top_k+texts=200")
classifier  bert, ..., "bert+support=250"; of the Bayes classifier "bayes"
decoding    threshold | tuned_thresholds | joint | composition_prior | uncalibrated | stacking | crm | logit_adjustment
            | em | map_em; best_constant for the measure of that name (`compaug.evaluation.decoding.knowledge`), which
            no method may use; of the Bayes classifier its prior: training_prior | target_prior | mixed_prior; "any" for
            facts about the cell that no decoding changes
seed        of the cell; 0 where there is none (the Bayes classifier)
split       iid | unseen | seen: the test set. A generator's cell has unseen (and seen in the generalised protocol), its
            reference without shift is generator none with split iid. Facts and what joins both test sets (harmonic,
            ausuc, told) stand under unseen

Metrics of a decoding on a split, in percent as in measures.json unless named:
    jacc acc corr corr_set comp micro_f1 macro_f1 hamming empty_rate strict_subset strict_superset; n (rows)
    kind_exact kind_subset kind_empty kind_superset kind_overlap kind_disjoint: shares of the rows by kind of answer,
        adding up to 100
    acc_size_<k>, n_size_<k>: Acc on rows with k gold labels, and their number
    acc_in_support acc_not_in_support n_in_support n_not_in_support: by whether the support set shows the
        composition (not for iid)
    acc_held_out, n_held_out (iid): Acc on rows whose combination the compositional split holds out, and their number
    fold_ausuc (threshold): AUSUC on held-out rows of the folds, by which numbers of texts and repeats are chosen
    held_out_ausuc (any): AUSUC of the test rows against the cell's own validation rows of D_train, where the split
        holds out no seen rows
    acc_at_seen (threshold): Acc on unseen rows where Acc on seen ones is that of the cell without texts at its best
        constant
    harmonic ausuc told: of seen and unseen Acc (generalised protocol); told: the harmonic mean at the ends of the
        seen-unseen curve
    weight strength held_out: of the composition prior, chosen on the folds, and the harmonic mean there; weight of crm,
        constant of stacking, strength of logit_adjustment
Facts about a cell (decoding any):
    n_train n_aug: real and synthetic rows that it was trained on
    n_requested n_produced n_kept: texts asked for, written, selected
    written_readable written_other: percent of the requests that were answered by what can be read; by other labels
        than were asked for
    fidelity_raw fidelity_kept: percent of all and of the kept texts with all requested labels and no other (known
        grammars)
    known: percent of the unseen rows whose composition is a candidate of the composition prior
    unparsed_rows unparsed_pieces: of a classifier that writes its answers
    quality_coverage: percent of the label generator's draws whose composition has a kept text
    quality_<measure>: of the kept texts (quality_self_bleu, quality_copied_exact, quality_words_mean,
        quality_filter_jacc, ...)
    judged_<reader>_<acc|corr|comp>: what a reader (oracle, classifier) finds in the kept texts against what was asked
    reader_<acc|corr|comp>: what that classifier finds in real texts of unseen combinations, each as often as kept texts
        were asked for it; reader_n, these real texts; reader_covered, percent of the kept texts that were asked for
        their combinations
    silhouette_<latent|state>: of the generator's label representations, from -1 to 1
    probe_<latent|state>: share of them whose label has the nearest mean in other compositions
    between_<measure>_<alpha>: of texts that LINDA writes between two held-out texts with this weight of the first
    between_pair_<measure>: of the two texts against each other; between_spearman_<measure>: rank correlation with alpha
        (evaluation/text_quality/interpolation_behaviour.py has the measures)
    distance_<support|train>_<measure>: of the kept texts to the support texts or those of D_train: fd, fd_unit,
        precision, recall, with the labels fda, fda_unit, precision_a, recall_a; bleu; n, texts of each side
        (evaluation/text_quality/distances.py)

Values have at most four decimals; lines are sorted; the same inputs give the same bytes. `gains` documents
reports/gains.csv.

The cells of an experiment and benchmark are compared on the test rows that all of them predict (all rows, except where
support sets of other sizes have some of them).

reports/confusions.csv has the same first columns, then decoding,split,composition,predicted,rows: the twelve most
frequent wrong predictions of every cell under threshold, in rows over all seeds.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from compaug.core.records import write_csv
from compaug.evaluation import packed
from compaug.evaluation.cell_scores import Comparison
from compaug.evaluation.metrics import DECIMALS

CELL_COLUMNS = ("experiment", "benchmark", "scale", "generator", "selection", "classifier")
COLUMNS = (*CELL_COLUMNS, "decoding", "seed", "split", "metric", "value")
CONFUSION_COLUMNS = (*CELL_COLUMNS, "decoding", "split", "composition", "predicted", "rows")
CONFUSIONS = 12  # pairs that are kept

Row = tuple[str | int | float | None, ...]


def table(comparison: Comparison) -> Iterator[Row]:
    """Rows of results.csv.gz for one experiment."""
    for outcome in (*comparison.outcomes, *comparison.others):
        *columns, seed = outcome.cell.columns().values()
        for split, metrics in outcome.metrics.items():
            for name, value in metrics.items():
                yield (comparison.experiment.name, *columns, outcome.decoding, seed, split, name, value)


def confusions(comparison: Comparison) -> Iterator[Row]:
    """Rows of confusions.csv for one experiment: the most frequent ones of every cell, over its seeds."""
    totals: dict[tuple, Counter[tuple[str, str]]] = {}
    for outcome in comparison.outcomes:
        *columns, _ = outcome.cell.columns().values()
        key = (*columns, outcome.decoding, next(iter(outcome.right)))
        totals.setdefault(key, Counter()).update(outcome.confusions)
    for key, total in totals.items():
        for pair, n in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:CONFUSIONS]:
            yield (comparison.experiment.name, *key, *pair, n)


def write_table(path: Path | str, columns: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]) -> None:
    """A CSV of sorted rows; None is an empty field, a float has at most four decimals and no negative zero."""
    write_csv(path, columns, _lines(rows))


def write_long_table(path: Path | str, rows: Iterable[Sequence[str | int | float | None]]) -> None:
    """`write_table` of COLUMNS, compressed."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *_lines(rows)])
    packed.write(path, [text.getvalue()])


def _lines(rows: Iterable[Sequence[str | int | float | None]]) -> list[list[str]]:
    return sorted([shown(value) for value in row] for row in rows)


def shown(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str | int):
        return str(value)
    text = f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
