"""Intents and slots with few labelled utterances, beside the article's Table 2a."""

from __future__ import annotations

from collections.abc import Mapping

from compaug.reports import by_seed
from compaug.reports.entries import Table, entry
from compaug.reports.queries import Results

TITLE = "Intents and slots: what is written for few utterances"
EXPERIMENT = "slu"
INTRO = (
    "Slot F1 of whole spans by conlleval's rule and intent accuracy on the test set, percent; mean and 95 % t interval "
    "over seeds, each of which draws its own few utterances; gains over `none`, the few utterances alone, are paired "
    "by seed. The same encoder learns from them and from what a decoder wrote, which saw a sentence with that much "
    "hidden: all but the intent (`labels`), words, one span, several spans; `factorised` is the baseline, plain texts "
    "of an intent, tagged by the classifier. The article's numbers are of T5-large, BERT-large and 500 sentences for "
    "each intent, so levels cannot be compared."
)
NONE, TESTED = "none", "test"
ORDER = (NONE, "factorised", "labels", "words", "span", "multi_spans")
MEASURES = {"slot_f1": "slot F1", "intent_acc": "intents right"}
Runs = Mapping[str, Mapping[float, by_seed.Runs]]  # mode -> share


def tables(results: Results) -> list[Table]:
    by_cell: dict[tuple[str, str], dict] = {}
    for facts in results.slu.values():
        if facts["on"] != TESTED:
            continue  # a trial of settings
        runs = by_cell.setdefault((facts["corpus"], facts["scale"]), {})
        runs.setdefault(facts["mode"], {}).setdefault(facts["share"], {})[facts["seed"]] = facts
    tables = []
    for (corpus, scale), runs in sorted(by_cell.items()):
        printed, note = results.paper.get("slu", {}).get(corpus, {}), _note(results, scale, runs)
        for measure, words in MEASURES.items():
            tables.append(_table(f"{corpus}, {scale}: {words}", note, runs, measure, printed.get(measure, {})))
        tables.append(_written(f"{corpus}, {scale}: what was written", runs))
    return tables


def _table(title: str, note: str, runs: Runs, measure: str, printed: Mapping) -> Table:
    shares, lines = _shares(runs), []
    for mode in _modes(runs):
        others, paper = {} if mode == NONE else runs.get(NONE, {}), printed.get(mode, {})
        of, alone = ([by_seed.values(arm.get(share), measure) for share in shares] for arm in (runs[mode], others))
        levels = [
            entry(by_seed.summary(scores), paper.get(share), other_corpus=True)
            for share, scores in zip(shares, of, strict=True)
        ]
        lines.append([mode, *levels, *(entry(by_seed.over(*both), sign=True) for both in zip(of, alone, strict=True))])
    header = ["written from", *map(_percent, shares), *(f"over none, {_percent(share)}" for share in shares)]
    return Table(title, note, header, lines)


def _written(title: str, runs: Runs) -> Table:
    """How much could be read of what was written."""
    shares = _shares(runs)
    lines = []
    for mode in _modes(runs):
        if mode != NONE:
            of = {
                key: [by_seed.values(runs[mode].get(share), key) for share in shares]
                for key in ("validity", "fresh", "n_synthetic")
            }
            percents = (entry(by_seed.summary(scores)) for key in ("validity", "fresh") for scores in of[key])
            lines.append([mode, *percents, *map(by_seed.count, of["n_synthetic"])])
    header = [
        *(f"readable, {_percent(share)}" for share in shares),
        *(f"new, {_percent(share)}" for share in shares),
        *(f"utterances, {_percent(share)}" for share in shares),
    ]
    note = (
        "Percent of the requests that became a sentence of the augmented language, and of those that became one that "
        "is no copy of a real utterance or of another; the new ones are learned from."
    )
    return Table(title, note, ["written from", *header], lines)


def _shares(runs: Runs) -> list[float]:
    return sorted({share for of_mode in runs.values() for share in of_mode})


def _modes(runs: Runs) -> list[str]:
    return [mode for mode in ORDER if mode in runs]


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _note(results: Results, scale: str, runs: Runs) -> str:
    every = [facts for of_mode in runs.values() for of in of_mode.values() for facts in of.values()]
    seeds = sorted({facts["seed"] for facts in every})
    few, tested = (by_seed.listed(facts[name] for facts in every) for name in ("n_train", "n_test"))
    benchmark = next((name for name, at in results.settings if at == scale), "")
    return (
        f"Seeds {', '.join(map(str, seeds))}; {few} real utterances to learn from, {tested} to test on"
        f"{results.backbones(benchmark, scale)}."
    )
