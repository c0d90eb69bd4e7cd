"""Dataset cartography: what subsets, curricula and maps as filters are worth, and what a map's regions are made of."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd

from compaug.evaluation.longtable import pick
from compaug.evaluation.statistics import summarise
from compaug.experiments.cells import NONE
from compaug.reports import figures
from compaug.reports.entries import Entry, Figure, Table
from compaug.reports.queries import Results
from compaug.reports.variations import Over, compared, named, plain

EXPERIMENT = "cartography"
REGIONS, NUMBERS = ("hard", "ambiguous", "easy"), ("confidence", "variability", "correctness")  # of a map
RANDOM, ALL, ALL_STEPS = "region=random", "all", "pacing=all"
UNPACED, OVER_UNPACED = "no curriculum, all epochs", "over all epochs"  # without early stopping, as curricula are
OF_TEXTS = ("chia", "inverse_perplexity", "bleu")  # scores of generators' maps
SHOWN = 100  # points of a map on the page, which may have 1 MB in all
REGION = re.compile("region=[a-z_]+")
HALF = "0.5"  # subset.ratio of params.yaml
STATISTICS = {  # of a region: words above its column
    "length": "words",
    "rarity": "rarity of words",
    "composition_frequency": "rows of the combination",
    "labels": "labels",
    "synthetic": "synthetic, %",
    **{name: f"{name}, %" for name in NUMBERS},
}
IN_PERCENT = ("synthetic", *NUMBERS)


def tables(results: Results) -> Iterator[Table]:
    table = partial(compared, order=_order, words=_words)
    for _, benchmark, rows in results.of(EXPERIMENT):
        rows = pick(rows, decoding=("threshold", "any"), split="unseen")
        real = pick(rows, generator=NONE)
        subsets = named(real, "classifier", "bert", lambda word: "region=" in word)
        over: Over = {"over all": plain("all of D_train"), "over random": _random_twin}
        yield from table(results, f"{benchmark}: subsets of D_train", "texts", subsets, "all of D_train", over)
        over = {OVER_UNPACED: lambda name: None if ALL_STEPS in name or "early" in name else ALL_STEPS}
        for generator, group in _by_generator(rows):
            paced = named(group, "classifier", "bert", lambda word: "pacing=" in word)
            title = f"{benchmark}: curricula of the classifier, {_texts_of(generator)}"
            if paced["name"].str.contains("pacing").any():
                yield from table(results, title, "order", paced, "no curriculum, early stopping", over)
        for generator, group in _by_generator(pick(rows, classifier="bert")):
            chosen = group.assign(name=group["selection"].replace("top_k", "filter"))
            chosen = chosen[~chosen["name"].str.contains("texts=")]
            over = {
                "over filter": plain("filter"),
                "over random": lambda name: None if name == "mode=random" else "mode=random",
            }
            title = f"{benchmark}: what is kept of the texts of {generator}"
            if chosen["name"].nunique() > 1:
                yield from table(results, title, "rule", chosen, "filter", over, {"fidelity": "fidelity_kept"})
        varied = pick(rows, classifier="bert", selection="top_k")
        for generator in sorted({name.partition("+")[0] for name in varied["generator"] if "+" in name}):
            variants = named(varied, "generator", generator, lambda word: "region=" in word or "pacing=" in word)
            over = {"over all": plain("all of D_cg, early stopping"), "over random or all epochs": _generator_twin}
            title = f"{benchmark}: what {generator} learns from, and in which order"
            yield from table(
                results, title, "texts", variants, "all of D_cg, early stopping", over, {"fidelity": "fidelity_kept"}
            )
    yield from _regions(results)


def _by_generator(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for generator, group in rows.groupby("generator"):
        if "+" not in generator:
            yield generator, group


def _texts_of(generator: str) -> str:
    return "no synthetic texts" if generator == NONE else f"kept texts of {generator}"


def _random_twin(name: str) -> str | None:
    """The random subset of the same size."""
    return None if RANDOM in name or not name.startswith("region=") else REGION.sub(RANDOM, name)


def _generator_twin(name: str) -> str | None:
    twin = RANDOM if name.startswith("region=") else ALL_STEPS if name.startswith("pacing=") else None
    return None if name == twin else twin


def _order(name: str) -> tuple:
    """Halves before thirds, random last; then hard, ambiguous, easy."""
    place = next((at for at, region in enumerate(REGIONS) if f"={region}" in name), len(REGIONS))
    return "ratio=" in name, name.partition(",")[0] if "pacing" in name else "", RANDOM in name, place, name


def _words(name: str) -> str:
    """The keys of a subset or a curriculum in words; keys without words stay.

    `ratio` is that of params.yaml where its cell has none.
    """
    keys = dict(key.split("=") for key in re.split("[,+]", name) if "=" in key)
    words = []
    if region := keys.pop("region", ""):
        words.append(f"{region}, {100 * float(keys.pop('ratio', HALF)):.0f} %")
    if pacing := keys.pop("pacing", ""):
        words.append(UNPACED if pacing == ALL else f"{pacing} pacing, {keys.pop('first')} first")
    if not words:
        return f"`{name}`" if keys else name
    words += [f"{keys.pop('epochs')} epochs"] if "epochs" in keys else []
    return ", ".join(words + [f"`{key}={value}`" for key, value in keys.items()])


# ---------------------------------------------------------------- maps


def _groups(results: Results) -> dict[tuple[str, str, str], list[Mapping]]:
    """Maps of all seeds by benchmark, method and generator of the synthetic texts."""
    groups: dict[tuple[str, str, str], list[Mapping]] = {}
    for facts in results.maps.values():
        groups.setdefault((facts["benchmark"], facts["method"], facts["source"]), []).append(facts)
    return {key: sorted(groups[key], key=lambda facts: facts["seed"]) for key in sorted(groups)}


def title_of(benchmark: str, method: str, source: str) -> str:
    return f"{benchmark}: data map of {method}{'' if source == NONE else f' on D_cg and all texts of {source}'}"


def _regions(results: Results) -> Iterator[Table]:
    for key, maps in _groups(results).items():
        lines = []
        for region in (*REGIONS, "all"):
            numbers = {name: summarise([facts["regions"][region][name] for facts in maps]) for name in STATISTICS}
            scaled = {name: 100 if name in IN_PERCENT else 1 for name in STATISTICS}
            cells = [
                Entry(summary.mean * scaled[name], summary.ci95 and summary.ci95 * scaled[name])
                for name, summary in numbers.items()
            ]
            lines.append([region, *cells])
        note = (
            f"{maps[0]['rows']:,} rows, a third in each region; means over seed{'s' * (len(maps) > 1)} "
            f"{', '.join(str(facts['seed']) for facts in maps)}; score `{maps[0]['measure']}`, epochs "
            f"{', '.join(map(str, maps[0]['epochs']))}."
        )
        yield Table(title_of(*key), note, ["region", *STATISTICS.values()], lines)


def figures_of(results: Results) -> Iterator[Figure]:
    for key, maps in _groups(results).items():
        first = maps[0]
        n_points = len(first["points"]["confidence"])
        caption = f"{title_of(*key)}, seed {first['seed']}: {n_points:,} of {first['rows']:,} rows"
        draw = partial(figures.data_map, title_of(*key), first["measure"], first["points"])
        yield Figure(f"data-map-{'-'.join(key)}", caption, draw, on_page="texts" not in first["points"])


def interactive(results: Results) -> list[dict]:
    """Points with their texts, of the classifiers' maps that have any: the project's own corpus."""
    maps = []
    for key, (first, *_) in _groups(results).items():
        if (texts := first["points"].get("texts", [])[:SHOWN]) and first["measure"] not in OF_TEXTS:
            columns = [first["points"][name] for name in (*NUMBERS, "synthetic", "labels")]
            points = [list(point) for point in zip(*columns, texts, strict=False)]  # the first ones have a text
            maps.append({"title": f"{title_of(*key)}, seed {first['seed']}", "points": points})
    return maps
