"""What is run for each fingerprint: the scripts of the heavy stages on the toys, each with the arguments that the graph gives it.

A model that a stage opens but does not make was never trained: one epoch at a learning rate that moves no weight. So a change of how
models are trained does not look like one of how they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from compaug import classifiers, generators, named, params

SEED = "13"
SPLIT, BACKBONES = "toys/split", "toys/backbones"
STILL = {"lr": "1.0e-30", "lr_head": "1.0e-30", "epochs": "1"}  # a training that leaves the weights as they began
READER = "bert"  # the classifier that select and judge open: the filter is BERT always
ROLES = ("encoder", "decoder", "seq2seq")
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
    """The parameter file of the toys and the variants that it adds."""

    tree: Mapping
    further: Mapping


def names() -> list[str]:
    """Every fingerprint: <stage> or <stage>-<method>. Methods are files, so a new system has its fingerprints at once."""
    made = named.names(generators, ("train", "generate"))
    read = named.names(classifiers, ("ROLES", "train", "predict"))
    return [
        *(f"backbones-{role}" for role in ROLES),
        *(f"classifier-{name}" for name in read),
        "label_generator",
        *(f"train_generator-{name}" for name in made),
        *(f"synthesize-{name}" for name in made),
        "select",
        "quality",
        "judge",
        *(f"representations-{name}" for name in SHOWN),
    ]


def variants(name: str, toys: Toys) -> Variants:
    """The steps of each variant of a fingerprint; "default" is the first."""
    stage, _, method = name.partition("-")
    return STAGES[stage](method, toys) if method else STAGES[stage](toys)


# ---------------------------------------------------------------- argv, one place for each stage


def backbones(benchmark: str, role: str, out: str, *more: str) -> Step:
    return Step("backbones", out, ("--benchmark", benchmark, "--role", role, "--split", SPLIT, *more))


def train_classifier(name: str, out: str, *more: str) -> Step:
    files = (
        "--labels",
        f"{SPLIT}/labels.json",
        "--train",
        f"{SPLIT}/train.jsonl",
        "--support",
        f"{SPLIT}/support.jsonl",
    )
    files += ("--synthetic", f"{SPLIT}/synthetic.jsonl", "--test-inputs", f"{SPLIT}/test_inputs.jsonl")
    return Step(
        "train_classifier", out, _method("classifier", name) + files + ("--backbones", BACKBONES, "--seed", SEED, *more)
    )


def train_filter(name: str, out: str, *more: str) -> Step:
    encoder = f"{BACKBONES}/{named.roles_of(classifiers, name)[0]}"
    argv = ("--split", SPLIT, "--encoder", encoder, "--seed", SEED, *more)
    return Step("train_filter", out, _method("classifier", name) + argv)


def label_generator(out: str, *more: str) -> Step:
    argv = ("--benchmark", "toy", "--split", SPLIT, "--decoder", f"{BACKBONES}/decoder", "--seed", SEED)
    return Step("label_generator", out, argv + more)


def train_generator(name: str, out: str, *more: str) -> Step:
    argv = ("--split", SPLIT, "--backbones", BACKBONES, "--seed", SEED, *more)
    return Step("train_generator", out, _method("generator", name) + argv)


def synthesize(name: str, model: str, out: str, *more: str) -> Step:
    argv = ("--model", model, "--compositions", "toys/requests.jsonl", "--split", SPLIT, "--backbones", BACKBONES)
    return Step("synthesize", out, _method("generator", name) + argv + ("--seed", SEED, *more))


def select(model: str, out: str, *more: str) -> Step:
    argv = ("--synthetic", f"{SPLIT}/synthetic.jsonl", "--filter", model, "--labels", f"{SPLIT}/labels.json")
    argv += ("--train", f"{SPLIT}/train.jsonl", f"{SPLIT}/support.jsonl", "--seed", SEED)
    return Step("select", out, _method("classifier", READER) + argv + more)


def quality(out: str) -> Step:
    argv = ("--synthetic", f"{SPLIT}/synthetic.jsonl", "--split", SPLIT, "--decoder", f"{BACKBONES}/decoder")
    return Step("quality", out, argv)


def judge(model: str, out: str) -> Step:
    argv = ("--labels", f"{SPLIT}/labels.json", "--generator", "ls_pt", "--seed", SEED, "--model", model)
    argv += ("--selected", f"{SPLIT}/synthetic.jsonl", "--test", f"{SPLIT}/test.jsonl")
    return Step("judge", out, _method("classifier", READER) + argv)


def representations(name: str, model: str, out: str) -> Step:
    argv = ("--generator", name, "--model", model, "--split", SPLIT, "--backbones", BACKBONES, "--seed", SEED)
    return Step("representations", out, argv)


def _method(kind: str, name: str) -> tuple[str, ...]:
    return ("--benchmark", "toy", f"--{kind}", name)


# ---------------------------------------------------------------- variants of each stage


def _backbones(role: str, toys: Toys) -> Variants:
    return {
        "default": [backbones("toy", role, "out/model")],
        "kind=path": [backbones("given", role, "out/model")],
        "unused": [backbones("toy", role, "out/model", "--generator", "none")],
    }


def _classifier(name: str, toys: Toys) -> Variants:
    edits = _edits("classifier", name, toys)
    return {"default": [train_classifier(name, "out/model"), train_filter(name, "out/filter")]} | {
        edit: [train_classifier(name, "out/model", *_set(f"classifiers.{name}", edit))] for edit in edits
    }


def _label_generator(toys: Toys) -> Variants:
    edits = _choices(toys.tree["label_generator"], params.LabelGenerator) + toys.further["label_generator"]
    steps = {edit: label_generator("out/run.jsonl", *_set("label_generator", edit)) for edit in edits}
    return {"default": [label_generator("out/run.jsonl")]} | {edit: [step] for edit, step in steps.items()}


def _train_generator(name: str, toys: Toys) -> Variants:
    return {"default": [train_generator(name, "out/model")]} | {
        edit: [train_generator(name, "out/model", *_set(f"generators.{name}", edit))]
        for edit in _edits("generator", name, toys)
    }


def _synthesize(name: str, toys: Toys) -> Variants:
    out, first = "out/run.jsonl", _untrained_generator(name, toys)
    found = {"default": [first, synthesize(name, first.out, out)]}
    for edit in (
        toys.further["synthesis"] if named.roles_of(generators, name) else []
    ):  # without a model there is no sampling
        found[edit] = [first, synthesize(name, first.out, out, *_set("synthesis", edit))]
    for edit in toys.further["synthesized"].get(name, []):
        other = _untrained_generator(name, toys, edit)
        found[edit] = [other, synthesize(name, other.out, out)]
    return found


def _select(toys: Toys) -> Variants:
    model = train_filter(READER, "models/filter", *_set(f"classifiers.{READER}", _still("classifiers", READER, toys)))
    edits = _choices(toys.tree["selection"], params.Selection)
    return {"default": [model, select(model.out, "out/run.jsonl")]} | {
        edit: [model, select(model.out, "out/run.jsonl", *_set("selection", edit))] for edit in edits
    }


def _quality(toys: Toys) -> Variants:
    return {"default": [quality("out/run.json")]}


def _judge(toys: Toys) -> Variants:
    model = train_classifier(
        READER, "models/reader", *_set(f"classifiers.{READER}", _still("classifiers", READER, toys))
    )
    return {"default": [model, judge(model.out, "out/run.json")]}


def _representations(name: str, toys: Toys) -> Variants:
    model = _untrained_generator(name, toys)
    return {"default": [model, representations(name, model.out, "out/run.json")]}


STAGES = {
    "backbones": _backbones,
    "classifier": _classifier,
    "label_generator": _label_generator,
    "train_generator": _train_generator,
    "synthesize": _synthesize,
    "select": _select,
    "quality": _quality,
    "judge": _judge,
    "representations": _representations,
}


def _untrained_generator(name: str, toys: Toys, edit: str = "") -> Step:
    edits = ",".join(filter(None, (edit, _still("generators", name, toys))))
    return train_generator(name, f"models/{name}/{edit or 'default'}", *_set(f"generators.{name}", edits))


def _still(kind: str, name: str, toys: Toys) -> str:
    return ",".join(f"{key}={value}" for key, value in STILL.items() if key in (toys.tree[kind][name] or {}))


def _set(block: str, edits: str) -> tuple[str, ...]:
    return ("--set", f"{block}.{edits}") if edits else ()


def _edits(kind: str, name: str, toys: Toys) -> list[str]:
    block = params.METHODS[kind].get(name)
    return _choices(toys.tree[f"{kind}s"][name] or {}, block) + toys.further[f"{kind}s"].get(name, [])


def _choices(values: Mapping, block: type | None) -> list[str]:
    """ "key=value" for every other value of the options that are choices: booleans and literals."""
    found = []
    for key, value in values.items():
        kind = block.model_fields[key].annotation if block else None
        if isinstance(value, bool):
            found.append(f"{key}={str(not value).lower()}")
        elif get_origin(kind) is Literal:
            found += [f"{key}={other}" for other in get_args(kind) if other != value]
    return found
