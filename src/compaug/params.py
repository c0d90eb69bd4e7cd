"""Typed params.yaml: an unknown key, a wrong type or an impossible value becomes one clear line.

A stage names the blocks that it reads (`PARAMS`, dotted paths with coordinates in braces) and `load` returns those and no
others, so that a key which is not listed in dvc.yaml cannot change a result unnoticed.

Two floors of values. A method's own block (`generators.ld_vae`, `classifiers.bert`, `synthesis`, ...) holds what does
not depend on scale; a `null` there leaves the value to `benchmarks.<name>.budgets`. A value set in the method's block wins,
so `dvc exp run -S generators.ld_vae.epochs=5` always does what it says.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from compaug.records import InputError, read_yaml

METHOD_FILES = Path(__file__).parent  # generators/, classifiers/


Share = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, le=1)]
Rate = Annotated[float, Field(gt=0, le=1)]  # learning rates
Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]


class Block(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class File(Block):
    """A raw file: its canonical address, the SHA-256 of its uncompressed bytes, its path below the mirror."""

    url: str | None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None
    mirror: str | None


class Split(Block):
    mode: Literal["reference", "generate", "reconstruct"]
    compositions: Positive
    support_size: Count
    seed: Seed
    min_count: Positive | None = None
    test_share: Annotated[list[Share], Field(min_length=2, max_length=2)] | None = None
    known: list[str] | None = None
    test_total: Positive | None = None
    seen_test: Positive | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Split:
        needed = {
            "reference": (),
            "generate": ("min_count", "test_share"),
            "reconstruct": ("min_count", "known", "test_total"),
        }
        for key in needed[self.mode]:
            if getattr(self, key) in (None, []):
                raise ValueError(f"mode {self.mode} needs `{key}`")
        if self.test_share is not None and self.test_share[0] >= self.test_share[1]:
            raise ValueError("test_share must be [lowest, highest]")
        return self


class Backbone(Block):
    """`tiny` (trained here on D_train), `hub` (name and pinned revision) or `path` (a local folder)."""

    kind: Literal["tiny", "hub", "path"]
    name: str | None = None
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    path: str | None = None
    layers: Positive | None = None
    hidden: Positive | None = None
    heads: Positive | None = None
    vocab: Annotated[int, Field(ge=300)] | None = None
    max_positions: Positive | None = None
    epochs: Positive | None = None
    lr: Rate | None = None
    batch_size: Positive | None = None

    @model_validator(mode="after")
    def _complete(self) -> Backbone:
        tiny = ("layers", "hidden", "heads", "vocab", "max_positions", "epochs", "lr", "batch_size")
        needed = {"tiny": tiny, "hub": ("name", "revision"), "path": ("path",)}
        for key in needed[self.kind]:
            if getattr(self, key) is None:
                raise ValueError(f"kind {self.kind} needs `{key}`")
        for kind, keys in needed.items():
            for key in keys:
                if kind != self.kind and getattr(self, key) is not None:
                    raise ValueError(f"`{key}` belongs to kind {kind}, not to {self.kind}; remove it")
        if self.kind == "tiny" and self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} is not a multiple of heads {self.heads}")
        return self


class Backbones(Block):
    encoder: Backbone
    decoder: Backbone
    seq2seq: Backbone


class LabelGenerator(Block):
    """P_t(y), spec section 4."""

    mode: Literal["fine_tuned", "zero_shot", "empirical"]
    requested: Positive | None = None
    epochs: Positive | None = None
    lr: Rate | None = None
    batch_size: Positive | None = None
    max_tokens: Positive
    temperature: Annotated[float, Field(gt=0)]
    top_p: Probability
    top_k: Count
    min_labels: Positive
    max_labels: Positive | None
    max_tries: Positive

    @model_validator(mode="after")
    def _ordered(self) -> LabelGenerator:
        if self.max_labels is not None and self.max_labels < self.min_labels:
            raise ValueError("max_labels is below min_labels")
        return self


class NoTraining(Block):
    """Controls and Concat have nothing to set."""


class TrainedGenerator(Block):
    """What all trained generators have, spec section 5."""

    epochs: Positive | None = None
    lr: Rate | None = None
    batch_size: Positive | None = None
    patience: Positive | None
    warmup: Share
    validation: Share
    max_length: Positive | None = None
    generator_data: Literal["all", "train_only"]


class FlanT5(TrainedGenerator):
    """Spec section 8."""


class PrefixGenerator(TrainedGenerator):
    """What the prefix-tuned generators share, spec sections 5 and 6."""

    prefix_length: Positive
    mid_dim: Positive | None = None
    loss_on_prompt: bool


class VaeDprior(PrefixGenerator):
    """Spec section 8; what LD-VAE has too."""

    latent: Positive | None = None
    clusters: Positive | None = None
    alpha: Annotated[float, Field(ge=0)] | None = None
    beta: Annotated[float, Field(ge=0)] | None = None
    kl_form: Literal["exact", "reference"]
    kl_reduction: Literal["mean", "paper_literal"]
    prior_variance: Annotated[float, Field(gt=0)]
    kl_warmup: Share
    free_bits: Annotated[float, Field(ge=0)]
    cache_gib: Annotated[float, Field(ge=0)]


class LdVae(VaeDprior):
    """Spec section 7; every `reference` option is a row of section 13."""

    prior: Literal["conditional", "standard"]
    label_pool: Literal["mean", "last"]
    label_heads: Literal["per_label", "shared"]
    label_prior: Literal["per_label", "shared"]
    position_embedding: bool
    noise_per_copy: bool
    batch_order: Literal["shuffled", "reference"]


class Llm(Block):
    """Spec section 8, GPT3.5. The key of the endpoint is never here: it is the variable OPENAI_API_KEY."""

    base_url: str | None
    model: str | None
    temperature: Annotated[float, Field(ge=0)]
    top_p: Probability
    max_tokens: Positive
    few_shot_words: Count
    concurrency: Positive
    timeout: Annotated[float, Field(gt=0)]
    max_retries: Count
    retry_seconds: Annotated[float, Field(ge=0)]
    price_prompt: Annotated[float, Field(ge=0)]
    price_completion: Annotated[float, Field(ge=0)]
    store: Annotated[str, Field(min_length=1)]


class Methods(Block):
    """Blocks of methods that are files, by name. A further block is a method of the user's own: its file must be there, so that a
    misspelt name is still found; it holds anything, filled from the budget like the others."""

    model_config = ConfigDict(extra="allow")

    kind: ClassVar[str]
    custom: ClassVar[type[Block]]

    @model_validator(mode="after")
    def _custom(self) -> Methods:
        for name, values in (self.model_extra or {}).items():
            if not has_file(self.kind, name):
                near = difflib.get_close_matches(name, list(type(self).model_fields), n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"{name}: unknown {self.kind}{hint} (there is no src/compaug/{self.kind}s/{name}.py)")
            try:
                self.model_extra[name] = self.custom.model_validate(values or {})
            except ValidationError as error:
                raise ValueError(f"{name}: {_one_line(error)}") from None
        return self

    @property
    def names(self) -> list[str]:
        return [*type(self).model_fields, *(self.model_extra or {})]


def has_file(kind: str, name: str) -> bool:
    return (METHOD_FILES / f"{kind}s" / f"{name}.py").is_file()


class CustomGenerator(Block):
    model_config = ConfigDict(extra="allow")


class Generators(Methods):
    kind, custom = "generator", CustomGenerator

    none: NoTraining
    oversample: NoTraining
    shuffled: NoTraining
    concat: NoTraining
    flan_t5: FlanT5
    vae_dprior: VaeDprior
    llm: Llm
    gpt2_pt: PrefixGenerator
    ls_pt: PrefixGenerator
    ld_vae: LdVae
    vae: LdVae


class Synthesis(Block):
    """Decoding, spec section 5."""

    max_length: Positive | None = None
    batch_size: Positive | None = None
    temperature: Annotated[float, Field(gt=0)] | None = None
    top_k: Count
    top_p: Probability
    no_repeat_ngram: Count | None = None


class Selection(Block):
    """Quality control, spec section 9."""

    mode: Literal["top_k", "random"]
    scope: Literal["global", "per_composition"]
    score: Literal["jaccard", "posterior"]
    weight: Share
    strength: Annotated[float, Field(ge=0)]
    k: Count | None = None


class Classifier(Block):
    """What all classifiers have, spec section 10."""

    epochs: Positive | None = None
    lr: Rate | None = None
    lr_head: Rate | None = None
    batch_size: Positive | None = None
    max_length: Positive | None = None
    patience: Positive | None = None
    validation: Annotated[float, Field(gt=0, lt=1)]
    dropout: Share
    support_repeat: Positive
    dynamics: bool


class Bert(Classifier):
    """Spec section 10.1."""

    head_hidden: Count


class BertP(Classifier):
    """Spec section 10.2."""

    prefix_length: Positive


class Dbloss(Classifier):
    """Spec section 10.3."""

    gamma: Annotated[float, Field(ge=0)]
    negative_scale: Annotated[float, Field(gt=0)]
    bias_scale: Annotated[float, Field(ge=0)]
    weight_offset: Annotated[float, Field(ge=0)]
    weight_slope: Annotated[float, Field(gt=0)]
    weight_centre: float


class Magnet(Classifier):
    """Spec section 10.4."""

    gat_layers: Positive
    gat_heads: Positive
    adjacency: Literal["xavier", "identity", "co_occurrence"]
    adjacency_mask: bool


class Sgm(Classifier):
    """Spec section 10.5."""

    embedding: Positive
    hidden: Positive
    beams: Positive


class T5Clp(Classifier):
    """Spec section 10.6."""

    template: Annotated[str, Field(min_length=1)] | None = None
    empty_word: Annotated[str, Field(min_length=1)] | None = None
    contrast: Annotated[float, Field(ge=0, le=1)]
    tau: Annotated[float, Field(gt=0)] | None = None
    beams: Positive | None = None
    show_labels: bool
    strict: bool
    warmup: Share
    lr_schedule: Literal["decay", "increase"]


class CustomClassifier(Classifier):
    model_config = ConfigDict(extra="allow")


class Classifiers(Methods):
    kind, custom = "classifier", CustomClassifier

    bert: Bert
    bert_p: BertP
    dbloss: Dbloss
    magnet: Magnet
    sgm: Sgm
    t5_clp: T5Clp


class Evaluation(Block):
    decoding: Literal["threshold", "tuned_thresholds", "composition_prior"]
    threshold: Annotated[float, Field(gt=0, lt=1)]
    empty_both: Literal["one", "reference"]


class CompositionPrior(Block):
    """Label-shift correction at the level of compositions."""

    target: Literal["support", "label_generator", "both"]
    calibrate: bool
    back_off: bool
    weight: Annotated[float, Field(ge=0, lt=1)] | None
    strength: Annotated[float, Field(ge=0)] | None


def _methods(block: type[Block]) -> dict[str, type[Block]]:
    return {name: field.annotation for name, field in block.model_fields.items()}


METHODS: dict[str, dict[str, type[Block]]] = {
    "label_generator": {"label_generator": LabelGenerator},
    "generator": _methods(Generators),
    "synthesis": {"synthesis": Synthesis},
    "selection": {"selection": Selection},
    "classifier": _methods(Classifiers),
}


class Budgets(Block):
    """The values that follow a benchmark's size; each mapping fills the `null`s of one kind of method block.

    A mapping under a method's name (`generator.ls_pt`) holds what only that method does differently.
    """

    label_generator: dict[str, Any]
    generator: dict[str, Any]
    synthesis: dict[str, Any]
    selection: dict[str, Any]
    classifier: dict[str, Any]

    @model_validator(mode="after")
    def _known(self) -> Budgets:
        for word, blocks in METHODS.items():
            fields = {name for block in blocks.values() for name in block.model_fields}
            for key, value in getattr(self, word).items():
                if key not in fields and key not in blocks and has_file(word, key):
                    continue  # of a method of the user's own
                own = list(value) if key in blocks and isinstance(value, dict) else [key]
                for name in own:
                    if name not in (blocks[key].model_fields if key in blocks else fields):
                        near = difflib.get_close_matches(name, sorted(fields), n=1)
                        raise ValueError(
                            f"{word}: unknown key {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
                        )
        return self


class Benchmark(Block):
    reader: Literal["diagnostic", "semeval", "aapd", "imdb", "goemotions", "tabular"]
    paper_column: Literal["SemEval", "AAPD", "IMDB"] | None
    files: dict[str, File]
    options: dict[str, Any]
    label_phrases: dict[str, str] | str | None
    label_separator: Annotated[str, Field(min_length=1)]
    label_prompt: Annotated[str, Field(min_length=1)]
    text_prompt: str
    split: Split
    backbones: Backbones
    budgets: Budgets

    @model_validator(mode="after")
    def _prompt(self) -> Benchmark:
        if self.text_prompt.count("{labels}") != 1:
            raise ValueError("text_prompt must contain {labels} exactly once")
        return self


class Run(Block):
    benchmark: str
    generator: str
    classifier: str
    seed: Seed


class Params(Block):
    run: Run
    benchmarks: dict[str, Benchmark]
    label_generator: LabelGenerator
    generators: Generators
    synthesis: Synthesis
    selection: Selection
    classifiers: Classifiers
    evaluation: Evaluation
    composition_prior: CompositionPrior

    @model_validator(mode="after")
    def _names_exist(self) -> Params:
        generators, classifiers = self.generators.names, self.classifiers.names
        for what, name, known in (
            ("run.benchmark", self.run.benchmark, self.benchmarks),
            ("run.generator", self.run.generator, generators),
            ("run.classifier", self.run.classifier, classifiers),
        ):
            if name not in known:
                raise ValueError(f"{what}: unknown name {name!r}; choose from {', '.join(map(str, known))}")
        if self.evaluation.decoding == "composition_prior":
            for name in ("weight", "strength"):
                if getattr(self.composition_prior, name) is None:
                    raise ValueError(
                        f"composition_prior.{name}: evaluation.decoding is composition_prior, which needs a number here; the "
                        "experiment `prior` chooses it on held-out rows (reports/tables/composition_prior.md has what it found)"
                    )
        return self


def tried(where: str, edit: str, block: Block) -> None:
    """InputError unless `edit` is made of "key=value" of the block: a mistake must show now and not in the middle of a grid."""
    values = block.model_dump()
    try:
        for key, equals, value in _assignments(edit):
            if not equals or key not in values:
                raise InputError(f"{where}: {edit!r} is no <key>=<value>; the keys are {', '.join(block.model_dump())}")
            values[key] = yaml.safe_load(value)
        type(block).model_validate(values)
    except ValidationError as error:
        raise InputError(f"{where}: {edit!r}: {_one_line(error)}") from None
    except yaml.YAMLError:
        raise InputError(f"{where}: {edit!r}: its value is not valid YAML") from None


def _assignments(edit: str) -> list[tuple[str, str, str]]:
    """(key, "=", value) of each "key=value", as `str.partition` gives them; a comma before a key starts the next."""
    return [part.partition("=") for part in re.split(r",(?=\w+=)", edit)]


@dataclass(frozen=True)
class Edited:
    """A parameter file with some values set otherwise: `edits` are "dotted.key=value", the value in YAML. More keys of the same
    block may follow: "dotted.key=value,key=value"."""

    path: Path
    edits: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path} with {' '.join(f'--set {edit}' for edit in self.edits)}"

    def apply(self, tree: dict) -> None:
        """InputError for a key that the file does not have."""
        for edit in self.edits:
            *parents, _ = edit.partition("=")[0].split(".")
            node: Any = tree
            for word in parents:
                node = node.get(word) if isinstance(node, dict) else None
            for key, equals, value in _assignments(edit):
                last = key.rpartition(".")[2]
                if not equals or not isinstance(node, dict) or last not in node:
                    raise InputError(f"--set {edit}: write <key of {self.path}>=<value>; there is no key {key!r}")
                try:
                    node[last] = yaml.safe_load(value)
                except yaml.YAMLError:
                    raise InputError(f"--set {edit}: the value is not valid YAML; quote it") from None


def parse(source: Path | str | Edited) -> Params:
    """Read and check the whole file. InputError: one line naming the file, the key and what is wrong with it."""
    path = source.path if isinstance(source, Edited) else source
    raw = read_yaml(path)
    if isinstance(source, Edited):
        source.apply(raw)
    try:
        return Params.model_validate(raw)
    except ValidationError as error:
        raise InputError(f"{source}: {_one_line(error)}") from None


def load(path: Path | str | Edited, keys: list[str], **coordinates: str) -> dict[str, Any]:
    """The blocks a stage lists, by the last word of their path; method blocks come resolved with their budget.

    `keys` are dotted paths such as "benchmarks.{benchmark}.split". `generators.{generator}` is returned as "generator" and
    `classifiers.{classifier}` as "classifier", filled from "benchmarks.{benchmark}.budgets.<same word>", which must
    be listed too.
    """
    params = parse(path)
    blocks, budgets = {}, {}
    for key in keys:
        words = key.format(**coordinates).split(".")
        value: Any = params
        for depth, word in enumerate(words):
            try:
                value = value[word] if isinstance(value, dict) else getattr(value, word)
            except (KeyError, AttributeError):
                choices = list(value) if isinstance(value, dict) else list(getattr(type(value), "model_fields", ()))
                where = ".".join(words[:depth]) or "the file"
                raise InputError(
                    f"{path}: {where} has no {word!r}; choose from {', '.join(choices) or 'nothing'}"
                ) from None
        if "budgets" in words:
            budgets[words[-1]] = value
        else:
            plural = {"generators": "generator", "classifiers": "classifier"}
            blocks[plural.get(words[-2], words[-1]) if len(words) == 2 else words[-1]] = value
    for word, budget in budgets.items():
        budget = budget | budget.get(coordinates.get(word, ""), {})
        blocks[word] = resolve(blocks[word], budget, f"{path}: {word}", coordinates.get("benchmark", ""))
    return blocks


def resolve(block: Block, budget: dict[str, Any], where: str, benchmark: str = "") -> Any:
    """`block` with every null that `budget` fills; budget keys the block does not know belong to other methods."""
    values = block.model_dump()
    fields = list(values)
    filled = values | {key: value for key, value in budget.items() if key in fields and values[key] is None}
    try:
        block = type(block).model_validate(filled)
    except ValidationError as error:
        raise InputError(f"{where} (with benchmarks.{benchmark}.budgets): {_one_line(error)}") from None
    optional = {"max_labels", "patience", "base_url", "model"}
    for key in fields:
        if getattr(block, key) is None and key not in optional:
            raise InputError(
                f"{where}.{key} is null and benchmarks.{benchmark}.budgets gives no value; set one of them"
            )
    return block


def _one_line(error: ValidationError) -> str:
    """The first problem, with a suggestion for a misspelt key."""
    problem = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")  # a typo explains a missing key
    key = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(problem["loc"][-1]), _known_keys(), n=1)
        message = "unknown key" + (f"; did you mean {near[0]!r}?" if near else "; remove it")
    elif problem["type"] == "missing":
        message = "required key is missing"
    else:
        message += f" (got {problem['input']!r})" if not isinstance(problem["input"], dict | Block) else ""
    return f"{key}: {message}" if key else message


def _known_keys() -> list[str]:
    blocks, found = [Block], set()
    while blocks:
        block = blocks.pop()
        found |= set(block.model_fields)
        blocks += block.__subclasses__()
    return sorted(found)
