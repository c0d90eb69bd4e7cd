"""Texts that other labels were held against while they were written: what they say and what they teach."""

from collections.abc import Iterator

import pandas as pd

from compaug.evaluation.longtable import pick
from compaug.reports.entries import Table
from compaug.reports.queries import Results
from compaug.reports.variations import Over, compared

EXPERIMENT = "guidance"
EXPERIMENTS = (EXPERIMENT, "guidance_pretrained")
CONTROLS = ("none", "oversample")
OFF, RANDOM = "w = 0", ", chosen at random"
QUALITY = {"filter": "quality_filter_exact", "distinct-2": "quality_distinct_2", "fidelity": "fidelity_raw"}
SHARES = ("quality_filter_exact", "quality_distinct_2")  # the others are in percent already


def tables(results: Results) -> Iterator[Table]:
    for _, benchmark, rows in results.of(*EXPERIMENTS, classifier="bert"):
        rows = pick(rows, decoding=("threshold", "any"), split="unseen")
        rows = rows.assign(value=rows["value"].where(~rows["metric"].isin(SHARES), 100 * rows["value"]))
        guided = {word.partition("+")[0] for word in rows["generator"] if "guidance=" in word}
        for generator in results.ordered(guided):
            variants = _named(rows, generator)
            more = {shown: metric for shown, metric in QUALITY.items() if metric in set(variants["metric"])}
            yield from compared(results, f"{benchmark}: {generator}", "texts", variants, OFF, OVER, more, _order)


def _named(rows: pd.DataFrame, generator: str) -> pd.DataFrame:
    """The controls under their names, and the generator's rows under the weight of its guidance."""
    of_controls = pick(rows, generator=CONTROLS)
    variants = rows[rows["generator"].map(lambda word: word == generator or word.startswith(f"{generator}+guidance="))]
    weight = variants["generator"].str.partition("guidance=")[2]
    random = variants["selection"] == "mode=random"
    name = ("w = " + weight.where(weight != "", "0")) + random.map({True: RANDOM, False: ""})
    return pd.concat([of_controls.assign(name=of_controls["generator"]), variants.assign(name=name)])


def _unguided(name: str) -> str | None:
    """What is chosen alike, written without guidance."""
    if name in CONTROLS or name.startswith(OFF):
        return None
    return OFF + RANDOM if name.endswith(RANDOM) else OFF


OVER: Over = {"over w = 0": _unguided, "over oversample": lambda name: None if name == "oversample" else "oversample"}


def _order(name: str) -> tuple:
    """After w = 0 the controls, what the filter chose before what chance did, by weight."""
    return name not in CONTROLS, name.endswith(RANDOM), name
