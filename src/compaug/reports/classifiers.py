"""The classifiers compared (the paper's Tables 1 and 3) and how each fails: numbers and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from compaug.evaluation.metrics import DECIMALS
from compaug.records import InputError, read_json, sub_seed
from compaug.reports import METRICS, NOT_REPORTED, errors, markdown_table, number
from compaug.reports.pages import beside, p_value, spread
from compaug.reports.paper import IID, printed
from compaug.reports.tables import cell_name, digits, numbers
from compaug.evaluation.statistics import Summary, holm, paired_t_test, sign_flip_test, summarise

NONE, BASELINE = "none", "bert"
WIDER = {"magnet": 1, "sgm": 1, "dbloss": -1}  # the paper: Corr stays and Comp falls, or the reverse
LOWEST = "t5_clp"

Cells = dict[str, dict[str, dict[str, list[dict]]]]  # benchmark -> classifier -> generator -> rows by seed


def classifier_cell_name(benchmark: str, generator: str, classifier: str, seed: int) -> str:
    return f"{benchmark}-{generator}-{classifier}-{seed}.json"


def read_cells(
    folder: Path,
    shared_folder: Path,
    shared_classifier: str,
    benchmarks: Sequence[str],
    classifiers: Sequence[str],
    generators: Sequence[str],
    seeds: Sequence[int],
    partial: bool = False,
) -> Cells:
    """Rows of every cell of the axes; those of `shared_classifier` are the generators' grid's, in `shared_folder`.

    InputError names the first cell that is missing or is not what its name says. With `partial` a classifier that lacks a cell is
    left out of its benchmark instead.
    """

    def rows(benchmark: str, classifier: str, generator: str) -> list[dict]:
        found = []
        for seed in seeds:
            path = folder / classifier_cell_name(benchmark, generator, classifier, seed)
            if classifier == shared_classifier:
                path = shared_folder / cell_name(benchmark, generator, seed)
            if not path.exists():
                raise InputError(
                    f"{path}: this cell of the axes has no result; `dvc repro` the grid or shorten the axis"
                )
            row = read_json(path)
            if [row.get(k) for k in ("benchmark", "generator", "classifier", "seed")] != [
                benchmark,
                generator,
                classifier,
                seed,
            ]:
                raise InputError(f"{path}: holds another cell than {benchmark}, {generator}, {classifier}, {seed}")
            found.append(row)
        return found

    def complete(benchmark: str, classifier: str) -> bool:
        names = (classifier_cell_name(benchmark, g, classifier, s) for g in (IID, *generators) for s in seeds)
        return classifier == shared_classifier or all((folder / name).exists() for name in names)

    return {
        benchmark: {
            classifier: {generator: rows(benchmark, classifier, generator) for generator in (IID, *generators)}
            for classifier in classifiers
            if not partial or complete(benchmark, classifier)
        }
        for benchmark in benchmarks
    }


# ---------------------------------------------------------------- numbers


def values(rows: Sequence[Mapping], metric: str, block: str = "metrics") -> Summary:
    return summarise([row[block][metric] for row in rows])


def difference(rows: Sequence[Mapping], others: Sequence[Mapping], metric: str) -> Summary:
    """Of two cells, paired by seed, in points."""
    return summarise([a["metrics"][metric] - b["metrics"][metric] for a, b in zip(rows, others, strict=True)])


def gains(classifiers: Mapping[str, Mapping[str, list[dict]]]) -> dict[tuple[str, str], dict]:
    """{(classifier, generator): gain in Acc over none by seed, p over seeds and over rows}, Holm-corrected over all of them."""
    seeds_p, rows_p, made = {}, {}, {}
    for classifier, arms in classifiers.items():
        for generator, rows in arms.items():
            if generator in (IID, NONE):
                continue
            name = f"{classifier}/{generator}"
            apart = [digits(row) - digits(twin) for row, twin in zip(rows, arms[NONE], strict=True)]
            seeds_p[name] = paired_t_test([100 * d.mean() for d in apart])
            rows_p[name] = sign_flip_test(sum(apart) / len(apart), sub_seed(0, name))
            made[classifier, generator] = {"name": name, "gain": summarise([100 * d.mean() for d in apart])}
    seeds_p, rows_p = holm(seeds_p), holm(rows_p)
    for gain in made.values():
        name = gain.pop("name")
        gain |= {"p_seeds": seeds_p[name], "p_rows": rows_p[name]}
    return made


def metrics_tree(cells: Cells) -> dict:
    """{benchmark: {classifier: {generator: {metric: {mean, std, ci95}, kinds}}}}, what `dvc metrics diff` compares."""

    def arm(rows: Sequence[Mapping]) -> dict:
        made = {name: numbers(values(rows, name)) for name in (*METRICS, "corr_set", "micro_f1", "macro_f1")}
        made["tuned"] = {name: numbers(values(rows, name, "tuned")) for name in METRICS}
        shares = errors.mean([row["errors"] for row in rows])
        return made | {"kinds": {kind: round(share, DECIMALS) for kind, share in shares.items()}}

    return {
        benchmark: {
            classifier: {generator: arm(rows) for generator, rows in arms.items()}
            for classifier, arms in classifiers.items()
        }
        for benchmark, classifiers in cells.items()
    }


# ---------------------------------------------------------------- page


def page(cells: Cells, paper: Mapping, asked: Sequence[str] = ()) -> str:
    """`asked` are the classifiers of the axes; one without results on a benchmark is named there."""
    parts = [
        "# Classifiers compared",
        (
            "Percent: mean and 95 % t interval over seeds. iid: training and test split at random; CG: the test has compositions "
            "that training (almost) never shows, no augmentation unless a generator is named. A seed is that of filter, generator, "
            "samples and classifier together. Sizes of the backbones and budgets are those of the benchmark, not the paper's."
        ),
    ]
    for benchmark, classifiers in cells.items():
        some = next(iter(next(iter(classifiers.values())).values()))
        missing = ", ".join(f"`{name}`" for name in asked if name not in classifiers)
        parts += [
            f"## {benchmark}",
            f"**Not run yet on {benchmark}: {missing}.**" if missing else "",
            f"Seeds {', '.join(str(row['seed']) for row in some)}. Backbones: {_backbones(classifiers)}.",
            "### Table 1: accuracy without and with compositional shift",
            _table_1(classifiers, paper),
            "### Table 3: every classifier with and without augmentation",
            _table_3(classifiers, paper),
            "### What the paper says of the classifiers",
            _observations(classifiers),
            "### How they fail",
            f"![Kinds of answers on {benchmark}](figures/errors-{benchmark}.png)",
            _kinds_table(classifiers),
            _where_table(classifiers),
            "The most frequent confusions of compositions, without augmentation (rows, all seeds; *at least* where the list of a seed, which is cut, lacks the pair):",
            _confusion_table(classifiers),
            _unparsed(classifiers),
            "### Thresholds tuned per label",
            (
                "Instead of 0.5, for every label the threshold of the best F1 on the validation rows; these are rows of the "
                "training distribution. The answers of `sgm` and `t5_clp` are sets, so thresholds hardly move them."
            ),
            _tuned_table(classifiers),
        ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _backbones(classifiers) -> str:
    every = {
        role: name
        for arms in classifiers.values()
        for rows in arms.values()
        for role, name in rows[0]["backbones"].items()
    }
    return ", ".join(f"{role} `{name}`" for role, name in sorted(every.items()))


def _column(classifiers) -> str | None:
    return next(iter(next(iter(classifiers.values())).values()))[0]["paper_column"]


def _table_1(classifiers, paper) -> str:
    column, lines = _column(classifiers), []
    for name, arms in classifiers.items():
        iid, cg = values(arms[IID], "acc"), values(arms[NONE], "acc")
        line = [name, spread(iid), spread(cg), number(iid.mean - cg.mean)]
        if column:
            row = paper["tables"]["table_1"]["rows"].get(paper["row_of_classifier"].get(name), {}).get(column, {})
            line += [beside(row.get("iid"), iid.mean), beside(row.get("cg"), cg.mean)]
        lines.append(line)
    header = ["classifier", "iid Acc", "CG Acc", "gap"]
    return markdown_table(header + ([f"paper iid, {column}", f"paper CG, {column}"] if column else []), lines)


def _table_3(classifiers, paper) -> str:
    """Ours, and the paper's Acc on its one corpus (AAPD) for orientation."""
    gained, dataset = gains(classifiers), paper["tables"]["table_3"]["dataset"]
    lines = []
    for name, arms in classifiers.items():
        for generator, rows in arms.items():
            if generator == IID:
                continue
            gain = gained.get((name, generator))
            theirs = printed(paper, dataset, generator, name).get("acc") if generator in (NONE, "ld_vae") else None
            line = [f"{name}, {generator}", *(spread(values(rows, metric)) for metric in METRICS)]
            line += (
                [spread(gain["gain"], sign=True), p_value(gain["p_seeds"]), p_value(gain["p_rows"])]
                if gain
                else [NOT_REPORTED] * 3
            )
            lines.append([*line, number(theirs)])
    header = [
        "classifier, generator",
        *METRICS.values(),
        "Acc over none",
        "p, seeds",
        "p, rows",
        f"paper Acc, {dataset}",
    ]
    return markdown_table(header, lines)


def _observations(classifiers) -> str:
    """Each of the paper's three observations with our number and what it allows to say."""
    if BASELINE not in classifiers:
        return ""
    base, lines = classifiers[BASELINE][NONE], []
    for name, sign in WIDER.items():
        if name not in classifiers:
            continue
        rows = classifiers[name][NONE]
        apart = [corr - comp for corr, comp in _corr_comp(rows)]
        own = [corr - comp for corr, comp in _corr_comp(base)]
        summary = summarise([a - b for a, b in zip(apart, own, strict=True)])
        said = "Corr stays, Comp falls" if sign > 0 else "Comp stays, Corr falls"
        lines.append(
            [f"{name}: {said} (Corr - Comp against {BASELINE})", spread(summary, sign=True), _verdict(summary, sign)]
        )
    if LOWEST in classifiers and len(classifiers) > 1:
        others = {name: arms[NONE] for name, arms in classifiers.items() if name != LOWEST}
        lowest = min(others, key=lambda name: values(others[name], "acc").mean)
        summary = difference(classifiers[LOWEST][NONE], others[lowest], "acc")
        lines.append(
            [
                f"{LOWEST}: lowest CG Acc (against {lowest}, the lowest other)",
                spread(summary, sign=True),
                _verdict(summary, -1),
            ]
        )
    return markdown_table(["the paper's observation", "here, points", "verdict"], lines, left=(0, 2))


def _corr_comp(rows) -> list[tuple[float, float]]:
    return [(row["metrics"]["corr"], row["metrics"]["comp"]) for row in rows]


def _verdict(summary: Summary, sign: int) -> str:
    if not summary.excludes_zero:
        return "not shown"
    return "appears" if summary.mean * sign > 0 else "the reverse"


def _kinds_table(classifiers) -> str:
    words = {"exact": "right", "subset": "labels missing", "empty": "nothing said", "superset": "too many labels"}
    words |= {"overlap": "some right, some wrong", "disjoint": "all wrong"}
    lines = []
    for name, arms in classifiers.items():
        for generator, rows in arms.items():
            shares = errors.mean([row["errors"] for row in rows])
            lines.append([f"{name}, {_arm(generator)}", *(number(shares[kind]) for kind in errors.KINDS)])
    return markdown_table(["classifier, arm", *(words[kind] for kind in errors.KINDS)], lines)


def _arm(generator: str) -> str:
    return {IID: "iid", NONE: "CG"}.get(generator, f"CG + {generator}")


def _where_table(classifiers) -> str:
    """Acc by the number of gold labels and by whether the support set had the composition."""
    every = [
        row["errors"] for arms in classifiers.values() for name, rows in arms.items() if name != IID for row in rows
    ]
    sizes = sorted({int(size) for cell in every for size in cell["by_size"]})
    lines = []
    for name, arms in classifiers.items():
        for generator, rows in arms.items():
            if generator == IID:
                continue
            cells = [row["errors"] for row in rows]
            line = [_pooled([cell["by_size"].get(str(size)) for cell in cells]) for size in sizes]
            line += [_pooled([cell["by_support"][key] for cell in cells]) for key in ("in support", "not in support")]
            lines.append([f"{name}, {_arm(generator)}", *line])
    counts = {
        str(size): next(cell["by_size"][str(size)]["n"] for cell in every if str(size) in cell["by_size"])
        for size in sizes
    }
    inside = every[0]["by_support"]
    header = [f"{size} label{'s' * (size != 1)} ({counts[str(size)]} rows)" for size in sizes]
    header += [f"{key} ({inside[key]['n']} rows)" for key in ("in support", "not in support")]
    return (
        "Acc by the number of gold labels, and by whether the support set shows the composition:\n\n"
        + markdown_table(["classifier, arm", *header], lines)
    )


def _pooled(cells: Sequence[Mapping | None]) -> str:
    known = [cell["acc"] for cell in cells if cell and cell["acc"] is not None]
    return number(sum(known) / len(known)) if known else NOT_REPORTED


def _confusion_table(classifiers, shown: int = 3) -> str:
    lines = []
    for name, arms in classifiers.items():
        lists = [row["errors"]["confusions"] for row in arms[NONE]]
        cut = [{(gold, predicted) for gold, predicted, _ in some} for some in lists if len(some) >= errors.CONFUSIONS]
        counts: dict[tuple[str, str], int] = {}
        for gold, predicted, rows in chain.from_iterable(lists):
            counts[gold, predicted] = counts.get((gold, predicted), 0) + rows
        for pair, rows in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:shown]:
            lines.append([name, *pair, f"{'' if all(pair in some for some in cut) else 'at least '}{rows}"])
    return markdown_table(["classifier", "composition", "read as", "rows"], lines, left=(0, 1, 2))


def _unparsed(classifiers) -> str:
    """How often a written answer could not be read; SGM chooses among labels and the end, so its answers always parse."""
    counts = {
        (name, generator): [row["unparsed"] for row in rows]
        for name, arms in classifiers.items()
        for generator, rows in arms.items()
        if rows[0]["unparsed"] is not None
    }
    lines = [
        [f"{name}, {_arm(generator)}", sum(c["rows"] for c in cells), sum(c["pieces"] for c in cells)]
        for (name, generator), cells in counts.items()
    ]
    if not lines:
        return ""
    intro = (
        "Answers with a piece that is no sentence about a label, which is skipped, over all seeds (`sgm` chooses among the labels "
        "and the end, so that its answers always parse):"
    )
    return f"{intro}\n\n{markdown_table(['classifier, arm', 'answers', 'pieces'], lines)}"


def _tuned_table(classifiers) -> str:
    lines = []
    for name, arms in classifiers.items():
        for generator, rows in arms.items():
            own = [spread(values(rows, metric, "tuned")) for metric in METRICS]
            gain = summarise([row["tuned"]["acc"] - row["metrics"]["acc"] for row in rows])
            lines.append([f"{name}, {_arm(generator)}, tuned", *own, spread(gain, sign=True)])
    return markdown_table(["classifier, arm", *METRICS.values(), "Acc over 0.5"], lines)
