"""reports/results.csv.gz: one line for each experiment, cell, decoding, split and metric; tables are queries over it.

    experiment,benchmark,scale,generator,selection,classifier,decoding,seed,split,metric,value

experiment  name in configs/experiments.yaml; a cell that two experiments share has its lines in both
benchmark   a file of configs/benchmarks, and after a + what differs: semeval+seen_test=1400
scale       a block of configs/scales.yaml: the sizes of backbones and budgets
generator   none, a generator, after a + what differs, or a ceiling: real_texts (the matched arm), oracle (texts of a
            known grammar, of which right=0.6 say what was asked for), bayes (the exact classifier of that grammar)
selection   top_k, or what differs: mode=random, score=posterior, labels=teacher, top_k+texts=200
classifier  bert, ..., bert+support=250; bayes
decoding    one of `decodings.DECODINGS`; best_constant, a measure that no method may use (`decoding.knowledge`); of the
            Bayes classifier its prior: training_prior | target_prior | mixed_prior; any for facts about the cell
seed        of the cell; 0 for the Bayes classifier, which has none
split       iid | unseen | seen: the test set. Facts and what joins both test sets stand under unseen

Metrics of a decoding on a split, in percent but for counts, whose names begin with n_:
    jacc acc corr corr_set comp micro_f1 macro_f1 hamming empty_rate strict_subset strict_superset n: `metrics.rates`
    kind_<kind>, acc_size_<k>, acc_in_support, acc_not_in_support and their n_: `errors.analyse`
    acc_held_out (iid): on rows whose combination the compositional split holds out
    harmonic ausuc told: of seen and unseen Acc; told: the harmonic mean at the ends of the seen-unseen curve
    acc_at_seen fold_ausuc (threshold): `decoding.knowledge`
    weight strength constant held_out: what a decoding chose on the folds, and the harmonic mean there

Facts about a cell (decoding any):
    n_train n_aug: real and synthetic rows that it was trained on
    n_requested n_produced n_kept: texts asked for, written, selected
    written_readable written_other: percent of the requests answered by what can be read; by labels not asked for
    fidelity_raw fidelity_kept: percent of all and of the kept texts with all requested labels and no other
    known: percent of the unseen rows whose composition is a candidate of the composition prior
    held_out_train_acc held_out_ausuc: Acc on validation rows of D_train; AUSUC with these as the seen side
    unparsed_rows unparsed_pieces: of a classifier that writes its answers
    quality_<measure>: of the kept texts (`text_quality.quality`)
    judged_<reader>_<acc|corr|comp>: what oracle or classifier finds in the kept texts against what was asked
    reader_<acc|corr|comp|n|covered>: what that classifier finds in real texts (`ratings.shares_of_real`)
    silhouette_<latent|state> probe_<latent|state>: of label representations (`text_quality.representations`)
    between_<measure>_<alpha> between_pair_<measure> between_spearman_<measure>: of texts that LINDA writes between two
        (`text_quality.interpolation_behaviour`)
    distance_<support|train>_<measure>: of the kept texts to real ones (`text_quality.distances`)

Values have at most four decimals; lines are sorted; the same inputs give the same bytes. The cells of an experiment and
benchmark are compared on the test rows that all of them predict.

reports/confusions.csv.gz has the same first columns, then decoding,split,composition,predicted,rows: the twelve most
frequent wrong predictions of every cell under threshold, in rows over all seeds. `gains` documents reports/gains.csv.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from compaug.core.files import write_csv
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
    """Rows of confusions.csv.gz for one experiment: the most frequent ones of every cell, over its seeds."""
    totals: dict[tuple, Counter[tuple[str, str]]] = {}
    for outcome in comparison.outcomes:
        *columns, _ = outcome.cell.columns().values()
        key = (*columns, outcome.decoding, next(iter(outcome.right)))
        totals.setdefault(key, Counter()).update(outcome.confusions)
    for key, total in totals.items():
        for pair, n in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:CONFUSIONS]:
            yield (comparison.experiment.name, *key, *pair, n)


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]) -> None:
    """A CSV of sorted rows, compressed where `path` ends in .gz.

    None is an empty field, a float has at most four decimals and no negative zero.
    """
    if path.suffix != ".gz":
        write_csv(path, columns, _lines(rows))
        return
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([columns, *_lines(rows)])
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
