"""The stages that a cell needs: one entry for each kind of stage and name.

Those of all experiments are what experiments/<step>/dvc.yaml runs over.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from compaug import classifiers, generators
from compaug.cartography.maps import REGIONS
from compaug.core import registry
from compaug.experiments.cells import IID, NONE, OF_GENERATORS, ORACLE, PACED, REAL_TEXTS, Cell, Experiment
from compaug.experiments.params import FILTER

Steps = dict[str, dict[str, dict[str, object]]]  # kind of stage -> name -> what its dvc.yaml fills in
KINDS = {  # of stages, by step of experiments/
    "corpus": ("raw", "split", "audit", "gold", "supports", "iid", "matched", "mixture", "settings"),
    "maps": ("map_classifier", "map_generator", "subset"),
    "backbones": ("backbones",),
    "filter": ("train_filter",),
    "compositions": ("label_generator",),
    "generator": ("train_generator",),
    "synthetic": ("synthesize",),
    "selected": ("select", "folds"),
    "classifier": ("train_classifier",),
    "texts": ("quality", "judge", "representations", "interpolation", "distances"),
}
FOLDER = {kind: step for step, kinds in KINDS.items() for kind in kinds}


def address(kind: str, name: str) -> str:
    """What DVC calls that stage."""
    return f"experiments/{FOLDER[kind]}/dvc.yaml:{kind}@{name}"


def targets(experiment: Experiment) -> list[str]:
    """The stages that an experiment ends at: its classifiers and measures; DVC knows what comes before them."""
    ends = [("train_classifier", cell.name) for cell in experiment.cells]
    ends += [("gold", cell.corpus) for cell in experiment.cells]
    ends += [
        (kind, cell.generator_name if kind in OF_GENERATORS else cell.selected_name)
        for kind, cells in experiment.measures.items()
        for cell in cells
    ]
    return [address(kind, name) for kind, name in dict.fromkeys(ends)]


def plan(experiments: Iterable[Experiment]) -> Steps:
    """Every stage that some experiment needs, once."""
    steps: Steps = {kind: {} for kind in FOLDER}
    for experiment in experiments:
        for cell in experiment.cells:
            _add_classifier(steps, cell)
        for measure, cells in experiment.measures.items():
            for cell in cells:
                _MEASURE[measure](steps, cell)
    for entry in steps["supports"].values():
        _add_larger(steps, entry)
    return {kind: dict(sorted(entries.items())) for kind, entries in steps.items()}


def _add_corpus(steps: Steps, cell: Cell) -> str:
    """Raw corpus, split, audit, gold labels; returns the folder of the split."""
    steps["raw"][cell.benchmark] = {"benchmark": cell.benchmark}
    common = {"benchmark": cell.benchmark, "corpus": cell.corpus}
    steps["split"][cell.corpus] = common | {"set": _set("split", cell.split_options)}
    for kind in ("audit", "gold"):
        steps[kind][cell.corpus] = common
    return f"data/splits/{cell.corpus}"


def _add_supports(steps: Steps, cell: Cell, size: int | None) -> str:
    """The split with a support set of that size, whose test texts all sizes have in common; returns its folder."""
    folder = _add_corpus(steps, cell)
    if size is None:
        return folder
    entry = steps["supports"].setdefault(cell.corpus, steps["split"][cell.corpus] | {"sizes": ""})
    entry["sizes"] = " ".join(map(str, sorted({size, *map(int, str(entry["sizes"]).split())})))
    return f"data/supports/{cell.corpus}/{size}"


def _add_larger(steps: Steps, entry: dict[str, object]) -> None:
    """The split whose support set is as large as the largest size.

    Smaller support sets are its heads, and its test set has none of their texts.
    """
    words = f"support_size={str(entry['sizes']).split()[-1]}"
    larger = entry["larger"] = f"{entry['corpus']}+{words}"
    common = {"benchmark": entry["benchmark"], "corpus": larger}
    steps["split"][larger] = common | {"set": f"{entry.pop('set')} {_set('sizes', words)}".strip()}
    steps["audit"][larger] = common


def _add_iid(steps: Steps, cell: Cell) -> str:
    """The iid split as a generator reads one; returns its folder."""
    _add_corpus(steps, cell)
    steps["iid"][cell.corpus] = {"corpus": cell.corpus}
    return f"data/iid/{cell.corpus}"


def _common(cell: Cell) -> dict[str, object]:
    """What all stages on a model say."""
    return {
        "benchmark": cell.benchmark,
        "scale": cell.scale,
        "corpus": cell.corpus,
        "models": cell.models,
        "seed": cell.seed,
    }


def _of_generator(cell: Cell) -> dict[str, object]:
    return _common(cell) | {"generator": cell.generator}


def _add_backbones(steps: Steps, cell: Cell, *roles: str) -> list[str]:
    """Those of the roles, and what methods at this scale go by; returns their folders."""
    _add_corpus(steps, cell)
    of_scale = {"benchmark": cell.benchmark, "scale": cell.scale}
    steps["settings"]["+".join(of_scale.values())] = of_scale
    for role in roles:
        common = {name: value for name, value in _common(cell).items() if name != "seed"}
        steps["backbones"][f"{cell.models}-{role}"] = common | {"role": role}
    return [f"models/backbones/{cell.models}/{role}" for role in roles]


def _opened(steps: Steps, cell: Cell) -> dict[str, str]:
    """The backbones that the generator opens; one that opens none waits for the audit all the same.

    A list of dependencies has a fixed length in DVC, and a path may stand there twice.
    """
    folders = _add_backbones(steps, cell, *registry.roles_of(generators, cell.generator))
    first, second, *_ = [*folders, *[f"data/audit/{cell.corpus}.json"] * 2]
    return {"opens": first, "opens_too": second}


def _add_requests(steps: Steps, cell: Cell) -> str:
    split = _add_supports(steps, cell, cell.label_support)
    _add_backbones(steps, cell, "decoder")
    more = f" {_set('sizes', cell.sizes)}" if cell.sizes else ""  # see `_add_written`
    steps["label_generator"][cell.requests] = _common(cell) | {"split": split, "more": more}
    return f"data/compositions/{cell.requests}.jsonl"


def _add_texts(steps: Steps, cell: Cell) -> str:
    """Generator, its texts, the filter, the kept ones; returns the file of the kept ones."""
    whole = _add_corpus(steps, cell)
    if cell.generator == NONE:
        return f"{whole}/no_texts.jsonl"
    if cell.generator == ORACLE:
        requests = {"requests": _add_requests(steps, cell), "right": cell.options.partition("=")[2] or "1"}
        entry = {"benchmark": cell.benchmark, "corpus": cell.corpus, "seed": cell.seed} | requests
        steps["mixture"][cell.selected_name] = entry
        return f"data/mixtures/{cell.selected_name}.jsonl"
    synthetic = _add_written(steps, cell)
    if cell.split == IID:
        return f"{synthetic}.jsonl"  # all of them: nothing was asked for that a filter could look for
    _add_backbones(steps, cell, "encoder")
    steps["train_filter"][f"{cell.models}-{cell.seed}"] = _common(cell)
    chosen = {"synthetic": synthetic, "map": f"{synthetic}.jsonl", "set": _set("selection", cell.selection)}
    if any(f"score={region}" in cell.selection.split(",") for region in REGIONS):
        chosen["map"] = _add_classifier_map(steps, cell)
        chosen["set"] = f"{chosen['set']} --map {chosen['map']}"
    steps["select"][cell.selected_name] = _common(cell) | chosen
    return f"data/selected/{cell.selected_name}.jsonl"


def _add_written(steps: Steps, cell: Cell) -> str:
    """Generator and all its texts; returns their file, without its suffix."""
    common = _of_generator(cell)
    iid = cell.split == IID
    split = _add_iid(steps, cell) if iid else _add_supports(steps, cell, cell.text_support)
    common |= _opened(steps, cell)
    more = {"split": split, "map": split, "set": _set(f"generators.{cell.generator}", cell.options)}
    if cell.text_subset:
        made_by = _add_generator_map(steps, cell, split)
        kept = _add_subset(steps, cell, cell.generator_name, cell.text_subset, split, made_by, "--labelled")
        more["split"] = more["map"] = kept
    if PACED in cell.options:
        more["map"] = _add_generator_map(steps, cell, split)
        more["set"] = f"{more['set']} --map {more['map']}"
    steps["train_generator"][cell.generator_name] = common | more
    label_sets = f"{split}/requests.jsonl" if iid else _add_requests(steps, cell)
    requests = {"requests": label_sets, "model": f"models/generator/{cell.generator_name}"}
    # It begins with the space that would else stand at the end of every command without.
    more = f" {_set('synthesis', cell.sampling)}" if cell.sampling else ""
    steps["synthesize"][cell.synthetic_name] = common | {"split": split, "more": more} | requests
    return f"data/synthetic/{cell.synthetic_name}"


def _add_classifier_map(steps: Steps, cell: Cell) -> str:
    """The data map of D_cg and all texts of the cell's generator, kept or not; returns its folder."""
    split = _add_corpus(steps, cell)
    backbone, *_ = _add_backbones(steps, cell, *registry.roles_of(classifiers, FILTER)[:1])
    synthetic = f"{split}/no_texts.jsonl" if cell.generator == NONE else f"{_add_written(steps, cell)}.jsonl"
    entry = {"classifier": FILTER, "backbone": backbone, "split": split, "synthetic": synthetic}
    steps["map_classifier"][cell.map_name] = _common(cell) | entry
    return f"data/maps/{cell.map_name}"


def _add_generator_map(steps: Steps, cell: Cell, split: str) -> str:
    """The data map of D_cg by the cell's generator, without a curriculum; returns its folder."""
    name = replace(cell, options="", text_subset="").generator_name
    entry = _common(cell) | {"generator": cell.generator, "split": split} | _opened(steps, cell)
    steps["map_generator"][name] = entry
    return f"data/maps/{name}"


def _add_subset(steps: Steps, cell: Cell, name: str, words: str, split: str, made_by: str, more: str = "") -> str:
    """What is kept of D_train by the map in the folder `made_by`; returns a folder in the place of the split."""
    entry = {"split": split, "seed": cell.seed, "map": made_by, "set": _set("subset", words), "more": more}
    steps["subset"][name] = entry
    return f"data/subsets/{name}"


def _add_classifier(steps: Steps, cell: Cell) -> None:
    split = _add_corpus(steps, cell)
    backbone, *_ = _add_backbones(steps, cell, *registry.roles_of(classifiers, cell.classifier)[:1])
    entry = _common(cell) | {"classifier": cell.classifier, "backbone": backbone}
    # `drawn` in the header of its predictions: of the default number of requests, however many label sets the cell's
    # texts were written for
    entry["requests"] = _add_requests(steps, replace(cell, label_support=None, requested=None))
    part = "iid_" if cell.split == IID else ""
    entry |= {name: f"{split}/{part}{name}.jsonl" for name in ("train", "support")}
    entry["inputs"] = f"{split}/{part}test_inputs.jsonl"
    if "seen_test=" in cell.split_options and cell.split != IID:  # the random split keeps its own test rows
        entry["inputs"] = f"{split}/both_inputs.jsonl"
    if cell.generator == REAL_TEXTS:
        steps["matched"][cell.corpus] = {"corpus": cell.corpus}
        half = f"data/matched/{cell.corpus}/{cell.half}"
        entry |= {"synthetic": f"{half}/synthetic.jsonl", "inputs": f"{half}/inputs.jsonl"}
    else:
        entry["synthetic"] = _add_texts(steps, cell)
    if cell.half and cell.generator != REAL_TEXTS:
        made_of = {"corpus": cell.corpus, "seed": cell.seed, "synthetic": entry["synthetic"]}
        steps["folds"][cell.selected_name] = made_of
        fold = f"data/folds/{cell.selected_name}/{cell.half}"
        names = {"support": "support", "synthetic": "synthetic", "inputs": "held_inputs"}
        entry |= {name: f"{fold}/{file}.jsonl" for name, file in names.items()}
    if any(size is not None for size in (cell.label_support, cell.text_support, cell.support)):
        # One of the three modules has another support set: such cells are tested on texts that none of them has seen.
        size = next(n for n in (cell.support, cell.text_support, cell.label_support) if n is not None)
        folder = _add_supports(steps, cell, size)
        entry["inputs"] = f"{Path(folder).parent}/test_inputs.jsonl"
        if cell.support is not None:
            entry["support"] = f"{folder}/support.jsonl"
    entry["more"], entry["map"] = f"--texts {cell.texts}" if cell.texts is not None else "", backbone
    if cell.subset:
        made_by = _add_classifier_map(steps, cell.without_texts)
        kept = _add_subset(steps, cell, cell.subset_name, cell.subset, split, made_by)
        entry["train"] = f"{kept}/train.jsonl"
    if cell.training:
        entry["more"] = f"{entry['more']} {_set(f'classifiers.{cell.classifier}', cell.training)}".strip()
    if PACED in cell.training:
        entry["map"] = _add_classifier_map(steps, cell)
        entry["more"] += f" --map {entry['map']}"
    steps["train_classifier"][cell.name] = entry


def _add_quality(steps: Steps, cell: Cell) -> None:
    common = _of_generator(cell)
    kept = _add_texts(steps, cell)
    written = kept if cell.generator == ORACLE else f"data/synthetic/{cell.synthetic_name}.jsonl"
    files = {"selected": kept.removesuffix(".jsonl"), "synthetic": written}
    files["requests"] = f"data/compositions/{cell.requests}"
    _add_backbones(steps, cell, "decoder")
    steps["quality"][cell.selected_name] = common | files


def _add_judge(steps: Steps, cell: Cell) -> None:
    """Read by a classifier that has seen every composition: that of the iid split."""
    _add_classifier(steps, cell.reader)
    _add_texts(steps, cell)
    files = {"selected": f"data/selected/{cell.selected_name}", "judge": cell.reader.name}
    steps["judge"][cell.selected_name] = _of_generator(cell) | files


def _add_representations(steps: Steps, cell: Cell) -> None:
    _add_texts(steps, cell)
    steps["representations"][cell.generator_name] = _of_generator(cell) | _opened(steps, cell)


def _add_interpolation(steps: Steps, cell: Cell) -> None:
    _add_texts(steps, cell)
    _add_backbones(steps, cell, "encoder", "decoder")  # which judge what is written between two texts
    steps["interpolation"][cell.generator_name] = _of_generator(cell)


def _add_distances(steps: Steps, cell: Cell) -> None:
    kept = _add_texts(steps, cell)
    _add_backbones(steps, cell, "encoder")
    steps["distances"][cell.selected_name] = _common(cell) | {"generator": cell.generator, "selected": kept}


_MEASURE = {
    "quality": _add_quality,
    "judge": _add_judge,
    "representations": _add_representations,
    "interpolation": _add_interpolation,
    "distances": _add_distances,
}


def _set(block: str, words: str) -> str:
    """The stage's argument for values that differ from params.yaml."""
    return f"--set {block}.{words}" if words else ""
