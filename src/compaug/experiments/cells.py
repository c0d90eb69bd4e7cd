"""Experiments as products of axes: configs/experiments.yaml.

A *cell* is one trained classifier. Experiments share cells: what two of them ask for exists once, because everything is
named after what it was made from and after nothing else. `compaug.experiments.steps` has the stages that make a cell.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from compaug import classifiers, generators
from compaug.core import registry
from compaug.core.files import InputError, read_yaml
from compaug.data.parameters import GRAMMARS
from compaug.experiments import params

FILE = Path("configs/experiments.yaml")
NONE = "none"  # no synthetic texts
# In the place of synthetic texts: half of the test set's own (the matched arm); texts of a known grammar, of which a
# share is right.
REAL_TEXTS, ORACLE = "real_texts", "oracle"
CEILINGS = (REAL_TEXTS, ORACLE)
IID = "iid"  # split without compositional shift
RANDOM = "pairs=random"  # in options: texts that answer no request
TINY = "tiny"  # the scale that names leave out
ON_FOLDS = ("composition_prior", "uncalibrated", "stacking", "crm", "logit_adjustment", "em", "map_em")
DECODINGS = ("threshold", "tuned_thresholds", "joint", *ON_FOLDS)  # the last choose on folds
MEASURES = ("quality", "judge", "representations", "interpolation", "distances")
OF_GENERATORS = ("representations", "interpolation")  # the others are of kept texts
HALVES = ("", "a", "b")
NUMBERS = ("label_support", "text_support", "requested", "texts", "support")  # axes
WORDS = ("split_options", "options", "sampling", "selection", "subset", "text_subset", "training")
OF_TEXTS = ("options", "sampling", "selection", "label_support", "text_support", "requested", "texts", "text_subset")
PACED = "first="  # in options: of a curriculum that a data map orders
REPEATED = "synthetic_repeat="  # in training: of synthetic texts, so of no cell without any


@dataclass(frozen=True)
class Cell:
    """One trained classifier. Its fields are the axes of an experiment."""

    benchmark: str
    seed: int
    scale: str = TINY
    split_options: str = ""  # what differs from the corpus's split: "seen_test=400"
    split: str = "cg"  # cg | iid: trained and tested without compositional shift
    generator: str = NONE
    options: str = ""  # of the generator: "kl_form=reference", several joined by ","; of the oracle "right=0.6"
    label_support: int | None = None  # support texts that the label generator sees; None: all of the split
    text_support: int | None = None  # ... that the text generator sees
    requested: int | None = None  # texts that are written; None: sizes.requested
    sampling: str = ""  # what differs from `synthesis` in params.yaml: "guidance=2"
    selection: str = ""  # ... from `selection`: "mode=random"
    texts: int | None = None  # so many of the kept texts, best first; None: all
    classifier: str = "bert"
    support: int | None = None  # support texts that the classifier sees
    # what the classifier learns from of D_train: "region=hard,ratio=0.33", values of the block `subset`
    subset: str = ""
    text_subset: str = ""  # ... the text generator
    training: str = ""  # what differs of the classifier: "mixout=0.3", "pacing=exponential,first=hard"
    # a | b: trained without that half of the support set, which it predicts; of `real_texts`: the half of the test set
    # that it sees
    half: str = ""

    # ---------------------------------------------------------------- names: of what comes out, after what went in

    @property
    def corpus(self) -> str:
        """Of the split."""
        return _varied(self.benchmark, self.split_options)

    @property
    def models(self) -> str:
        """Of the backbones, and how all that is made with them begins."""
        return _varied(self.corpus, self.scale if self.scale != TINY else "")

    @property
    def sizes(self) -> str:
        """What differs from the block `sizes`."""
        return f"requested={self.requested}" if self.requested is not None else ""

    @property
    def requests(self) -> str:
        """Of the label sets that the label generator drew."""
        return _joined(_varied(self.models, support=self.label_support, requested=self.requested), self.seed)

    @property
    def _iid(self) -> str:
        return IID if self.split == IID else ""

    @property
    def generator_name(self) -> str:
        varied = _varied(self.generator, self.options, self.text_subset, support=self.text_support)
        return _joined(self.models, self._iid, varied, self.seed)

    @property
    def generator_words(self) -> str:
        """The generator with what its texts depend on besides: a value of the column `generator`."""
        supports = {"label_support": self.label_support, "text_support": self.text_support}
        return _varied(
            self.generator, self.options, self.text_subset, self.sampling, **supports, requested=self.requested
        )

    @property
    def classifier_words(self) -> str:
        """The classifier with what it learns from besides, and in which order: a value of the column `classifier`."""
        return _varied(self.classifier, self.subset, self.training, support=self.support)

    @property
    def reader(self) -> Cell:
        """The cell without shift whose classifier reads this one's texts: it has seen every combination."""
        return Cell(self.benchmark, self.seed, self.scale, self.split_options, split=IID)

    @property
    def without_texts(self) -> Cell:
        """The cell of the same classifier that learns from real texts alone."""
        defaults = {field.name: field.default for field in fields(Cell) if field.name in OF_TEXTS}
        return replace(self, generator=NONE, **defaults)

    @property
    def map_name(self) -> str:
        """Of the data map of D_cg and all texts of the generator."""
        return _joined(self.models, self.generator_words, params.FILTER, self.seed)

    @property
    def subset_name(self) -> str:
        """Of what the classifier learns from of D_train."""
        return _joined(self.models, _varied(params.FILTER, self.subset), self.seed)

    @property
    def synthetic_name(self) -> str:
        return _joined(self.models, self._iid, self.generator_words, self.seed)

    @property
    def selected_name(self) -> str:
        """Of the kept texts, and of what was measured of them."""
        return _joined(self.models, self.generator_words, self.selection, self.seed)

    @property
    def name(self) -> str:
        """Of the trained classifier and of its predictions."""
        texts = f"texts={self.texts}" if self.texts is not None else ""
        parts = (self.generator_words, self.selection, texts, self.classifier_words)
        return _joined(self.models, self._iid, *parts, self.seed, self.half)

    def sets(self, *axes: str) -> bool:
        """Whether one of these axes has a value."""
        return any(getattr(self, axis) not in ("", None) for axis in axes)

    def columns(self) -> dict[str, str | int]:
        """What the long table says of it."""
        return {
            "benchmark": self.models,
            "scale": self.scale,
            "generator": self.generator_words,
            "selection": _varied(self.selection or "top_k", texts=self.texts),
            "classifier": self.classifier_words,
            "seed": self.seed,
        }


def _varied(word: str, *options: str, **numbers: int | None) -> str:
    """`ld_vae+kl_form=reference+label_support=0`: a word, and what is not as always."""
    more = [*options, *(f"{name}={number}" for name, number in numbers.items() if number is not None)]
    return "+".join([word, *filter(None, more)])


def _joined(*parts: object) -> str:
    return "-".join(str(part) for part in parts if part != "")


@dataclass(frozen=True)
class Experiment:
    """Cells to compare with each other, on the test rows that all of them predict.

    `decodings`: how they are decoded; `measures`: cells whose texts are measured.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    decodings: tuple[str, ...]
    measures: Mapping[str, tuple[Cell, ...]]


# ---------------------------------------------------------------- reading


def read(path: Path = FILE) -> dict[str, Experiment]:
    """Every experiment of the file. InputError names the experiment and the key that is wrong."""
    return {name: _experiment(path, str(name), block) for name, block in read_yaml(path).items()}


def _experiment(path: Path, name: str, block: object) -> Experiment:
    where = f"{path}: {name}"
    keys = ("title", "axes", "cells", "decodings", "measures")
    kinds = {"title": str, "cells": list}
    if not isinstance(block, dict) or not all(isinstance(block.get(key), kind) for key, kind in kinds.items()):
        raise InputError(f"{where}: an experiment needs `title` and a list `cells` of products")
    if unknown := set(block) - set(keys):
        raise InputError(f"{where}.{min(map(str, unknown))}: unknown key; the keys are {', '.join(keys)}")
    expand = partial(_product, block.get("axes") or {})
    cells = [cell for at, axes in enumerate(block["cells"]) for cell in expand(axes, f"{where}.cells[{at}]")]
    decodings = tuple(block.get("decodings") or DECODINGS[:1])
    if wrong := [decoding for decoding in decodings if decoding not in DECODINGS]:
        raise InputError(f"{where}.decodings: unknown {wrong[0]!r}; choose from {', '.join(DECODINGS)}")
    measures = {}
    for measure, axes in (block.get("measures") or {}).items():
        if measure not in MEASURES:
            raise InputError(f"{where}.measures: unknown {measure!r}; choose from {', '.join(MEASURES)}")
        products = axes if isinstance(axes, list) else [axes or {}]  # one product, or several
        measured = [cell for product in products for cell in expand(product, f"{where}.measures.{measure}")]
        if any(cell.split == IID for cell in measured):
            raise InputError(f"{where}.measures.{measure}: texts of the compositional split alone are measured")
        measures[measure] = tuple(dict.fromkeys(measured))
    return Experiment(name, block["title"], tuple(dict.fromkeys(cells)), decodings, measures)


def _product(common: Mapping, varied: object, where: str) -> Iterator[Cell]:
    """The cells of one product; the axes of the experiment, where it does not have its own."""
    if not isinstance(varied, dict):
        raise InputError(f"{where}: expected axes and their values")
    axes = {**common, **varied}
    names = [field.name for field in fields(Cell)]
    if unknown := set(axes) - set(names):
        raise InputError(f"{where}.{min(map(str, unknown))}: unknown axis; the axes are {', '.join(names)}")
    if missing := {"benchmark", "seed"} - set(axes):
        raise InputError(f"{where}: the axis {min(missing)} has no value")
    for benchmark in _values(axes["benchmark"], "", f"{where}.benchmark"):
        lists = [
            _values(value, benchmark, f"{where}.{name}") for name, value in (axes | {"benchmark": benchmark}).items()
        ]
        for values in itertools.product(*lists):
            yield _checked(Cell(**dict(zip(axes, values, strict=True))), where)


def _values(value: object, benchmark: str, where: str) -> list:
    """An axis as a list; a mapping has one for each benchmark."""
    if isinstance(value, dict):
        if benchmark not in value:
            what = f"there is no value for the benchmark {benchmark!r}" if benchmark else "expected names"
            raise InputError(f"{where}: {what}")
        value = value[benchmark]
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InputError(f"{where}: an empty axis makes no cell; give it a value or take it out")
    return values


def _checked(cell: Cell, where: str) -> Cell:
    _has_file(generators, cell.generator, f"{where}.generator", extra=CEILINGS)
    _has_file(classifiers, cell.classifier, f"{where}.classifier")
    for name in ("seed", *NUMBERS):
        number = getattr(cell, name)
        if (number is not None or name == "seed") and (type(number) is not int or number < 0):
            raise InputError(f"{where}.{name}: {number!r} is not a whole number of 0 or more")
    for name in WORDS:
        value = getattr(cell, name)
        if not isinstance(value, str) or any(part.count("=") != 1 for part in value.split(",") if value):
            raise InputError(f"{where}.{name}: {value!r}; write key=value, several joined by commas")
    if cell.split not in ("cg", IID):
        raise InputError(f"{where}.split: {cell.split!r}; it is cg or iid")
    if cell.half not in HALVES:
        raise InputError(f"{where}.half: {cell.half!r}; it is a, b or empty")
    if cell.generator in (NONE, REAL_TEXTS) and cell.sets(*OF_TEXTS):
        raise InputError(f"{where}: generator {cell.generator} writes no texts, so nothing of them can vary")
    if cell.generator == NONE and REPEATED in cell.training:
        raise InputError(
            f"{where}.training: generator none has no texts to repeat; leave {REPEATED}... out, or the generator"
        )
    if cell.generator == ORACLE:
        _check_oracle(cell, where)
    if cell.generator == REAL_TEXTS and not cell.half:
        raise InputError(f"{where}: real_texts needs `half: [a, b]`, the halves of the test set")
    paced = PACED in cell.training
    if (cell.subset or paced) and cell.split == IID:
        raise InputError(f"{where}: there is no data map of the iid split; leave subset and pacing out")
    if paced and (cell.generator in CEILINGS or cell.support is not None):
        raise InputError(f"{where}: no data map has these texts; leave pacing out, or support and {cell.generator}")
    if cell.split == IID:
        _check_iid(cell, where)
    elif RANDOM in cell.options.split(","):
        raise InputError(f"{where}: texts between random ones answer no request; use {RANDOM} with `split: iid`")
    return cell


def _check_iid(cell: Cell, where: str) -> None:
    if cell.generator in CEILINGS or cell.sets("selection", "half", "text_subset", *NUMBERS) or PACED in cell.options:
        raise InputError(
            f"{where}: the iid split has no support set, and the classifier learns from all synthetic texts; "
            "vary generator, options and training alone"
        )


def _check_oracle(cell: Cell, where: str) -> None:
    key, _, share = cell.options.partition("=")
    if cell.options and not (key == "right" and re.fullmatch(r"0(\.\d+)?|1", share)):
        raise InputError(f"{where}.options: {cell.options!r}; of the oracle it is right=<share>, from 0 to 1")
    if cell.sets("sampling", "selection", "text_subset", "half", "label_support", "text_support", "requested"):
        raise InputError(
            f"{where}: the oracle's texts are not selected and know no support set; vary its options or `texts`"
        )


def _has_file(package: ModuleType, name: object, where: str, extra: Sequence[str] = ()) -> None:
    try:
        if name not in extra:
            registry.roles_of(package, str(name))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def check(experiments: Iterable[Experiment], settings: Path) -> None:
    """InputError for what would fail in the middle of a grid; `settings` is params.yaml.

    That is a corpus, a scale or an option that there is not, the split's own support size, halves without a seen test
    set.
    """
    for experiment in experiments:
        measured = (cell for cells in experiment.measures.values() for cell in cells)
        for cell in dict.fromkeys([*experiment.cells, *measured]):
            try:
                _check_settings(cell, settings)
            except InputError as error:
                raise InputError(f"{FILE}: {experiment.name}: {error}") from None


def _check_settings(cell: Cell, settings: Path) -> None:
    parsed = _parsed(settings, cell.benchmark, cell.scale, _edits(cell))
    if cell.generator == ORACLE and parsed.corpus.reader not in GRAMMARS:
        raise InputError(
            f"generator oracle: no grammar of {cell.benchmark}'s texts is known; take it out of that benchmark's cells"
        )
    paced = PACED in cell.options
    if parsed.synthesis.guidance and cell.generator not in registry.names(generators, ("generate", "GUIDED")):
        raise InputError(f"sampling: {cell.generator} cannot hold other labels against a request's; leave guidance out")
    if (cell.text_subset or paced) and not hasattr(parsed.generators[cell.generator], "dynamics"):
        raise InputError(
            f"{cell.generator}: there are data maps of prefix-tuned generators alone; leave text_subset and pacing out"
        )
    if cell.half and cell.generator != REAL_TEXTS and not parsed.split.seen_test:
        raise InputError(f"half: {cell.corpus} has no seen test set; set `split_options: seen_test=<rows>`")
    if parsed.sizes.support_size in (cell.label_support, cell.text_support, cell.support):
        raise InputError("that support size is the split's own; leave it out, the cell without it is the same")


def _edits(cell: Cell) -> tuple[str, ...]:
    """What the cell sets otherwise than params.yaml, as values of --set."""
    blocks = [
        ("run", f"generator={NONE if cell.generator in CEILINGS else cell.generator},classifier={cell.classifier}"),
        ("split", cell.split_options),
        (f"generators.{cell.generator}", "" if cell.generator in CEILINGS else cell.options),
        ("synthesis", cell.sampling),
        ("sizes", cell.sizes),
        ("selection", cell.selection),
        ("subset", cell.subset),
        ("subset", cell.text_subset),
        (f"classifiers.{cell.classifier}", cell.training),
    ]
    return tuple(f"{block}.{words}" for block, words in blocks if words)


@cache
def _parsed(settings: Path, benchmark: str, scale: str, edits: tuple[str, ...]) -> params.Settings:
    return params.parse(params.Edited(settings, edits), benchmark, scale)
