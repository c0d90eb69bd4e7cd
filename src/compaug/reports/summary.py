"""summary.md of the root cell: did augmentation help, by how much, where, and with what synthetic data.

The words are those of templates/summary.md; here are the rows of its tables.
"""

import math
from collections.abc import Mapping, Sequence

from compaug.core.markdown import NOT_REPORTED, number
from compaug.core.pages import render
from compaug.reports import NAMES
from compaug.reports.gap import Gap, Part, contribution, remedy, sentence
from compaug.reports.paper import IID, printed

NONE = "none"  # the generator that adds nothing
CEILINGS = {
    "iid": "ceiling: Bayes, iid",
    "cg_training_prior": "ceiling: Bayes, CG, prior of training",
    "cg_target_prior": "ceiling: Bayes, CG, prior of test",
}
PARTS = ("total", "operating_point", "knowledge")  # of the gap, whatever the texts
TABULAR = "tabular"  # the reader of a user's own corpus
LEARNED = 2.0  # points of iid accuracy over the trivial classifier's under which nothing has been learned
MOSTLY = 50.0  # percent of rows that get no label, though they have one
SHOWABLE = 5.0  # points; an interval that is wider to either side hides effects that matter
DECODINGS = {  # what a page calls them
    "threshold": "labels above {threshold}",
    "tuned_thresholds": "labels above thresholds of their own, chosen on the validation rows",
    "composition_prior": (
        "the composition prior, target {target}, weight {weight}, strength {strength}: on unseen combinations it is "
        "told which there are, which costs seen ones, and the iid rows are read with the training rows' own"
    ),
}
UNDER = {  # ... at the head of a sentence
    "threshold": "At {threshold}",
    "tuned_thresholds": "With tuned thresholds",
    "composition_prior": "Under the composition prior",
}
COLUMNS = ("jacc", "acc", "corr", "corr_set", "comp")
SIDES = ("seen_acc", "harmonic", "best_harmonic", "ausuc", "acc_at_seen")  # of seen and unseen combinations
SHORT = ("acc", "seen_acc", "best_harmonic", "acc_at_seen")  # the columns of the table that comes first
FROM = {  # what a classifier of an arm learns from, in that table
    "baseline": "no synthetic texts",
    "oversample": "support texts, repeated",
    "augmented": "texts of {generator}",
    "matched": "real texts (matched)",
}
KEPT = {
    "mean_filter_jacc": "mean filter Jacc",
    "share_jacc_1": "share with Jacc 1",
    "total_variation": "total variation of the histogram of combinations before and after selection",
}
READINGS = 2  # of a text that are shown: an ambiguous one has many


def page(cell: Mapping) -> str:
    """The whole page as Markdown.

    Keys of `cell`:

        benchmark, generator, classifier, seed
        backbones                   {role: words}
        metrics, details            what the stage evaluate wrote
        selection, label_generator  side-cars of the kept texts and of the requests, {} without
        paper, paper_column         paper_values.yaml and the benchmark's column there
        own                         whether the corpus is a user's
    """
    metrics, details, augments = cell["metrics"], cell["details"], cell["generator"] != NONE
    order = ("augmented", "oversample", "baseline", "matched", "iid")
    own_tiny = cell["own"] and cell["backbones"]["encoder"].startswith("tiny, ")
    arms = [arm for arm in order if arm in metrics and (augments or arm != "augmented")]
    shown = ["baseline", "augmented"][: 1 + augments]
    return render(
        "summary.md",
        **cell,
        augments=augments,
        finding=_finding(details.get("gap"), cell["generator"]),
        no_verdict=_no_verdict(metrics, details, arms, own_tiny),
        too_few=_too_few(details["acc_gain"]),
        decoding=_decoding(details.get("decoding"), DECODINGS),
        under=_decoding(details.get("decoding"), UNDER) or "At 0.5",
        arms=arms,
        arms_compared=_arms_compared(metrics, arms, NAMES.get(cell["generator"], f"`{cell['generator']}`")),
        results=_results(cell, arms),
        errors=_errors(metrics, details.get("unparsed"), arms),
        columns=[f"Acc {arm}" for arm in shown],
        compositions=_compositions([details["per_composition"][arm] for arm in shown]),
        epoch=_epoch(details.get("epoch")),
        kept={words: value for key, words in KEPT.items() if (value := cell["selection"].get(key)) is not None},
        samples=[_sample(**sample) for sample in details.get("samples", ())],
    )


def _finding(parts: Mapping[str, Mapping] | None, generator: str) -> dict[str, str] | None:
    """The gap in its two parts with what the texts give of it, and the remedy.

    None where the parts were not measured. A part is shown where its interval over test rows has no zero in it.
    """
    if not parts:
        return None
    every = {
        name: Part(part["mean"], part["low"], part["high"], part["low"] > 0 or part["high"] < 0)
        for name, part in parts.items()
    }
    gap = Gap(**every) if generator != NONE else Gap(**{name: every[name] for name in PARTS})
    words = sentence(gap) if gap.texts is None else f"{sentence(gap)}; {contribution(gap)}"
    return {"sentence": words, "remedy": remedy(gap)}


def _no_verdict(metrics: Mapping, details: Mapping, arms: Sequence[str], own_tiny: bool) -> str | None:
    """Why nothing can be said of decoding and texts, and what to do; None where something can.

    A classifier that has not learned the corpus fails on unseen combinations as on all others.
    """
    iid, trivial = metrics.get("iid"), details.get("trivial")
    stronger = f"take {'`run.scale: pretrained`' if own_tiny else 'a larger model'}, more rows or more epochs"
    if iid and trivial and iid["acc"] < trivial["iid_acc"] + LEARNED:
        return (
            f"on the iid split the classifier is right on {number(iid['acc'])} % of the rows, and always answering "
            f"{trivial['answer']} would be on {number(trivial['iid_acc'])} %: it has not learned the corpus, so that "
            f"what it does on unseen combinations says nothing of augmentation; {stronger}"
        )
    shown = [arm for arm in ("baseline", "augmented", "iid") if arm in arms and "kind_empty" in metrics[arm]]
    empty = {arm: metrics[arm]["kind_empty"] for arm in shown}
    unseen = [empty[arm] for arm in ("baseline", "augmented") if arm in empty]
    if unseen and (min(unseen) > MOSTLY or empty.get("iid", 0) > MOSTLY):
        rates = ", ".join(f"{arm} {number(rate)} %" for arm, rate in empty.items())
        return (
            f"most answers are empty ({rates} of the rows get none of their labels), so that accuracy counts "
            "abstentions; set `evaluation.decoding: tuned_thresholds` or a lower `evaluation.threshold`, "
            f"or {stronger}"
        )
    return None


def _too_few(gain: Mapping) -> str | None:
    """How wide an interval with zero in it is, and how many rows would do; None where it could hide no effect."""
    half = (gain["high"] - gain["low"]) / 2
    if not gain["low"] <= 0 <= gain["high"] or half <= SHOWABLE:
        return None
    needed = math.ceil(gain["n"] * (half / SHOWABLE) ** 2 / 10) * 10
    return (
        f"{gain['n']} test rows are too few: they show gains from about {number(half, digits=0)} points on. "
        f"For {number(SHOWABLE, digits=0)} points some {needed:,} rows would do: raise `split.compositions` or "
        "`split.test_share`, or give more rows."
    )


def _decoding(facts: Mapping | None, words: Mapping[str, str]) -> str | None:
    return words[facts["name"]].format(**facts) if facts else None


def _epoch(counted: Mapping | None) -> str | None:
    """What part of an epoch the texts are."""
    if not counted or not counted["texts"]:
        return None
    share, times = 100 * counted["shown"] / (counted["real"] + counted["shown"]), counted["shown"] / counted["texts"]
    often = f", each {times:.0f} times" if times > 1 else ""
    return f"{counted['real']:,} real texts, {counted['texts']:,} synthetic ones{often}, {number(share)} % of it."


def _arms_compared(metrics: Mapping, arms: Sequence[str], generator: str) -> list[list[str]]:
    """A row for each arm that answers the unseen test rows: what it learns from, and the columns of `SHORT`."""
    return [
        [words.format(generator=generator), *(number(metrics[arm].get(column), digits=1) for column in SHORT)]
        for arm, words in FROM.items()
        if arm in arms
    ]


def _results(cell: Mapping, arms: Sequence[str]) -> list[list]:
    """Ceilings, our arms, the paper's rows."""
    words = {"augmented": f"augmented ({cell['generator']}), CG", "baseline": "baseline (no augmentation), CG"}
    words["oversample"] = "support texts repeated, CG"
    words["matched"] = "real texts in their place (matched), CG"
    words["iid"] = "baseline (no augmentation), iid"
    bayes, column = cell["details"].get("bayes", {}), cell["paper_column"]
    rows = {name: bayes[key] for key, name in CEILINGS.items() if key in bayes}
    rows |= {words[arm]: cell["metrics"][arm] for arm in arms}
    for generator in (cell["generator"], NONE, IID):
        theirs = printed(cell["paper"], column, generator, cell["classifier"])
        if any(value is not None for value in theirs.values()):
            rows[f"paper ({column}): {'none, iid' if generator == IID else f'{generator}, CG'}"] = theirs
    return [
        [name, *(number(values.get(column)) for column in (*COLUMNS, *SIDES)), values.get("n", NOT_REPORTED)]
        for name, values in rows.items()
    ]


def _errors(metrics: Mapping, unparsed: Mapping | None, arms: Sequence[str]) -> list[list[str]]:
    """`unparsed`: of a classifier that writes its answers."""
    columns = {}
    for arm in arms:
        scores = metrics[arm]
        missed, added = scores["strict_subset"], scores["strict_superset"]
        columns[arm] = {"exact": scores["acc"], "only misses labels": missed, "only adds labels": added}
        columns[arm]["misses and adds"] = max(0.0, 100 - scores["acc"] - missed - added)
        columns[arm]["(predicts nothing)"] = scores["empty_rate"]
        if unparsed:
            columns[arm]["(a piece does not parse)"] = 100 * unparsed[arm]["rows"] / scores["n"]
    return [[kind, *(number(columns[arm][kind]) for arm in arms)] for kind in columns[arms[0]]]


def _compositions(arms: Sequence[Mapping[str, Mapping]]) -> list[list]:
    """The largest first; the wrong prediction is that of the last arm."""
    return [
        [key, row["n"], *(number(arm[key]["acc"]) for arm in arms)]
        + [f"{row['wrong']} ({row['n_wrong']})" if row["wrong"] else NOT_REPORTED]
        for key, row in sorted(arms[-1].items(), key=lambda item: (-item[1]["n"], item[0]))
    ]


def _sample(requested: str, faithful: bool, readings: Sequence[str], text: str) -> list[str]:
    more = f" or {len(readings) - READINGS} more" if len(readings) > READINGS else ""
    read = " or ".join(readings[:READINGS]) or "expresses no label set"
    return [requested, "yes" if faithful else f"no: {read}{more}", text]
