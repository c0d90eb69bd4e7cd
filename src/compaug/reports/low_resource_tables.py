"""Few texts with one label each: what texts written for them are worth, CoDa's other setting (docs/spec/coda.md, 7)."""

from collections.abc import Iterator

from compaug.reports.by_seed import by_cell, counts, gains, levels, note, sizes_of, tree
from compaug.reports.entries import Table
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
