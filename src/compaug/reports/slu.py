"""Intents and slots with few labelled utterances, beside the article's Table 2a (spec slu-joint-generation, section 4)."""

from __future__ import annotations

from collections.abc import Mapping

from compaug.evaluation.statistics import Summary, summarise
from compaug.reports.entries import Entry, Table, entry
from compaug.reports.queries import Results

TITLE = "Intents and slots: what is written for few utterances"
EXPERIMENT = "slu"
INTRO = (
    "Slot F1 of whole spans by conlleval's rule and intent accuracy on the test set, percent; mean and 95 % t interval over seeds, each of which draws its own "
    "few utterances; gains over `none`, the few utterances alone, are paired by seed. The same encoder learns from them and from what a decoder wrote, which "
    "saw a sentence with that much hidden: all but the intent (`labels`), words, one span, several spans; `factorised` is the baseline, plain texts of an "
    "intent, tagged by the classifier. The article's numbers are of T5-large, BERT-large and 500 sentences for each intent, so levels cannot be compared."
)
NONE = "none"
ORDER = (NONE, "factorised", "labels", "words", "span", "multi_spans")
MEASURES = {"slot_f1": "slot F1", "intent_acc": "intents right"}
Runs = Mapping[str, Mapping[float, Mapping[int, Mapping]]]  # mode -> share -> seed -> facts


def tables(results: Results) -> list[Table]:
    made: dict[tuple[str, str], dict] = {}
    for facts in results.slu.values():
        runs = made.setdefault((facts["corpus"], facts["scale"]), {})
        runs.setdefault(facts["mode"], {}).setdefault(facts["share"], {})[facts["seed"]] = facts
    found = []
    for (corpus, scale), runs in sorted(made.items()):
        printed, note = results.paper.get("slu", {}).get(corpus, {}), _note(results, scale, runs)
        for measure, words in MEASURES.items():
            found.append(_table(f"{corpus}, {scale}: {words}", note, runs, measure, printed.get(measure, {})))
        found.append(_written(f"{corpus}, {scale}: what was written", runs))
    return found


def _table(title: str, note: str, runs: Runs, measure: str, printed: Mapping) -> Table:
    shares, lines = _shares(runs), []
    for mode in _modes(runs):
        levels = [
            entry(_summary(runs[mode].get(share), measure), printed.get(mode, {}).get(share), other_corpus=True)
            for share in shares
        ]
        others = {} if mode == NONE else runs.get(NONE, {})
        gains = [entry(_over(runs[mode].get(share), others.get(share), measure), sign=True) for share in shares]
        lines.append([mode, *levels, *gains])
    header = ["written from", *map(_percent, shares), *(f"over none, {_percent(share)}" for share in shares)]
    return Table(title, note, header, lines)


def _written(title: str, runs: Runs) -> Table:
    """How much could be read of what was written."""
    shares = _shares(runs)
    lines = []
    for mode in _modes(runs):
        if mode != NONE:
            readable = [entry(_summary(runs[mode].get(share), "validity")) for share in shares]
            written = [_summary(runs[mode].get(share), "n_synthetic") for share in shares]
            lines.append([mode, *readable, *(Entry(round(one.mean)) if one else entry(None) for one in written)])
    header = [
        *(f"readable, {_percent(share)}" for share in shares),
        *(f"utterances, {_percent(share)}" for share in shares),
    ]
    return Table(
        title,
        "Percent of the requests that became a sentence of the augmented language.",
        ["written from", *header],
        lines,
    )


def _shares(runs: Runs) -> list[float]:
    return sorted({share for own in runs.values() for share in own})


def _modes(runs: Runs) -> list[str]:
    return [mode for mode in ORDER if mode in runs]


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _summary(seeds: Mapping[int, Mapping] | None, key: str) -> Summary | None:
    return summarise([facts[key] for facts in seeds.values()]) if seeds else None


def _over(seeds: Mapping[int, Mapping] | None, others: Mapping[int, Mapping] | None, key: str) -> Summary | None:
    """Differences seed by seed; None where no seed has both."""
    both = sorted(set(seeds or {}) & set(others or {}))
    return summarise([seeds[seed][key] - others[seed][key] for seed in both]) if both else None


def _note(results: Results, scale: str, runs: Runs) -> str:
    every = [facts for own in runs.values() for of in own.values() for facts in of.values()]
    seeds, few, tested = (sorted({facts[name] for facts in every}) for name in ("seed", "n_train", "n_test"))
    benchmark = next((name for name, at in results.settings if at == scale), "")
    listed = lambda numbers: " or ".join(f"{number:,}" for number in numbers)
    return (
        f"Seeds {', '.join(map(str, seeds))}; {listed(few)} real utterances to learn from, {listed(tested)} to test on"
        f"{results.backbones(benchmark, scale)}."
    )
