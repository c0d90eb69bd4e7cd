"""What is run for each fingerprint: the scripts of the heavy stages on the toys, with the arguments of the graph.

A model that a stage opens but does not make was never trained: one epoch at a learning rate that moves no weight. So a
change of how models are trained does not look like one of how they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
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
    return [
        *(f"backbones-{role}" for role in ROLES),
        *(f"classifier-{name}" for name in read),
        "label_generator",
        *(f"train_generator-{name}" for name in writers),
        *(f"synthesize-{name}" for name in writers),
        "map_classifier",
        *(f"map_generator-{name}" for name in writers if _keeps_dynamics(name)),
        "select",
        "folds",
        "mixture",
        "quality",
        "judge",
        "representations",
        "interpolation",
        "distances",
        "map_parser",
        "train_parser",
        "slu_texts",
        "train_slu",
    ]


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
    argv = f"--generator {name} --model {model} --split {SPLIT} --backbones {BACKBONES} --seed {SEED}"
    return _step("measure_representations", out, argv)


def interpolation(name: str, model: str, out: str) -> Step:
    argv = f"--benchmark toy --generator {name} --model {model} --split {SPLIT} --backbones {BACKBONES} --seed {SEED}"
    return _step("measure_interpolation", out, argv)


def _step(stage: str, out: str, argv: str, more: tuple[str, ...] = ()) -> Step:
    return Step(stage, out, (*argv.split(), *more))


def _method(kind: str, name: str) -> str:
    return f"--benchmark toy --{kind} {name}"


# ---------------------------------------------------------------- variants of each stage


def _backbones(role: str, toys: Toys) -> Variants:
    steps = {
        "default": [backbones("tiny", role, "out/model")],
        "kind=path": [backbones("given", role, "out/model")],
        "unused": [backbones("tiny", role, "out/model", "--generator", "none")],
    }
    for edit in () if role == "encoder" else ("pretraining=texts",):
        steps[edit] = [backbones("tiny", role, "out/model", *set_of(f"backbones.{role}", edit))]
    return steps


def _classifier(name: str, toys: Toys) -> Variants:
    edits = _edits("classifiers", name, toys)
    return {"default": [train_classifier(name, "out/model"), train_filter(name, "out/filter")]} | {
        edit: [train_classifier(name, "out/model", *set_of(f"classifiers.{name}", edit))] for edit in edits
    }


def _label_generator(toys: Toys) -> Variants:
    edits = _choices(toys.settings.label_generator) + toys.further["label_generator"]
    steps = {edit: label_generator("out/run.jsonl", *set_of("label_generator", edit)) for edit in edits}
    return {"default": [label_generator("out/run.jsonl")]} | {edit: [step] for edit, step in steps.items()}


def _train_generator(name: str, toys: Toys) -> Variants:
    return {"default": [train_generator(name, "out/model")]} | {
        edit: [train_generator(name, "out/model", *set_of(f"generators.{name}", edit))]
        for edit in _edits("generators", name, toys)
    }


def _synthesize(name: str, toys: Toys) -> Variants:
    out, first = "out/run.jsonl", _untrained_generator(name, toys)
    steps = {"default": [first, synthesize(name, first.out, out)]}
    settings = [] if name in controls() else toys.further["synthesis"]  # without a model there is no sampling
    for edit in settings:
        steps[edit] = [first, synthesize(name, first.out, out, *set_of("synthesis", edit))]
    for edit in toys.further["synthesized"].get(name, []):
        other = _untrained_generator(name, toys, edit)
        steps[edit] = [other, synthesize(name, other.out, out)]
    return steps


def _select(toys: Toys) -> Variants:
    model = train_filter(READER, "models/filter", *set_of(f"classifiers.{READER}", _still("classifiers", READER, toys)))
    edits = _choices(toys.settings.selection) + toys.further["selection"]
    # which rank by a map, not by what select computes
    edits = [edit for edit in edits if edit.removeprefix("score=") not in REGIONS]
    return {"default": [model, select(model.out, "out/run.jsonl")]} | {
        edit: [model, select(model.out, "out/run.jsonl", *set_of("selection", edit))] for edit in edits
    }


def _folds(toys: Toys) -> Variants:
    return {"default": [folds("out/folds")]}


def _mixture(toys: Toys) -> Variants:
    return {"default": [mixture("out/run.jsonl", 1)], "right=0.5": [mixture("out/run.jsonl", 0.5)]}


def _quality(toys: Toys) -> Variants:
    return {"default": [quality("out/run.json")]}


def _distances(toys: Toys) -> Variants:
    return {"default": [distances("out/run.json")]}


def _judge(toys: Toys) -> Variants:
    model = train_classifier(
        READER, "models/reader", *set_of(f"classifiers.{READER}", _still("classifiers", READER, toys))
    )
    return {"default": [model, judge(model.out, "out/run.json")]}


def _representations(toys: Toys) -> Variants:
    models = {name: _untrained_generator(name, toys) for name in SHOWN}
    return {name: [model, representations(name, model.out, "out/run.json")] for name, model in models.items()}


def _map_classifier(toys: Toys) -> Variants:
    return {"default": [map_classifier("out/maps")]}


def _map_generator(name: str, toys: Toys) -> Variants:
    return {"default": [map_generator(name, "out/maps")]}


def _interpolation(toys: Toys) -> Variants:
    models = {name: _untrained_generator(name, toys) for name in BETWEEN}
    return {name: [model, interpolation(name, model.out, "out/run.json")] for name, model in models.items()}


def _map_parser(toys: Toys) -> Variants:
    return {"default": [map_parser("out/maps")]}


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


def _train_slu(toys: Toys) -> Variants:
    out = "out/run.json"
    return {"default": [train_slu(out)], "with texts": [train_slu(out, "--synthetic", "toys/slu/texts.jsonl")]}


STAGES = {
    "backbones": _backbones,
    "classifier": _classifier,
    "label_generator": _label_generator,
    "train_generator": _train_generator,
    "synthesize": _synthesize,
    "select": _select,
    "folds": _folds,
    "mixture": _mixture,
    "quality": _quality,
    "judge": _judge,
    "representations": _representations,
    "map_classifier": _map_classifier,
    "map_generator": _map_generator,
    "interpolation": _interpolation,
    "distances": _distances,
    "map_parser": _map_parser,
    "train_parser": _train_parser,
    "slu_texts": _slu_texts,
    "train_slu": _train_slu,
}


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
