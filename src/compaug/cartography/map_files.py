"""What a map stage leaves: the maps of a training as files of ids and numbers, and what may be shown of one of them."""

import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.cartography import dynamics
from compaug.cartography import maps as cartography
from compaug.cartography.maps import DataMap
from compaug.core.records import Example, Labels, sub_seed

POINTS, TEXTS = 800, 300  # of a map that are shown; and read, those that come first


def leave(trained: Path, out: Path, epochs: slice, label_sets: Mapping[str, Collection[int]] | None) -> DataMap:
    """Put <measure>.csv for every measure of a training, and its dynamics, into the folder `out`; the first map.

    With the rows' gold label sets, by id, it is a classifier's training, without them a generator's.
    """
    values, ids = dynamics.read(trained)
    if label_sets is None:
        maps = cartography.generator_maps(values, ids, epochs)
    else:
        maps = cartography.classifier_maps(values, ids, [label_sets[id_] for id_ in ids], epochs)
    for name, data_map in maps.items():
        cartography.write_map(out / f"{name}.csv", data_map)
    for kind in ("npy", "json"):
        shutil.copyfile(trained / f"{dynamics.NAME}.{kind}", out / f"{dynamics.NAME}.{kind}")
    return next(iter(maps.values()))


def shown(data_map: DataMap, examples: Sequence[Example], labels: Labels, seed: int, texts: bool) -> dict:
    """Statistics of the regions and a sample of the points, with their texts if `texts`."""
    by_id = {example.id: example for example in examples}
    rows = [by_id[id_] for id_ in data_map.ids]
    sample = np.random.default_rng(sub_seed(seed, "points")).permutation(len(rows))[:POINTS].tolist()
    points: dict[str, list] = {
        name: np.round(getattr(data_map, name)[sample], 4).tolist() for name in cartography.COLUMNS[1:]
    }
    points["synthetic"] = [rows[row].requested_labels is not None for row in sample]
    points["labels"] = [labels.key(rows[row].labels) for row in sample]
    if texts:
        points["texts"] = [rows[row].text for row in sample[:TEXTS]]
    return {"rows": len(rows), "regions": cartography.statistics(rows, data_map, seed), "points": points}
