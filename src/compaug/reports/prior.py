"""The generalised protocol: accuracy on seen and unseen compositions under several decodings, means, gains and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.metrics import DECIMALS
from compaug.records import InputError, read_json, sub_seed
from compaug.reports import markdown_table
from compaug.reports.pages import p_value, spread
from compaug.reports.tables import cell_name
from compaug.statistics import holm, paired_t_test, summarise

BASELINE, CORRECTED, NONE = "threshold", "composition_prior", "none"
DECODINGS = {
    "threshold": "labels above 0.5 (the paper)",
    "joint": "best known composition, uncorrected",
    "composition_prior": "corrected by the composition prior",
    "uncalibrated": "the same without calibration",
    "em": "prior re-estimated from the test texts (transductive)",
}
METRICS = {"seen": "seen", "unseen": "unseen", "harmonic": "H", "ausuc": "AUSUC"}
RESAMPLES = 4000

Cells = dict[str, dict[str, list[dict]]]  # benchmark -> generator -> rows by seed


def read_cells(folder: Path, benchmarks: Sequence[str], generators: Sequence[str], seeds: Sequence[int]) -> Cells:
    """Rows of every cell; InputError names the first that is missing."""

    def row(benchmark: str, generator: str, seed: int) -> dict:
        path = folder / cell_name(benchmark, generator, seed)
        if not path.exists():
            raise InputError(f"{path}: this cell of the axes has no result; `dvc repro` the grid or shorten the axis")
        return read_json(path)

    return {b: {g: [row(b, g, s) for s in seeds] for g in generators} for b in benchmarks}


def values(rows: Sequence[Mapping], decoding: str, metric: str) -> list[float]:
    return [row["decodings"][decoding][metric] for row in rows]


def gain(rows: Sequence[Mapping], decoding: str, others: Sequence[Mapping], other: str, seed: int) -> dict:
    """Gain in H of one cell and decoding over another: by seed, and its 95 % bootstrap interval over test rows (seen and unseen drawn
    again separately, every row averaged over the seeds)."""
    differences = [
        a - b for a, b in zip(values(rows, decoding, "harmonic"), values(others, other, "harmonic"), strict=True)
    ]
    rng = np.random.default_rng(sub_seed(seed, "bootstrap", decoding))
    drawn = {}
    for part in ("seen", "unseen"):
        pair = [
            np.mean([_digits(row, d, part) for row in some], axis=0) for some, d in ((rows, decoding), (others, other))
        ]
        n = len(pair[0])
        counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n  # [resamples, n]
        drawn[part] = [100 * counts @ values for values in pair]
    means = [_harmonic(drawn["seen"][at], drawn["unseen"][at]) for at in (0, 1)]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return {"gain": summarise(differences), "low": float(low), "high": float(high), "p": paired_t_test(differences)}


def _digits(row: Mapping, decoding: str, part: str) -> np.ndarray:
    return np.frombuffer(row["decodings"][decoding]["correct"][part].encode(), dtype=np.uint8).astype(float) - ord("0")


def _harmonic(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return 2 * a * b / np.maximum(a + b, 1e-12)


def gains(generators: Mapping[str, list[dict]]) -> dict[str, dict[str, dict]]:
    """ "decoding": every generator's corrected H against its thresholded one; "generator": every generator's H against none's, under
    both decodings. Holm-corrected within each family."""
    families = {
        "decoding": {name: (rows, CORRECTED, rows, BASELINE) for name, rows in generators.items()},
        "generator": {
            f"{name}, {decoding}": (rows, decoding, generators[NONE], decoding)
            for name, rows in generators.items()
            if name != NONE and NONE in generators
            for decoding in (BASELINE, CORRECTED)
        },
    }
    made = {}
    for family, pairs in families.items():
        made[family] = {name: gain(*pair, sub_seed(0, name)) for name, pair in pairs.items()}
        corrected = holm({name: found["p"] for name, found in made[family].items()})
        for name, p in corrected.items():
            made[family][name]["p"] = p
    return made


def metrics_tree(cells: Cells) -> dict:
    def numbers(found: Sequence[float]) -> dict:
        summary = summarise(found)
        shown = {"mean": summary.mean, "std": summary.std, "ci95": summary.ci95}
        return {name: round(value, DECIMALS) for name, value in shown.items() if value is not None}

    return {
        benchmark: {
            generator: {
                decoding: {metric: numbers(values(rows, decoding, metric)) for metric in METRICS}
                for decoding in DECODINGS
            }
            for generator, rows in generators.items()
        }
        for benchmark, generators in cells.items()
    }


# ---------------------------------------------------------------- page


def page(cells: Cells) -> str:
    parts = [
        "# Composition prior",
        (
            "Accuracy (percent) on texts whose composition D_train has (seen) and has not (unseen), their harmonic mean H, and the area "
            "under the seen-unseen curve as a constant is added to the scores of unseen compositions (AUSUC). Mean and 95 % t interval "
            "over seeds; a seed is a whole cell. Weight and strength of the correction are chosen by H on held-out training and support "
            "rows, cross-fitted; no test row takes part, except that `em` reads the test texts without their labels (transductive)."
        ),
    ]
    for benchmark, generators in cells.items():
        some = next(iter(generators.values()))
        backbones = ", ".join(f"{role} `{name}`" for role, name in sorted(some[0]["backbones"].items()))
        found = gains(generators)
        parts += [
            f"## {benchmark}",
            verdict(found["decoding"]),
            f"Seeds {', '.join(str(row['seed']) for row in some)}; backbones {backbones}.",
            _table(generators),
            "H with the composition prior against H with thresholds:",
            _gain_table(found["decoding"]),
            "Does augmentation still help? H of every generator against `none`, under both decodings:",
            _gain_table(found["generator"]),
            f"![Seen against unseen accuracy on {benchmark}](figures/seen-unseen-{benchmark}.png)",
            _weights_table(generators),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def verdict(found: Mapping[str, Mapping]) -> str:
    """For which generators the correction raises H with both intervals above zero."""
    up = [f"`{name}`" for name, g in found.items() if g["gain"].excludes_zero and g["gain"].mean > 0 and g["low"] > 0]
    rest = [f"`{name}`" for name in found if f"`{name}`" not in up]
    said = (
        f"The composition prior raises H for {', '.join(up)}: the intervals over seeds and over test rows exclude zero."
        if up
        else ""
    )
    if rest:
        said += f" It cannot be shown to raise H for {', '.join(rest)}."
    return said.strip()


def _table(generators) -> str:
    lines = [
        [f"{generator}, {decoding}", *(spread(summarise(values(rows, decoding, metric))) for metric in METRICS)]
        for generator, rows in generators.items()
        for decoding in DECODINGS
    ]
    key = "; ".join(f"`{name}`: {words}" for name, words in DECODINGS.items())
    return f"{markdown_table(['generator, decoding', *METRICS.values()], lines)}\n\n({key}.)"


def _gain_table(found: Mapping[str, Mapping]) -> str:
    lines = [
        [name, spread(g["gain"], sign=True), f"[{g['low']:+.2f}, {g['high']:+.2f}]", p_value(g["p"])]
        for name, g in found.items()
    ]
    return markdown_table(["", "gain in H, by seed", "over rows", "p, seeds"], lines) if lines else ""


def _weights_table(generators) -> str:
    lines = []
    for generator, rows in generators.items():
        chosen = [row["decodings"][CORRECTED] for row in rows]
        pairs = ", ".join(f"({c['weight']:g}, {c['strength']:g})" for c in chosen)
        lines.append([generator, pairs, spread(summarise([c["held_out"] for c in chosen]))])
    return markdown_table(
        ["generator", "chosen (weight, strength), by seed", "H on the held-out rows"], lines, left=(0, 1)
    )


def points(generators: Mapping[str, list[dict]]) -> dict[str, dict[str, tuple[float, float]]]:
    """{generator: {decoding: (seen, unseen)}}, means over seeds, for the figure."""
    return {
        generator: {
            decoding: tuple(float(np.mean(values(rows, decoding, part))) for part in ("seen", "unseen"))
            for decoding in (BASELINE, CORRECTED)
        }
        for generator, rows in generators.items()
    }
