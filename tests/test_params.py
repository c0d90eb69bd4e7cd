"""params.yaml: the committed file resolves everywhere, and every mistake in it is one line that names file and key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from parameters import written

from compaug.core.files import InputError
from compaug.core.schema import Block
from compaug.experiments import params
from compaug.generators.parameters import FlanT5, PrefixGenerator
from compaug.stages import settings

ROOT = Path(__file__).parents[1]

COMMITTED = Path(__file__).parents[1] / "params.yaml"
GENERATOR, CLASSIFIER = ["generators.{generator}"], ["classifiers.{classifier}"]
TINY = {"benchmark": "diagnostic", "scale": "tiny"}


def refusal(call, *args, **kwargs) -> str:
    with pytest.raises(InputError) as error:
        call(*args, **kwargs)
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(("benchmark", "scale"), params.every(COMMITTED))
def test_the_committed_files_hold_all_that_every_method_needs(benchmark, scale):
    for generator in yaml.safe_load(COMMITTED.read_text(encoding="utf-8"))["generators"].keys() - {params.SHARED}:
        keys = [*GENERATOR, *CLASSIFIER, "label_generator", "synthesis", "selection"]
        blocks = params.load(COMMITTED, keys, benchmark=benchmark, scale=scale, generator=generator, classifier="bert")
        assert set(blocks) == {"generator", "classifier", "label_generator", "synthesis", "selection"}
        assert blocks["selection"].k <= blocks["label_generator"].requested
        assert blocks["classifier"].epochs >= 1


def test_options_that_a_grammar_cannot_have_are_refused_by_every_stage(tmp_path):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    path = tmp_path / "configs/benchmarks/diagnostic.yaml"
    corpus = yaml.safe_load(path.read_text()) | {"options": {"size": 100, "ambiguity": "NaN"}}
    path.write_text(yaml.safe_dump(corpus))
    with pytest.raises(InputError, match=r"options\.ambiguity: Input should be a valid number"):
        params.parse(tmp_path / "params.yaml", "diagnostic", "tiny")


def test_a_stage_gets_the_blocks_it_lists_and_no_others():
    keys = ["evaluation", *params.corpus("reader", "split")]
    blocks = params.load(COMMITTED, keys, benchmark="diagnostic")
    assert set(blocks) == {"evaluation", "reader", "split"}
    assert blocks["reader"] == "diagnostic" and blocks["split"].compositions == 12


@pytest.mark.parametrize(
    ("edit", "touched"),
    [
        ("generators.ld_vae.kl_form=reference", {"generators-ld_vae.json"}),
        ("classifiers.magnet.epochs=3", {"classifiers-magnet.json", "without_texts-magnet.json"}),
        ("classifiers.bert.synthetic_repeat=4", {"classifiers-bert.json"}),
        ("synthesis.top_k=3", {"synthesis.json"}),
        ("sizes.k=20", set()),
        ("evaluation.threshold=0.4", set()),
    ],
)
def test_what_is_said_of_a_method_or_block_changes_its_file_and_no_other(edit, touched, tmp_path, monkeypatch):
    monkeypatch.chdir(COMMITTED.parent)
    for name, more in (("before", []), ("after", ["--set", edit])):
        settings.main(["--benchmark", "diagnostic", "--scale", "tiny", "--out", str(tmp_path / name), *more])
    files = {file.name for file in (tmp_path / "before").glob("*.json")}
    changed = {f for f in files if (tmp_path / "before" / f).read_bytes() != (tmp_path / "after" / f).read_bytes()}
    assert changed == touched
    committed = yaml.safe_load(COMMITTED.read_text(encoding="utf-8"))
    kinds = {**dict.fromkeys(params.METHODS), "without_texts": "classifiers"}
    names = {kind: committed[as_of or kind].keys() - {params.SHARED} for kind, as_of in kinds.items()}
    of_methods = {f"{kind}-{name}.json" for kind in kinds for name in names[kind]}
    assert files == of_methods | {f"{name}.json" for name in params.BLOCKS}


def test_a_stage_that_no_scale_concerns_reads_any_corpus():
    assert params.load(COMMITTED, params.corpus("reader"), benchmark="aapd") == {"reader": "aapd"}  # which has no tiny


def test_no_block_has_a_value_of_its_own():
    """Why schemas may change without making a result stale: what a stage gets is in a file of parameters, or
    nothing."""
    blocks, seen = [Block], 0
    while blocks:
        block = blocks.pop()
        blocks += block.__subclasses__()
        if not block.__module__.endswith((".parameters", params.__name__)):
            continue  # a reader's options are in the reader's file, which its stage depends on
        for name, field in block.model_fields.items():
            seen += 1
            assert field.is_required() or field.default is None, f"{block.__name__}.{name} has a default"
    assert seen > 100


# ---------------------------------------------------------------- layers


LAYERS = {  # from the weakest
    "scales:tiny.generators.shared.epochs": 11,
    "diagnostic:scales.tiny.generators.shared.epochs": 12,
    "generators.shared.epochs": 13,
    "scales:tiny.generators.ls_pt.epochs": 14,  # a method's name wins over `shared`, wherever it is
    "diagnostic:scales.tiny.generators.ls_pt.epochs": 15,
    "generators.ls_pt.epochs": 16,
}


@pytest.mark.parametrize("n", range(1, len(LAYERS) + 1))
def test_of_layers_the_last_that_says_something_wins(tmp_path, n):
    first = {"diagnostic:scales.tiny.generators.shared.epochs": None}
    path = written(tmp_path, first | dict(list(LAYERS.items())[:n]))
    generator = params.load(path, GENERATOR, **TINY, generator="ls_pt")["generator"]
    assert generator.epochs == 10 + n
    edit = params.Edited(path, ("generators.ls_pt.epochs=20",))
    assert params.load(edit, GENERATOR, **TINY, generator="ls_pt")["generator"].epochs == 20


def test_a_size_that_an_experiment_sets_for_its_own_block_wins_over_all():
    edited = params.Edited(COMMITTED, ["selection.k=7"])
    assert params.load(edited, ["selection"], benchmark="diagnostic")["selection"].k == 7
    assert params.load(COMMITTED, ["selection"], benchmark="diagnostic")["selection"].k > 7


def test_a_size_of_params_yaml_wins_over_the_corpus(tmp_path):
    keys = ["selection", *params.size("k")]
    by_corpus = params.load(COMMITTED, keys, benchmark="diagnostic")["selection"]
    assert by_corpus.k == 2400
    path = written(tmp_path, {"sizes.k": 7})
    for benchmark in params.benchmarks(path):
        assert params.load(path, keys, benchmark=benchmark)["selection"].k == 7


def test_a_methods_block_of_a_scale_holds_for_that_method_only():
    at = {"benchmark": "semeval", "scale": "paper"}
    epochs = {n: params.load(COMMITTED, GENERATOR, **at, generator=n)["generator"].epochs for n in ("ls_pt", "ld_vae")}
    assert epochs == {"ls_pt": 20, "ld_vae": 50}


def test_a_value_that_nothing_gives_is_refused(tmp_path):
    path = written(tmp_path, {"scales:tiny.classifiers.shared.batch_size": ...})
    message = refusal(params.load, path, CLASSIFIER, **TINY, classifier="bert")
    assert message == (
        f"{path}: classifiers.bert.batch_size: no value; "
        "give it one in params.yaml, the corpus's file or configs/scales.yaml"
    )


def test_early_stopping_may_be_off(tmp_path):
    path = written(
        tmp_path, {f"{file}.classifiers.shared.patience": None for file in ("scales:tiny", "diagnostic:scales.tiny")}
    )
    assert params.load(path, CLASSIFIER, **TINY, classifier="bert")["classifier"].patience is None


@pytest.mark.parametrize("value", ["40", 0, 1.5, True])
@pytest.mark.parametrize("where", ["scales:tiny", "diagnostic:scales.tiny"])
def test_a_value_of_the_wrong_type_or_size_names_the_file_that_has_it(tmp_path, where, value):
    path = written(tmp_path, {f"{where}.classifiers.bert.epochs": value})
    message = refusal(params.load, path, CLASSIFIER, **TINY, classifier="bert")
    file = "configs/scales.yaml" if where == "scales:tiny" else "configs/benchmarks/diagnostic.yaml"
    assert message.startswith(f"{tmp_path / file}: classifiers.bert.epochs: ") and repr(value) in message


@pytest.mark.parametrize("value", [1.5, "after"])
def test_a_value_that_may_be_of_several_kinds_is_named_by_its_key_and_all_of_them_are_said(tmp_path, value):
    path = written(tmp_path, {"classifiers.bert.dynamics": value})
    message = refusal(params.load, path, CLASSIFIER, **TINY, classifier="bert")
    assert message == (
        f"{path}: classifiers.bert.dynamics: Input should be a valid boolean, or: Input should be 'during' "
        f"(got {value!r})"
    )


def test_a_value_of_all_methods_is_blamed_on_shared_and_not_on_the_first_method(tmp_path):
    path = written(
        tmp_path,
        {"scales:tiny.generators.shared.batch_size": 0, "diagnostic:scales.tiny.generators.ls_pt.batch_size": -1},
    )
    message = refusal(params.load, path, GENERATOR, **TINY, generator="ls_pt")
    assert (
        message.startswith(f"{tmp_path / 'configs/scales.yaml'}: generators.shared.batch_size: ")
        and "(got 0)" in message
    )
    path = written(tmp_path, {"diagnostic:scales.tiny.generators.ls_pt.batch_size": -1})
    assert "diagnostic.yaml: generators.ls_pt.batch_size: " in refusal(
        params.load, path, GENERATOR, **TINY, generator="ls_pt"
    )


def test_a_misspelt_key_is_refused_with_a_suggestion_in_every_file(tmp_path):
    for where in ("scales:tiny.", "quick:scales.tiny.", ""):
        for block in ("ls_pt", params.SHARED):
            (folder := tmp_path / f"{len(where)}{block}").mkdir()
            path = written(folder, {f"{where}generators.{block}.epoch": 20})
            message = refusal(params.parse, path)
            assert f"generators.{block}.epoch: unknown key; did you mean 'epochs'?" in message
    path = written(tmp_path, {"scales:tiny.generators.ls_pt.latent": 20})  # ld_vae's
    assert "generators.ls_pt.latent: unknown key" in refusal(params.parse, path)
    path = written(tmp_path, {"quick:sizes.kk": 20})
    assert refusal(params.parse, path).startswith(f"{tmp_path}/configs/benchmarks/quick.yaml: sizes.kk: unknown key")


def test_a_corpus_that_leaves_a_block_of_a_scale_out_is_told_what_to_write(tmp_path):
    path = written(tmp_path, {"quick:scales.tiny.synthesis": ...})
    assert "quick.yaml: scales.tiny.synthesis: required block is missing" in refusal(params.parse, path)


def test_a_corpus_is_one_file(tmp_path):
    path = written(tmp_path)
    text = (tmp_path / "configs/benchmarks/own.yaml").read_text(encoding="utf-8")
    (tmp_path / "configs/benchmarks/letters.yaml").write_text(text.replace("A text", "A letter"), encoding="utf-8")
    assert "letters" in params.benchmarks(path)
    assert params.parse(path, "letters").corpus.label_prompt == "A letter can have the labels of"
    assert params.parse(params.Edited(path, ("sizes.k=3",)), "letters", "tiny").selection.k == 3


# ---------------------------------------------------------------- mistakes


PAPER = {"benchmark": "semeval", "scale": "paper"}
MISTAKES = {
    "an unknown key": ({"selection.keep": 3}, "selection.keep: unknown key"),
    "a misspelt key": (
        {"generators.ld_vae.latnet": 3},
        "generators.ld_vae.latnet: unknown key; did you mean 'latent'?",
    ),
    "a key of another block": (
        {"classifiers.sgm": {"mixup": True}},
        "classifiers.sgm.mixup: unknown key; another block has it, this one does not: remove it",
    ),
    "a key of an older release": (
        {"composition_prior.calibrate": True},
        "composition_prior.calibrate: left with 0.3.0, remove the line; the decoding `uncalibrated` is",
    ),
    "a misspelt block": ({"selektion": {}}, "selektion: unknown key; did you mean 'selection'?"),
    "a misspelt key for a required one": (
        {"run.benchmark": ..., "run.benchmrak": "diagnostic"},
        "run.benchmrak: unknown key; did you mean 'benchmark'?",
    ),
    "a missing key": ({"synthesis.top_p": ...}, "synthesis.top_p: required key is missing"),
    "a missing block": ({"evaluation": ...}, "evaluation: required key is missing"),
    "a number as a string": ({"sizes.k": "100"}, "sizes.k: Input should be a valid integer (got '100')"),
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
        "unknown benchmark 'sem_eval': there is no ",
    ),
    "an unknown generator": ({"run.generator": "gpt5"}, "run.generator: unknown name 'gpt5'; choose from none, "),
    "an unknown classifier": ({"run.classifier": "svm"}, "run.classifier: unknown name 'svm'; choose from bert"),
    "test shares the wrong way round": (
        {"quick:split.test_share": [0.2, 0.1]},
        "split: test_share must be [lowest, highest]",
    ),
    "heads that do not divide the width": (
        {"quick:scales.tiny.backbones.encoder.heads": 3},
        "backbones.encoder: hidden 128 is not a multiple of heads 3",
    ),
    "a hub model that is not pinned": (
        {"run": PAPER, "scales:paper.backbones.encoder.revision": "main"},
        "backbones.encoder.revision: ",
    ),
    "a hub model without a revision": (
        {"run": PAPER, "scales:paper.backbones.encoder.revision": None},
        "backbones.encoder: kind hub needs `revision`",
    ),
    "a size for a hub model": (
        {"run": PAPER, "scales:paper.backbones.encoder.layers": 2},
        "backbones.encoder: `layers` belongs to kind tiny, not to hub; remove it",
    ),
    "a prompt without a place for labels": (
        {"run.benchmark": "own", "own:text_prompt": "A text:"},
        "text_prompt must contain {labels} exactly once",
    ),
    "a hash cut short": ({"run.benchmark": "semeval", "semeval:files.train.sha256": "f2b2"}, "files.train.sha256: "),
    "max_labels below min_labels": (
        {"label_generator.max_labels": 1},
        "label_generator: max_labels is below min_labels",
    ),
    "text where a block belongs": ({"selection": "top_k"}, "selection: "),
    "a list where a block belongs": ({"evaluation": []}, "evaluation: "),
    "a list where methods belong": ({"generators": []}, "generators: expected a block for each method"),
    "an unknown scale": ({"run.scale": "huge"}, "there is no scale 'huge'; there is tiny"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_line_that_names_file_and_key(tmp_path, case):
    changes, message = MISTAKES[case]
    line = refusal(params.parse, written(tmp_path, changes))
    assert message in line and (".yaml" in line)
    if not any(":" in key for key in changes) and "unknown benchmark" not in message and "no scale" not in message:
        assert line.startswith(f"{tmp_path / 'params.yaml'}: {message}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [("run: [", "not valid YAML"), ("", "expected a mapping of blocks"), ("- run", "expected a mapping of blocks")],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path, text, fault):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    assert refusal(params.parse, path).startswith(f"{path}: {fault}")


def test_a_key_that_is_no_word_is_refused(tmp_path):
    path = written(tmp_path)
    path.write_text(COMMITTED.read_text(encoding="utf-8") + "\n13: 42\n")
    assert refusal(params.parse, path).startswith(f"{path}: ")


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_bytes(b"run: \xff")
    assert refusal(params.parse, path).startswith(f"{path}: not valid YAML")


@pytest.mark.parametrize("value", ["[", "a: b: c", "*x", "!!python/name:os.system"])
def test_a_set_value_that_is_no_yaml_is_refused(value):
    message = refusal(params.parse, params.Edited(COMMITTED, (f"selection.scope={value}",)))
    assert message == f"--set selection.scope={value}: the value is not valid YAML; quote it"


def test_a_missing_file_says_where_to_run(tmp_path):
    assert "no such file; run in the folder of the project" in refusal(params.parse, tmp_path / "params.yaml")


@pytest.mark.parametrize(
    ("keys", "coordinates", "message"),
    [
        (GENERATOR, TINY | {"generator": "vea"}, "generators has no 'vea'; choose from "),
        (["{block}.seed"], {"block": "runs"}, "the file has no 'runs'; choose from run, "),
        (["{block}.seed"], {"block": "run.seed"}, "run.seed has no 'seed'; choose from nothing"),
    ],
)
def test_an_unknown_coordinate_lists_the_choices(keys, coordinates, message):
    assert refusal(params.load, COMMITTED, keys, **coordinates).startswith(f"{COMMITTED}: {message}")


def test_a_method_takes_of_shared_what_its_schema_knows():
    block = params.load(COMMITTED, GENERATOR, **TINY, generator="ls_pt")["generator"]
    assert set(block.model_dump()) == set(PrefixGenerator.model_fields)
    assert params.load(COMMITTED, GENERATOR, **TINY, generator="none")["generator"].model_dump() == {}


# ---------------------------------------------------------------- a generator or classifier of one's own


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Files generators/mine.py and classifiers/mine.py."""
    for kind in params.METHODS:
        (tmp_path / "src" / kind).mkdir(parents=True)
        (tmp_path / "src" / kind / "mine.py").write_text("")
    monkeypatch.setattr(params, "PACKAGE", tmp_path / "src")


def test_a_file_and_a_block_make_a_generator(tmp_path, mine):
    path = written(
        tmp_path, {"generators.mine": {"anything": "goes"}, "own:scales.tiny.generators.mine": {"epochs": 3}}
    )
    block = params.load(path, GENERATOR, benchmark="own", scale="tiny", generator="mine")["generator"]
    assert (block.epochs, block.lr, block.anything) == (3, 0.001, "goes")  # its own, the corpus's, its block
    assert "mine" in params.parse(path).generators


def test_a_file_and_a_block_make_a_classifier(tmp_path, mine):
    path = written(tmp_path, {"classifiers.mine": {"lr": 0.1, "anything": "goes"}})
    block = params.load(path, CLASSIFIER, benchmark="own", scale="tiny", classifier="mine")["classifier"]
    assert (block.epochs, block.lr, block.max_length, block.anything) == (20, 0.1, 128, "goes")
    assert "mine" in params.parse(path).classifiers
    path = written(tmp_path, {"classifiers.mine": {"validation": 2.0}})
    assert "classifiers.mine.validation: Input should be less than 1" in refusal(params.parse, path)


def test_a_block_without_a_file_is_a_misspelt_name(tmp_path):
    path = written(tmp_path, {"generators.ld_vea": {}})
    assert "ld_vea: unknown generator; did you mean 'ld_vae'?" in refusal(params.parse, path)


def test_the_composition_prior_in_the_root_cell_needs_numbers(tmp_path):
    decoding = {"evaluation.decoding": "composition_prior"}
    assert refusal(params.parse, written(tmp_path, decoding | {"composition_prior.strength": 0.5})).count(
        "composition_prior.weight"
    )
    numbers = {"composition_prior.weight": 0.1, "composition_prior.strength": 0.5}
    assert params.parse(written(tmp_path, decoding | numbers)).evaluation.decoding == "composition_prior"


def test_a_value_can_be_set_beside_the_file():
    """`--set`: a coordinate of a grid that is no option of its script."""
    source = params.Edited(COMMITTED, ("generators.ld_vae.kl_form=reference", "sizes.k=100", "split.seen_test=9"))
    keys = [*GENERATOR, "selection", *params.corpus("split")]
    blocks = params.load(source, keys, benchmark="own", generator="ld_vae")
    assert (blocks["generator"].kl_form, blocks["selection"].k, blocks["split"].seen_test) == ("reference", 100, 9)
    assert params.parse(COMMITTED).generators["ld_vae"].kl_form == "exact"


def test_values_of_one_block_can_be_set_together():
    """Rows of docs/spec/ld-vae.md, 11, that are two keys here."""
    edit = "generators.ld_vae.label_heads=shared,label_prior=shared"
    generator = params.parse(params.Edited(COMMITTED, (edit,))).generators["ld_vae"]
    assert (generator.label_heads, generator.label_prior, generator.label_pool) == ("shared", "shared", "mean")
    for edit in (
        "generators.ld_vae.kl_frm=reference",
        "generators.ld_vae=3",
        "sizes.kk=4",
        "run.seed.x=1",
        "seed=1",
        "sizes.k",
    ):
        assert f"--set {edit}" in refusal(params.parse, params.Edited(COMMITTED, (edit,)))
    assert "with --set sizes.k=-1: sizes.k" in refusal(params.parse, params.Edited(COMMITTED, ("sizes.k=-1",)))


def test_files_say_nothing_of_an_option_that_is_off():
    settings = {
        "epochs": 1,
        "lr": 0.1,
        "batch_size": 2,
        "warmup": 0.0,
        "validation": 0.1,
        "max_length": 8,
        "generator_data": "all",
    }
    assert FlanT5(**settings, patience=None, epoch_share=None).in_force() == settings
    assert FlanT5(**settings, epoch_share=0.5).in_force()["epoch_share"] == 0.5
