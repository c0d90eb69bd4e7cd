"""Experiments as products of axes: which cells they have, and which stages of the graph make them (configs/experiments.yaml).

A *cell* is one trained classifier. Experiments share cells: what two of them ask for exists once, because everything is named after what it
was made from and after nothing else. `steps_of` turns a cell into the stages that it needs, one entry for each kind of stage and name; the
entries of all experiments are what grid/<step>/dvc.yaml runs over.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from types import ModuleType

from compaug import classifiers, generators, named, params
from compaug.records import InputError, read_yaml

FILE, PARAMS = Path("configs/experiments.yaml"), Path("params.yaml")
NONE, REAL_TEXTS = "none", "real_texts"  # no synthetic texts; the ceiling: real target texts in their place
FILTER = "bert"  # the filter's classifier, always (spec section 9)
SCALES = {"tiny": "tiny", "path": "pretrained", "hub": "paper"}  # by the kind of a benchmark's encoder
DECODINGS = ("threshold", "tuned_thresholds", "joint", "composition_prior", "uncalibrated", "em")
MEASURES = ("quality", "judge", "representations")
HALVES = ("", "a", "b")


@dataclass(frozen=True)
class Cell:
    """One trained classifier. Its fields are the axes of an experiment."""

    benchmark: str
    seed: int
    split: str = "cg"  # cg | iid: trained and tested without compositional shift
    generator: str = NONE
    options: str = ""  # of the generator: "kl_form=reference", several joined by ","
    label_support: int | None = None  # support texts that the label generator sees; None: all of the split
    text_support: int | None = None  # ... that the text generator sees
    selection: str = ""  # what differs from `selection` in params.yaml: "mode=random"
    texts: int | None = None  # so many of the kept texts, best first; None: all
    classifier: str = "bert"
    support: int | None = None  # support texts that the classifier sees
    half: str = ""  # a | b: trained without that half of the support set, which it predicts; of `real_texts`: the half of the test set it sees
    scale: str = "tiny"  # follows from the benchmark

    # ---------------------------------------------------------------- names: of what comes out, after what went in

    @property
    def requests(self) -> str:
        """Of the label sets that the label generator drew."""
        return _joined(_varied(self.benchmark, support=self.label_support), self.seed)

    @property
    def generator_name(self) -> str:
        return _joined(self.benchmark, _varied(self.generator, self.options, support=self.text_support), self.seed)

    @property
    def generator_words(self) -> str:
        """The generator with what its texts depend on besides: a value of the column `generator`."""
        return _varied(self.generator, self.options, label_support=self.label_support, text_support=self.text_support)

    @property
    def synthetic_name(self) -> str:
        return _joined(self.benchmark, self.generator_words, self.seed)

    @property
    def selected_name(self) -> str:
        """Of the kept texts, and of what was measured of them."""
        return _joined(self.benchmark, self.generator_words, self.selection, self.seed)

    @property
    def name(self) -> str:
        """Of the trained classifier and of its predictions."""
        iid = "iid" if self.split == "iid" else ""
        texts = f"texts={self.texts}" if self.texts is not None else ""
        classifier = _varied(self.classifier, support=self.support)
        return _joined(
            self.benchmark, iid, self.generator_words, self.selection, texts, classifier, self.seed, self.half
        )

    def columns(self) -> dict[str, str | int]:
        """What the long table says of it."""
        return {
            "benchmark": self.benchmark,
            "scale": self.scale,
            "generator": self.generator_words,
            "selection": _varied(self.selection or "top_k", texts=self.texts),
            "classifier": _varied(self.classifier, support=self.support),
            "seed": self.seed,
        }


def _varied(word: str, options: str = "", **numbers: int | None) -> str:
    """`ld_vae+kl_form=reference+label_support=0`: a word, and what is not as always."""
    more = [options, *(f"{name}={number}" for name, number in numbers.items() if number is not None)]
    return "+".join([word, *filter(None, more)])


def _joined(*parts: object) -> str:
    return "-".join(str(part) for part in parts if part != "")


@dataclass(frozen=True)
class Experiment:
    """Cells to compare with each other, on the test rows that all of them predict; how they are decoded; cells whose texts are measured."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    decodings: tuple[str, ...]
    measures: Mapping[str, tuple[Cell, ...]]


# ---------------------------------------------------------------- reading


def read(path: Path = FILE, settings: Path = PARAMS) -> dict[str, Experiment]:
    """Every experiment of the file. InputError names the experiment and the key that is wrong."""
    scales = {name: _scale(block) for name, block in (read_yaml(settings).get("benchmarks") or {}).items()}
    return {name: _experiment(path, str(name), block, scales) for name, block in read_yaml(path).items()}


def _scale(benchmark: Mapping) -> str:
    return SCALES.get(((benchmark.get("backbones") or {}).get("encoder") or {}).get("kind"), "tiny")


def _experiment(path: Path, name: str, block: object, scales: Mapping[str, str]) -> Experiment:
    where = f"{path}: {name}"
    known = ("title", "axes", "cells", "decodings", "measures")
    if (
        not isinstance(block, dict)
        or not isinstance(block.get("title"), str)
        or not isinstance(block.get("cells"), list)
    ):
        raise InputError(f"{where}: an experiment needs `title` and a list `cells` of products")
    if unknown := set(block) - set(known):
        raise InputError(f"{where}.{min(map(str, unknown))}: unknown key; the keys are {', '.join(known)}")
    expand = partial(_product, block.get("axes") or {}, scales)
    cells = [cell for at, axes in enumerate(block["cells"]) for cell in expand(axes, f"{where}.cells[{at}]")]
    decodings = tuple(block.get("decodings") or DECODINGS[:1])
    if wrong := [decoding for decoding in decodings if decoding not in DECODINGS]:
        raise InputError(f"{where}.decodings: unknown {wrong[0]!r}; choose from {', '.join(DECODINGS)}")
    measures = {}
    for measure, axes in (block.get("measures") or {}).items():
        if measure not in MEASURES:
            raise InputError(f"{where}.measures: unknown {measure!r}; choose from {', '.join(MEASURES)}")
        measured = expand(axes or {}, f"{where}.measures.{measure}")
        measures[measure] = tuple(dict.fromkeys(measured))
    return Experiment(name, block["title"], tuple(dict.fromkeys(cells)), decodings, measures)


def _product(common: Mapping, scales: Mapping[str, str], own: object, where: str) -> Iterator[Cell]:
    """The cells of one product; the axes of the experiment, where it does not have its own."""
    if not isinstance(own, dict):
        raise InputError(f"{where}: expected axes and their values")
    axes = {**common, **own}
    names = [field.name for field in fields(Cell) if field.name != "scale"]
    if unknown := set(axes) - set(names):
        raise InputError(f"{where}.{min(map(str, unknown))}: unknown axis; the axes are {', '.join(names)}")
    if missing := {"benchmark", "seed"} - set(axes):
        raise InputError(f"{where}: the axis {min(missing)} has no value")
    lists = [value if isinstance(value, list) else [value] for value in axes.values()]
    for name, values in zip(axes, lists, strict=True):
        if not values:
            raise InputError(f"{where}.{name}: an empty axis makes no cell; give it a value or take it out")
    for values in itertools.product(*lists):
        yield _checked(Cell(**dict(zip(axes, values, strict=True))), scales, where)


def _checked(cell: Cell, scales: Mapping[str, str], where: str) -> Cell:
    if cell.benchmark not in scales:
        raise InputError(f"{where}.benchmark: {cell.benchmark!r} is no block of `benchmarks` in params.yaml")
    _has_file(generators, cell.generator, f"{where}.generator", extra=(REAL_TEXTS,))
    _has_file(classifiers, cell.classifier, f"{where}.classifier")
    numbers = {
        "seed": cell.seed,
        **{n: getattr(cell, n) for n in ("label_support", "text_support", "texts", "support")},
    }
    for name, number in numbers.items():
        if type(number) is not int and not (number is None and name != "seed") or (number or 0) < 0:
            raise InputError(f"{where}.{name}: {number!r} is not a whole number of 0 or more")
    if cell.split not in ("cg", "iid"):
        raise InputError(f"{where}.split: {cell.split!r}; it is cg or iid")
    if cell.half not in HALVES:
        raise InputError(f"{where}.half: {cell.half!r}; it is a, b or empty")
    of_texts = (cell.options, cell.selection, cell.label_support, cell.text_support, cell.texts)
    if cell.generator in (NONE, REAL_TEXTS) and any(part not in ("", None) for part in of_texts):
        raise InputError(f"{where}: generator {cell.generator} writes no texts, so nothing of them can vary")
    if cell.split == "iid" and (cell.generator != NONE or cell.half or cell.support is not None):
        raise InputError(f"{where}: the iid split has no support set and no synthetic texts; use generator none alone")
    if cell.generator == REAL_TEXTS and not cell.half:
        raise InputError(f"{where}: real_texts needs `half: [a, b]`, the halves of the test set")
    for name in ("options", "selection"):
        value = getattr(cell, name)
        if not isinstance(value, str) or any(part.count("=") != 1 for part in value.split(",") if value):
            raise InputError(f"{where}.{name}: {value!r}; write key=value, several joined by commas")
    return replace(cell, scale=scales[cell.benchmark])


def _has_file(package: ModuleType, name: object, where: str, extra: Sequence[str] = ()) -> None:
    try:
        if name not in extra:
            named.roles_of(package, str(name))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def check(experiments: Iterable[Experiment], settings: params.Params) -> None:
    """InputError for what would fail in the middle of a grid: an option that no generator has, support sizes that no split has."""
    for experiment in experiments:
        for cell in dict.fromkeys([*experiment.cells, *(c for some in experiment.measures.values() for c in some)]):
            _check_settings(f"{FILE}: {experiment.name}", cell, settings)


def _check_settings(where: str, cell: Cell, settings: params.Params) -> None:
    if cell.options:
        params.tried(f"{where}.options", cell.options, getattr(settings.generators, cell.generator))
    if cell.selection:
        params.tried(f"{where}.selection", cell.selection, settings.selection)
    if cell.half and not settings.benchmarks[cell.benchmark].split.seen_test:
        raise InputError(
            f"{where}: benchmarks.{cell.benchmark}.split.seen_test is not set; `half` needs a seen test set"
        )
    sizes = [size for size in (cell.label_support, cell.text_support, cell.support) if size is not None]
    if sizes:
        larger = settings.benchmarks.get(f"{cell.benchmark}_supports")
        if larger is None or larger.split.support_size < max(sizes):
            raise InputError(
                f"{where}: support size {max(sizes)} needs a block benchmarks.{cell.benchmark}_supports whose split.support_size is as large"
            )
        if settings.benchmarks[cell.benchmark].split.support_size in sizes:
            raise InputError(
                f"{where}: that support size is the split's own; leave it out, the cell without it is the same"
            )


# ---------------------------------------------------------------- cells to stages

Steps = dict[str, dict[str, dict[str, object]]]  # kind of stage -> name -> what its dvc.yaml fills in
FOLDER = {  # step of grid/ that holds each kind of stage
    "raw": "corpus",
    "split": "corpus",
    "audit": "corpus",
    "gold": "corpus",
    "supports": "corpus",
    "ceiling": "corpus",
    "backbones": "backbones",
    "train_filter": "filter",
    "label_generator": "compositions",
    "train_generator": "generator",
    "synthesize": "synthetic",
    "select": "selected",
    "folds": "selected",
    "train_classifier": "classifier",
    "quality": "texts",
    "judge": "texts",
    "representations": "texts",
}


def address(kind: str, name: str) -> str:
    """What DVC calls that stage."""
    return f"grid/{FOLDER[kind]}/dvc.yaml:{kind}@{name}"


def targets(experiment: Experiment) -> list[str]:
    """The stages that an experiment ends at: its classifiers and measures; DVC knows what comes before them."""
    ends = [("train_classifier", cell.name) for cell in experiment.cells]
    ends += [("gold", cell.benchmark) for cell in experiment.cells]
    ends += [
        (kind, cell.generator_name if kind == "representations" else cell.selected_name)
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
    return {kind: dict(sorted(entries.items())) for kind, entries in steps.items()}


def _add_corpus(steps: Steps, benchmark: str) -> str:
    """Raw corpus, split, audit, gold labels.  # folder of the split"""
    for kind in ("raw", "split", "audit", "gold"):
        steps[kind][benchmark] = {"benchmark": benchmark}
    return f"data/splits/{benchmark}"


def _add_supports(steps: Steps, benchmark: str, size: int | None) -> str:
    """The split with a support set of that size, whose test texts all sizes have in common.  # its folder"""
    folder = _add_corpus(steps, benchmark)
    if size is None:
        return folder
    _add_corpus(steps, larger := f"{benchmark}_supports")
    entry = steps["supports"].setdefault(benchmark, {"benchmark": benchmark, "larger": larger, "sizes": ""})
    sizes = sorted({size, *map(int, str(entry["sizes"]).split())})
    entry["sizes"] = " ".join(map(str, sizes))
    return f"data/supports/{benchmark}/{size}"


def _add_backbones(steps: Steps, benchmark: str, *roles: str) -> list[str]:
    """Those of the roles.  # their folders"""
    _add_corpus(steps, benchmark)
    for role in roles:
        steps["backbones"][f"{benchmark}-{role}"] = {"benchmark": benchmark, "role": role}
    return [f"models/backbones/{benchmark}/{role}" for role in roles]


def _opened(steps: Steps, cell: Cell) -> dict[str, str]:
    """The backbones that the generator opens; one that opens none waits for the audit all the same. A list of dependencies has a fixed
    length in DVC, and a path may stand there twice."""
    folders = _add_backbones(steps, cell.benchmark, *named.roles_of(generators, cell.generator))
    first, second, *_ = [*folders, *[f"data/audit/{cell.benchmark}.json"] * 2]
    return {"opens": first, "opens_too": second}


def _add_requests(steps: Steps, cell: Cell) -> str:
    split = _add_supports(steps, cell.benchmark, cell.label_support)
    _add_backbones(steps, cell.benchmark, "decoder")
    steps["label_generator"][cell.requests] = {"benchmark": cell.benchmark, "seed": cell.seed, "split": split}
    return f"data/compositions/{cell.requests}.jsonl"


def _add_texts(steps: Steps, cell: Cell) -> str:
    """Generator, its texts, the kept ones.  # file of the kept ones"""
    whole = _add_corpus(steps, cell.benchmark)
    if cell.generator == NONE:
        return f"{whole}/no_texts.jsonl"
    common = {"benchmark": cell.benchmark, "generator": cell.generator, "seed": cell.seed}
    split = _add_supports(steps, cell.benchmark, cell.text_support)
    common |= _opened(steps, cell)
    _add_backbones(steps, cell.benchmark, "encoder")
    steps["train_filter"][f"{cell.benchmark}-{cell.seed}"] = {"benchmark": cell.benchmark, "seed": cell.seed}
    edits = _edits(f"generators.{cell.generator}", cell.options)
    steps["train_generator"][cell.generator_name] = common | {"split": split, "set": edits}
    requests = {"requests": _add_requests(steps, cell), "model": f"models/generator/{cell.generator_name}"}
    steps["synthesize"][cell.synthetic_name] = common | {"split": split} | requests
    chosen = {"synthetic": f"data/synthetic/{cell.synthetic_name}", "set": _edits("selection", cell.selection)}
    steps["select"][cell.selected_name] = {"benchmark": cell.benchmark, "seed": cell.seed} | chosen
    return f"data/selected/{cell.selected_name}.jsonl"


def _add_classifier(steps: Steps, cell: Cell) -> None:
    split = _add_corpus(steps, cell.benchmark)
    backbone, *_ = _add_backbones(steps, cell.benchmark, *named.roles_of(classifiers, cell.classifier)[:1])
    entry = {"benchmark": cell.benchmark, "classifier": cell.classifier, "seed": cell.seed, "backbone": backbone}
    entry["requests"] = _add_requests(steps, replace(cell, label_support=None))
    part = "iid_" if cell.split == "iid" else ""
    entry |= {name: f"{split}/{part}{name}.jsonl" for name in ("train", "support")}
    entry["inputs"] = f"{split}/{part}test_inputs.jsonl"
    if cell.benchmark.endswith("_seen"):
        entry["inputs"] = f"{split}/both_inputs.jsonl"
    if cell.generator == REAL_TEXTS:
        steps["ceiling"][cell.benchmark] = {"benchmark": cell.benchmark}
        half = f"data/ceiling/{cell.benchmark}/{cell.half}"
        entry |= {"synthetic": f"{half}/synthetic.jsonl", "inputs": f"{half}/inputs.jsonl"}
    else:
        entry["synthetic"] = _add_texts(steps, cell)
    if cell.half and cell.generator != REAL_TEXTS:
        made_of = {"benchmark": cell.benchmark, "seed": cell.seed, "synthetic": entry["synthetic"]}
        steps["folds"][cell.selected_name] = made_of
        fold = f"data/folds/{cell.selected_name}/{cell.half}"
        names = {"support": "support", "synthetic": "synthetic", "inputs": "held_inputs"}
        entry |= {name: f"{fold}/{file}.jsonl" for name, file in names.items()}
    if any(size is not None for size in (cell.label_support, cell.text_support, cell.support)):
        # One of the three modules has another support set: all such cells are tested on the texts that none of them has seen.
        size = next(n for n in (cell.support, cell.text_support, cell.label_support) if n is not None)
        folder = _add_supports(steps, cell.benchmark, size)
        entry["inputs"] = f"{Path(folder).parent}/test_inputs.jsonl"
        if cell.support is not None:
            entry["support"] = f"{folder}/support.jsonl"
    entry["more"] = f"--texts {cell.texts}" if cell.texts is not None else ""
    steps["train_classifier"][cell.name] = entry


def _add_quality(steps: Steps, cell: Cell) -> None:
    common = {"benchmark": cell.benchmark, "generator": cell.generator, "seed": cell.seed}
    _add_texts(steps, cell)
    files = {
        "selected": f"data/selected/{cell.selected_name}",
        "synthetic": f"data/synthetic/{cell.synthetic_name}.jsonl",
    }
    files["requests"] = f"data/compositions/{cell.requests}"
    _add_backbones(steps, cell.benchmark, "decoder")
    steps["quality"][cell.selected_name] = common | files


def _add_judge(steps: Steps, cell: Cell) -> None:
    """Read by a classifier that has seen every composition: that of the iid split."""
    judge = Cell(cell.benchmark, cell.seed, split="iid")
    _add_classifier(steps, judge)
    _add_texts(steps, cell)
    common = {"benchmark": cell.benchmark, "generator": cell.generator, "seed": cell.seed}
    steps["judge"][cell.selected_name] = common | {
        "selected": f"data/selected/{cell.selected_name}",
        "judge": judge.name,
    }


def _add_representations(steps: Steps, cell: Cell) -> None:
    _add_texts(steps, cell)
    common = {"benchmark": cell.benchmark, "generator": cell.generator, "seed": cell.seed}
    steps["representations"][cell.generator_name] = common | _opened(steps, cell)


_MEASURE = {"quality": _add_quality, "judge": _add_judge, "representations": _add_representations}


def _edits(block: str, words: str) -> str:
    """The stage's argument for values that differ from params.yaml."""
    return f"--set {block}.{words}" if words else ""
