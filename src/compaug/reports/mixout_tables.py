"""Mixout in place of dropout, with and without synthetic texts, not all of which say what their labels do."""

from collections.abc import Iterator

from compaug.evaluation.longtable import pick
from compaug.experiments.cells import NONE
from compaug.reports.entries import Table
from compaug.reports.queries import Results
from compaug.reports.variations import Over, compared, named, plain

EXPERIMENT = "mixout"
EXPERIMENTS = (EXPERIMENT, "mixout_pretrained")
DROPOUT, OFF = "dropout (the default)", "dropout=0.0"


def tables(results: Results) -> Iterator[Table]:
    over: Over = {"over dropout": plain(DROPOUT), "over neither": plain(OFF)}
    for experiment, benchmark, rows in results.of(*EXPERIMENTS):
        rows = pick(rows, decoding=("threshold", "any"), split="unseen")
        for generator in results.ordered(rows["generator"]):
            cells = pick(rows, generator=generator)
            varied = named(cells, "classifier", "bert", lambda word: "mixout=" in word or OFF in word)
            texts = "no synthetic texts" if generator == NONE else f"kept texts of {generator}"
            where = {"generator": generator, "over": "bert", "selection": "top_k"}
            tested = results.tested(experiment, benchmark, "classifier", **where)
            tested = {name.removeprefix("bert+"): row for name, row in tested.items()}
            if varied["name"].nunique() > 1:
                yield from compared(
                    results, f"{benchmark}: {texts}", "training", varied, DROPOUT, over, None, _order, _words, tested
                )


def _order(name: str) -> tuple:
    """Neither first, then the strongest; draws by column last."""
    return name != OFF, "mixout_mask=" in name, name


def _words(name: str) -> str:
    return {DROPOUT: DROPOUT, OFF: "neither"}.get(name, f"`{name}`")
