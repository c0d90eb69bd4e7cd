"""What is run for each fingerprint: the scripts of the heavy stages on the toys, with the arguments of the graph.

A model that a stage opens but does not make was never trained: one epoch at a learning rate that moves no weight. So a
change of how models are trained does not look like one of how they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args, get_origin

from compaug import classifiers, generators
from compaug.cartography.maps import REGIONS
from compaug.core import registry
from compaug.core.schema import Block
from compaug.experiments.params import FILTER, Settings
from compaug.generators import parameters

SEED = "13"
SPLIT, BACKBONES, REQUESTS = "toys/split", "toys/backbones", "toys/requests.jsonl"
PARSED = "--corpus toy --scale tiny --data toys/parsing/corpus"
UTTERED = "--corpus toys/slu"
STILL = {"lr": "1.0e-30", "lr_head": "1.0e-30", "epochs": "1"}  # a training that leaves the weights as they began
READER = FILTER  # the classifier that select and judge open
ROLES = ("encoder", "decoder", "seq2seq")
BETWEEN = ("linda", "linda_prefix")  # `interpolation.OPENED`
SHOWN = ("gpt2_pt", "flan_t5", "ls_pt", "ld_vae")  # `representations.VIEWS`


@dataclass(frozen=True)
class Step:
    """`python -m stages.<stage> <argv> --out <out>`; it is not run again where `out` is already."""

    stage: str
    out: str
    argv: tuple[str, ...]


Variants = dict[str, list[Step]]  # the last steps of each write below "out/"


@dataclass(frozen=True)
class Toys:
    """The parameters of the toys and the variants that they add."""

    settings: Settings
    params: Mapping  # their params.yaml, in which a method of the user's own has what is its alone
    further: Mapping


def names() -> list[str]:
    """Every fingerprint: <stage> or <stage>-<method>.

    Methods are files, so a new system has its fingerprints at once.
    """
    writers = registry.names(generators, ("train", "generate"))
    read = registry.names(classifiers, ("ROLES", "train", "predict"))
    methods = {
        "backbones": ROLES,
        "classifier": read,
        "train_generator": writers,
        "synthesize": writers,
        "map_generator": [name for name in writers if _keeps_dynamics(name)],
    }
    return [f"{stage}-{name}" if name else stage for stage in STAGES for name in methods.get(stage, ("",))]


def _keeps_dynamics(name: str) -> bool:
    return "dynamics" in getattr(parameters.BLOCKS.get(name), "model_fields", ())


def controls() -> list[str]:
    """The generators that open no model."""
    return [
        name for name in registry.names(generators, ("train", "generate")) if not registry.roles_of(generators, name)
    ]


def variants(name: str, toys: Toys) -> Variants:
    """The steps of each variant of a fingerprint; "default" is the first."""
    stage, _, method = name.partition("-")
    return STAGES[stage](method, toys) if method else STAGES[stage](toys)


# ---------------------------------------------------------------- argv, one place for each stage


def backbones(scale: str, role: str, out: str, *more: str) -> Step:
    return Step(
        "prepare_backbone", out, ("--benchmark", "toy", "--scale", scale, "--role", role, "--split", SPLIT, *more)
    )


def train_classifier(name: str, out: str, *more: str) -> Step:
    """Its predictions go to <out>.jsonl.gz."""
    argv = f"""--labels {SPLIT}/labels.json --train {SPLIT}/train.jsonl --support {SPLIT}/support.jsonl
        --synthetic {SPLIT}/synthetic.jsonl --test-inputs {SPLIT}/test_inputs.jsonl --compositions {REQUESTS}
        --predictions {out}.jsonl.gz --backbones {BACKBONES}"""
    return _step("train_classifier", out, f"{_method('classifier', name)} {argv} --seed {SEED}", more)


def train_filter(name: str, out: str, *more: str) -> Step:
    argv = f"--split {SPLIT} --encoder {BACKBONES}/{registry.roles_of(classifiers, name)[0]} --seed {SEED}"
    return _step("train_filter", out, f"{_method('classifier', name)} {argv}", more)


def label_generator(out: str, *more: str) -> Step:
    argv = f"--benchmark toy --split {SPLIT} --decoder {BACKBONES}/decoder --seed {SEED}"
    return _step("sample_label_sets", out, argv, more)


def train_generator(name: str, out: str, *more: str) -> Step:
    argv = f"--split {SPLIT} --backbones {BACKBONES} --seed {SEED}"
    return _step("train_generator", out, f"{_method('generator', name)} {argv}", more)


def synthesize(name: str, model: str, out: str, *more: str) -> Step:
    argv = f"--model {model} --compositions {REQUESTS} --split {SPLIT} --backbones {BACKBONES} --seed {SEED}"
    return _step("synthesize", out, f"{_method('generator', name)} {argv}", more)


def select(model: str, out: str, *more: str) -> Step:
    argv = f"""--synthetic {SPLIT}/synthetic.jsonl --filter {model} --labels {SPLIT}/labels.json
        --train {SPLIT}/train.jsonl {SPLIT}/support.jsonl --seed {SEED}"""
    return _step("select", out, f"{_method('classifier', READER)} {argv}", more)


def folds(out: str) -> Step:
    return _step("folds", out, f"--split {SPLIT} --synthetic {SPLIT}/synthetic.jsonl --seed {SEED}")


def mixture(out: str, right: float) -> Step:
    argv = f"--benchmark toy --split {SPLIT} --compositions {REQUESTS} --right {right} --seed {SEED}"
    return _step("mixture", out, argv)


def map_classifier(out: str) -> Step:
    argv = f"""--labels {SPLIT}/labels.json --train {SPLIT}/train.jsonl {SPLIT}/support.jsonl {SPLIT}/synthetic.jsonl
        --backbone {BACKBONES}/encoder --seed {SEED} --report {out}.json"""
    return _step("map_classifier", out, f"{_method('classifier', READER)} {argv}")


def map_generator(name: str, out: str) -> Step:
    argv = f"--split {SPLIT} --backbones {BACKBONES} --seed {SEED} --report {out}.json"
    return _step("map_generator", out, f"{_method('generator', name)} {argv}")


def subset(out: str, *more: str) -> Step:
    return _step("subset", out, f"--split {SPLIT} --map toys/map --seed {SEED}", more)


def one_label(model: str, out: str) -> Step:
    argv = f"--benchmark toy --scale tiny --generator none --split {SPLIT} --predictions {model}.jsonl.gz"
    return _step("one_label", out, argv)


def map_parser(out: str) -> Step:
    return _step("map_parser", out, f"{PARSED} --seed {SEED}")


def train_parser(out: str, *more: str) -> Step:
    return _step("train_parser", out, f"{PARSED} --seed {SEED}", more)


def slu_texts(out: str, *more: str) -> Step:
    return _step("slu_texts", out, f"{UTTERED} --decoder {BACKBONES}/decoder --seed {SEED}", more)


def train_slu(out: str, *more: str) -> Step:
    return _step("train_slu", out, f"{UTTERED} --scale tiny --encoder {BACKBONES}/encoder --seed {SEED}", more)


def quality(out: str) -> Step:
    argv = f"""--benchmark toy --synthetic {SPLIT}/synthetic.jsonl --selected {SPLIT}/synthetic.jsonl
        --compositions {REQUESTS.removesuffix("l")} --split {SPLIT} --decoder {BACKBONES}/decoder"""
    return _step("measure_quality", out, argv)


def distances(out: str) -> Step:
    argv = f"--split {SPLIT} --selected {SPLIT}/synthetic.jsonl --encoder {BACKBONES}/encoder"
    return _step("measure_distances", out, argv)


def judge(model: str, out: str) -> Step:
    argv = f"""--labels {SPLIT}/labels.json --generator ls_pt --seed {SEED} --model {model}
        --selected {SPLIT}/synthetic.jsonl"""
    return _step("judge", out, f"{_method('classifier', READER)} {argv}")


def representations(name: str, model: str, out: str) -> Step:
    return _step("measure_representations", out, _opened(name, model))


def interpolation(name: str, model: str, out: str) -> Step:
    return _step("measure_interpolation", out, f"--benchmark toy {_opened(name, model)}")


def _opened(name: str, model: str) -> str:
    return f"--generator {name} --model {model} --split {SPLIT} --backbones {BACKBONES} --seed {SEED}"


def _step(stage: str, out: str, argv: str, more: tuple[str, ...] = ()) -> Step:
    return Step(stage, out, (*argv.split(), *more))


def _method(kind: str, name: str) -> str:
    return f"--benchmark toy --{kind} {name}"


# ---------------------------------------------------------------- variants of each stage


def _backbones(role: str, toys: Toys) -> Variants:
    edits = [] if role == "encoder" else ["pretraining=texts"]
    return {
        "default": [backbones("tiny", role, "out/model")],
        "kind=path": [backbones("given", role, "out/model")],
        "unused": [backbones("tiny", role, "out/model", "--generator", "none")],
    } | {edit: [backbones("tiny", role, "out/model", *set_of(f"backbones.{role}", edit))] for edit in edits}


def _classifier(name: str, toys: Toys) -> Variants:
    train = partial(train_classifier, name, "out/model")
    default = {"default": [train(), train_filter(name, "out/filter")]}
    return default | _edited(train, f"classifiers.{name}", _edits("classifiers", name, toys))


def _label_generator(toys: Toys) -> Variants:
    sample = partial(label_generator, "out/run.jsonl")
    edits = _choices(toys.settings.label_generator) + toys.further["label_generator"]
    return {"default": [sample()]} | _edited(sample, "label_generator", edits)


def _train_generator(name: str, toys: Toys) -> Variants:
    train = partial(train_generator, name, "out/model")
    return {"default": [train()]} | _edited(train, f"generators.{name}", _edits("generators", name, toys))


def _synthesize(name: str, toys: Toys) -> Variants:
    out, first = "out/run.jsonl", _untrained_generator(name, toys)
    write = partial(synthesize, name, first.out, out)
    settings = [] if name in controls() else toys.further["synthesis"]  # without a model there is no sampling
    steps = {"default": [first, write()]} | _edited(write, "synthesis", settings, first)
    for edit in toys.further["synthesized"].get(name, []):
        other = _untrained_generator(name, toys, edit)
        steps[edit] = [other, synthesize(name, other.out, out)]
    return steps


def _select(toys: Toys) -> Variants:
    model = train_filter(READER, "models/filter", *set_of(f"classifiers.{READER}", _still("classifiers", READER, toys)))
    keep = partial(select, model.out, "out/run.jsonl")
    edits = _choices(toys.settings.selection) + toys.further["selection"]
    # which rank by a map, not by what select computes
    edits = [edit for edit in edits if edit.removeprefix("score=") not in REGIONS]
    return {"default": [model, keep()]} | _edited(keep, "selection", edits, model)


def _judge(toys: Toys) -> Variants:
    still = set_of(f"classifiers.{READER}", _still("classifiers", READER, toys))
    model = train_classifier(READER, "models/reader", *still)
    return {"default": [model, judge(model.out, "out/run.json")]}


def _subset(toys: Toys) -> Variants:
    keep = partial(subset, "out/subset")
    return {"default": [keep()]} | _edited(keep, "subset", _choices(toys.settings.subset))


def _one_label(toys: Toys) -> Variants:
    still = set_of(f"classifiers.{READER}", _still("classifiers", READER, toys))
    model = train_classifier(READER, "models/reader", *still)
    return {"default": [model, one_label(model.out, "out/run.json")]}


def _representations(toys: Toys) -> Variants:
    models = {name: _untrained_generator(name, toys) for name in SHOWN}
    return {name: [model, representations(name, model.out, "out/run.json")] for name, model in models.items()}


def _interpolation(toys: Toys) -> Variants:
    models = {name: _untrained_generator(name, toys) for name in BETWEEN}
    return {name: [model, interpolation(name, model.out, "out/run.json")] for name, model in models.items()}


def _train_parser(toys: Toys) -> Variants:
    out, with_map = "out/run.json", ("--map", "toys/parsing/map")
    plain = {edit: [train_parser(out, "--set", edit)] for edit in toys.further["parser"]}
    mapped = {edit: [train_parser(out, "--set", edit, *with_map)] for edit in toys.further["mapped_parser"]}
    return {"default": [train_parser(out)]} | plain | mapped


def _slu_texts(toys: Toys) -> Variants:
    out = "out/texts.jsonl"
    tagged = ("--set", "writer.mode=factorised", "--encoder", f"{BACKBONES}/encoder")
    others = {edit: [slu_texts(out, "--set", edit)] for edit in toys.further["utterances"]}
    return {"default": [slu_texts(out)], "factorised": [slu_texts(out, *tagged)]} | others


STAGES: dict[str, Callable[..., Variants]] = {  # of the method, where it has methods, and the toys; in this order
    "backbones": _backbones,
    "classifier": _classifier,
    "label_generator": _label_generator,
    "train_generator": _train_generator,
    "synthesize": _synthesize,
    "map_classifier": lambda toys: {"default": [map_classifier("out/maps")]},
    "map_generator": lambda name, toys: {"default": [map_generator(name, "out/maps")]},
    "subset": _subset,
    "select": _select,
    "folds": lambda toys: {"default": [folds("out/folds")]},
    "mixture": lambda toys: {"default": [mixture("out/run.jsonl", 1)], "right=0.5": [mixture("out/run.jsonl", 0.5)]},
    "quality": lambda toys: {"default": [quality("out/run.json")]},
    "judge": _judge,
    "representations": _representations,
    "interpolation": _interpolation,
    "distances": lambda toys: {"default": [distances("out/run.json")]},
    "one_label": _one_label,
    "map_parser": lambda toys: {"default": [map_parser("out/maps")]},
    "train_parser": _train_parser,
    "slu_texts": _slu_texts,
    "train_slu": lambda toys: {
        "default": [train_slu("out/run.json")],
        "with texts": [train_slu("out/run.json", "--synthetic", "toys/slu/texts.jsonl")],
    },
}


def _edited(step: Callable[..., Step], block: str, edits: Sequence[str], *before: Step) -> Variants:
    """A variant for each edit of a block of the parameters."""
    return {edit: [*before, step(*set_of(block, edit))] for edit in edits}


def full_size() -> list[Step]:
    """One step of each part of the default cell with layers and batches of its own size.

    These may take other kernels than small ones.
    """
    size = "hidden=128,layers=2,heads=4,vocab=1500,max_positions=192,epochs=1,batch_size=32"
    steps = [backbones("tiny", role, f"out/{role}", "--set", f"backbones.{role}.{size}") for role in ROLES]
    latent = "mid_dim=256,latent=64,clusters=5,prefix_length=10,max_length=64,batch_size=32,epochs=1"
    bert = "max_length=64,batch_size=32,epochs=1"
    return [
        *steps,
        train_generator("ld_vae", "out/generator", *set_of("generators.ld_vae", latent), "--backbones", "out"),
        train_classifier("bert", "out/classifier", *set_of("classifiers.bert", bert), "--backbones", "out"),
    ]


def _untrained_generator(name: str, toys: Toys, edit: str = "") -> Step:
    edits = ",".join(filter(None, (edit, _still("generators", name, toys))))
    return train_generator(name, f"models/{name}/{edit or 'default'}", *set_of(f"generators.{name}", edits))


def _still(kind: str, name: str, toys: Toys) -> str:
    block = getattr(toys.settings, kind)[name]
    return ",".join(f"{key}={value}" for key, value in STILL.items() if hasattr(block, key))


def set_of(block: str, edits: str) -> tuple[str, ...]:
    return ("--set", f"{block}.{edits}") if edits else ()


def _edits(kind: str, name: str, toys: Toys) -> list[str]:
    choices = _choices(getattr(toys.settings, kind)[name], toys.params[kind][name] or {})
    return choices + toys.further[kind].get(name, [])


def _choices(block: Block, keys: Collection[str] = ()) -> list[str]:
    """ "key=value" for every other value of the options that are choices: booleans and literals.

    What a method of the user's own takes from `shared`, and may not use, is none.
    """
    edits = []
    for key, value in block:
        field = type(block).model_fields.get(key)
        if not field and key not in keys:
            continue
        if isinstance(value, bool):
            edits.append(f"{key}={str(not value).lower()}")
        elif field and get_origin(field.annotation) is Literal:
            edits += [f"{key}={other}" for other in get_args(field.annotation) if other != value]
    return edits
