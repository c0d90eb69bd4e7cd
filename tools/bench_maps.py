"""What a data map costs: the training whose dynamics are kept, and the maps of 120,000 rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import median

import numpy as np

from compaug import classifiers
from compaug.cartography import dynamics
from compaug.core.files import write_json
from compaug.training.loop import EpochEnd
from tools.bench_runs import BATCH, SEED, first, in_turns, measured, rates_table

METHOD, EPOCHS, MAP_EPOCHS = "bert", 2, 10
VARIANTS = {"no dynamics": False, "dynamics during": "during", "dynamics after": True}
LABELS = 28  # of GoEmotions, which has more than any other corpus here
# What a map stage does after its training; a process of its own, whose memory nothing else is in.
LEAVE = """
import sys
from pathlib import Path
from compaug.cartography import dynamics, map_files
folder, labels = Path(sys.argv[1]), int(sys.argv[2])
values, ids = dynamics.read(folder)
map_files.leave(folder, folder / "out", slice(0, len(values)), {id_: (at % labels,) for at, id_ in enumerate(ids)})
"""


def mapping(bench) -> str:
    """The section of the report."""
    rates = training_in_turns(bench)
    plain, during, after = rates.values()
    written = writing(bench) * median(after) / bench.mapped_texts  # of the seconds of an epoch
    wall, cpu, peak, megabytes = leaving(bench)
    return f"""## 7. Data maps

{rates_table(rates)}

`bert`, {EPOCHS} epochs on the texts of section 4, repeated to {bench.mapped_texts:,}, nothing held out. Dynamics \
*after* each epoch (`dynamics: true`) are the probabilities
of every training row, dropout off: one more pass over the texts, without gradients, and {extra(plain, after):.0f} % \
more time. *During* an epoch they are
what training computes anyway: {extra(plain, during):.1f} % more. To write them takes {100 * written:.2f} %. Meant: \
less than 5 %.

Every measure of {bench.mapped:,} rows x {MAP_EPOCHS} epochs x {LABELS} labels, from dynamics.npy ({megabytes:,.0f} \
MB) to the files of the maps: {wall:.1f} seconds
({cpu:.1f} of a CPU), {peak:.2f} GiB at most, start-up of Python included. Meant: less than 10 seconds and 1 GiB.
"""


def training_in_turns(bench) -> dict[str, list[float]]:
    """Texts a second without dynamics, with those in passing, and with those of a pass after every epoch."""
    module, folder = classifiers.load(METHOD), bench.folder / "mapped"
    fixed = {"epochs": EPOCHS, "batch_size": BATCH, "patience": None}
    settings = bench.settings.classifiers[METHOD].model_copy(update=fixed)
    examples = [replace(e, id=str(at)) for at, e in enumerate(first(bench.mapped_texts, bench.examples))]

    def train(kept: bool | str) -> int:
        updated = settings.model_copy(update={"dynamics": kept})
        module.train(examples, bench.task.labels, updated, bench.backbones["encoder"], folder, SEED, "bench", [])
        return EPOCHS * len(examples)

    return in_turns({name: partial(train, kept) for name, kept in VARIANTS.items()}, bench.rounds)


def extra(plain: Sequence[float], other: Sequence[float]) -> float:
    """By how many percent the other takes longer."""
    return 100 * (median(plain) / median(other) - 1)


def writing(bench) -> float:
    """Seconds an epoch to write dynamics that are there already."""
    folder, shape = bench.folder / "written", (bench.mapped_texts, len(bench.task.labels))
    folder.mkdir()
    hook = dynamics.Dynamics(folder, list(map(str, range(shape[0]))), lambda: np.zeros(shape, dtype=np.float32))
    start = time.perf_counter()
    for epoch in range(EPOCHS):
        hook(EpochEnd(epoch + 1, None, {}, folder))
    hook.write(folder)
    return (time.perf_counter() - start) / EPOCHS


def leaving(bench) -> tuple[float, float, float, float]:
    """Seconds, CPU seconds, peak memory (GiB) of the maps of `bench.mapped` rows, and megabytes of their dynamics."""
    folder = bench.folder / "dynamics"
    (folder / "out").mkdir(parents=True)
    rng = np.random.default_rng(SEED)
    np.save(folder / f"{dynamics.NAME}.npy", rng.random((MAP_EPOCHS, bench.mapped, LABELS), dtype=np.float32))
    write_json(folder / f"{dynamics.NAME}.json", {"ids": [f"row-{at}" for at in range(bench.mapped)]})
    size = (folder / f"{dynamics.NAME}.npy").stat().st_size / 1e6
    return (*measured("the maps", ["-c", LEAVE, str(folder), str(LABELS)], folder), size)
