"""How the classifiers fail: kinds of answers, accuracy by number of labels and by what the support set shows."""

from __future__ import annotations

from functools import partial

import pandas as pd

from compaug.reports import figures
from compaug.reports.cells import Cell, Figure, Table, cell, count
from compaug.reports.longtable import Results, pick, summaries

TITLE = "Kinds of errors"
EXPERIMENT = "classifiers"
INTRO = "Percent of the test texts, mean and 95 % t interval over seeds: what the classifiers answer, and where they are right."
SPLITS = ("iid", "unseen")
CONFUSIONS = 3  # pairs of each classifier
UNPARSED = (
    "Answers with a piece that is no sentence about a label, which is skipped, and such pieces, a seed (`sgm` chooses among the labels and the "
    "end, so that its answers always parse)."
)


def tables(results: Results) -> list[Table]:
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        answers = pick(rows, decoding="threshold", split=SPLITS)
        kinds = {words: f"kind_{kind}" for kind, (words, *_) in figures.KINDS.items()}
        sizes = sorted(
            {
                int(name.removeprefix("n_size_"))
                for name in pick(answers, split="unseen")["metric"]
                if name.startswith("n_size_")
            }
        )
        where = {f"{size} label{'s' * (size != 1)}": f"size_{size}" for size in sizes}
        where |= {"in support": "in_support", "not in support": "not_in_support"}
        counts = summaries(pick(answers, split="unseen", generator="none", classifier="bert"), "metric")
        shown = {
            f"{words} ({counts[f'n_{name}'].mean:.0f} rows)": f"acc_{name}"
            for words, name in where.items()
            if f"n_{name}" in counts
        }
        unparsed = {"answers": "unparsed_rows", "pieces": "unparsed_pieces"}
        made += [
            _table(results, f"{benchmark}: kinds of answers", results.setting(answers), answers, kinds),
            _table(results, f"{benchmark}: Acc by where", "", pick(answers, split="unseen"), shown),
            _confusions(results, benchmark),
            _table(
                results,
                f"{benchmark}: answers that could not be read",
                UNPARSED,
                pick(rows, decoding="any"),
                unparsed,
                count,
            ),
        ]
    return [table for table in made if table.rows]


def _table(results: Results, title: str, note: str, rows: pd.DataFrame, columns: dict[str, str], shown=cell) -> Table:
    rows = pick(rows, metric=columns.values())
    found, lines = summaries(rows, "classifier", "split", "generator", "metric"), []
    for classifier, split, arm in _arms(results, rows):
        lines.append([classifier, results.arm(split, arm)])
        lines[-1] += [shown(found.get((classifier, split, arm, metric))) for metric in columns.values()]
    return Table(title, note, ["classifier", "arm", *columns], lines)


def _confusions(results: Results, benchmark: str) -> Table:
    """The most frequent wrong answers without augmentation, over all seeds."""
    rows = pick(
        results.confusions,
        experiment=EXPERIMENT,
        benchmark=benchmark,
        generator="none",
        split="unseen",
        decoding="threshold",
    )
    lines = [
        [name, row["composition"], row["predicted"], Cell(int(row["rows"]))]
        for name in results.ordered(rows["classifier"])
        for _, row in pick(rows, classifier=name).nlargest(CONFUSIONS, "rows").iterrows()
    ]
    title = f"{benchmark}: the most frequent confusions, without augmentation"
    return Table(title, "", ["classifier", "composition", "read as", "rows, all seeds"], lines)


def _arms(results: Results, rows: pd.DataFrame) -> list[tuple[str, str, str]]:
    known = set(zip(rows["classifier"], rows["split"], rows["generator"], strict=True))
    orders = [results.ordered(rows[name]) for name in ("classifier", "generator")]
    return sorted(known, key=lambda key: (orders[0].index(key[0]), SPLITS.index(key[1]), orders[1].index(key[2])))


def figures_of(results: Results) -> list[Figure]:
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        rows = pick(rows, decoding="threshold", split=SPLITS, metric=[f"kind_{kind}" for kind in figures.KINDS])
        found: dict[str, dict[str, dict[str, float]]] = {}
        means = summaries(rows, "classifier", "split", "generator", "metric")
        for classifier, split, arm in _arms(results, rows):
            shares = {kind: means[classifier, split, arm, f"kind_{kind}"].mean for kind in figures.KINDS}
            found.setdefault(classifier, {})[results.arm(split, arm)] = shares
        draw = partial(figures.kinds_of_answers, benchmark, found)
        made.append(Figure(f"errors-{benchmark}", f"Kinds of answers of every classifier, {benchmark}", draw))
    return made
