"""Few texts with one label each: what texts written for them are worth, CoDa's other setting (docs/spec/coda.md, 7)."""

from __future__ import annotations

from collections.abc import Mapping

from compaug.reports import by_seed
from compaug.reports.entries import Table, entry
from compaug.reports.queries import Results

TITLE = "Few texts, one label: the other setting of CoDa"
EXPERIMENT = "low_resource"
INTRO = (
    "Accuracy in percent, the most probable label, over the number of real training texts; mean and 95 % t interval "
    "over seeds, each of which draws its own training texts; the test texts are the same. Differences are paired by "
    "seed. No filter: the classifier learns from all that was written, five texts asked for each real one, and takes "
    "as many steps whatever it learns from. `none` is the real texts alone, `oversample` the same texts again, `aeda` "
    "and `eda` edit them, `llm` shows some to the decoder, `coda` their constraints too."
)
NONE = "none"
Runs = Mapping[str, Mapping[int, by_seed.Runs]]  # generator -> texts


def tables(results: Results) -> list[Table]:
    by_cell: dict[tuple[str, str], dict] = {}
    for facts in results.low_resource.values():
        of = by_cell.setdefault((facts["benchmark"], facts["scale"]), {}).setdefault(facts["generator"], {})
        of.setdefault(facts["texts"], {})[facts["seed"]] = facts
    return [_table(results, *cell, runs) for cell, runs in sorted(by_cell.items())]


def _table(results: Results, benchmark: str, scale: str, runs: Runs) -> Table:
    sizes = sorted({texts for by_size in runs.values() for texts in by_size})
    lines = []
    for generator in results.ordered(runs):
        by_size = runs[generator]
        others = {} if generator == NONE else runs.get(NONE, {})
        scores, alone, added = (
            [by_seed.values(arm.get(texts), key) for texts in sizes]
            for arm, key in ((by_size, "accuracy"), (others, "accuracy"), (by_size, "n_aug"))
        )
        gains = [entry(by_seed.over(*both), sign=True) for both in zip(scores, alone, strict=True)]
        lines.append(
            [generator, *(entry(by_seed.summary(values)) for values in scores), *gains, *map(by_seed.count, added)]
        )
    header = [
        "generator",
        *(f"{n} texts" for n in sizes),
        *(f"over none, {n}" for n in sizes),
        *(f"written, {n}" for n in sizes),
    ]
    return Table(f"{benchmark}, {scale}", _note(results, benchmark, scale, runs), header, lines)


def _note(results: Results, benchmark: str, scale: str, runs: Runs) -> str:
    every = [facts for by_size in runs.values() for of in by_size.values() for facts in of.values()]
    seeds = sorted({facts["seed"] for facts in every})
    words = f"Seeds {', '.join(map(str, seeds))}; {by_seed.listed(facts['n'] for facts in every)} test texts"
    return f"{words}{results.backbones(benchmark, scale)}."
