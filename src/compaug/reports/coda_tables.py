"""CoDa: how well its texts keep each constraint, with and without the others, and what they are worth."""

from __future__ import annotations

from collections.abc import Iterator

from compaug.evaluation.longtable import pick
from compaug.experiments.cells import NONE
from compaug.reports.entries import Entry, Table, gained
from compaug.reports.queries import UNSEEN, Results

TITLE = "CoDa: constraints kept, and what the texts are worth"
EXPERIMENT = "coda"
EXPERIMENTS = ("coda", "coda_pretrained", "coda_ablation")
INTRO = (
    "Percent, mean and 95 % t interval over seeds, classifier `bert`; of one seed the gain has that over test rows. Of "
    "all texts that were written, before the label filter: the keywords that they have, by lemma; texts within the "
    "range of words; likeness of their best sentence to the pattern of parts of speech; concepts expressed that were "
    "to be avoided (lower is better); the mean of these, by which answers are ranked. A constraint that was not asked "
    "for has no number. Fidelity: kept texts with all requested labels and no other, where the grammar is known."
)
KEPT = {"keywords": "coverage", "length": "length", "pattern": "tags", "violations": "violations", "all": "score"}


def tables(results: Results) -> Iterator[Table]:
    columns = {words: ("unseen", f"quality_compliance_raw_{part}") for words, part in KEPT.items()}
    shares = [metric for _, metric in columns.values()]
    columns |= {"fidelity": ("unseen", "fidelity_kept")} | UNSEEN
    for experiment, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert"):
        rows = pick(rows, split="unseen", decoding=("threshold", "any"))
        rows = rows.assign(value=rows["value"].where(~rows["metric"].isin(shares), 100 * rows["value"]))
        lines = results.lines(rows, ["generator"], columns)
        for line in lines:
            scored = [entry for entry in line[1 : len(KEPT)] if entry.ours is not None]
            line[len(KEPT)] = line[len(KEPT)] if scored else Entry()  # nothing was asked for, so nothing was kept
        header, over = (
            ["generator", *columns],
            results.tested(experiment, benchmark, "generator", classifier="bert", over=NONE),
        )
        if over:  # else the experiment has no cell without texts
            gains = {name: gained(row) for name, row in over.items()}
            header, lines = [*header, "Acc over none"], [[*line, gains.get(line[0], Entry())] for line in lines]
        yield Table(f"{experiment}: {benchmark}", results.setting(rows), header, lines)
