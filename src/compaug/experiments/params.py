"""Typed parameters: an unknown key, a wrong type or an impossible value becomes one clear line.

Four layers, the later winning wherever it says something (a `null` says nothing): the scale in configs/scales.yaml,
what the corpus does differently at that scale and its own facts in configs/benchmarks/<name>.yaml, params.yaml, and
`--set`. Among generators and classifiers a method's block wins over `shared`, whichever layer it is in.

A stage names the keys that it reads, by file (`PARAMS`, with coordinates in braces), and `load` returns their blocks
and no others. For a method and for `BLOCKS` dvc.yaml lists the file that the stage `settings` makes of them. Schemas
are in the `parameters.py` of each package.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from compaug.classifiers import parameters as classifiers
from compaug.classifiers import roles_of
from compaug.core.files import InputError, read_yaml
from compaug.core.schema import Amount, Block, Count, Positive, Probability, Seed, Share, Words, first_problem
from compaug.data.parameters import GRAMMARS, Backbone, Backbones, Corpus
from compaug.data.splits import Split
from compaug.generators import parameters as generators

SCALES, BENCHMARK = "configs/scales.yaml", "configs/benchmarks/{benchmark}.yaml"  # beside params.yaml
METHODS = {"generators": generators, "classifiers": classifiers}
FILTER = "bert"  # the filter's classifier, always (paper, "Quality Control")
SHARED = "shared"  # what all methods of a kind have, unless their own block says otherwise
FORMER = {  # keys that files of older releases have
    "composition_prior.calibrate": "left with 0.3.0, remove the line; the decoding `uncalibrated` is what `false` was",
}
BLOCKS = ("label_generator", "synthesis", "selection", "data_map")  # which have a file of settings, as every method has
SIZES = {"support_size": "split", "requested": "label_generator", "k": "selection"}  # the block that reads each
# The blocks of a scale that a corpus says something of, if only {}.
OF_CORPUS = ("backbones", "generators", "synthesis", "classifiers")
PACKAGE = Path(__file__).parents[1]


class Run(Block):
    benchmark: str
    scale: str
    generator: str
    classifier: str
    seed: Seed


class Sizes(Block):
    support_size: Count
    requested: Positive
    k: Count


class Evaluation(Block):
    decoding: Literal["threshold", "tuned_thresholds", "composition_prior"]
    threshold: Annotated[float, Field(gt=0, lt=1)]
    empty_both: Literal["one", "reference"]


class CompositionPrior(Block):
    """Label-shift correction at the level of compositions."""

    target: Literal["support", "label_generator", "both"]
    back_off: bool
    weight: Annotated[float, Field(ge=0, lt=1)] | None
    strength: Amount | None


class DataMap(Block):
    """Which epochs of which training a data map is made of (cartography, §2.2)."""

    epochs: Annotated[int, Field(ge=2)]
    min_epoch: Count
    convergence_epoch: Positive | None = None
    bleu: Share
    dynamics: Literal["during"] | None = None  # of a classifier; None: after every epoch, dropout off


class Subset(Block):
    """What is kept of D_train (cartography, §3.3)."""

    region: Literal["hard", "ambiguous", "easy", "random", "hard_ambiguous", "hard_easy", "ambiguous_easy"]
    ratio: Probability
    coverage: Literal["labels", "words", "none"]
    keep: Positive
    measure: Words | None = None


class Repair(Block):
    """Which combinations a classifier for use gets texts for."""

    rare: Count
    combinations: list[Words]
    each: Positive


class Settings(Block):
    """What holds for one corpus at one scale."""

    run: Run
    sizes: Sizes
    corpus: Corpus
    split: Split
    backbones: Backbones
    label_generator: generators.LabelGenerator
    generators: dict[str, Block]
    synthesis: generators.Synthesis
    selection: classifiers.Selection
    classifiers: dict[str, Block]
    evaluation: Evaluation
    composition_prior: CompositionPrior
    data_map: DataMap
    subset: Subset
    repair: Repair

    @model_validator(mode="after")
    def _chosen(self) -> Settings:
        for kind in METHODS:
            name, methods = getattr(self.run, kind[:-1]), getattr(self, kind)
            if name not in methods:
                raise ValueError(f"run.{kind[:-1]}: unknown name {name!r}; choose from {', '.join(methods)}")
        self._check_positions()
        if (k := self.selection.k) > self.sizes.requested:
            raise ValueError(
                f"sizes.k: {k} texts cannot be kept of {self.sizes.requested} that are written; "
                "lower it, or raise sizes.requested"
            )
        if self.evaluation.decoding == "composition_prior":
            for name in ("weight", "strength"):
                if getattr(self.composition_prior, name) is None:
                    raise ValueError(
                        f"composition_prior.{name}: evaluation.decoding is composition_prior, which needs a number "
                        "here; the experiment `prior` chooses it on held-out rows "
                        "(reports/tables/composition_prior.md has what it found)"
                    )
        return self

    def _check_positions(self) -> None:
        """ValueError for what a backbone that is trained here could not hold, before anything is trained."""
        name, longest = self.run.generator, self.synthesis.max_length
        needs = {"label_generator.max_tokens and one of the prompt": ("decoder", self.label_generator.max_tokens + 1)}
        for classifier in (FILTER, self.run.classifier):
            if classifier in self.classifiers and "encoder" in roles_of(classifier):
                needs[f"classifiers.{classifier}.max_length"] = ("encoder", self.classifiers[classifier].max_length)
        if isinstance(block := self.generators[name], generators.PrefixGenerator):
            rows = block.prefix_length + max(block.max_length, longest)
            needs[f"generators.{name}.prefix_length and the longest text"] = ("decoder", rows)
        if isinstance(block, generators.LindaPrefix):
            rows = block.max_length + max(block.max_length, longest)
            needs[f"generators.{name}.max_length, of the texts it reads, and the longest text"] = ("decoder", rows)
        for what, (role, positions) in needs.items():
            room = getattr(self.backbones, role).max_positions
            if room and positions > room:
                raise ValueError(
                    f"{what}: {positions} positions, but backbones.{role}.max_positions is {room}; "
                    "lower the one or raise the other"
                )


# ---------------------------------------------------------------- what a stage lists


def corpus(*keys: str) -> list[str]:
    """Facts of the corpus."""
    return [f"{BENCHMARK}:{key}" for key in keys]


def size(name: str) -> list[str]:
    """One of the three sizes."""
    return [f"sizes.{name}", *corpus(f"sizes.{name}")]


def scaled(kind: str) -> list[str]:
    """What the scale says of a block, and the corpus of it at that scale."""
    outer = kind.partition(".")[0]
    return [f"{SCALES}:{{scale}}.{kind}", *(corpus(f"scales.{{scale}}.{outer}") if outer in OF_CORPUS else [])]


def joined() -> list[str]:
    """All that some layer says of what the stage `settings` writes."""
    by_scale = ("label_generator", "synthesis", *METHODS)
    return [*METHODS, *BLOCKS, *(key for kind in by_scale for key in scaled(kind))]


# ---------------------------------------------------------------- reading


@dataclass(frozen=True)
class Edited:
    """A parameter file with some values set otherwise.

    `edits` are "dotted.key=value", the value in YAML. More keys of the same block may follow:
    "dotted.key=value,key=value".
    """

    path: Path
    edits: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path} with {' '.join(f'--set {edit}' for edit in self.edits)}"

    def apply(self, tree: dict) -> dict:
        """Set them in the tree; returns what was set, in the tree's shape.

        InputError for a block that there is not; what its schema does not know is found when it is checked.
        """
        edited: dict[str, Any] = {}
        for edit in self.edits:
            *parents, _ = edit.partition("=")[0].split(".")
            block = reduce(_inner, parents, tree)
            edited_block = reduce(lambda inner, word: inner.setdefault(word, {}), parents, edited)
            # a comma before a key starts the next assignment
            for key, equals, value in (part.partition("=") for part in re.split(r",(?=\w+=)", edit)):
                if not equals or not isinstance(block, dict) or not parents:
                    raise InputError(
                        f"--set {edit}: write <block>.<key>=<value>, as in {self.path}; there is no {key!r}"
                    )
                try:
                    edited_block[key.rpartition(".")[2]] = block[key.rpartition(".")[2]] = yaml.safe_load(value)
                except yaml.YAMLError:
                    raise InputError(f"--set {edit}: the value is not valid YAML; quote it") from None
        return edited


def parse(source: Path | str | Edited, benchmark: str | None = None, scale: str | None = None) -> Settings:
    """Read and check everything that holds for a corpus at a scale; without names for those of `run`.

    InputError: one line naming the file, the key and what is wrong with it.
    """
    path = Path(source.path if isinstance(source, Edited) else source)
    params = read_yaml(path)
    try:
        run = _checked(Run, params.get("run"), ("run",))
    except _Wrong as wrong:
        raise InputError(f"{path}: {wrong.name}: {wrong.what}") from None
    if benchmark and scale is None:  # a stage that no scale concerns: any that the corpus has
        names = scales(path, benchmark)
        scale = names[0] if names and run.scale not in names else run.scale
    layers = layers_of(path, params, benchmark or run.benchmark, scale or run.scale)
    tree: dict[str, Any] = copy.deepcopy(reduce(merged, layers.values(), {}))
    if isinstance(source, Edited):
        layers[str(source)] = source.apply(tree)
    for size, block in SIZES.items():
        if isinstance(tree.get(block), dict):
            # an experiment's `selection: k=1200` holds
            tree[block].setdefault(size, reduce(_inner, ("sizes", size), tree))
    try:
        methods = {kind: _methods(kind, tree.get(kind)) for kind in METHODS}
        settings = _checked(Settings, tree | methods)
    except _Wrong as wrong:
        where = file_of(layers, wrong.key) or path
        raise InputError(": ".join([str(where), *filter(None, [wrong.name]), wrong.what])) from None
    if settings.corpus.reader in GRAMMARS:  # reports judge by its ambiguity without making a text
        from compaug.data.readers import diagnostic

        diagnostic.parsed({key: value for key, value in settings.corpus.options.items() if key != "seed"})
    return settings


def of_file(schema: type[Block], source: Path | str | Edited) -> Any:
    """A file of parameters of its own, such as configs/slu.yaml; with `Edited`, some values set otherwise.

    InputError: one line naming the key and what is wrong.
    """
    tree = read_yaml(source.path if isinstance(source, Edited) else source)
    if isinstance(source, Edited):
        source.apply(tree)
    try:
        return schema.model_validate(tree)
    except ValidationError as error:
        raise InputError(f"{source}: {first_problem(error)}; mend that key") from None


def load(source: Path | str | Edited, keys: list[str], **coordinates: str) -> dict[str, Any]:
    """The blocks that a stage lists, by the last word of their key.

    Its method is under "generator" or "classifier", with all that holds for it.
    """
    settings = parse(source, coordinates.get("benchmark"), coordinates.get("scale"))
    loaded = {}
    for key in keys:
        file, _, name = key.rpartition(":")
        words = name.removeprefix("scales.").removeprefix("{scale}.").format(**coordinates).split(".")
        if file == BENCHMARK and words[0] not in Settings.model_fields:
            words = ["corpus", *words]
        value: Any = settings
        for depth, word in enumerate(words):
            choices = value if isinstance(value, dict) else type(value).model_fields if isinstance(value, Block) else {}
            if word not in choices:
                where = ".".join(words[:depth]) or "the file"
                raise InputError(f"{source}: {where} has no {word!r}; choose from {', '.join(choices) or 'nothing'}")
            value = value[word] if isinstance(value, dict) else getattr(value, word)
        loaded[words[0][:-1] if words[0] in METHODS else words[-1]] = value
    return loaded


def benchmarks(path: Path | str) -> list[str]:
    """The names of the corpora beside a params.yaml."""
    return sorted(file.stem for file in (Path(path).parent / BENCHMARK).parent.glob("*.yaml"))


def every(path: Path | str) -> dict[tuple[str, str], Settings]:
    """What holds for each corpus at each of its scales."""
    return {(name, scale): parse(path, name, scale) for name in benchmarks(path) for scale in scales(path, name)}


def scales(path: Path | str, benchmark: str) -> list[str]:
    """The scales that a corpus has."""
    return list(_corpus(Path(path), benchmark)[1].get("scales") or {})


def backbone(path: Path | str, scale: str, role: str) -> Backbone:
    """A scale's backbone, whatever the corpus. InputError: one line as of `parse`."""
    file, key = Path(path).parent / SCALES, (scale, "backbones", role)
    try:
        return _checked(Backbone, reduce(_inner, key, read_yaml(file)), key)
    except _Wrong as wrong:
        raise InputError(f"{file}: {wrong.name}: {wrong.what}") from None


def merged(base: Any, layer: Any) -> Any:
    """Blocks are joined key by key; of two values the layer's, where it says something."""
    if isinstance(base, dict) and isinstance(layer, dict):
        return {key: merged(base.get(key), layer.get(key)) for key in {**layer, **base}}
    return base if layer is None else layer


def _corpus(path: Path, benchmark: str) -> tuple[Path, dict]:
    file = path.parent / BENCHMARK.format(benchmark=benchmark)
    if not file.exists():
        names = ", ".join(benchmarks(path)) or "none"
        raise InputError(f"unknown benchmark {benchmark!r}: there is no {file}; choose from {names}")
    return file, read_yaml(file)


def layers_of(path: Path, params: dict, benchmark: str, scale: str) -> dict[str, dict]:
    """What each file says, in the shape of `Settings`."""
    file, facts = _corpus(path, benchmark)
    of_corpus, of_scale = facts.pop("scales", None), read_yaml(path.parent / SCALES)
    for where, scale_blocks in ((f"{file}: scales", of_corpus), (path.parent / SCALES, of_scale)):
        if not isinstance(scale_blocks, dict) or not isinstance(scale_blocks.get(scale), dict):
            names = ", ".join(scale_blocks) if isinstance(scale_blocks, dict) else "none"
            raise InputError(f"{where}: there is no scale {scale!r}; there is {names}")
    for kind in OF_CORPUS:
        if kind not in of_corpus[scale]:
            raise InputError(
                f"{file}: scales.{scale}.{kind}: required block is missing; where nothing differs it is {{}}"
            )
    blocks = {key: value for key, value in facts.items() if key in Settings.model_fields}
    facts = blocks | {"corpus": {key: value for key, value in facts.items() if key not in blocks}}
    return {f"{path.parent / SCALES}": of_scale[scale], f"{file}": merged(facts, of_corpus[scale]), f"{path}": params}


def _methods(kind: str, blocks: Any) -> dict[str, Block]:
    """Every method's block, with what it takes from `shared`.

    A name without a schema is a file of the user's own, and takes all of it.
    """
    schemas, custom = METHODS[kind].BLOCKS, METHODS[kind].Custom
    if not isinstance(blocks, dict) or not isinstance(shared := blocks.get(SHARED) or {}, dict):
        raise _Wrong((kind,), f"expected a block for each method, and `{SHARED}`")
    fields = {field for schema in (*schemas.values(), custom) for field in schema.model_fields}
    if strange := [key for key in shared if key not in fields]:
        raise _Wrong((kind, SHARED, strange[0]), f"unknown key{_near(strange[0], fields)}")
    methods = {}
    for name in (name for name in blocks if name != SHARED):
        if name not in schemas and not any((PACKAGE / kind).rglob(f"{name}.py")):
            where = f"there is no src/compaug/{kind}/{name}.py"
            raise _Wrong((kind, name), f"unknown {kind[:-1]}{_near(name, schemas)} ({where})")
        schema = schemas.get(name, custom)
        taken = {key: value for key, value in shared.items() if schema is custom or key in schema.model_fields}
        block = blocks[name] or {}
        try:
            methods[name] = _checked(schema, merged(taken, block), (kind, name))
        except _Wrong as wrong:  # the value of all is to blame where the method has none of its own
            field = wrong.key[2] if len(wrong.key) > 2 else None
            if taken.get(field) is None or (isinstance(block, dict) and block.get(field) is not None):
                raise
            raise _Wrong((kind, SHARED, *wrong.key[2:]), wrong.what) from None
    return methods


# ---------------------------------------------------------------- what is wrong, in one line


class _Wrong(Exception):
    def __init__(self, key: tuple, what: str) -> None:
        self.key, self.what = key, what
        self.name = ".".join(str(word) for word in key if word != "corpus")


def _checked(schema: type[Block], values: Any, at: tuple = ()) -> Any:
    """The block; _Wrong for its first problem, with a suggestion for a misspelt key."""
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        problems = error.errors()
    problem = min(problems, key=lambda e: e["type"] != "extra_forbidden")  # a typo explains a missing key
    place = _place(values, problem["loc"])
    key, faulty = at + place, problem["input"]
    if problem["type"] == "extra_forbidden":
        if former := FORMER.get(".".join(map(str, key))):
            raise _Wrong(key, former)
        keys = _known_keys()
        elsewhere = "; another block has it, this one does not: remove it" if key[-1] in keys else ""
        raise _Wrong(key, "unknown key" + (elsewhere or _near(key[-1], keys) or "; remove it"))
    if problem["type"] == "missing" or faulty is None:
        what = "required key is missing" if problem["type"] == "missing" else "no value"
        raise _Wrong(key, f"{what}; give it one in params.yaml, the corpus's file or {SCALES}")
    shown = "" if isinstance(faulty, dict | Block) else f" (got {faulty!r})"
    wrong = [other["msg"].removeprefix("Value error, ") for other in problems if _place(values, other["loc"]) == place]
    raise _Wrong(key, ", or: ".join(dict.fromkeys(wrong)) + shown)


def _place(values: Any, loc: tuple) -> tuple:
    """Where a problem is, without what pydantic adds to it where a value may be of several kinds."""
    place: tuple = ()
    for word in loc:
        if not isinstance(values, dict):
            break
        place, values = (*place, word), values.get(word)
    return place


def file_of(layers: Mapping[str, dict], key: tuple) -> str | None:
    """The last file that says something of that key, else of the size or the methods' common value that it is."""
    inner = key[2:] if key[:1] and key[0] in METHODS else ()
    for words in (key, ("sizes", *key[1:]), *([(key[0], SHARED, *inner)] if inner else [])):
        if files := [file for file, layer in layers.items() if words and reduce(_inner, words, layer) is not None]:
            return files[-1]
    return None


def _inner(block: Any, word: object) -> Any:
    return block.get(word) if isinstance(block, dict) else None


def _near(word: object, words: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(word), sorted(words), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _known_keys() -> set[str]:
    blocks, keys = [Block], set()
    while blocks:
        block = blocks.pop()
        keys |= set(block.model_fields)
        blocks += block.__subclasses__()
    return keys
