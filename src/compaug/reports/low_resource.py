"""Few texts with one label each: what texts written for them are worth, CoDa's other setting (spec coda, section 7)."""

from __future__ import annotations

from collections.abc import Mapping

from compaug.evaluation.statistics import Summary, summarise
from compaug.reports.entries import Entry, Table, entry
from compaug.reports.queries import Results

TITLE = "Few texts, one label: CoDa's other setting"
EXPERIMENT = "low_resource"
INTRO = (
    "Accuracy in percent, the most probable label, over the number of real training texts; mean and 95 % t interval over seeds, each of which draws its own "
    "training texts; the test texts are the same. Differences are paired by seed. No filter: the classifier learns from all that was written, five texts "
    "asked for each real one. `none` is the real texts alone, `oversample` the same texts again, `aeda` and `eda` edit them, `llm` shows some to the decoder, "
    "`coda` their constraints too."
)
NONE = "none"
Runs = Mapping[str, Mapping[int, Mapping[int, Mapping]]]  # generator -> texts -> seed -> facts


def tables(results: Results) -> list[Table]:
    made: dict[tuple[str, str], dict] = {}
    for facts in results.low_resource.values():
        of = made.setdefault((facts["benchmark"], facts["scale"]), {}).setdefault(facts["generator"], {})
        of.setdefault(facts["texts"], {})[facts["seed"]] = facts
    return [_table(results, *cell, runs) for cell, runs in sorted(made.items())]


def _table(results: Results, benchmark: str, scale: str, runs: Runs) -> Table:
    sizes = sorted({texts for own in runs.values() for texts in own})
    lines = []
    for generator in results.ordered(runs):
        own = runs[generator]
        added = [_mean(own.get(texts), "n_aug") for texts in sizes]
        scores = [entry(_summary(own.get(texts))) for texts in sizes]
        others = {} if generator == NONE else runs.get(NONE, {})
        gains = [entry(_over(own.get(texts), others.get(texts)), sign=True) for texts in sizes]
        lines.append([generator, *scores, *gains, *added])
    header = [
        "generator",
        *(f"{n} texts" for n in sizes),
        *(f"over none, {n}" for n in sizes),
        *(f"written, {n}" for n in sizes),
    ]
    return Table(f"{benchmark}, {scale}", _note(results, benchmark, scale, runs), header, lines)


def _summary(seeds: Mapping[int, Mapping] | None) -> Summary | None:
    return summarise([facts["accuracy"] for facts in seeds.values()]) if seeds else None


def _mean(seeds: Mapping[int, Mapping] | None, key: str) -> Entry:
    return Entry(round(summarise([facts[key] for facts in seeds.values()]).mean)) if seeds else entry(None)


def _over(seeds: Mapping[int, Mapping] | None, others: Mapping[int, Mapping] | None) -> Summary | None:
    """Differences seed by seed; None where no seed has both."""
    both = sorted(set(seeds or {}) & set(others or {}))
    return summarise([seeds[seed]["accuracy"] - others[seed]["accuracy"] for seed in both]) if both else None


def _note(results: Results, benchmark: str, scale: str, runs: Runs) -> str:
    every = [facts for own in runs.values() for of in own.values() for facts in of.values()]
    seeds, tested = (sorted({facts[name] for facts in every}) for name in ("seed", "n"))
    words = f"Seeds {', '.join(map(str, seeds))}; {' or '.join(f'{n:,}' for n in tested)} test texts"
    return f"{words}{results.backbones(benchmark, scale)}."
