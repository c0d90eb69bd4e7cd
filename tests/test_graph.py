"""The graph says what the code does: modules, parameters, paths, floors; and the code keeps the rules of the house."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml
from graph import ROOT, SRC, Stage, code_of, declared_params, parser_of, stages
from importlinter.cli import lint_imports
from tools.golden import fingerprints, runs

from compaug.core.files import write_json, write_rows
from compaug.core.records import Labels
from compaug.engine import built, planning
from compaug.experiments import steps

SOURCES = sorted(SRC.rglob("*.py"))
FILES = (
    "dvc.yaml",
    *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("experiments/*/dvc.yaml")),
    "repair/dvc.yaml",
    "reports/dvc.yaml",
)
HEAVY = {  # script: its fingerprint, which has a version
    "prepare_backbone": "backbones-{role}",
    "train_filter": "classifier-{classifier}",
    "sample_label_sets": "label_generator",
    "train_generator": "train_generator-{generator}",
    "synthesize": "synthesize-{generator}",
    "select": "select",
    "folds": "folds",
    "mixture": "mixture",
    "train_classifier": "classifier-{classifier}",
    "measure_quality": "quality",
    "judge": "judge",
    "measure_representations": "representations",
    "map_classifier": "map_classifier",
    "map_generator": "map_generator-{generator}",
    "subset": "subset",
    "measure_interpolation": "interpolation",
    "measure_distances": "distances",
    "one_label": "one_label",
    "map_parser": "map_parser",
    "train_parser": "train_parser",
    "slu_texts": "slu_texts",
    "train_slu": "train_slu",
}


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def root() -> list[Stage]:
    return [stage for stage in stages() if stage.file == "dvc.yaml"]


def coordinates(stage: Stage) -> dict[str, str]:
    return {name: values[0] for name, values in stage.options.items() if values}


# ---------------------------------------------------------------- one graph


def test_each_kind_of_stage_stands_once_in_the_root_cell_in_the_grid_and_in_what_is_made_of_no_cells():
    definitions = {file: yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))["stages"] for file in FILES}
    assert {stage.file for stage in stages()} <= set(FILES)
    others = {f"experiments/{name}/dvc.yaml": other.KINDS for name, other in planning.OTHERS.items()}
    alone = {"dvc.yaml", "repair/dvc.yaml", *others}
    scripts = {
        (file if file in alone else "experiments", kind): re.search(
            r"stages\.(\w+)", (stage.get("do") or stage)["cmd"]
        )[1]
        for file, kinds in definitions.items()
        for kind, stage in kinds.items()
    }
    assert all(times == 1 for times in Counter((where, script) for (where, _), script in scripts.items()).values())
    for file in FILES[1:-2]:
        assert set(definitions[file]) == set(others.get(file, definitions[file]))
        for kind, stage in definitions[file].items():
            assert stage["foreach"] == f"${{{kind}}}"
            assert file in others or file == f"experiments/{steps.FOLDER[kind]}/dvc.yaml"


def test_in_git_no_experiment_is_planned(tmp_path):
    """DVC reads every stage and lock at every command."""
    planning.put_away(tmp_path)
    for path in sorted(tmp_path.glob("*/cells.yaml")):
        shipped = ROOT / planning.EXPERIMENTS / path.relative_to(tmp_path)
        assert shipped.read_text(encoding="utf-8") == path.read_text(encoding="utf-8"), "run `python -m tools.plan`"
    assert not [*(ROOT / planning.EXPERIMENTS).glob("*/dvc.lock")], "run `python -m tools.plan`"


def test_what_was_built_is_of_stages_that_some_experiment_has():
    planned_names = {stage.name for stage in stages()}
    assert sorted(built.read(ROOT / planning.EXPERIMENTS).keys() - planned_names) == []


def test_the_grid_runs_the_stages_of_the_root_on_its_own_coordinates():
    twins = {stage.script: stage for stage in root()}
    # the root holds out seen test rows for every corpus; a cell where its split says so
    cells = {f"experiments/{folder}/dvc.yaml" for folder in steps.FOLDER.values()}
    for stage in stages():
        if (twin := twins.get(stage.script)) and stage.file in cells:
            allowed = {"set", "texts", "map", "backbone", "backbones", "generator", "classifier", "seen-test"}
            assert set(stage.options) ^ set(twin.options) <= allowed, stage.name


def test_another_generator_concerns_only_stages_that_have_to_do_with_it():
    definitions = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    named = {
        f"{kind}@{item}" if item else kind
        for kind, stage in definitions.items()
        for item, entry in (stage.get("foreach") or {"": stage}).items()
        if "${run.generator}" in str(entry) + str(stage.get("do", ""))
    }
    assert named == {"backbones@seq2seq", "train_generator@augmented", "synthesize@augmented", "report"}


def test_a_heavy_stage_depends_on_the_version_of_what_it_computes_and_on_no_source():
    versions = fingerprints.read_versions(ROOT / fingerprints.VERSIONS)
    assert list(versions) == runs.names(), "make golden"
    for stage in stages():
        names = [HEAVY[stage.script].format(**coordinates(stage))] if stage.script in HEAVY else []
        assert stage.versions == names and set(names) <= set(versions), stage.name
        assert not (names and stage.sources), stage.name


def test_a_cheap_stage_depends_on_exactly_the_modules_that_it_reaches():
    for stage in {stage.script: stage for stage in stages() if stage.script not in HEAVY}.values():
        for code in code_of(stage.script):
            assert any(f"{code}/".startswith(f"{dep}/") for dep in stage.sources), f"{stage.name} reaches {code}"
        for dep in stage.sources:
            assert any(f"{code}/".startswith(f"{dep}/") for code in code_of(stage.script)), f"{stage.name}: {dep}"


def test_a_stage_lists_exactly_the_parameters_that_it_loads():
    for stage in stages():
        expected = [key.format(**coordinates(stage)) for key in declared_params(stage.script)]
        assert sorted(stage.params) == sorted(expected), stage.name


def test_what_another_stage_writes_and_a_command_reads_is_a_dependency():
    writers = {out: stage.name for stage in stages() for out in stage.outs}
    for stage in stages():
        for path in stage.paths:
            if path in writers or any(parent.as_posix() in writers for parent in Path(path).parents):
                assert stage.reads(path), f"{stage.name} reads {path}"


def test_a_side_car_that_a_script_reads_is_a_dependency():
    for stage in {(stage.script, stage.file): stage for stage in stages()}.values():
        source = (SRC / "compaug/stages" / f"{stage.script}.py").read_text(encoding="utf-8")
        for option in re.findall(r'read_json\(args\.(\w+)\.with_suffix\("\.json"\)\)', source):
            if stage.script == "train_slu":  # its graph has the rows alone, which the same stage writes
                continue
            (path,) = stage.options[option]
            assert stage.reads(str(Path(path).with_suffix(".json"))), f"{stage.name} --{option}"


def test_a_dependency_that_no_stage_writes_is_in_the_repository():
    outs = {out for stage in stages() for out in stage.outs}
    folders = {parent.as_posix() for out in outs for parent in Path(out).parents}
    for stage in stages():
        for dep in stage.deps:
            inside = any(parent.as_posix() in outs for parent in Path(dep).parents)
            assert dep in outs or dep in folders or inside or (ROOT / dep).exists(), f"{stage.name}: {dep}"


def test_a_command_gives_only_options_that_its_script_takes_and_all_that_it_requires():
    taken = {}
    for script in {stage.script for stage in stages()}:
        actions = parser_of(importlib.import_module(f"compaug.stages.{script}"))._actions
        taken[script] = {action.dest.replace("_", "-"): action.required for action in actions}
    for stage in stages():
        options = taken[stage.script]
        assert set(stage.options) <= set(options), stage.name
        assert {name for name, required in options.items() if required} <= set(stage.options), stage.name
        scaled = "scale" in options  # not required by hand, but what a stage does must be in its command
        assert scaled == ("scale" in stage.options), stage.name


def test_every_stage_writes_what_its_command_says_and_tells_what_it_is():
    for stage in stages():
        assert stage.desc.endswith("."), stage.name
        (out,) = stage.options["out"]
        assert any(f"{written}/".startswith(f"{out}/") for written in stage.outs), stage.name


def test_no_stage_writes_what_another_one_writes():
    outs = [out for stage in stages() for out in stage.outs]
    folders = {parent.as_posix() for out in outs for parent in Path(out).parents}
    assert len(set(outs)) == len(outs) and not folders & set(outs)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_git_never_sees_what_is_cached_or_brought():
    """Corpora may not be redistributed and weights are large: all that DVC caches is ignored by Git."""
    paths = sorted({out for stage in stages() for out in stage.cached} | {"data/own/texts.csv", "data/rating/key.json"})
    done = subprocess.run(
        ["git", "check-ignore", "--stdin"],
        input="\n".join(paths),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert sorted(done.stdout.splitlines()) == paths


def test_every_lock_in_git_can_be_read_and_is_under_1_mb():
    """A merge by hand can leave an entry without its command."""
    for lock in [ROOT / "dvc.lock", *ROOT.glob("*/dvc.lock")]:
        of = yaml.load(lock.read_text(encoding="utf-8"), yaml.CSafeLoader)["stages"]
        assert of and all(isinstance(entry, dict) and entry.get("cmd") for entry in of.values()), lock
        assert lock.stat().st_size < 1_000_000, lock


def test_what_git_keeps_is_numbers_and_figures():
    kept = {out for stage in stages() for out in stage.outs if out not in stage.cached}
    assert all(out.startswith("reports/") for out in kept)


def test_nothing_is_trained_before_the_audit_has_passed():
    """Of parsing corpora, few utterances and tasks with few texts the stage that makes them is the audit: it writes
    none with a test text in its training set."""
    written = {out: stage.name for stage in stages() for out in stage.outs}

    def before(stage: Stage) -> set[str]:
        parts = {dep: {dep, *(parent.as_posix() for parent in Path(dep).parents)} for dep in stage.deps}
        return {written[part] for parts_of_run in parts.values() for part in parts_of_run if part in written}

    needs = {stage.name: before(stage) for stage in stages()}
    list(TopologicalSorter(needs).static_order())  # no circles

    @cache
    def behind(name: str) -> frozenset[str]:
        return frozenset(needs[name]).union(*(behind(earlier) for earlier in needs[name]))

    for stage in stages():
        if stage.script in ("prepare_backbone", "sample_label_sets", "synthesize") or stage.script.startswith("train"):
            kinds = [name.split("@")[0] for name in behind(stage.name)]
            assert any(kind.endswith(("audit", ":parsing_corpus", ":low_resource", ":slu_corpus")) for kind in kinds), (
                stage.name
            )


def test_the_labels_of_the_unseen_test_set_reach_the_matched_arm_alone():
    test_labels = [out for stage in stages() if stage.script == "matched" for out in stage.outs]
    readers = {stage.name for stage in stages() if any(stage.reads(out) for out in test_labels)}
    assert readers and all("train_classifier@" in name for name in readers)
    assert all("-real_texts-" in name or "@matched_" in name for name in readers)
    models = [out for stage in stages() if stage.name in readers for out in stage.cached]
    assert not [stage.name for stage in stages() if any(stage.reads(model) for model in models)]


# ---------------------------------------------------------------- what a change runs again


def of_arms(kind: str, *arms: str) -> set[str]:
    return {f"{kind}@{arm}" for arm in arms or ("augmented", "oversample")}


AFTER_TEXTS = {"quality", "evaluate", "report", "samples"}
AFTER_SELECTION = of_arms("train_classifier") | AFTER_TEXTS
AFTER_SYNTHESIS = of_arms("select") | AFTER_SELECTION
TRAINED = of_arms("train_classifier", "augmented", "oversample", "baseline", "matched_a", "matched_b", "iid")
AFTER_LABELS = of_arms("synthesize") | AFTER_SYNTHESIS | TRAINED  # predictions carry what the label generator drew
# the control repeats what it repeated
OWN_TEXTS = of_arms("synthesize", "augmented") | of_arms("select", "augmented") | AFTER_TEXTS
KNOBS = {  # key of params.yaml: the root's stages that a change of it may run again
    "sizes.k": AFTER_SYNTHESIS,
    "selection.score": AFTER_SYNTHESIS,
    "synthesis.temperature": of_arms("synthesize") | AFTER_SYNTHESIS,
    "sizes.requested": {"label_generator", *AFTER_LABELS},
    "generators.ld_vae.kl_form": of_arms("train_generator", "augmented")
    | OWN_TEXTS
    | of_arms("train_classifier", "augmented"),
    "classifiers.bert.epochs": {"train_filter"} | AFTER_SYNTHESIS | TRAINED,
    "evaluation.decoding": {"evaluate", "report"},
    "composition_prior.weight": {"evaluate", "report"},
}


@pytest.mark.parametrize("knob", KNOBS)
def test_a_knob_runs_again_only_what_depends_on_it(knob):
    # `settings` runs again whatever a layer says of any method, and writes other bytes for that one alone.
    concerned = [stage for stage in root() if stage.script != "settings"]
    again = {s.name for s in concerned if any(knob == key or knob.startswith(f"{key}.") for key in s.params)}
    assert again
    assert behind_of(root(), again) == KNOBS[knob]


def test_how_often_texts_are_shown_concerns_what_learns_from_texts_alone():
    again = {s.name for s in root() if any(re.fullmatch(r"data/settings/run/classifiers-\w+\.json", d) for d in s.deps)}
    assert again == of_arms("train_classifier")


def test_another_support_size_keeps_the_corpus_alone():
    changed = {s.name for s in root() if "sizes.support_size" in s.params}
    assert changed == {"split"} and behind_of(root(), changed) == {s.name for s in root()} - {
        "check",
        "raw",
        "settings",
    }


def test_another_seed_keeps_corpus_split_and_backbones():
    definitions = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    seeded = {name for name, stage in definitions.items() if "${run.seed}" in (stage.get("do") or stage)["cmd"]}
    kept = {s.name for s in root()} - behind_of(root(), {s.name for s in root() if s.kind in seeded})
    assert {name.split("@")[0] for name in kept} == {
        "check",
        "raw",
        "split",
        "audit",
        "gold",
        "matched",
        "settings",
        "backbones",
    }


def behind_of(pipeline: list[Stage], names: set[str]) -> set[str]:
    """These stages and all that read what they write."""
    behind = set(names)
    while True:
        outs = [out for s in pipeline if s.name in behind for out in s.outs]
        more = {s.name for s in pipeline if any(s.reads(out) for out in outs)} - behind
        if not more:
            return behind
        behind |= more


# ---------------------------------------------------------------- floors


def room_of(file: Path) -> str:
    """First word below compaug/ ("generators" for all of its files), "stages" for scripts."""
    words = file.relative_to(SRC).with_suffix("").parts
    return words[1]


def test_imports_only_go_down():
    """The contracts of pyproject.toml: each file has its floor, knows none above it, and there are no circles."""
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_selection_for_the_generator_none_does_not_wait_for_torch(tmp_path):
    Labels(("joy",), ("joy",)).write(tmp_path / "labels.json")
    write_rows(tmp_path / "synthetic.jsonl", [])
    write_json(tmp_path / "synthetic.json", {"requested": 0})
    code = "import sys; from compaug.stages import select; select.main(); sys.exit('torch' in sys.modules)"
    options = "--benchmark diagnostic --classifier bert --synthetic synthetic.jsonl --filter none"
    options += " --labels labels.json --train none --seed 13"
    command = [
        sys.executable,
        "-c",
        code,
        *options.split(),
        "--out",
        "kept.jsonl",
        "--params",
        str(ROOT / "params.yaml"),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(SRC)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept.jsonl").read_text() == ""


# ---------------------------------------------------------------- the rules of the house


def nodes(kind: type) -> list[tuple[Path, ast.AST]]:
    return [
        (file, node)
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, kind)
    ]


def test_no_file_or_text_is_ever_run_as_code():
    unsafe = {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "cloudpickle"}
    for file, node in nodes(ast.Import | ast.ImportFrom):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        assert not unsafe & {name.split(".")[0] for name in names}, short(file)
    for file, node in nodes(ast.Call):
        called = ast.unparse(node.func)
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        assert called not in ("eval", "exec", "__import__", "yaml.load", "os.system"), f"{short(file)}:{node.lineno}"
        assert called != "torch.load" or options.get("weights_only") == "True", f"{short(file)}:{node.lineno}"
        assert options.get("allow_pickle", "False") == "False", f"{short(file)}:{node.lineno}"
        assert options.get("trust_remote_code", "False") == "False", f"{short(file)}:{node.lineno}"
        assert options.get("shell", "False") == "False", f"{short(file)}:{node.lineno}"


def test_only_stages_read_argv():
    """And guard.py, keep.py and preloaded.py, which are processes of their own between the engine and the stages."""
    between = ("guard.py", "keep.py", "preloaded.py")
    for file, node in nodes(ast.Attribute):
        # argparse reads it for the stages
        assert ast.unparse(node) != "sys.argv" or file.name in between, f"{short(file)}:{node.lineno}"
    for file, node in nodes(ast.Import | ast.ImportFrom):
        assert "argparse" not in ast.unparse(node) or room_of(file) == "stages", short(file)


def test_no_file_names_a_place_outside_the_repository():
    for file in [*SOURCES, ROOT / "params.yaml", ROOT / "Makefile", *(ROOT / pipeline for pipeline in FILES)]:
        assert not re.search(r"\.\./shared|/(work|tmp|home|root)/", file.read_text(encoding="utf-8")), short(file)
