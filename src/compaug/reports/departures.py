"""What each departure from the reference code is worth: options of the generator, rules of selection."""

from __future__ import annotations

from compaug.reports import METRICS
from compaug.reports.cells import Table, cell, metrics
from compaug.reports.longtable import Results, difference, pick, summaries

TITLE = "Departures from the reference code, one at a time"
EXPERIMENT = "ablations"
INTRO = (
    "`ld_vae` with one option as the reference code has it, or with another rule of selection; gains are over the default, paired by seed. "
    "Training it without the support texts (`generator_data: train_only`) is the text generator with 0 support texts in Table 4. With "
    "`batch_order=reference` a batch has one composition, but the order of batches is still shuffled. Departures of the classifier's training "
    "(support texts twice, a larger validation set) are not here."
)
GENERATOR, SELECTION = "ld_vae", "top_k"


def tables(results: Results) -> list[Table]:
    made = []
    for _, benchmark, rows in results.of(EXPERIMENT):
        rows = pick(rows, split="unseen", decoding="threshold", metric=METRICS)
        options = [name for name in rows["generator"] if name.startswith(f"{GENERATOR}+")]
        rules = [rule for rule in pick(rows, generator=GENERATOR)["selection"] if "texts=" not in rule]
        families = {"options of the generator": [(name, SELECTION) for name in options]}
        families["rules of selection"] = [(GENERATOR, rule) for rule in rules if rule != SELECTION]
        for words, variants in families.items():
            some = rows[
                [
                    pair in {(GENERATOR, SELECTION), *variants}
                    for pair in zip(rows["generator"], rows["selection"], strict=True)
                ]
            ]
            found, lines = summaries(some, "generator", "selection", "metric"), []
            for pair in [(GENERATOR, SELECTION), *sorted(set(variants))]:
                acc = [pick(some, generator=g, selection=s, metric="acc") for g, s in (pair, (GENERATOR, SELECTION))]
                name = (
                    "default"
                    if pair == (GENERATOR, SELECTION)
                    else pair[0].removeprefix(f"{GENERATOR}+")
                    if pair[1] == SELECTION
                    else pair[1]
                )
                own = {metric: found.get((*pair, metric)) for metric in METRICS}
                lines.append(
                    [name, *metrics(own, METRICS), cell(None if name == "default" else difference(*acc), sign=True)]
                )
            if variants:
                made.append(
                    Table(
                        f"{benchmark}: {words}",
                        results.setting(some),
                        ["", *METRICS.values(), "Acc over default"],
                        lines,
                    )
                )
    return made
