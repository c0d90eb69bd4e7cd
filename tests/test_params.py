"""params.yaml: the committed file resolves everywhere, and every mistake in it is one line that names file and key."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from compaug import params
from compaug.records import InputError

COMMITTED = Path(__file__).parents[1] / "params.yaml"
TREE = json.loads(json.dumps(yaml.safe_load(COMMITTED.read_text(encoding="utf-8"))))  # anchors become copies
GENERATOR = ["generators.{generator}", "benchmarks.{benchmark}.budgets.generator"]
CLASSIFIER = ["classifiers.{classifier}", "benchmarks.{benchmark}.budgets.classifier"]


def edited(tmp_path, changes) -> Path:
    """The committed file with values set by dotted path; `...` removes the key."""
    tree = copy.deepcopy(TREE)
    for where, value in changes.items():
        *parents, last = where.split(".")
        node = tree
        for word in parents:
            node = node[word]
        if value is ...:
            del node[last]
        else:
            node[last] = value
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(tree, sort_keys=False), encoding="utf-8")
    return path


def refusal(call, *args, **kwargs) -> str:
    with pytest.raises(InputError) as error:
        call(*args, **kwargs)
    message = str(error.value)
    assert "\n" not in message
    return message


def shipped():
    return [(benchmark, generator) for benchmark in TREE["benchmarks"] for generator in TREE["generators"]]


@pytest.mark.parametrize(("benchmark", "generator"), shipped())
def test_the_committed_file_resolves_for_every_benchmark_and_generator(benchmark, generator):
    keys = [*GENERATOR, *CLASSIFIER]
    for word in ("label_generator", "synthesis", "selection"):
        keys += [word, f"benchmarks.{{benchmark}}.budgets.{word}"]
    blocks = params.load(COMMITTED, keys, benchmark=benchmark, generator=generator, classifier="bert")
    assert set(blocks) == {"generator", "classifier", "label_generator", "synthesis", "selection"}
    assert blocks["selection"].k <= blocks["label_generator"].requested
    assert blocks["classifier"].epochs >= 1


def test_a_stage_gets_the_blocks_it_lists_and_no_others():
    keys = ["evaluation", "benchmarks.{benchmark}.reader", "benchmarks.{benchmark}.split"]
    blocks = params.load(COMMITTED, keys, benchmark="diagnostic")
    assert set(blocks) == {"evaluation", "reader", "split"}
    assert blocks["reader"] == "diagnostic" and blocks["split"].compositions == 12


def test_no_block_has_a_value_of_its_own():
    """Why params.py may change without making a result stale: what a stage gets is in params.yaml, or nothing."""
    blocks, seen = [params.Block], 0
    while blocks:
        block = blocks.pop()
        blocks += block.__subclasses__()
        if block.__module__ != params.__name__:
            continue  # a reader's options are in the reader's file, which its stage depends on
        for name, field in block.model_fields.items():
            seen += 1
            assert field.is_required() or field.default is None, f"{block.__name__}.{name} has a default"
    assert seen > 100


# ---------------------------------------------------------------- budgets


def test_a_value_in_the_methods_block_wins_over_the_budget(tmp_path):
    keys = ["selection", "benchmarks.{benchmark}.budgets.selection"]
    by_budget = params.load(COMMITTED, keys, benchmark="diagnostic")["selection"]
    assert by_budget.k == TREE["benchmarks"]["diagnostic"]["budgets"]["selection"]["k"]
    path = edited(tmp_path, {"selection.k": 7})
    for benchmark in TREE["benchmarks"]:
        assert params.load(path, keys, benchmark=benchmark)["selection"].k == 7


def test_a_budget_under_a_methods_name_holds_for_that_method_only():
    epochs = {
        name: params.load(COMMITTED, GENERATOR, benchmark="semeval", generator=name)["generator"].epochs
        for name in ("ls_pt", "ld_vae")
    }
    assert epochs == {"ls_pt": 20, "ld_vae": 50}


def test_the_methods_block_wins_over_its_own_budget_too(tmp_path):
    path = edited(tmp_path, {"generators.ls_pt.epochs": 3})
    assert params.load(path, GENERATOR, benchmark="semeval", generator="ls_pt")["generator"].epochs == 3


def test_a_null_without_a_budget_is_refused(tmp_path):
    path = edited(tmp_path, {"benchmarks.diagnostic.budgets.classifier.lr": ...})
    message = refusal(params.load, path, CLASSIFIER, benchmark="diagnostic", classifier="bert")
    assert message == f"{path}: classifier.lr is null and benchmarks.diagnostic.budgets gives no value; set one of them"


def test_early_stopping_may_be_off(tmp_path):
    path = edited(tmp_path, {"benchmarks.diagnostic.budgets.classifier.patience": ...})
    assert params.load(path, CLASSIFIER, benchmark="diagnostic", classifier="bert")["classifier"].patience is None


@pytest.mark.parametrize("value", ["40", 0, 1.5, True])
def test_a_budget_of_the_wrong_type_or_size_is_refused(tmp_path, value):
    path = edited(tmp_path, {"benchmarks.diagnostic.budgets.classifier.epochs": value})
    message = refusal(params.load, path, CLASSIFIER, benchmark="diagnostic", classifier="bert")
    assert (
        message.startswith(f"{path}: classifier (with benchmarks.diagnostic.budgets): epochs: ")
        and repr(value) in message
    )


def test_a_misspelt_budget_is_refused_with_a_suggestion(tmp_path):
    path = edited(tmp_path, {"benchmarks.semeval.budgets.generator.ls_pt": {"epoch": 20}})
    message = refusal(params.parse, path)
    assert message.startswith(f"{path}: benchmarks.semeval.budgets") and "did you mean 'epochs'?" in message
    path = edited(tmp_path, {"benchmarks.semeval.budgets.generator.ls_pt": {"latent": 20}})  # ld_vae's
    assert "generator: unknown key 'latent'" in refusal(params.parse, path)
    path = edited(tmp_path, {"benchmarks.semeval.budgets.selection": {"kk": 20}})
    assert "selection: unknown key 'kk'" in refusal(params.parse, path)


# ---------------------------------------------------------------- mistakes


MISTAKES = {
    "an unknown key": ({"selection.keep": 3}, "selection.keep: unknown key"),
    "a misspelt key": (
        {"generators.ld_vae.latnet": 3},
        "generators.ld_vae.latnet: unknown key; did you mean 'latent'?",
    ),
    "a misspelt block": ({"selektion": {}}, "selektion: unknown key; did you mean 'selection'?"),
    "a misspelt key for a required one": (
        {"run.benchmark": ..., "run.benchmrak": "diagnostic"},
        "run.benchmrak: unknown key; did you mean 'benchmark'?",
    ),
    "a missing key": ({"synthesis.top_p": ...}, "synthesis.top_p: required key is missing"),
    "a missing block": ({"evaluation": ...}, "evaluation: required key is missing"),
    "a number as a string": ({"selection.k": "100"}, "selection.k: Input should be a valid integer (got '100')"),
    "a number that is true": ({"run.seed": True}, "run.seed: "),
    "a fraction for a count": ({"label_generator.max_tokens": 6.5}, "label_generator.max_tokens: "),
    "a probability of 0": ({"synthesis.top_p": 0.0}, "synthesis.top_p: "),
    "a share of 1": ({"classifiers.bert.dropout": 1.0}, "classifiers.bert.dropout: "),
    "a negative seed": ({"run.seed": -1}, "run.seed: "),
    "a seed above 31 bits": ({"run.seed": 2**31}, "run.seed: "),
    "no validation rows": ({"classifiers.bert.validation": 0.0}, "classifiers.bert.validation: "),
    "NaN": ({"synthesis.temperature": float("nan")}, "synthesis.temperature: "),
    "an unknown mode": ({"selection.mode": "best"}, "selection.mode: Input should be 'top_k' or 'random' (got 'best')"),
    "an unknown benchmark": (
        {"run.benchmark": "sem_eval"},
        "run.benchmark: unknown name 'sem_eval'; choose from diagnostic, ",
    ),
    "an unknown generator": ({"run.generator": "gpt5"}, "run.generator: unknown name 'gpt5'; choose from none, "),
    "an unknown classifier": ({"run.classifier": "svm"}, "run.classifier: unknown name 'svm'; choose from bert"),
    "test shares the wrong way round": (
        {"benchmarks.diagnostic.split.test_share": [0.2, 0.1]},
        "benchmarks.diagnostic.split: test_share must be [lowest, highest]",
    ),
    "a reconstruction of nothing": (
        {"benchmarks.diagnostic.split.mode": "reconstruct"},
        "benchmarks.diagnostic.split: mode reconstruct needs `known`",
    ),
    "heads that do not divide the width": (
        {"benchmarks.diagnostic.backbones.encoder.heads": 3},
        "benchmarks.diagnostic.backbones.encoder: hidden 128 is not a multiple of heads 3",
    ),
    "a hub model that is not pinned": (
        {"benchmarks.semeval.backbones.encoder.revision": "main"},
        "benchmarks.semeval.backbones.encoder.revision: ",
    ),
    "a hub model without a revision": (
        {"benchmarks.semeval.backbones.encoder.revision": None},
        "benchmarks.semeval.backbones.encoder: kind hub needs `revision`",
    ),
    "a size for a hub model": (
        {"benchmarks.semeval.backbones.encoder.layers": 2},
        "benchmarks.semeval.backbones.encoder: `layers` belongs to kind tiny, not to hub; remove it",
    ),
    "a prompt without a place for labels": (
        {"benchmarks.own.text_prompt": "A text:"},
        "benchmarks.own: text_prompt must contain {labels} exactly once",
    ),
    "a hash cut short": ({"benchmarks.semeval.files.train.sha256": "f2b2"}, "benchmarks.semeval.files.train.sha256: "),
    "max_labels below min_labels": (
        {"label_generator.max_labels": 1},
        "label_generator: max_labels is below min_labels",
    ),
    "text where a block belongs": ({"selection": "top_k"}, "selection: "),
    "a list where a block belongs": ({"benchmarks": []}, "benchmarks: "),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_line_that_names_file_and_key(tmp_path, case):
    changes, message = MISTAKES[case]
    path = edited(tmp_path, changes)
    assert refusal(params.parse, path).startswith(f"{path}: {message}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [("run: [", "not valid YAML"), ("", "expected a mapping of blocks"), ("- run", "expected a mapping of blocks")],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path, text, fault):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    assert refusal(params.parse, path).startswith(f"{path}: {fault}")


def test_a_key_that_is_no_word_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text(COMMITTED.read_text(encoding="utf-8") + "\n13: 42\n")
    assert refusal(params.parse, path).startswith(f"{path}: ")


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_bytes(b"run: \xff")
    assert refusal(params.parse, path).startswith(f"{path}: not valid YAML")


@pytest.mark.parametrize("value", ["[", "a: b: c", "*x", "!!python/name:os.system"])
def test_a_set_value_that_is_no_yaml_is_refused(value):
    said = refusal(params.parse, params.Edited(COMMITTED, (f"selection.scope={value}",)))
    assert said == f"--set selection.scope={value}: the value is not valid YAML; quote it"


def test_a_missing_file_says_where_to_run(tmp_path):
    assert "no such file; run from the repository's root" in refusal(params.parse, tmp_path / "params.yaml")


@pytest.mark.parametrize(
    ("keys", "coordinates", "message"),
    [
        (GENERATOR, {"benchmark": "sem", "generator": "ls_pt"}, "benchmarks has no 'sem'; choose from diagnostic, "),
        (
            GENERATOR,
            {"benchmark": "own", "generator": "vea"},
            "generators has no 'vea'; choose from none, oversample, ",
        ),
        (["{block}.seed"], {"block": "runs"}, "the file has no 'runs'; choose from run, "),
        (["{block}.seed"], {"block": "run.seed"}, "run.seed has no 'seed'; choose from nothing"),
    ],
)
def test_an_unknown_coordinate_lists_the_choices(keys, coordinates, message):
    assert refusal(params.load, COMMITTED, keys, **coordinates).startswith(f"{COMMITTED}: {message}")


def test_no_key_outside_the_schema_is_in_a_resolved_block(tmp_path):
    """Budgets of one word serve several methods; a method takes only the keys that its own block has."""
    block = params.load(COMMITTED, GENERATOR, benchmark="semeval", generator="ls_pt")["generator"]
    assert set(block.model_dump()) == set(params.PrefixGenerator.model_fields)
    assert params.load(COMMITTED, GENERATOR, benchmark="semeval", generator="none")["generator"].model_dump() == {}


# ---------------------------------------------------------------- a generator or classifier of one's own


def with_block(tmp_path, name: str, block: dict, kind: str = "generator") -> Path:
    values = yaml.safe_load(COMMITTED.read_text(encoding="utf-8"))
    values[f"{kind}s"][name] = block
    values["benchmarks"]["own"]["budgets"][kind] |= {name: {"epochs": 3}}
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_a_file_and_a_block_make_a_generator(tmp_path, monkeypatch):
    (tmp_path / "generators").mkdir()
    (tmp_path / "generators" / "mine.py").write_text("")
    monkeypatch.setattr(params, "METHOD_FILES", tmp_path)
    path = with_block(tmp_path, "mine", {"epochs": None, "lr": None, "anything": "goes"})
    keys = ["generators.{generator}", "benchmarks.{benchmark}.budgets.generator"]
    block = params.load(path, keys, benchmark="own", generator="mine")["generator"]
    assert (block.epochs, block.lr, block.anything) == (3, 0.001, "goes")  # its own budget, the common one, its block
    assert "mine" in params.parse(path).generators.names


def test_a_file_and_a_block_make_a_classifier(tmp_path, monkeypatch):
    (tmp_path / "classifiers").mkdir()
    (tmp_path / "classifiers" / "mine.py").write_text("")
    monkeypatch.setattr(params, "METHOD_FILES", tmp_path)
    common = {"epochs": None, "lr": 0.1, "lr_head": None, "batch_size": 4, "max_length": None, "patience": None}
    common |= {"validation": 0.1, "dropout": 0.0, "support_repeat": 1, "dynamics": False}
    path = with_block(tmp_path, "mine", common | {"anything": "goes"}, "classifier")
    block = params.load(path, CLASSIFIER, benchmark="own", classifier="mine")["classifier"]
    assert (block.epochs, block.lr, block.max_length, block.anything) == (3, 0.1, 128, "goes")
    assert "mine" in params.parse(path).classifiers.names
    path = with_block(tmp_path, "mine", common | {"validation": 2}, "classifier")
    assert "classifiers: mine: validation: Input should be less than 1" in refusal(params.parse, path)


def test_a_block_without_a_file_is_a_misspelt_name(tmp_path):
    path = edited(tmp_path, {"generators.ld_vea": {}})
    assert "ld_vea: unknown generator; did you mean 'ld_vae'?" in refusal(params.parse, path)


def test_the_composition_prior_in_the_root_cell_needs_numbers(tmp_path):
    decoding = {"evaluation.decoding": "composition_prior"}
    assert refusal(params.parse, edited(tmp_path, decoding | {"composition_prior.strength": 0.5})).count(
        "composition_prior.weight"
    )
    numbers = {"composition_prior.weight": 0.1, "composition_prior.strength": 0.5}
    assert params.parse(edited(tmp_path, decoding | numbers)).evaluation.decoding == "composition_prior"


def test_a_value_can_be_set_beside_the_file(tmp_path):
    """`--set`: a coordinate of a grid that is no option of its script."""
    args = ["generators.ld_vae.kl_form=reference", "selection.k=300"]
    found = params.load(
        params.Edited(COMMITTED, tuple(args)), [*GENERATOR, "selection"], benchmark="own", generator="ld_vae"
    )
    assert (found["generator"].kl_form, found["selection"].k) == ("reference", 300)
    assert params.parse(COMMITTED).generators.ld_vae.kl_form == "exact"


def test_values_of_one_block_can_be_set_together():
    """Rows of spec section 13 that are two keys here."""
    edit = "generators.ld_vae.label_heads=shared,label_prior=shared"
    made = params.parse(params.Edited(COMMITTED, (edit,))).generators.ld_vae
    assert (made.label_heads, made.label_prior, made.label_pool) == ("shared", "shared", "mean")
    said = refusal(params.parse, params.Edited(COMMITTED, ("selection.k=3,kk=4",)))
    assert said.startswith("--set selection.k=3,kk=4: ")
    assert "there is no key 'kk'" in said
    for edit in ("generators.ld_vae.kl_frm=reference", "generators.ld_vae=", "selection.k", "run.seed.x=1"):
        said = refusal(params.parse, params.Edited(COMMITTED, (edit,)))
        assert f"--set {edit}" in said
    assert "with --set selection.k=-1: selection.k" in refusal(
        params.parse, params.Edited(COMMITTED, ("selection.k=-1",))
    )
