"""Data maps (Swayamdipta et al. 2020; Ince et al. 2023): a training's view of its rows, and subsets of these.

A row's *confidence* is the mean of its score over the epochs, its *variability* the standard deviation, its
*correctness* the share of the epochs in which the model was right. Least confident rows are hard to learn, most
confident ones easy, most variable ones ambiguous.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

from compaug.core.files import InputError, write_csv
from compaug.core.records import Example, sub_seed

CERTAIN = 1e-12  # probabilities are clipped to [CERTAIN, 1] before a logarithm
THRESHOLD = 0.5
ROWS = 8192  # at a time, so that memory does not grow with the corpus
COLUMNS = ("id", "confidence", "variability", "correctness")
DIGITS = 6

Measure = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class DataMap:
    """Confidence, variability and correctness of the rows `ids`, each [n]."""

    ids: Sequence[str]
    confidence: np.ndarray
    variability: np.ndarray
    correctness: np.ndarray

    def of(self, ids: Sequence[str], where: object = "the map") -> DataMap:
        """The map of these rows, in their order. InputError for a row that it does not have."""
        at = {id_: place for place, id_ in enumerate(self.ids)}
        if missing := next((id_ for id_ in ids if id_ not in at), None):
            raise InputError(f"{where}: has no row {missing!r}; make the map of the data that it is used on")
        rows = np.array([at[id_] for id_ in ids], dtype=int)
        return DataMap(list(ids), self.confidence[rows], self.variability[rows], self.correctness[rows])


# ---------------------------------------------------------------- scores of an epoch
#
# Of classifiers: from p = P(label | text) [..., n_labels] and the gold labels, which are booleans of that shape.


def _of_gold(probabilities: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """p(y_l | x): of each label the probability of what it is.  # [..., n_labels]"""
    return np.where(gold, probabilities, 1 - probabilities)


def mean_label(probabilities: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """(1/|Y|) sum_l p(y_l | x), as CHIA takes the mean over tokens."""
    return _of_gold(probabilities, gold).mean(-1)


def geo_label(probabilities: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """(prod_l p(y_l | x))^(1/|Y|), as inverse perplexity over tokens."""
    return np.exp(_logs(_of_gold(probabilities, gold)).mean(-1))


def exact(probabilities: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """prod_l p(y_l | x): of the whole composition."""
    return np.exp(_logs(_of_gold(probabilities, gold)).sum(-1))


def positives(probabilities: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Mean over the gold labels alone; over all labels where there is no gold label."""
    counted = gold | ~gold.any(-1, keepdims=True)
    return (_of_gold(probabilities, gold) * counted).sum(-1) / counted.sum(-1)


def jaccard(probabilities: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """|p ∩ g| / |p ∪ g| of the labels above 0.5, as BLEU compares whole outputs; 1 where both are empty."""
    predicted = probabilities > THRESHOLD
    union = (predicted | gold).sum(-1)
    return np.where(union > 0, (predicted & gold).sum(-1) / np.maximum(union, 1), 1.0)


def is_exact(probabilities: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Whether the labels above 0.5 are the gold ones."""
    return ((probabilities > THRESHOLD) == gold).all(-1)


MEASURES: dict[str, Measure] = {
    "mean_label": mean_label,
    "geo_label": geo_label,
    "exact": exact,
    "positives": positives,
    "jaccard": jaccard,
}


# Of generators: from p(x_t | x_<t, y) [tokens] of a text's own tokens, with the end-of-text token that it kept.


def chia(probabilities: np.ndarray) -> float:
    """(1/T) sum_t p(x_t | x_<t, y)."""
    return float(probabilities.mean())


def inverse_perplexity(probabilities: np.ndarray) -> float:
    """(prod_t p(x_t | x_<t, y))^(1/T)."""
    return float(np.exp(_logs(probabilities).mean()))


def bleu(hypothesis: str, reference: str) -> float:
    """Sentence BLEU-4 of words, in [0, 1].

    Sacrebleu does not have the paper's smoothing (method 4 of Chen and Cherry 2014): here method 3, `exp`, and its
    effective order for texts of fewer than four words.
    """
    if not hypothesis.split():
        return 0.0
    return min(1.0, _scorer().sentence_score(hypothesis, [reference]).score / 100)


TOKEN_MEASURES = {"chia": chia, "inverse_perplexity": inverse_perplexity}
GENERATED = (*TOKEN_MEASURES, "bleu")  # what a generator can be measured by


@cache
def _scorer():
    from sacrebleu.metrics import BLEU  # slow to import

    return BLEU(tokenize="none", smooth_method="exp", effective_order=True)


def _logs(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.clip(probabilities, CERTAIN, 1.0))


# ---------------------------------------------------------------- maps


def window(epochs: int, min_epoch: int = 0, convergence_epoch: int | None = None) -> slice:
    """The epochs e = 1 .. E with min_epoch < e < convergence_epoch, as a slice from 0.

    InputError where fewer than two are left.
    """
    end = epochs if convergence_epoch is None else min(epochs, convergence_epoch - 1)
    if end - min_epoch < 2:
        raise InputError(
            f"data_map: {max(0, end - min_epoch)} of {epochs} epochs lie after min_epoch {min_epoch} and before "
            f"convergence_epoch {convergence_epoch}; a map needs two or more: train longer or widen the window"
        )
    return slice(min_epoch, end)


def moments(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over the epochs of `scores` [epochs, n]; exactly 0 for a score that never moves."""
    apart = scores - scores[0]
    return scores[0] + apart.mean(0), apart.std(0)


def classifier_maps(
    dynamics: np.ndarray, ids: Sequence[str], label_sets: Sequence[Collection[int]], epochs: slice
) -> dict[str, DataMap]:
    """The map of a classifier's training by every measure, from its probabilities `dynamics` [epochs, n, n_labels].

    InputError for a probability that is none.
    """

    def block(rows: slice) -> dict[str, np.ndarray]:
        probabilities = np.asarray(dynamics[epochs, rows], dtype=np.float64)  # [epochs, rows, n_labels]
        _check_probabilities(probabilities, ids[rows])
        gold = np.zeros(probabilities.shape[1:], dtype=bool)
        for row, labels in enumerate(label_sets[rows]):
            gold[row, list(labels)] = True
        every = np.broadcast_to(gold, probabilities.shape)
        scores = {name: measure(probabilities, every) for name, measure in MEASURES.items()}
        return scores | {"right": is_exact(probabilities, every)}

    return _mapped(ids, block)


def generator_maps(dynamics: np.ndarray, ids: Sequence[str], epochs: slice) -> dict[str, DataMap]:
    """The map of a generator's training by the measures of GENERATED.

    `dynamics` [epochs, n, 4]: those and whether greedy decoding gives the text itself. BLEU is of the rows that were
    decoded; it is left out where none was.
    """

    def block(rows: slice) -> dict[str, np.ndarray]:
        values = np.asarray(dynamics[epochs, rows], dtype=np.float64)
        _check_probabilities(values[..., [0, 1, 3]], ids[rows])
        scores = dict(zip(GENERATED, np.moveaxis(values, 2, 0), strict=False))
        return scores | {"right": values[..., len(GENERATED)] > THRESHOLD}

    data_maps = _mapped(ids, block)
    decoded = np.flatnonzero(np.isfinite(data_maps["bleu"].confidence))
    data_maps["bleu"] = data_maps["bleu"].of([ids[row] for row in decoded])
    return {name: data_map for name, data_map in data_maps.items() if len(data_map.ids)}


def _mapped(ids: Sequence[str], block: Callable[[slice], Mapping[str, np.ndarray]]) -> dict[str, DataMap]:
    """Maps by measure; `block` gives the scores of rows, and under "right" correctness, each [epochs, rows]."""
    parts: dict[str, list[tuple]] = {}
    for start in range(0, len(ids), ROWS):
        by_measure = dict(block(slice(start, start + ROWS)))
        correctness = by_measure.pop("right").mean(0)
        for name, scores in by_measure.items():
            parts.setdefault(name, []).append((*moments(scores), correctness))
    return {
        name: DataMap(list(ids), *(np.concatenate(arrays) for arrays in zip(*chunks, strict=True)))
        for name, chunks in parts.items()
    }


def _check_probabilities(values: np.ndarray, ids: Sequence[str]) -> None:
    wrong = ~((values >= 0) & (values <= 1))  # NaN is neither
    if wrong.any():
        row = int(np.argwhere(wrong)[0][1])
        raise InputError(f"dynamics: row {ids[row]!r} has a probability that is no number from 0 to 1; train again")


# ---------------------------------------------------------------- files


def write_map(path: Path, data_map: DataMap) -> None:
    """A CSV of ids and numbers: id, confidence, variability, correctness."""
    numbers = (np.round(getattr(data_map, name), DIGITS).tolist() for name in COLUMNS[1:])
    write_csv(path, COLUMNS, zip(data_map.ids, *numbers, strict=True))


def read_map(path: Path) -> DataMap:
    """What `write_map` wrote."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        columns = ([float(row[name]) for row in rows] for name in COLUMNS[1:])
        return DataMap([row["id"] for row in rows], *map(np.array, columns))
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise InputError(f"{path}: no data map ({error}); make it again") from None


def map_of(folder: Path, measure: str | None = None) -> DataMap:
    """The map by that measure in a folder of a map stage; None: by the first of classifiers or of generators.

    InputError names what there is.
    """
    named = {path.stem: path for path in sorted(Path(folder).glob("*.csv"))}
    measures = [measure] if measure else [next(iter(MEASURES)), GENERATED[0]]
    if path := next((named[name] for name in measures if name in named), None):
        return read_map(path)
    raise InputError(f"{folder}: no map by {' or '.join(measures)}; there is {', '.join(named) or 'none'}")


# ---------------------------------------------------------------- ranks and subsets

REGIONS: dict[str, Callable[[DataMap], np.ndarray]] = {  # the smallest first; in the order of how informative they are
    "hard": lambda data_map: data_map.confidence,
    "ambiguous": lambda data_map: -data_map.variability,
    "easy": lambda data_map: -data_map.confidence,
}
RANDOM = "random"
COMBINED = {f"{first}_{second}": (first, second) for first, second in combinations(REGIONS, 2)}
FIRST_PART = 0.33  # of a combination: what the more informative region gives


def ranked(data_map: DataMap, region: str, seed: int) -> list[int]:
    """Positions of the map's rows, those of the region first; ties, and `random`, in an order of the seed."""
    shuffled = np.random.default_rng(sub_seed(seed, "map", region)).permutation(len(data_map.ids))
    if region == RANDOM:
        return shuffled.tolist()
    return shuffled[np.argsort(REGIONS[region](data_map)[shuffled], kind="stable")].tolist()


def in_order(examples: Sequence[Example], settings, folder: Path | None, seed: int) -> list[Example]:
    """The examples in the order in which `settings`, a `schema.Paced`, unlocks them, by the map in `folder`.

    InputError for a curriculum without a map, or a map without a curriculum.
    """
    if (settings.first is None) != (folder is None):
        raise InputError(
            "--map: a data map and a curriculum go together; "
            "give both or neither: --set <block>.pacing=exponential,first=hard"
        )
    if folder is None:
        return list(examples)
    data_map = map_of(folder, settings.measure).of([example.id for example in examples], folder)
    return [examples[row] for row in ranked(data_map, settings.first, seed)]


@dataclass(frozen=True)
class Subset:
    rows: list[int]  # positions, most informative first
    added: int  # by the repair
    removed: int


def choose(
    order: Sequence[int], size: int, items: Sequence[Collection[Hashable]], needed: Mapping[Hashable, int]
) -> Subset:
    """The first `size` rows of `order`, repaired by the paper's rule every item in as many rows as it needs (§2.2).

    `items` are what each row has, word types or labels. The rest is scanned in order, and a row with an item that is
    still short is added; then as many rows go from the end of the first choice, the least informative one, as long as
    no item falls short. Where fewer can go, the subset stays larger.
    """
    first = list(order[:size])
    there = Counter(item for row in first for item in set(items[row]))
    added = []
    for row in order[size:]:
        if any(there[item] < needed.get(item, 0) for item in items[row]):
            added.append(row)
            there.update(set(items[row]))
    gone: set[int] = set()
    for row in reversed(first):
        if len(gone) == len(added):
            break
        if all(there[item] > needed.get(item, 0) for item in set(items[row])):
            gone.add(row)
            there.subtract(set(items[row]))
    return Subset([row for row in first if row not in gone] + added, len(added), len(gone))


def needs(items: Sequence[Collection[Hashable]], keep: int) -> dict[Hashable, int]:
    """How many rows every item needs: `keep`, or all that there are."""
    return {item: min(keep, count) for item, count in Counter(item for of_row in items for item in set(of_row)).items()}


def subset(
    data_map: DataMap, region: str, ratio: float, items: Sequence[Collection[Hashable]], keep: int, seed: int
) -> Subset:
    """int(ratio * n) rows of a region, of `random`, or of a combination.

    A combination has FIRST_PART from the more informative region, the rest from the other one's FIRST_PART, without
    repeats, and random rows where those are too few. InputError for a ratio that leaves none of that.
    """
    n, needed = len(data_map.ids), needs(items, keep)
    size = int(ratio * n)
    if size < 1:
        raise InputError(f"subset.ratio: {ratio} of {n} rows is none; raise it")
    if region not in COMBINED:
        return choose(ranked(data_map, region, seed), size, items, needed)
    if ratio <= FIRST_PART:
        raise InputError(
            f"subset.ratio: {ratio}; a combination has {FIRST_PART} from its first region, so it needs more"
        )
    parts = [choose(ranked(data_map, part, seed), int(FIRST_PART * n), items, needed) for part in COMBINED[region]]
    chosen = list(dict.fromkeys([*parts[0].rows, *parts[1].rows, *ranked(data_map, RANDOM, seed)]))
    return Subset(chosen[: max(size, len(parts[0].rows))], parts[0].added, parts[0].removed)


COVERAGES: dict[str, Callable[[Example], Collection[Hashable]]] = {
    "labels": lambda example: example.labels,
    "words": lambda example: example.text.split(),
    "none": lambda example: (),
}


# ---------------------------------------------------------------- regions in numbers


def statistics(
    examples: Sequence[Example], data_map: DataMap, seed: int, share: float = FIRST_PART
) -> dict[str, dict[str, float]]:
    """Means by region, `share` of the rows each, and of all.

    Length in words, rarity of the words ((1/T) sum_t -log of a word's relative frequency), how many rows have the
    composition, number of labels, share of synthetic rows, the three numbers of the map. The map's rows are those of
    `examples`, in their order.
    """
    words = [example.text.split() for example in examples]
    counts = Counter(word for tokens in words for word in tokens)
    total = counts.total()
    rarity = {word: -math.log(count / total) for word, count in counts.items()}
    compositions = Counter(example.labels for example in examples)
    columns = {
        "length": [len(tokens) for tokens in words],
        "rarity": [sum(rarity[word] for word in tokens) / len(tokens) for tokens in words],
        "composition_frequency": [compositions[example.labels] for example in examples],
        "labels": [len(example.labels) for example in examples],
        "synthetic": [example.requested_labels is not None for example in examples],
        **{name: getattr(data_map, name) for name in COLUMNS[1:]},
    }
    arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    rows = {name: ranked(data_map, name, seed)[: max(1, int(share * len(examples)))] for name in REGIONS}
    rows["all"] = list(range(len(examples)))
    return {
        region: {name: round(float(values[at].mean()), 4) for name, values in arrays.items()} | {"rows": len(at)}
        for region, at in rows.items()
    }
