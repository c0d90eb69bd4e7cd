"""Few texts with one label each: what texts written for them are worth, CoDa's other setting (docs/spec/coda.md, 7)."""

from collections.abc import Iterator

from compaug.reports.by_seed import by_cell, counts, gains, levels, note, sizes_of, tree
from compaug.reports.entries import Table
from compaug.reports.queries import Results

EXPERIMENT = "low_resource"


def tables(results: Results) -> Iterator[Table]:
    for (benchmark, scale), files in by_cell(results.low_resource.values(), "benchmark", "scale"):
        arms = tree(files, "generator", "texts", "seed")
        sizes = sizes_of(arms)
        lines = [
            [
                generator,
                *levels(arms[generator], "accuracy", sizes),
                *gains(arms, generator, "accuracy", sizes),
                *counts(arms[generator], "n_aug", sizes),
            ]
            for generator in results.ordered(arms)
        ]
        columns = ("{} texts", "over none, {}", "written, {}")
        header = ["generator", *(words.format(n) for words in columns for n in sizes)]
        words = f"{note(files, '{} test texts', 'n')}{results.backbones(benchmark, scale)}."
        yield Table(f"{benchmark}, {scale}", words, header, lines)
