"""The sections of the one page: a table or figure of the paper each, beside ours or with the reason why we have none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from compaug.records import InputError
from compaug.reports import METRICS, number
from compaug.reports.index import CONTROLS, Cell, Section, Sources, Table, cell, data_uri
from compaug.reports.paper import IID
from compaug.reports.prior import CEILINGS

CORPORA = ("SemEval", "AAPD", "IMDB")
NO_GPU = "not run here: BERT-base and GPT-2 need a GPU and a model hub"
NO_ENDPOINT = "no endpoint is configured"
SEEN_UNSEEN = {"seen": "seen", "unseen": "unseen", "harmonic": "harmonic mean", "ausuc": "AUSUC"}
MODULES = ("label_generator", "text_generator", "classifier")


def sections(sources: Sources, figures: Mapping[str, Path], samples: Mapping | None) -> list[Section]:
    made = [
        _table_1(sources),
        _table_2(sources),
        _table_3(sources),
        _tables_4_and_7(sources),
        _table_5(sources),
        _table_6(sources),
        _table_8(sources),
        _table_9(samples),
        _table_10(sources),
        _figures(sources, figures),
        _prior(sources, figures),
        _departures(sources),
    ]
    return made


def _absent(anchor: str, title: str, grid: str) -> Section:
    return Section(anchor, title, missing=f"no results yet: dvc repro reports/{grid}/dvc.yaml makes them")


def _own_benchmarks(sources: Sources) -> list[str]:
    return [benchmark for benchmark, column in sources.column.items() if column is None]


def _not_run(sources: Sources) -> str:
    """The paper's corpora that are no benchmark here, and why; "" when all have been run."""
    missing = [corpus for corpus in CORPORA if not sources.benchmarks_of(corpus)]
    return f" {' and '.join(missing)}: {NO_GPU}." if missing else ""


def _with_own(names: Mapping[str, str], ours: Iterable[str]) -> dict[str, str]:
    """The paper's methods by their printed names, then those of `ours` that the paper does not have."""
    return {**names, **{name: name for name in ours if name not in names}}


def _table_1(sources: Sources) -> Section:
    title = "Table 1: six classifiers, iid and compositional split"
    if "classifiers" not in sources.grids:
        return _absent("table-1", title, "classifiers")
    tree, printed = sources.grids["classifiers"], sources.paper["tables"]["table_1"]["rows"]
    rows = []
    for classifier, name in _with_own(sources.paper["row_of_classifier"], chain.from_iterable(tree.values())).items():
        row: list[str | Cell] = [name]
        for benchmark in tree:
            theirs = printed.get(name, {}).get(sources.column.get(benchmark) or "", {})
            arms = tree[benchmark].get(classifier, {})
            for arm, key in ((IID, "iid"), ("none", "cg")):
                missing = Cell(words="not run yet", paper=theirs.get(key))
                row.append(cell(arms[arm]["acc"], theirs.get(key)) if arm in arms else missing)
        rows.append(row)
    header = ["classifier", *(f"{b}, {split}" for b in tree for split in ("iid", "CG"))]
    note = f"Acc.{_not_run(sources)}"
    return Section("table-1", title, tables=[Table("", note, header, rows)])


def _table_2(sources: Sources) -> Section:
    title = "Table 2: generators"
    if "paper" not in sources.grids:
        return _absent("table-2", title, "paper")
    printed, names = sources.paper["tables"]["table_2"]["rows"], sources.paper["row_of_generator"]
    header = ["generator", *METRICS.values(), "Acc over none"]
    tables = []
    for benchmark in _own_benchmarks(sources):
        note = f"{sources.settings[benchmark]}; a corpus of this project, so the paper does not have it"
        tables.append(
            Table(benchmark, note, header, _generator_rows(sources.grids["paper"][benchmark], names, {}, None))
        )
    for corpus in CORPORA:
        for benchmark in sources.benchmarks_of(corpus) or [None]:
            rows = _generator_rows(sources.grids["paper"].get(benchmark, {}), names, printed, corpus)
            note = sources.settings[benchmark] if benchmark else NO_GPU
            tables.append(Table(f"{corpus}{f' ({benchmark})' if benchmark else ''}", note, header, rows))
    return Section("table-2", title, tables=tables)


def _generator_rows(
    ours: Mapping, names: Mapping[str, str], printed: Mapping, corpus: str | None
) -> list[list[str | Cell]]:
    """The paper's generators in its order, on a corpus of the paper also those without a result; then all others, the controls last."""
    others = [g for g in ours if g not in names and g not in CONTROLS]
    words_of = {**names, **{g: {"vae": "VAE"}.get(g, g) for g in others}, **CONTROLS}
    rows: list[list[str | Cell]] = []
    for generator, words in words_of.items():
        theirs = printed.get(words, {}).get(corpus) or {}
        if metrics := ours.get(generator):
            gain = cell(metrics.get("gain_over_none"), sign=True)
            rows.append([words, *(cell(metrics[m], theirs.get(m)) for m in METRICS), gain])
        elif generator in names and corpus:
            why = NO_ENDPOINT if generator == "llm" else "not run"
            rows.append(
                [words, *(Cell(words=why if m == "jacc" else "–", paper=theirs.get(m)) for m in METRICS), Cell()]
            )
    return rows


def _table_3(sources: Sources) -> Section:
    title = "Table 3: classifiers with and without LD-VAE"
    if "classifiers" not in sources.grids:
        return _absent("table-3", title, "classifiers")
    printed, corpus = (sources.paper["tables"]["table_3"][k] for k in ("rows", "dataset"))
    arms = {"none": "without_aug", "ld_vae": "with_aug", "oversample": None}
    tables = []
    for benchmark, classifiers in sources.grids["classifiers"].items():
        rows = []
        for classifier, name in _with_own(sources.paper["row_of_classifier"], classifiers).items():
            for arm, theirs in arms.items():
                if metrics := classifiers.get(classifier, {}).get(arm):
                    values = printed.get(name, {}).get(theirs, {}) if sources.column.get(benchmark) == corpus else {}
                    rows.append([f"{name}, {arm}", *(cell(metrics[m], values.get(m)) for m in METRICS)])
        tables.append(Table(benchmark, sources.settings.get(benchmark, ""), ["", *METRICS.values()], rows))
    if corpus not in map(sources.column.get, sources.grids["classifiers"]):
        rows = [
            [f"{name}, {arm}", *(Cell(words="–", paper=printed[name][key][m]) for m in METRICS)]
            for name in printed
            for arm, key in arms.items()
            if key
        ]
        tables.append(Table(corpus, NO_GPU, ["", *METRICS.values()], rows))
    return Section("table-3", title, tables=tables)


def _tables_4_and_7(sources: Sources) -> Section:
    title = "Tables 4 and 7: size of the support set"
    if "ablations" not in sources.grids:
        return _absent("table-4", title, "ablations")
    printed, corpus = (sources.paper["tables"]["table_7"][k] for k in ("rows", "dataset"))
    tables = []
    for benchmark, tree in sources.grids["ablations"].items():
        if benchmark not in sources.splits:
            raise InputError(
                f"reports/paper/splits/{benchmark}.json: no such file; `dvc repro reports/paper/dvc.yaml` makes it"
            )
        support, default = tree["support"], sources.splits[benchmark]["n_support"]
        rows = [["no augmentation", *(cell(support["none"][m]) for m in METRICS)]]
        for module in MODULES:
            sizes = [int(name.split()[1]) for name in support if name.startswith(f"{module} ")]
            for size in sorted([*sizes, default]):
                values = support["default"] if size == default else support[f"{module} {size}"]
                theirs = printed.get(str(size), {}).get(module, {})
                other = sources.column.get(benchmark) != corpus
                ours = (cell(values[m], theirs.get(m), other_corpus=other) for m in METRICS)
                rows.append([f"{module.replace('_', ' ')}, {size}", *ours])
        note = (
            f"One module varies, the others keep {default}. The paper's numbers are {corpus}'s: on another corpus compare the trend, not the "
            "level; its cells are not coloured."
        )
        tables.append(Table(benchmark, note, ["module, support texts", *METRICS.values()], rows))
    return Section("table-4", title, tables=tables)


def _table_5(sources: Sources) -> Section:
    title = "Table 5: filter against random selection"
    tree = sources.grids.get("paper", {}).get("filter_against_random")
    if not tree:
        return _absent("table-5", title, "paper")
    printed, names = sources.paper["tables"]["table_5"]["rows"], sources.paper["row_of_generator"]
    tables = []
    for benchmark, generators in tree.items():
        rows = []
        for generator, values in generators.items():
            name = names.get(generator, generator)
            theirs = printed.get(name, {}).get(sources.column[benchmark] or "", {})
            rows.append(
                [
                    name,
                    cell(values["top_k"], theirs.get("filter")),
                    cell(values["random"], theirs.get("random")),
                    cell(values["gain"], sign=True),
                ]
            )
        tables.append(Table(benchmark, "Acc", ["generator", "best K by the filter", "K at random", "gain"], rows))
    for corpus in ("SemEval", "AAPD"):  # those of the paper's table
        if corpus not in map(sources.column.get, tree):
            rows = [
                [name, *(Cell(words="–", paper=row[corpus][k]) for k in ("filter", "random"))]
                for name, row in printed.items()
            ]
            tables.append(Table(corpus, NO_GPU, ["generator", "best K by the filter", "K at random"], rows))
    return Section("table-5", title, tables=tables)


def _table_6(sources: Sources) -> Section:
    printed = sources.paper["tables"]["table_6"]["rows"]
    keys = list(next(iter(printed.values())))
    columns = [(corpus, b) for corpus in printed for b in sources.benchmarks_of(corpus) or [None]]
    own = [benchmark for benchmark in sources.splits if sources.column.get(benchmark) not in printed]
    rows: list[list[str | Cell]] = []
    for key in keys:
        row: list[str | Cell] = [key.replace("_", " ")]
        for corpus, benchmark in columns:
            ours = sources.splits.get(benchmark or "", {}).get(key)
            ours = round(ours, 1) if isinstance(ours, float) else ours  # as the paper prints it
            row.append(Cell(ours, paper=printed[corpus][key], words="" if ours is not None else "–"))
        rows.append([*row, *(Cell(sources.splits[benchmark][key]) for benchmark in own)])
    note = f"Counts of our splits; SemEval's are the authors' own files.{_not_run(sources)}"
    names = [f"{corpus} ({benchmark})" if benchmark else corpus for corpus, benchmark in columns]
    return Section("table-6", "Table 6: the splits", tables=[Table("", note, ["", *names, *own], rows)])


def _table_8(sources: Sources) -> Section:
    title = "Table 8: conditional against standard priors"
    if "paper" not in sources.grids:
        return _absent("table-8", title, "paper")
    printed, corpus = (sources.paper["tables"]["table_8"][k] for k in ("rows", "dataset"))
    rows = [
        [
            f"{name}, {benchmark}",
            *(
                cell(
                    sources.grids["paper"][benchmark].get(g, {}).get(m), printed[name][m], other_corpus=column != corpus
                )
                for m in METRICS
            ),
        ]
        for benchmark, column in sources.column.items()
        for g, name in (("ld_vae", "LD-VAE"), ("vae", "VAE"))
    ]
    note = (
        f"The paper's numbers are {corpus}'s: on another corpus compare the difference between the rows, not the level; its cells are not "
        "coloured."
    )
    return Section("table-8", title, tables=[Table("", note, ["", *METRICS.values()], rows)])


def _table_9(samples: Mapping | None) -> Section:
    title = "Table 9: sample sheet, and the best kept texts"
    if not samples:
        return Section("table-9", title, missing="no texts: dvc repro reports/paper/dvc.yaml makes them")
    intro = (
        f"One kept text for every generator and composition of {samples['benchmark']}; type labels to search the best {samples['best']} kept "
        "texts of every generator."
    )
    return Section("table-9", title, intro, extra={"samples": samples})


def _table_10(sources: Sources) -> Section:
    printed = sources.paper["tables"]["table_10"]["rows"]
    rows = [
        [name, *(Cell(words="–", paper=row[corpus][m]) for corpus in row for m in ("acc", "corr", "comp", "avg_rank"))]
        for name, row in printed.items()
    ]
    corpora = next(iter(printed.values()))
    header = ["", *(f"{corpus}: {m}" for corpus in corpora for m in ("Acc", "Corr", "Comp", "rank"))]
    note = "No people have rated our texts, so our side is empty; python -m stages.rating_sheet exports a blind sheet."
    tables = [Table("Three students", note, header, rows)]
    for benchmark, tree in sources.grids.get("ablations", {}).items():
        if judged := tree.get("judged"):
            readers = sorted({reader for values in judged.values() for reader in values})
            rows = [
                [generator, *(cell(values.get(r, {}).get(m)) for r in readers for m in ("acc", "corr", "comp"))]
                for generator, values in judged.items()
            ]
            header = ["", *(f"{r}: {m}" for r in readers for m in ("Acc", "Corr", "Comp"))]
            note = "Proxies, not people: the grammar's oracle, and a classifier that has seen every composition."
            tables.append(Table(f"{benchmark}, read by proxies", note, header, rows))
    return Section("table-10", "Table 10: human evaluation", tables=tables)


def _figures(sources: Sources, figures: Mapping[str, Path]) -> Section:
    shown = [
        (caption, data_uri(path))
        for caption, path in figures.items()
        if path.exists() and "Seen against" not in caption
    ]
    if not shown:
        return _absent("figures", "Figures 2, 4 and 5", "ablations")
    tables = []
    for benchmark, tree in sources.grids.get("ablations", {}).items():
        points = {name: name.rsplit(" ", 1) for name in tree["synthetic"] if name != "none 0"}
        sizes = list(dict.fromkeys(size for _, size in points.values()))
        rows = [
            [generator, cell(tree["synthetic"]["none 0"]["acc"])]
            + [cell(tree["synthetic"][f"{generator} {size}"]["acc"]) for size in sizes]
            for generator in dict.fromkeys(generator for generator, _ in points.values())
        ]
        tables.append(Table(f"Figure 4: Acc by synthetic texts, {benchmark}", "", ["generator", "none", *sizes], rows))
        views = list(dict.fromkeys(view for found in tree["silhouette"].values() for view in found))
        rows = [[g, *(cell(found.get(view)) for view in views)] for g, found in tree["silhouette"].items()]
        note = (
            "Silhouette by label, -1 to 1. latent: the generator's own representation (LS-PT has one for every label, whatever the "
            "combination, so 1 by construction); state: the frozen decoder's state behind it."
        )
        tables.append(Table(f"Figures 2 and 5: label representations, {benchmark}", note, ["generator", *views], rows))
    return Section("figures", "Figures 2, 4 and 5, and kinds of errors", tables=tables, figures=shown)


def _prior(sources: Sources, figures: Mapping[str, Path]) -> Section:
    title = "Seen against unseen compositions: the composition prior"
    if "prior" not in sources.grids:
        return _absent("prior", title, "prior")
    tables = []
    for benchmark, groups in sources.grids["prior"].items():

        def by_decoding(group: Mapping, decodings=("threshold", "composition_prior")) -> list[list[str | Cell]]:
            return [
                [f"{name}, {decoding}", *(cell(found[decoding].get(m)) for m in SEEN_UNSEEN)]
                for name, found in group.items()
                for decoding in decodings
            ]

        header = ["", *SEEN_UNSEEN.values()]
        note = (
            "Beyond the paper. Acc; em estimates the target's prior from the test texts without their labels. AUSUC is that of the "
            "scores of known compositions: the correction's size does not move it."
        )
        rows = by_decoding(groups["generators"], ("threshold", "composition_prior", "em"))
        tables.append(Table(benchmark, note, header, rows))
        rows = [
            [
                name,
                cell(gain, sign=True),
                Cell(gain["low_rows"], words=f"{number(gain['low_rows'], True)} to {number(gain['high_rows'], True)}"),
            ]
            for family in groups["gains"].values()
            for name, gain in family.items()
        ]
        note = (
            "Points of the harmonic mean: a generator's name alone is composition prior over thresholds; with a decoding, over "
            "no augmentation under the same decoding. Not corrected for their number: the p values in reports/prior/table.md are."
        )
        tables.append(Table(f"{benchmark}: gains", note, ["", "over seeds", "95 % over test rows"], rows))
        rest = {
            "texts selected by the posterior of their composition": groups["posterior"],
            "other classifiers, without augmentation": groups["classifiers"],
        }
        tables += [Table(f"{benchmark}: {what}", "", header, by_decoding(g)) for what, g in rest.items() if g]
        rows = [
            [words, *(cell(groups["ceilings"][name][decoding].get(m)) for m in SEEN_UNSEEN)]
            for (name, decoding), words in CEILINGS.items()
            if name in groups["ceilings"]
        ]
        note = (
            "Real texts: half of the unseen test set in the place of synthetic texts, scored on the other half; weight and strength are those "
            "of no augmentation, so under the composition prior it is no upper bound."
        )
        tables.append(Table(f"{benchmark}: ceilings, which have seen what no method may see", note, header, rows))
    shown = [
        (caption, data_uri(path)) for caption, path in figures.items() if path.exists() and "Seen against" in caption
    ]
    intro = (
        "A classifier that learned which combinations are frequent in training can be told, at decoding, which ones the target has. What "
        "that costs on the combinations of training stands beside what it gains on the new ones; the weights were chosen on held-out rows."
    )
    return Section("prior", title, intro, tables, shown)


def _departures(sources: Sources) -> Section:
    title = "What each departure from the reference code is worth"
    if "ablations" not in sources.grids:
        return _absent("departures", title, "ablations")
    tables = [
        Table(
            f"{benchmark}: {words}",
            "One at a time.",
            ["", *METRICS.values()],
            [[name, *(cell(values[m]) for m in METRICS)] for name, values in tree[group].items()],
        )
        for benchmark, tree in sources.grids["ablations"].items()
        for group, words in {"options": "the generator's options", "selections": "rules of selection"}.items()
    ]
    return Section("departures", title, tables=tables)
