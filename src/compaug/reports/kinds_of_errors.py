"""How the classifiers fail: kinds of answers, accuracy by number of labels and by what the support set shows."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from compaug.evaluation.longtable import pick
from compaug.reports import figures
from compaug.reports.entries import Entry, Figure, Table
from compaug.reports.queries import Results

EXPERIMENT = "classifiers"
SPLITS = ("iid", "unseen")
BY = ["classifier", "split", "generator"]
KINDS = {f"kind_{kind}": words for kind, (words, *_) in figures.KINDS.items()}
CONFUSIONS = 3  # pairs of each classifier
UNPARSED = (
    "Answers with a piece that is no sentence about a label, which is skipped, and such pieces, a seed (`sgm` chooses "
    "among the labels and the end, so that its answers always parse)."
)


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(EXPERIMENT, selection="top_k"):
        answers = pick(rows, decoding="threshold", split=SPLITS)
        unread = {"unparsed_rows": "answers", "unparsed_pieces": "pieces"}
        title = f"{benchmark}: answers that could not be read"
        yield from [
            _table(results, f"{benchmark}: kinds of answers", results.setting(answers), answers, KINDS),
            _table(results, f"{benchmark}: Acc by where", "", pick(answers, split="unseen"), _where(answers)),
            _confusions(results, benchmark),
            _table(results, title, UNPARSED, pick(rows, decoding="any"), unread),
        ]


def _table(results: Results, title: str, note: str, rows: pd.DataFrame, columns: dict[str, str]) -> Table:
    lines = sorted(results.by_split(rows, BY, columns, SPLITS), key=lambda line: results.rank(line[0]))
    return Table(title, note, [BY[0], "test", BY[2], *columns.values()], lines)


def _where(rows: pd.DataFrame) -> dict[str, str]:
    """Columns: the number of gold labels, and whether the support set shows the combination.

    Each with its number of rows.
    """
    counts = pick(rows, split="unseen").drop_duplicates("metric").set_index("metric")["value"]
    sizes = sorted(int(name.removeprefix("n_size_")) for name in counts.index if name.startswith("n_size_"))
    parts = {f"size_{size}": f"{size} label{'s' * (size != 1)}" for size in sizes}
    parts |= {part: part.replace("_", " ") for part in ("in_support", "not_in_support") if f"n_{part}" in counts}
    return {f"acc_{part}": f"{words} ({round(counts[f'n_{part}'])} rows)" for part, words in parts.items()}


def _confusions(results: Results, benchmark: str) -> Table:
    """The most frequent wrong answers without augmentation, over all seeds."""
    which = {"experiment": EXPERIMENT, "benchmark": benchmark, "split": "unseen", "decoding": "threshold"}
    rows = pick(results.confusions, generator="none", **which)
    lines = [
        [name, row["composition"], row["predicted"], Entry(int(row["rows"]))]
        for name in results.ordered(rows["classifier"])
        for _, row in pick(rows, classifier=name).nlargest(CONFUSIONS, "rows").iterrows()
    ]
    title = f"{benchmark}: the most frequent confusions, without augmentation"
    return Table(title, "", ["classifier", "combination", "read as", "rows, all seeds"], lines)


def figures_of(results: Results) -> Iterator[Figure]:
    for _, benchmark, rows in results.of(EXPERIMENT, selection="top_k"):
        arms: dict[str, dict[str, dict[str, float]]] = {}
        for row in _table(results, "", "", pick(rows, decoding="threshold"), KINDS).rows:
            arm = "iid" if row[1] == "iid" else "CG" if row[2] == "none" else f"CG + {row[2]}"
            shares = {kind: entry.ours for kind, entry in zip(figures.KINDS, row[3:], strict=True)}
            arms.setdefault(row[0], {})[arm] = shares
        if arms:
            draw = partial(figures.kinds_of_answers, benchmark, arms)
            caption = f"Kinds of answers of every classifier, {benchmark}"
            yield Figure(f"errors-{benchmark}", caption, draw, on_page=False)  # the table says it
