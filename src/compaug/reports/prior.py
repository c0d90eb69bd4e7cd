"""The generalised protocol: accuracy on seen and unseen compositions under several decodings, means, gains and page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compaug.evaluation.metrics import DECIMALS
from compaug.records import InputError, read_json, sub_seed
from compaug.reports import markdown_table
from compaug.reports.classifiers import classifier_cell_name
from compaug.reports.pages import LEVEL, NOT_REPORTED, p_value, spread
from compaug.reports.tables import cell_name, numbers
from compaug.evaluation.statistics import holm, paired_t_test, summarise

BASELINE, CORRECTED, NONE = "threshold", "composition_prior", "none"
DECODINGS = {
    "threshold": "labels above 0.5 (the paper)",
    "joint": "best known composition, uncorrected",
    "composition_prior": "corrected by the composition prior",
    "uncalibrated": "the same without calibration",
    "em": "weight and strength of composition_prior, P_t re-estimated from the texts of both test sets (transductive)",
}
CEILINGS = {
    ("real_texts", BASELINE): f"real texts, {BASELINE}",
    ("real_texts", CORRECTED): f"real texts, {CORRECTED}",
    ("bayes", BASELINE): "Bayes, compositions of training",
    ("bayes", CORRECTED): "Bayes, mixed with those of the test set",
}
METRICS = {"seen": "seen", "unseen": "unseen", "harmonic": "H", "ausuc": "AUSUC"}
RESAMPLES = 4000

Cells = dict[str, dict[str, list[dict]]]  # benchmark -> generator (or classifier) -> rows by seed


@dataclass(frozen=True)
class Grid:
    """Every row of the grid. cells: the generators, with the classifier of `run`; posterior: those whose texts were selected by the
    posterior of their composition; classifiers: the others, without augmentation; ceilings: rows by seed, for each benchmark."""

    cells: Cells
    posterior: Cells
    classifiers: Cells
    ceilings: dict[str, list[dict]]


def read_grid(folder: Path, axes: Mapping) -> Grid:
    """Rows of runs/ and ceilings/ below `folder` for the product of the axes; InputError names the first that is missing, or holds
    another cell than its name says."""

    runs, benchmarks, seeds = folder / "runs", axes["benchmarks"], axes["seeds"]

    def by_generator(runs: Path, names: Sequence[str]) -> Cells:
        return {
            b: {g: [_read(runs / cell_name(b, g, s), benchmark=b, generator=g, seed=s) for s in seeds] for g in names}
            for b in benchmarks
        }

    def other(b: str, c: str, s: int) -> dict:
        path = runs / "classifiers" / classifier_cell_name(b, NONE, c, s)
        return _read(path, benchmark=b, classifier=c, seed=s)

    return Grid(
        by_generator(runs, axes["generators"]),
        by_generator(runs / "posterior", axes["posterior"]),
        {b: {c: [other(b, c, s) for s in axes["classifier_seeds"]] for c in axes["classifiers"]} for b in benchmarks},
        {b: [_read(folder / "ceilings" / f"{b}-{s}.json", benchmark=b, seed=s) for s in seeds] for b in benchmarks},
    )


def _read(path: Path, **cell: str | int) -> dict:
    if not path.exists():
        raise InputError(f"{path}: this cell of the axes has no result; `dvc repro` the grid or shorten the axis")
    row = read_json(path)
    whole = isinstance(row, dict) and ("ceilings" in row or set(row.get("decodings", ())) == set(DECODINGS))
    if not whole or any(row.get(name) != value for name, value in cell.items()):
        said = ", ".join(f"{name} {value}" for name, value in cell.items())
        raise InputError(f"{path}: not the result of {said}; delete it and run its stage again")
    return row


def values(rows: Sequence[Mapping], decoding: str, metric: str) -> list[float]:
    return [row["decodings"][decoding][metric] for row in rows]


def gain(rows: Sequence[Mapping], decoding: str, others: Sequence[Mapping], other: str, seed: int) -> dict:
    """Gain in H of one cell and decoding over another: by seed, and the 95 % bootstrap interval over test rows of its mean over seeds
    (seen and unseen rows drawn again separately, the same for all seeds)."""
    differences = [
        a - b for a, b in zip(values(rows, decoding, "harmonic"), values(others, other, "harmonic"), strict=True)
    ]
    rng = np.random.default_rng(sub_seed(seed, "bootstrap", decoding))
    drawn = {}
    for part in ("seen", "unseen"):
        pair = [
            np.stack([_digits(row, d, part) for row in some], axis=1) for some, d in ((rows, decoding), (others, other))
        ]  # [n, seeds] each
        n = len(pair[0])
        counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n  # [resamples, n]
        drawn[part] = [100 * counts @ values for values in pair]  # [resamples, seeds]
    means = [_harmonic(drawn["seen"][at], drawn["unseen"][at]).mean(axis=1) for at in (0, 1)]
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


def metrics_tree(grid: Grid) -> dict:
    """benchmark -> group -> generator or classifier -> decoding -> metric -> mean, std, ci95; "ceilings" likewise; "gains": family ->
    what -> the same of H, with the interval over rows and the corrected p value."""
    groups = {"generators": grid.cells, "posterior": grid.posterior, "classifiers": grid.classifiers}
    return {
        benchmark: {
            group: {
                name: {
                    decoding: {metric: numbers(summarise(values(rows, decoding, metric))) for metric in METRICS}
                    for decoding in DECODINGS
                }
                for name, rows in cells[benchmark].items()
            }
            for group, cells in groups.items()
        }
        | {
            "ceilings": ceilings(grid.ceilings[benchmark], numbers),
            "gains": {
                family: {name: _gain_numbers(found) for name, found in pairs.items()}
                for family, pairs in gains(generators).items()
            },
        }
        for benchmark, generators in grid.cells.items()
    }


def _gain_numbers(found: Mapping) -> dict[str, float]:
    rest = {"low_rows": found["low"], "high_rows": found["high"], "p_seeds": found["p"]}
    return numbers(found["gain"]) | {name: round(value, DECIMALS) for name, value in rest.items() if value is not None}


def ceilings(rows: Sequence[Mapping], shown: Callable = lambda summary: summary) -> dict:
    """ceiling -> decoding -> metric -> `shown` of its summary over seeds; what a ceiling has no number for is left out."""
    return {
        name: {
            decoding: {
                metric: shown(summarise(some))
                for metric in METRICS
                if (
                    some := [
                        r["ceilings"][name][decoding][metric] for r in rows if metric in r["ceilings"][name][decoding]
                    ]
                )
            }
            for decoding in (BASELINE, CORRECTED)
        }
        for name in rows[0]["ceilings"]
    }


# ---------------------------------------------------------------- page


def page(grid: Grid) -> str:
    parts = [
        "# Composition prior",
        (
            "Accuracy (percent) on texts whose composition D_train has (seen) and has not (unseen), their harmonic mean H, and the area "
            "under the seen-unseen curve as a constant is added to the scores of unseen compositions (AUSUC). Mean and 95 % t interval "
            "over seeds; a seed is a whole cell. Weight and strength of the correction are chosen by H on held-out training and support "
            "rows, cross-fitted; no test row takes part, except that `em` reads the test texts without their labels (transductive). "
            "Generator, label generator and filter know the whole support set; of their texts the folds leave out copies alone. p values "
            "are of the paired t test over seeds, Holm-corrected within each table. AUSUC is that of the scores of known compositions, "
            "without the back-off: `threshold` and `joint` share it, and a correction that is one constant for all unseen compositions "
            "does not move it."
        ),
    ]
    for benchmark, generators in grid.cells.items():
        rows = grid.ceilings[benchmark]
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
            "### Selection by the posterior of the requested composition",
            (
                "The same number of texts, kept by the filter's Jaccard index (the paper) or by the probability that it gives to the "
                "requested composition under the composition prior (uncalibrated; weight and strength from `selection` in params.yaml); "
                "gains are posterior over Jaccard. The decoding's weight and strength are those of the cell with Jaccard."
            ),
            _posterior_table(generators, grid.posterior[benchmark]),
            "### Other classifiers, without augmentation",
            _others(grid.classifiers[benchmark]),
            "### Ceilings",
            (
                "Not results, and in no comparison: these rows have seen what no method may see. *Real texts*: half of the unseen test set "
                f"({rows[0]['texts']:.0f} texts) stands in for the synthetic texts, and the other half is the test (both ways, averaged). Its weight "
                "and strength are those of `none`, whose training texts lack the target's combinations; where they are learned from real "
                "texts that correction is too weak, so the corrected row is no upper bound. *Bayes*: the exact classifier of the known grammar, under the compositions of the training "
                "texts, and under those mixed with the test set's own at the weight that does best there."
            ),
            _ceiling_table(rows),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def verdict(found: Mapping[str, Mapping]) -> str:
    """For which generators the correction moves H: by the corrected test over seeds, and by the interval over rows."""
    groups: dict[str, list[str]] = {}
    for name, g in found.items():
        sure = g["p"] is not None and g["p"] < LEVEL
        way = (
            "up"
            if sure and g["low"] > 0 < g["gain"].mean
            else "down"
            if sure and g["high"] < 0 > g["gain"].mean
            else ""
        )
        groups.setdefault(way, []).append(f"`{name}`")
    said = {
        "up": "It raises H for {}: in the test over seeds, and the interval over test rows excludes zero.",
        "down": "It lowers H for {}: in the test over seeds, and the interval over test rows excludes zero.",
        "": "It cannot be shown to raise H for {}.",
    }
    sentences = " ".join(text.format(", ".join(groups[way])) for way, text in said.items() if way in groups)
    return f"The composition prior{sentences.removeprefix('It')}"


def _table(groups: Mapping[str, list[dict]], decodings=tuple(DECODINGS), what: str = "generator, decoding") -> str:
    lines = [
        [f"{name}, {decoding}", *(spread(summarise(values(rows, decoding, metric))) for metric in METRICS)]
        for name, rows in groups.items()
        for decoding in decodings
    ]
    key = "; ".join(f"`{name}`: {DECODINGS[name]}" for name in decodings)
    return f"{markdown_table([what, *METRICS.values()], lines)}\n\n({key}.)"


def _others(classifiers: Mapping[str, list[dict]]) -> str:
    """The other classifiers, with their own seeds; empty without them."""
    if not classifiers:
        return ""
    seeds = ", ".join(str(row["seed"]) for row in next(iter(classifiers.values())))
    note = f"Seeds {seeds}." if "," in seeds else f"One seed, {seeds}: no interval."
    if "sgm" in classifiers:
        note += " SGM writes label sets: what stands for probabilities here says which labels it wrote, and how surely."
    return f"{note}\n\n{_table(classifiers, (BASELINE, CORRECTED), 'classifier, decoding')}"


def _posterior_table(generators: Mapping[str, list[dict]], posterior: Mapping[str, list[dict]]) -> str:
    lines = []
    for name, rows in posterior.items():
        if name not in generators:
            continue
        for decoding in (BASELINE, CORRECTED):
            line = [f"{name}, {decoding}"]
            for metric in ("unseen", "harmonic"):
                pair = values(generators[name], decoding, metric), values(rows, decoding, metric)
                line += [spread(summarise(pair[0])), spread(summarise(pair[1]))]
                line.append(spread(summarise([b - a for a, b in zip(*pair, strict=True)]), sign=True))
            lines.append(line)
    header = [f"{metric}{what}" for metric in ("unseen", "H") for what in (", Jaccard", ", posterior", ", gain")]
    return markdown_table(["generator, decoding", *header], lines)


def _ceiling_table(rows: Sequence[Mapping]) -> str:
    lines = [
        [CEILINGS[name, decoding], *(spread(found[m]) if m in found else NOT_REPORTED for m in METRICS)]
        for name, decodings in ceilings(rows).items()
        for decoding, found in decodings.items()
    ]
    return markdown_table(["ceiling, decoding", *METRICS.values()], lines)


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
        shares = [spread(summarise(some)) for some in ([c["held_out"] for c in chosen], [r["known"] for r in rows])]
        lines.append([generator, pairs, *shares])
    header = ["generator", "chosen (weight, strength), by seed", "best H on held-out rows", "unseen rows in reach"]
    note = "The best H is the best of all weights and strengths tried, so it is optimistic. In reach: % of the unseen test rows whose "
    note += "composition is among those that training, synthetic texts or support show; the others are left to independent labels."
    return f"{markdown_table(header, lines, left=(0, 1))}\n\n({note})"


def points(generators: Mapping[str, list[dict]]) -> dict[str, dict[str, tuple[float, float]]]:
    """{generator: {decoding: (seen, unseen)}}, means over seeds, for the figure."""
    return {
        generator: {
            decoding: tuple(float(np.mean(values(rows, decoding, part))) for part in ("seen", "unseen"))
            for decoding in (BASELINE, CORRECTED)
        }
        for generator, rows in generators.items()
    }
