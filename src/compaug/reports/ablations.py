"""Ablations: support sizes (Tables 4 and 7), number of synthetic texts (Figure 4), VAE priors (Table 8), the reference code's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.evaluation.metrics import evaluate, label_matrix, read_predictions
from compaug.records import Example, InputError, Labels, iter_rows, read_json, read_jsonl
from compaug.reports import METRICS, NOT_REPORTED, markdown_table, number
from compaug.reports.pages import spread
from compaug.reports.tables import cell_name, numbers, read_cells
from compaug.evaluation.statistics import Summary, summarise

MODULES = {"label_generator": "label generator", "text_generator": "text generator", "classifier": "classifier"}
NONE = "none"
READERS, JUDGED = ("oracle", "classifier"), ("acc", "corr", "comp")  # proxies of people, and what they are asked
VIEWS = ("latent", "state")  # of a label: the generator's own representation, the frozen decoder's state behind it

Metrics = dict[str, float]  # jacc, acc, corr, comp in percent
BySeed = list[Metrics]


def scores(predictions: Path, test: Sequence[Example], labels: Labels, evaluation) -> Metrics:
    """Metrics of a predictions.jsonl on `test`, which may be a part of the rows that it predicts. InputError for a missing row."""
    wanted = {example.id for example in test}
    predicted = [row["id"] for _, row in iter_rows(predictions) if row.get("split") == "test"]
    if missing := sorted(wanted - set(predicted)):
        raise InputError(f"{predictions}: the test row {missing[0]!r} has no prediction; run its stage again")
    place = {example_id: at for at, example_id in enumerate(predicted)}
    probabilities = read_predictions(predictions, predicted, len(labels))[[place[example.id] for example in test]]
    gold = label_matrix([example.labels for example in test], len(labels))
    found = evaluate(gold, probabilities > evaluation.threshold, labels, evaluation.empty_both)
    return {name: found[name] for name in METRICS}


class Cells:
    """Results of one benchmark: those of this grid from their predictions, those of reports/paper from their rows, or on the common
    test set from the predictions of its classifiers. InputError for a decoding other than `threshold`: those rows have their own."""

    def __init__(
        self,
        benchmark: str,
        axes,
        evaluation,
        models: Path,
        supports: Path,
        paper_runs: Path,
        paper_models: Path,
        splits: Path,
    ):
        if evaluation.decoding != "threshold":
            raise InputError(
                f"evaluation.decoding: {evaluation.decoding}; the ablations are decoded by threshold alone, set it back"
            )
        self.benchmark, self.axes, self.models, self.evaluation = benchmark, axes, models, evaluation
        self.paper_models = paper_models
        self.labels = Labels.read(supports / benchmark / "labels.json")
        self.test = read_jsonl(supports / benchmark / "test.jsonl", len(self.labels))
        common = {row.id for row in read_jsonl(supports / benchmark / "test_inputs.jsonl", len(self.labels))}
        self.common = [example for example in self.test if example.id in common]
        self.paper_runs = paper_runs
        self.support_size = read_json(splits / f"{benchmark}.json")["n_support"]

    def of(self, family: str, *variant: object, common: bool = False) -> BySeed:
        """Metrics of models/.../<family>/<benchmark>-<variant>-<seed>, by seed."""
        return self._scores(self.models / family, variant, self.common if common else self.test)

    def paper_on_common(self, generator: str) -> BySeed:
        """Metrics of a cell of reports/paper on the common test set, which is a part of its own."""
        return self._scores(self.paper_models, (generator,), self.common)

    def _scores(self, folder: Path, variant: Sequence[object], test: Sequence[Example]) -> BySeed:
        paths = [folder / "-".join(map(str, (self.benchmark, *variant, seed))) for seed in self.axes.seeds]
        return [scores(path / "predictions.jsonl", test, self.labels, self.evaluation) for path in paths]

    def paper(self, generator: str) -> BySeed:
        rows = read_cells(self.paper_runs, [self.benchmark], [generator], self.axes.seeds)
        return [{name: row["metrics"][name] for name in METRICS} for row in rows[self.benchmark][generator]]

    @property
    def kept(self) -> int:
        """Synthetic texts of a whole cell."""
        rows = read_cells(self.paper_runs, [self.benchmark], [self.axes.generator], self.axes.seeds)
        return max(row["n_aug"] for row in rows[self.benchmark][self.axes.generator])


def results(cells: Cells) -> dict[str, dict[str, BySeed]]:
    """{table: {variant: metrics by seed}}; a variant of the support table is "none", "default" or "<module> <size>"."""
    axes = cells.axes
    support = {NONE: cells.paper_on_common(NONE), "default": cells.paper_on_common(axes.generator)}
    for module in MODULES:
        for size in axes.support_sizes:
            support[f"{module} {size}"] = cells.of(module, size, common=True)
    synthetic = {"none 0": cells.paper(NONE)}
    for generator in axes.generators:
        for size in axes.synthetic_sizes:
            synthetic[f"{generator} {size}"] = cells.of("synthetic", generator, size)
        synthetic[f"{generator} all"] = cells.paper(generator)
    options = {"default": cells.paper(axes.generator)}
    options |= {option: cells.of("option", option) for option in axes.options}
    selections = {"default": cells.paper(axes.generator)}
    selections |= {choice: cells.of("selection", choice) for choice in axes.selections}
    priors = {name: cells.paper(name) for name in ("ld_vae", "vae")}
    return {"support": support, "synthetic": synthetic, "options": options, "selections": selections, "priors": priors}


def read_by_seed(
    folder: Path, benchmark: str, generators: Sequence[str], seeds: Sequence[int], part: str
) -> dict[str, list[dict]]:
    """{generator: what a stage wrote into `folder`, by seed}; InputError names a file that is missing, or of another cell, or has no
    `part`."""
    found = {}
    for generator in generators:
        found[generator] = []
        for seed in seeds:
            path = folder / cell_name(benchmark, generator, seed)
            if not path.exists():
                raise InputError(f"{path}: no such file; `dvc repro reports/ablations/dvc.yaml` makes it")
            row = read_json(path)
            if (
                not isinstance(row, dict)
                or (row.get("generator"), row.get("seed")) != (generator, seed)
                or part not in row
            ):
                raise InputError(
                    f"{path}: not the {part!r} of generator {generator!r} with seed {seed}; run its stage again"
                )
            found[generator].append(row)
    return found


def summaries(rows: BySeed) -> dict[str, Summary]:
    return {metric: summarise([row[metric] for row in rows]) for metric in METRICS}


def gain(rows: BySeed, default: BySeed, metric: str = "acc") -> Summary:
    return summarise([a[metric] - b[metric] for a, b in zip(rows, default, strict=True)])


def metrics_tree(
    every: Mapping[str, Mapping[str, Mapping[str, BySeed]]],
    representations: Mapping[str, Mapping[str, list[dict]]],
    judged: Mapping[str, Mapping[str, list[dict]]],
) -> dict:
    """benchmark -> table -> variant -> metric -> mean, std, ci95; "judged": generator -> reader -> metric; "silhouette": generator -> view."""
    return {
        benchmark: {
            table: {
                variant: {metric: numbers(summary) for metric, summary in summaries(rows).items()}
                for variant, rows in variants.items()
            }
            for table, variants in tables.items()
        }
        | {
            "judged": {
                generator: {
                    reader: {metric: numbers(summary) for metric, summary in of_reader(rows, reader).items()}
                    for reader in readers_of(judged[benchmark])
                }
                for generator, rows in judged[benchmark].items()
            },
            "silhouette": {
                generator: {view: numbers(summary) for view in VIEWS if (summary := silhouette(rows, view))}
                for generator, rows in representations[benchmark].items()
            },
        }
        for benchmark, tables in every.items()
    }


def readers_of(judged: Mapping[str, Sequence[Mapping]]) -> list[str]:
    """Those of READERS that have read a text."""
    return [reader for reader in READERS if any(reader in row["judged"] for rows in judged.values() for row in rows)]


def of_reader(rows: Sequence[Mapping], reader: str) -> dict[str, Summary]:
    """What one reader found in the texts of a generator, over seeds; {} where it has read none."""
    found = [row["judged"][reader] for row in rows if reader in row["judged"]]
    return {metric: summarise([one[metric] for one in found]) for metric in JUDGED} if found else {}


def silhouette(rows: Sequence[Mapping], view: str) -> Summary | None:
    """Over seeds; None for a generator without that view, or whose labels cannot be told apart in it."""
    found = [row["views"][view]["silhouette"] for row in rows if view in row["views"]]
    return summarise(found) if found and None not in found else None


def curves(synthetic: Mapping[str, BySeed], axes, kept: int) -> dict[str, list[tuple[int, Summary]]]:
    """{generator: [(number of texts, Acc)]} for Figure 4; every curve starts from no augmentation."""
    start = summaries(synthetic["none 0"])["acc"]
    return {
        generator: [(0, start)]
        + [(n, summaries(synthetic[f"{generator} {n}"])["acc"]) for n in axes.synthetic_sizes]
        + [(kept, summaries(synthetic[f"{generator} all"])["acc"])]
        for generator in axes.generators
    }


# ---------------------------------------------------------------- page


def page(
    every: Mapping[str, Mapping[str, Mapping[str, BySeed]]],
    cells: Mapping[str, Cells],
    representations: Mapping[str, Mapping[str, list[dict]]],
    judged: Mapping[str, Mapping[str, list[dict]]],
    paper: Mapping,
) -> str:
    parts = ["# Ablations"]
    for benchmark, tables in every.items():
        own = cells[benchmark]
        seeds = ", ".join(map(str, own.axes.seeds))
        parts += [
            f"## {benchmark}",
            f"Percent, mean and 95 % t interval over the seeds {seeds}; a seed is a whole cell, with `{own.axes.generator}` unless named.",
            "### Support size (Tables 4 and 7)",
            (
                f"One module at a time has another number of support texts, the other two keep theirs. All rows share one test set of "
                f"{len(own.common)} texts, which has no text of the largest support set; the intervals are over seeds, and so few texts "
                f"add about {_sampling_error(tables['support']['default'], len(own.common)):.0f} points of their own to each Acc (one standard "
                "error). The paper's column (Acc) is AAPD with BERT-base and GPT-2: the trend may be compared, the level may not."
            ),
            _support_table(tables["support"], own.axes, own.support_size, paper),
            "### Number of synthetic texts (Figure 4)",
            f"Each size is the head of one ranked list. {_printed_points(paper)}",
            _synthetic_table(tables["synthetic"], own.axes, own.kept),
            f"![Accuracy by number of synthetic texts on {benchmark}](figures/synthetic-size-{benchmark}.png)",
            "### Priors of the VAE (Table 8)",
            _prior_table(tables["priors"], paper),
            "### What each departure from the reference code is worth",
            (
                f"`{own.axes.generator}` with one option as the reference code has it; gains are over the default. Training it without the "
                "support texts (`generator_data: train_only`) is the text generator's row with 0 support texts above. With "
                "`batch_order=reference` a batch has one composition, but the order of batches is still shuffled. Departures of the "
                "classifier's training (support texts twice, a larger validation set) are not here."
            ),
            _gain_table(tables["options"], "option"),
            "### Label representations (Figures 2 and 5)",
            (
                "Every label in every composition of D_cg: *latent* is what the generator itself has for it (z_y of LD-VAE, the prefix of LS-PT, "
                "which is one for all compositions by construction, the states of its phrase for Flan-T5 and GPT2-PT); *state* is the frozen "
                "decoder's last state of its phrase behind the generator's prefix. Silhouette by label with the cosine distance, from -1 to 1."
            ),
            _silhouette_table(representations[benchmark]),
            f"![Label representations on {benchmark}](figures/representations-{benchmark}.png)",
            "### What a reader finds in the texts (Table 10, by proxies)",
            (
                "Kept texts against what was asked of their generator, read by the oracle of the grammar and by a classifier that has seen every "
                f"composition (that of the iid split){_reader(judged[benchmark])}. Proxies: no person has rated these texts. The paper's "
                "column is Acc by three students on SemEval; `python -m stages.rating_sheet` exports a blind sheet for people."
            ),
            _judged_table(judged[benchmark], paper),
            "### Rules of selection",
            _gain_table(tables["selections"], "rule"),
        ]
    return "\n\n".join(parts) + "\n"


def _sampling_error(rows: BySeed, n: int) -> float:
    """Standard error, in points, of an accuracy on n texts."""
    p = float(np.mean([row["acc"] for row in rows])) / 100
    return 100 * (p * (1 - p) / max(n, 1)) ** 0.5


def _reader(judged: Mapping[str, list[dict]]) -> str:
    """How far the classifier can be trusted with real texts of what was asked; empty where the iid test set has none."""
    found = [row["reader"] for rows in judged.values() for row in rows if row.get("reader")]
    if not found:
        return ""
    acc = float(np.mean([one["acc"] for one in found]))
    return f", but is itself right on {number(acc)} % of the real texts of these compositions alone"


def _support_table(support: Mapping[str, BySeed], axes, default: int, paper: Mapping) -> str:
    printed = paper["tables"]["table_7"]["rows"]
    without = gain(support[NONE], support["default"])
    lines = [
        ["no augmentation", NOT_REPORTED, *map(spread, summaries(support[NONE]).values()), spread(without, sign=True)]
    ]
    lines[0].append(NOT_REPORTED)
    for module, words in MODULES.items():
        for size in sorted({*axes.support_sizes, default}):
            rows = support["default"] if size == default else support[f"{module} {size}"]
            theirs = printed.get(str(size), {}).get(module, {})
            lines.append(
                [words, f"{size}", *(spread(s) for s in summaries(rows).values())]
                + [
                    spread(gain(rows, support["default"]), sign=True) if size != default else NOT_REPORTED,
                    number(theirs.get("acc")),
                ]
            )
    header = ["module", "support texts", *METRICS.values(), f"Acc over {default}", "paper: Acc"]
    return markdown_table(header, lines, left=(0,))


def _synthetic_table(synthetic: Mapping[str, BySeed], axes, kept: int) -> str:
    sizes = [*map(str, axes.synthetic_sizes), "all"]
    lines = [
        [generator, *(spread(summaries(synthetic[f"{generator} {size}"])["acc"]) for size in sizes)]
        for generator in axes.generators
    ]
    start = spread(summaries(synthetic["none 0"])["acc"])
    header = ["Acc by texts", *(f"{size}" for size in axes.synthetic_sizes), f"{kept}"]
    return f"Without synthetic texts: {start}.\n\n{markdown_table(header, lines)}"


def _printed_points(paper: Mapping) -> str:
    said = [
        f"{generator} {number(value)} with {size} texts ({corpus})"
        for corpus, generators in paper["figures"]["figure_4"]["facts"].items()
        for generator, points in generators.items()
        for size, value in points.items()
    ]
    return f"Of its curves the paper states: {', '.join(said)}."


def _prior_table(priors: Mapping[str, BySeed], paper: Mapping) -> str:
    printed = {"ld_vae": "LD-VAE", "vae": "VAE"}
    theirs = paper["tables"]["table_8"]["rows"]
    lines = [
        [name, *(f"{spread(s)} ({number(theirs[printed[name]][metric])})" for metric, s in summaries(rows).items())]
        for name, rows in priors.items()
    ]
    difference = gain(priors["ld_vae"], priors["vae"])
    table = markdown_table(["prior (paper: AAPD)", *METRICS.values()], lines)
    return f"{table}\n\nLD-VAE over VAE: {spread(difference, sign=True)} points of Acc."


def _gain_table(variants: Mapping[str, BySeed], what: str) -> str:
    lines = [
        [name, *(spread(s) for s in summaries(rows).values())]
        + [NOT_REPORTED if name == "default" else spread(gain(rows, variants["default"]), sign=True)]
        for name, rows in variants.items()
    ]
    return markdown_table([what, *METRICS.values(), "Acc over default"], lines)


def _silhouette_table(representations: Mapping[str, list[dict]]) -> str:
    lines = [
        [generator, *(spread(found) if (found := silhouette(rows, view)) else NOT_REPORTED for view in VIEWS)]
        for generator, rows in representations.items()
    ]
    return markdown_table(["generator", *VIEWS], lines)


def _judged_table(judged: Mapping[str, list[dict]], paper: Mapping) -> str:
    readers = readers_of(judged)
    lines = []
    for generator, rows in judged.items():
        line = [generator]
        for reader in readers:
            found = of_reader(rows, reader)
            line += [spread(found[metric]) if found else NOT_REPORTED for metric in JUDGED]
        theirs = paper["tables"]["table_10"]["rows"].get(paper["row_of_generator"].get(generator), {})
        lines.append([*line, number(theirs.get("SemEval", {}).get("acc"))])
    header = [f"{reader}: {metric.capitalize()}" for reader in readers for metric in JUDGED]
    return markdown_table(["generator", *header, "paper: Acc"], lines)
