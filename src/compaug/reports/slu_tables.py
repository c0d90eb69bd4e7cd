"""Intents and slots with few labelled utterances, beside the article's Table 2a."""

from collections.abc import Iterator, Mapping, Sequence

from compaug.reports.by_seed import NONE, BySize, by_cell, counts, gains, levels, note, sizes_of, tree
from compaug.reports.entries import Table
from compaug.reports.queries import Results

EXPERIMENT = "slu"
ORDER = (NONE, "factorised", "labels", "words", "span", "multi_spans")
MEASURES = {"slot_f1": "slot F1", "intent_acc": "intents right"}
WRITTEN = (
    "Percent of the requests that became a sentence of the augmented language, and of those that became one that "
    "is no copy of a real utterance or of another; the new ones are learned from."
)


def tables(results: Results) -> Iterator[Table]:
    tested = [facts for facts in results.slu.values() if facts["on"] == "test"]  # the others are trials of settings
    for (corpus, scale), files in by_cell(tested, "corpus", "scale"):
        arms = tree(files, "mode", "share", "seed")
        modes, shares = [mode for mode in ORDER if mode in arms], sizes_of(arms)
        benchmark = next((name for name, at in results.settings if at == scale), "")
        words = note(files, "{} real utterances to learn from, {} to test on", "n_train", "n_test")
        words += f"{results.backbones(benchmark, scale)}."
        for measure, title in MEASURES.items():
            printed = results.paper.get("slu", {}).get(corpus, {}).get(measure, {})
            lines = [
                [
                    mode,
                    *levels(arms[mode], measure, shares, printed.get(mode, {})),
                    *gains(arms, mode, measure, shares),
                ]
                for mode in modes
            ]
            yield Table(f"{corpus}, {scale}: {title}", words, _header(shares, "{}", "over none, {}"), lines)
        yield _written(f"{corpus}, {scale}: what was written", arms, modes, shares)


def _written(title: str, arms: Mapping[str, BySize], modes: Sequence[str], shares: Sequence[float]) -> Table:
    """How much could be read of what was written."""
    lines = [
        [
            mode,
            *(value for key in ("validity", "fresh") for value in levels(arms[mode], key, shares)),
            *counts(arms[mode], "n_synthetic", shares),
        ]
        for mode in modes
        if mode != NONE
    ]
    return Table(title, WRITTEN, _header(shares, "readable, {}", "new, {}", "utterances, {}"), lines)


def _header(shares: Sequence[float], *words: str) -> list[str]:
    return ["written from", *(each.format(f"{100 * share:g} %") for each in words for share in shares)]
