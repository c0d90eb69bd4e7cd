"""Human evaluation of synthetic texts (Table 10 of the paper): sheets, scores, ranks, agreement.

The sheet is blind: a rater sees a text and ticks the labels that it expresses, not knowing which generator wrote it or
what was asked. Per text Acc, Corr and Comp compare the ticked labels with the requested ones, as everywhere (paper,
Table 10).
"""

import csv
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from compaug.core.files import InputError, digest, read_json
from compaug.core.records import Example, Labels, label_ids, sub_seed
from compaug.evaluation.metrics import instance_scores, label_matrix, percent
from compaug.evaluation.predictions import refused

COLUMNS = ("text_id", "text", "labels")
NOTHING, SEPARATOR = "none", ";"  # a text that expresses no label; between two labels
METRICS = ("acc", "corr", "comp")
KEY_REMEDY = "`python -m compaug.stages.rating_sheet` writes one"


@dataclass(frozen=True)
class Item:
    """One text to rate; who wrote it and what was asked stay in the key."""

    text_id: str
    text: str
    generator: str
    requested: tuple[int, ...]


def draw(selected: Mapping[str, Sequence[Example]], n: int, seed: int) -> list[Item]:
    """n random texts of every generator, mixed; the same seed draws the same.

    Their ids are those of this export alone, so that a sheet of another one is not taken for it.

    InputError when a generator has fewer, or texts of which nobody asked anything.
    """
    if n < 1:
        raise InputError(f"--texts {n}: at least one text of each generator is to be rated")
    drawn = []
    for generator, examples in selected.items():
        if len(examples) < n:
            raise InputError(f"{generator}: {n} texts are to be rated but it has {len(examples)}; lower --texts")
        if not all(example.requested_labels for example in examples):
            raise InputError(f"{generator}: a row without `requested_labels`; give kept texts, data/selected/*.jsonl")
        rng = np.random.default_rng(sub_seed(seed, "ratings", generator))
        drawn += [(generator, examples[row]) for row in rng.choice(len(examples), size=n, replace=False)]
    order = np.random.default_rng(sub_seed(seed, "ratings")).permutation(len(drawn))
    export = digest([drawn[row][1].text for row in order])[:4]
    return [
        Item(f"T{export}-{place + 1:03d}", drawn[row][1].text, drawn[row][0], drawn[row][1].requested_labels)
        for place, row in enumerate(order)
    ]


# ---------------------------------------------------------------- the sheet


def sheet_rows(items: Sequence[Item], labels: Labels) -> list[dict[str, str]]:
    """Rows of the CSV. InputError for a label whose name could not be written there."""
    for name in labels.names:
        if SEPARATOR in name or name.casefold() == NOTHING:
            raise InputError(f"label {name!r}: rating sheets use {SEPARATOR!r} and {NOTHING!r} themselves; rename it")
    return [{"text_id": item.text_id, "text": _plain(item.text), "labels": ""} for item in items]


def _plain(text: str) -> str:
    """A text that begins like a formula, behind an apostrophe, since a spreadsheet would take it for one.

    Texts are not read back.
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def key_of(items: Sequence[Item], labels: Labels) -> dict:
    """What the raters do not see."""
    return {"labels": {"names": labels.names, "phrases": labels.phrases}, "items": [asdict(item) for item in items]}


def read_key(path: Path) -> tuple[list[Item], Labels]:
    """The items in the order of the sheet, and the labels. InputError for another file."""
    with refused(path, "the key.json of an export", KEY_REMEDY):
        key = read_json(path, remedy=KEY_REMEDY)
        labels = Labels(tuple(key["labels"]["names"]), tuple(key["labels"]["phrases"]))
        items = [Item(**(item | {"requested": label_ids(item["requested"], len(labels))})) for item in key["items"]]
    return items, labels


# ---------------------------------------------------------------- filled sheets


def read(path: Path, items: Sequence[Item], labels: Labels) -> dict[str, tuple[int, ...]]:
    """{text_id: label set} of one rater's CSV; rows with an empty `labels` cell are not rated.

    InputError names file and line.
    """
    try:
        return _read(path, {item.text_id for item in items}, labels)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the sheets that the raters sent back") from None
    except (UnicodeDecodeError, csv.Error):
        message = "not a CSV in UTF-8; save the sheet again as 'CSV UTF-8', separated by commas"
        raise InputError(f"{path}: {message}") from None


def _read(path: Path, text_ids: Collection[str], labels: Labels) -> dict[str, tuple[int, ...]]:
    name_of = {name.casefold(): label for label, name in enumerate(labels.names)}
    rated: dict[str, tuple[int, ...]] = {}
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream)
        if missing := [name for name in ("text_id", "labels") if name not in (rows.fieldnames or ())]:
            raise InputError(
                f"{path}: has no column {missing[0]!r}; the columns are {', '.join(COLUMNS)}, separated by commas"
            )
        seen = set()
        for row in rows:
            if not any(isinstance(cell, str) and cell.strip() for cell in row.values()):
                continue  # spreadsheets leave empty rows
            where, text_id = f"{path}:{rows.line_num}", (row["text_id"] or "").strip()
            if text_id not in text_ids:
                raise InputError(f"{where}: {text_id!r} is not in the key; the sheet belongs to another export")
            if text_id in seen:
                raise InputError(f"{where}: {text_id!r} comes twice; remove one of its rows")
            seen.add(text_id)
            words = [word.strip() for word in (row["labels"] or "").split(SEPARATOR) if word.strip()]
            if not words:
                continue
            chosen = [word for word in words if word.casefold() != NOTHING]
            if unknown := [word for word in chosen if word.casefold() not in name_of]:
                raise InputError(f"{where}: unknown label {unknown[0]!r}; write {', '.join(labels.names)} or {NOTHING}")
            if len(chosen) < len(words) and chosen:
                raise InputError(f"{where}: {NOTHING!r} stands beside other labels; keep one or the other")
            rated[text_id] = tuple(sorted({name_of[word.casefold()] for word in chosen}))
    if not rated:
        raise InputError(f"{path}: no text is rated; fill the column `labels`")
    return rated


def summary(items: Sequence[Item], sheets: Sequence[Mapping[str, tuple[int, ...]]], labels: Labels) -> dict:
    """Scores by generator and the agreement of the raters.

    generators: acc, corr, comp (percent over all ratings), n and the average rank over raters. A rater ranks generators
    by the mean Jaccard index; ties share a rank.

    alpha: Krippendorff's, over all (text, label) decisions; None with one rater.
    """
    import pandas as pd  # slow to load

    rated = [(r, i) for r, sheet in enumerate(sheets) for i, item in enumerate(items) if item.text_id in sheet]
    ticked = label_matrix([sheets[r][items[i].text_id] for r, i in rated], len(labels))  # [ratings, n_labels]
    scores = instance_scores(label_matrix([items[i].requested for _, i in rated], len(labels)), ticked)
    raters, places = np.array(rated).T
    every = pd.DataFrame(scores | {"rater": raters, "generator": [items[i].generator for i in places]})
    jaccard = every.groupby(["rater", "generator"])["jacc"].mean().unstack()
    ranks = jaccard.round(9).rank(axis=1, ascending=False).mean()  # rounded: sums in another order are ties
    table = {}
    for generator in dict.fromkeys(item.generator for item in items):
        rows = every[every["generator"] == generator]
        table[generator] = {name: percent(rows[name].mean()) if len(rows) else None for name in METRICS}
        table[generator] |= {"avg_rank": round(float(ranks[generator]), 2) if len(rows) else None, "n": len(rows)}
    decisions = np.full((len(sheets), len(items), len(labels)), np.nan)
    decisions[raters, places] = ticked
    return {"raters": len(sheets), "generators": table, "alpha": alpha(decisions.reshape(len(sheets), -1))}


def alpha(ratings: np.ndarray) -> float | None:
    """Krippendorff's alpha for nominal data, ratings [raters, units], nan where a rater has none.

    None when no unit has two ratings; 1 when all ratings are the same.
    """
    import krippendorff

    paired = ratings[:, (~np.isnan(ratings)).sum(0) >= 2]
    if not paired.size or np.nanmin(paired) == np.nanmax(paired):
        return 1.0 if paired.size else None
    return round(float(krippendorff.alpha(paired, level_of_measurement="nominal")), 4)


# ---------------------------------------------------------------- proxies of people


def shares(requested: np.ndarray, read: np.ndarray, weights: np.ndarray | None = None) -> dict[str, float]:
    """acc, corr and comp (percent) of what a reader finds, bool [n, n_labels], against what was asked; weights [n]."""
    scores = instance_scores(requested, read)
    return {name: percent(np.average(scores[name], weights=weights)) for name in METRICS}


def shares_of_real(
    label_sets: Sequence[tuple[int, ...]],
    read: np.ndarray,
    seen: Collection[tuple[int, ...]],
    kept: Mapping[tuple[int, ...], int],
) -> dict[str, float]:
    """How a reader reads real texts of unseen combinations, each as often as kept texts were asked for it.

    Args:
        label_sets: Gold label sets of the real texts [n].
        read: What the reader finds in them, bool [n, n_labels].
        seen: Combinations of D_train, which have no weight.
        kept: Kept texts by the combination that was requested; one without a real text has no weight either.

    Returns:
        acc, corr, comp (percent); n, real texts with a weight; covered, percent of the kept texts that the weights
        stand for. {} where no real text has a weight.
    """
    rows = Counter(label_sets)
    weights = np.array([0 if key in seen else kept.get(key, 0) / rows[key] for key in label_sets])
    if not weights.any():
        return {}
    covered = percent(weights.sum() / sum(kept.values()))
    counts = {"n": int((weights > 0).sum()), "covered": covered}
    return shares(label_matrix(label_sets, read.shape[1]), read, weights) | counts


def oracle_shares(
    oracle: Callable[[str], Collection[tuple[int, ...]]], examples: Sequence[Example]
) -> dict[str, float]:
    """The same by an oracle, which gives every label set that a text can express.

    It is enough that one of them fits. A text without a reading fits nothing.
    """
    agreements = []
    for example in examples:
        requested, readings = set(example.requested_labels), [set(reading) for reading in oracle(example.text)]
        agreements.append(
            [any(fits(read, requested) for read in readings) for fits in (set.__eq__, set.__le__, set.__ge__)]
        )
    return dict(zip(METRICS, map(percent, np.mean(agreements, axis=0)), strict=True))
