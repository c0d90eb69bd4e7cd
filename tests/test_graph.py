"""The graph says what the code does: modules, parameters, paths, floors; and the code keeps the rules of the house."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
import yaml
from graph import ROOT, SHARED_GENERATOR_FILES, SRC, code_of, declared_params, imports_of

from compaug.records import Labels, write_json, write_rows
from compaug.reports import prior
from compaug.reports.classifiers import classifier_cell_name
from compaug.reports.tables import cell_name

TO_CLASSIFIERS = ("texts", "synthetic", "selected", "trained")  # steps of a grid, in order
GRIDS = (
    *(f"paper/{step}" for step in TO_CLASSIFIERS),
    "paper",
    "pretrained",
    "classifiers/trained",
    "classifiers",
    *(f"prior/{step}" for step in TO_CLASSIFIERS),
    "prior/others",
    "prior",
    *(f"ablations/{step}" for step in TO_CLASSIFIERS),
    "ablations",
)
PIPELINES = ("dvc.yaml", *(f"reports/{grid}/dvc.yaml" for grid in GRIDS), "reports/dvc.yaml")


def files_of(grid: str, *steps: str) -> tuple[str, ...]:
    return (*(f"reports/{grid}/{step}/dvc.yaml" for step in steps), f"reports/{grid}/dvc.yaml")


PAPER = files_of("paper", *TO_CLASSIFIERS)
CLASSIFIERS = files_of("classifiers", "trained")
PRIOR = files_of("prior", *TO_CLASSIFIERS, "others")
ABLATIONS = files_of("ablations", *TO_CLASSIFIERS)
STARTS_FROM = (
    {  # whose outputs it reads
        "reports/dvc.yaml": (*PAPER, *CLASSIFIERS, *PRIOR, *ABLATIONS),
        "reports/classifiers/trained/dvc.yaml": PAPER,
        "reports/classifiers/dvc.yaml": (*PAPER, CLASSIFIERS[0]),
        "reports/prior/others/dvc.yaml": (*PRIOR[:4], PRIOR[-1]),
        "reports/prior/dvc.yaml": PRIOR[:-1],
    }
    | {file: files[:at] for files in (PAPER, PRIOR[:4]) for at, file in enumerate(files)}
    | {file: (*PAPER, *ABLATIONS[:at]) for at, file in enumerate(ABLATIONS)}
)
SOURCES = sorted(SRC.rglob("*.py"))
SCRIPTS = sorted(path.stem for path in (SRC / "stages").glob("*.py") if path.stem != "__init__")
LIGHT = (
    "raw",
    "split",
    "audit",
    "select",
    "evaluate",
    "evaluate_cell",
    "report",
    "tables",
    "classifier_tables",
    "folds",
    "evaluate_prior",
    "ceiling",
    "evaluate_ceiling",
    "prior_tables",
    "supports",
    "prefixes",
    "ablation_tables",
    "rating_sheet",
    "ratings",
    "page",
    "quality",
    "costs",
    "bench",
    "provenance",
    "split_table",
)


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# ---------------------------------------------------------------- the pipelines, expanded


@dataclass(frozen=True)
class Stage:
    """One stage with its matrix coordinates filled in."""

    name: str
    script: str
    options: dict[str, list[str]]
    deps: list[str]
    params: list[str]
    outs: list[str]
    desc: str

    @property
    def paths(self) -> list[str]:
        """Arguments that are not the stage's own outputs."""
        return [value for values in self.options.values() for value in values if value not in self.outs]

    def reads(self, path: str) -> bool:
        """`path` or a folder around it is a dependency."""
        return any(path == dep or path.startswith(f"{dep}/") for dep in self.deps)


@cache
def stages_of(pipeline: str) -> tuple[Stage, ...]:
    """The stages of a dvc.yaml for the axes in params.yaml; only the templates that the project uses are known here."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    stages = yaml.safe_load((ROOT / pipeline).read_text(encoding="utf-8"))["stages"]

    def filled(text: str, item: dict) -> str:
        def value(match: re.Match) -> str:
            node = params | {"item": item, "key": "-".join(map(str, item.values()))}
            for word in match[1].split("."):
                node = node[word]
            return node if isinstance(node, list) else str(node)

        whole = re.fullmatch(r"\$\{([^}]+)\}", text)
        return value(whole) if whole else re.sub(r"\$\{([^}]+)\}", value, text)

    made = []
    for name, stage in stages.items():
        axes = {
            axis: filled(values, {}) if isinstance(values, str) else values
            for axis, values in stage.get("matrix", {}).items()
        }
        for coordinates in itertools.product(*axes.values()):
            item = dict(zip(axes, coordinates, strict=True))
            python, flag, module, *arguments = shlex.split(filled(stage["cmd"], item))
            assert (python, flag, module.split(".")[0]) == ("python", "-m", "stages")
            options: dict[str, list[str]] = {}
            for word in arguments:
                if word.startswith("--"):
                    values = options.setdefault(word.removeprefix("--"), [])
                else:
                    values.append(word)
            written = [*stage.get("outs", []), *stage.get("metrics", []), *stage.get("plots", [])]
            made.append(
                Stage(
                    name="@".join([name, *map(str, coordinates)]),
                    script=module.split(".")[1],
                    options=options,
                    deps=[filled(dep, item) for dep in stage["deps"]],
                    params=[filled(key, item) for key in stage.get("params", [])],
                    outs=[filled(out if isinstance(out, str) else next(iter(out)), item) for out in written],
                    desc=stage.get("desc", ""),
                )
            )
    return tuple(made)


def with_what_it_starts_from(pipeline: str) -> tuple[Stage, ...]:
    stages = stages_of(pipeline)
    before = [
        replace(stage, name=f"{stage.name} of {other}") if stage.name == "tables" else stage
        for other in STARTS_FROM.get(pipeline, ())
        for stage in stages_of(other)
    ]
    assert not {stage.name for stage in stages} & {stage.name for stage in before}
    return (*before, *stages)


every_pipeline = pytest.mark.parametrize("pipeline", PIPELINES)


IMPORT_GENERATOR = ("train_generator", "synthesize")  # these import the generator's own file
READ_GENERATOR = (
    "backbones",
    "evaluate_cell",
    "report",
)  # these read in it, and in the classifier's, which backbones it opens
IMPORT_CLASSIFIER = ("train_classifier", "train_filter", "select", "judge")
WHAT_SHARED_FILES_IMPORT = [f"src/compaug/{name}.py" for name in ("pretrained", "records", "training")]


@every_pipeline
def test_a_stage_depends_on_exactly_the_modules_that_it_reaches(pipeline):
    for stage in stages_of(pipeline):
        listed = [dep for dep in stage.deps if dep.startswith("src/")]
        ((generator,), (classifier,)) = (stage.options.get(name, [None]) for name in ("generator", "classifier"))
        if stage.script in IMPORT_GENERATOR:
            needed = set(code_of(stage.script, f"generators/{generator}"))
            assert needed <= set(listed), stage.name  # a matrix cannot leave out what this generator does not share
            assert set(listed) - needed <= {*SHARED_GENERATOR_FILES, *WHAT_SHARED_FILES_IMPORT}, stage.name
            continue
        by_name = [f"classifiers/{classifier}"] if stage.script in IMPORT_CLASSIFIER else []
        read = stage.script in READ_GENERATOR and generator not in (None, "iid")
        named = [f"src/compaug/generators/{generator}.py"] if read else []
        named += [f"src/compaug/classifiers/{classifier}.py"] if classifier and stage.script in READ_GENERATOR else []
        assert sorted(listed) == sorted(code_of(stage.script, *by_name) + named), stage.name


@every_pipeline
def test_a_stage_lists_exactly_the_parameters_that_it_loads(pipeline):
    for stage in stages_of(pipeline):
        coordinates = {name: values[0] for name, values in stage.options.items() if values}
        axes = [coordinates[name] for name in ("axes", "random-axes") if name in coordinates]  # `tables` loads each
        expected = {
            key.format(**(coordinates | {"axes": one})) for one in axes or [""] for key in declared_params(stage.script)
        }
        assert sorted(stage.params) == sorted(expected), stage.name


@every_pipeline
def test_what_another_stage_writes_and_a_command_reads_is_a_dependency(pipeline):
    stages = with_what_it_starts_from(pipeline)
    outs = {out: stage.name for stage in stages for out in stage.outs}
    for stage in stages:
        for path in stage.paths:
            writers = {name for out, name in outs.items() if path == out or path.startswith(f"{out}/")}
            assert not writers or stage.reads(path), f"{stage.name} reads {path} of {writers}"


@every_pipeline
def test_a_side_car_that_a_script_reads_is_a_dependency(pipeline):
    for stage in stages_of(pipeline):
        source = (SRC / "stages" / f"{stage.script}.py").read_text(encoding="utf-8")
        for option in re.findall(r'read_json\(args\.(\w+)\.with_suffix\("\.json"\)\)', source):
            (path,) = stage.options[option]
            assert stage.reads(str(Path(path).with_suffix(".json"))), f"{stage.name} --{option}"


@every_pipeline
def test_a_dependency_that_no_stage_writes_is_in_the_repository(pipeline):
    """Only a backbone of kind `path` is brought by the user."""
    stages = with_what_it_starts_from(pipeline)
    blocks = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["benchmarks"].values()
    brought = {backbone["path"] for block in blocks for backbone in block["backbones"].values() if "path" in backbone}
    outs = {out for stage in stages for out in stage.outs}
    for stage in stages:
        for dep in stage.deps:
            made = any(dep == out or dep.startswith(f"{out}/") or out.startswith(f"{dep}/") for out in outs)
            assert made or dep in brought or (ROOT / dep).exists(), f"{stage.name}: {dep}"


@every_pipeline
def test_a_command_gives_only_options_that_its_script_takes_and_all_that_it_requires(pipeline):
    for script, stages in itertools.groupby(sorted(stages_of(pipeline), key=lambda s: s.script), lambda s: s.script):
        source = (SRC / "stages" / f"{script}.py").read_text(encoding="utf-8")
        taken = {
            name: "required=True" in rest for name, rest in re.findall(r'add_argument\(\s*"--([\w-]+)"([^)]*)', source)
        }
        for stage in stages:
            assert set(stage.options) <= {*taken, "set"}, stage.name  # every script takes --set
            assert {name for name, required in taken.items() if required} <= set(stage.options), stage.name


@every_pipeline
def test_every_stage_writes_what_its_command_says_and_tells_what_it_is(pipeline):
    for stage in stages_of(pipeline):
        assert stage.desc.endswith("."), stage.name
        (out,) = stage.options["out"]
        assert any(written == out or written.startswith(f"{out}/") for written in stage.outs), stage.name


def test_no_stage_of_any_pipeline_writes_what_another_one_writes():
    outs = [out for pipeline in PIPELINES for stage in stages_of(pipeline) for out in stage.outs]
    folders = {parent.as_posix() for out in outs for parent in Path(out).parents}
    assert len(set(outs)) == len(outs) and not folders & set(outs)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_git_never_sees_what_is_cached_or_brought(tmp_path):
    """Corpora may not be redistributed and weights are large: all that DVC caches is ignored by Git."""
    outs = {
        out
        for pipeline in PIPELINES
        for stage in yaml.safe_load((ROOT / pipeline).read_text(encoding="utf-8"))["stages"].values()
        for out in stage.get("outs", [])
        if isinstance(out, str)
    }
    paths = sorted(re.sub(r"\$\{[^}]+\}", "x", out) for out in outs) + ["data/own/texts.csv", "data/rating/key.json"]
    done = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True, check=False)
    assert sorted(done.stdout.splitlines()) == sorted(paths)


@every_pipeline
def test_nothing_is_trained_before_the_audit_has_passed(pipeline):
    stages = with_what_it_starts_from(pipeline)
    needs = {
        stage.name: [s.name for s in stages if any(stage.reads(out) or _inside(stage.deps, out) for out in s.outs)]
        for stage in stages
    }
    list(TopologicalSorter(needs).static_order())  # no circles

    @cache
    def behind(name: str) -> frozenset[str]:
        return frozenset(needs[name]).union(*(behind(before) for before in needs[name]))

    for stage in stages:
        if stage.script in ("backbones", "label_generator", "synthesize") or stage.script.startswith("train"):
            (benchmark,) = stage.options["benchmark"]
            assert behind(stage.name) & {"audit", f"audit@{benchmark}"}, stage.name


def _inside(deps: list[str], out: str) -> bool:
    return any(dep.startswith(f"{out}/") for dep in deps)


AFTER_SELECTION = {"train_augmented", "evaluate", "report"}
AFTER_SYNTHESIS = {"select", *AFTER_SELECTION}
AFTER_LABELS = {"synthesize", *AFTER_SYNTHESIS}
TRAINED = {"train_augmented", "train_baseline", "train_iid"}
KNOBS = {  # key of params.yaml: the root's stages that a change of it may run again
    "selection.k": {"select", *AFTER_SELECTION},
    "selection.score": {"select", *AFTER_SELECTION},
    "synthesis.temperature": {"synthesize", *AFTER_SYNTHESIS},
    "label_generator.requested": {"label_generator", *AFTER_LABELS},
    "generators.ld_vae.kl_form": {"train_generator", *AFTER_LABELS},
    "classifiers.bert.epochs": {"train_filter", "select", *TRAINED, "evaluate", "report"},
    "evaluation.decoding": {"evaluate", "report"},
    "composition_prior.weight": {"evaluate", "report"},
}


@pytest.mark.parametrize("knob", KNOBS)
def test_a_knob_runs_again_only_what_depends_on_it(knob):
    stages = stages_of("dvc.yaml")
    again = {s.name for s in stages if any(knob == key or knob.startswith(f"{key}.") for key in s.params)}
    assert again
    assert behind_of(stages, again) == KNOBS[knob]


def test_another_support_size_keeps_the_corpus_alone():
    stages = stages_of("dvc.yaml")
    (benchmark,) = next(s for s in stages if s.script == "split").options["benchmark"]
    changed = {s.name for s in stages if f"benchmarks.{benchmark}.split" in s.params}
    assert changed == {"split"} and behind_of(stages, changed) == {s.name for s in stages} - {"raw"}


def test_another_seed_keeps_corpus_split_and_backbones():
    text = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    seeded = {name for name, stage in yaml.safe_load(text)["stages"].items() if "${run.seed}" in stage["cmd"]}
    stages = stages_of("dvc.yaml")
    kept = {s.name for s in stages} - behind_of(stages, seeded)
    assert {name.split("@")[0] for name in kept} == {"raw", "split", "audit", "backbones", "seq2seq"}


def behind_of(stages, names: set[str]) -> set[str]:
    """These stages and all that read what they write."""
    found = set(names)
    while True:
        outs = [out for s in stages if s.name in found for out in s.outs]
        more = {s.name for s in stages if any(s.reads(out) or _inside(s.deps, out) for out in outs)} - found
        if not more:
            return found
        found |= more


@pytest.mark.parametrize("pipeline", PIPELINES[1:])
def test_a_grid_runs_the_stages_of_the_root_on_its_own_coordinates(pipeline):
    root = {stage.name: stage for stage in stages_of("dvc.yaml")}
    scripts = {stage.script for stage in root.values()} | {
        "evaluate_cell",
        "quality",
        "tables",
        "classifier_tables",
        "folds",
        "evaluate_prior",
        "ceiling",
        "evaluate_ceiling",
        "prior_tables",
        "supports",
        "prefixes",
        "ablation_tables",
        "representations",
        "judge",
        "split_table",
        "page",
    }
    for stage in stages_of(pipeline):
        assert stage.script in scripts, stage.name
        if twin := root.get(stage.name.split("@")[0]):
            assert (stage.script, stage.desc) == (twin.script, twin.desc), stage.name
            assert set(stage.options) == set(twin.options), stage.name


def test_the_classifiers_table_waits_for_every_cell_of_its_axes():
    stages = stages_of("reports/classifiers/dvc.yaml")
    (table,) = (stage for stage in stages if stage.script == "classifier_tables")
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    axes = params["by_classifier"]
    cells = {out for stage in stages if stage.script == "evaluate_cell" for out in stage.outs}
    others = {out for stage in stages_of("reports/paper/dvc.yaml") for out in stage.outs}
    for b, g, s in itertools.product(axes["benchmarks"], [*axes["generators"], "iid"], axes["seeds"]):
        for c in axes["classifiers"]:
            cell = f"reports/classifiers/runs/{classifier_cell_name(b, g, c, s)}"
            assert cell in cells and table.reads(cell)
        shared = f"{table.options['shared'][0]}/{cell_name(b, g, s)}"
        assert shared in others and table.reads(shared)
    assert len(cells) == len(axes["classifiers"]) * len(axes["benchmarks"]) * len(axes["seeds"]) * (
        len(axes["generators"]) + 1
    )


def test_the_table_of_the_composition_prior_waits_for_every_row_of_its_axes(monkeypatch):
    stages = [stage for pipeline in PRIOR for stage in stages_of(pipeline)]
    (table,) = (stage for stage in stages if stage.script == "prior_tables")
    rows = {out for stage in stages if stage.script.startswith("evaluate") for out in stage.outs}
    asked = []
    monkeypatch.setattr(prior, "_read", lambda path, **cell: asked.append(path.as_posix()))
    axes = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["prior"]
    prior.read_grid(Path(table.options["out"][0]), axes)
    assert sorted(asked) == sorted(rows) and all(map(table.reads, rows))


def test_the_labels_of_the_unseen_test_set_reach_ceilings_alone():
    stages = [stage for pipeline in PRIOR for stage in stages_of(pipeline)]
    given = {out for stage in stages if stage.script == "ceiling" for out in stage.outs}
    trained = [s for s in stages if any(path == one or path.startswith(f"{one}/") for path in s.deps for one in given)]
    assert {stage.name.split("@")[0] for stage in trained} == {"train_ceiling", "evaluate_ceiling"}
    from_them = {out for stage in trained for out in stage.outs}
    readers = {s.name.split("@")[0] for s in stages if any(p.startswith(out) for p in s.deps for out in from_them)}
    assert readers == {"evaluate_ceiling"}  # beside the table, which reads the folder of the ceiling rows
    assert {s.name.split("@")[0] for s in stages if s.options.get("ceiling")} == {"evaluate_ceiling"}


@pytest.mark.parametrize("pipeline", ["reports/paper/dvc.yaml", "reports/pretrained/dvc.yaml"])
def test_the_table_waits_for_every_cell_of_its_axes(pipeline):
    stages = stages_of(pipeline)
    (table,) = (stage for stage in stages if stage.script == "tables")
    (folder,) = table.options["out"]
    cells = [out for stage in stages if stage.script == "evaluate_cell" for out in stage.outs]
    axes = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[table.options["axes"][0]]
    generators = axes["generators"] + ([] if "no-iid" in table.options else ["iid"])
    for b, g, s in itertools.product(axes["benchmarks"], generators, axes["seeds"]):
        cell = f"{folder}/runs/{cell_name(b, g, s)}"
        assert cell in cells and table.reads(cell)
    for cell in cells:
        assert table.reads(cell)


# ---------------------------------------------------------------- floors

GROUND = {"records", "named", "metrics", "params", "pretrained", "training", "statistics"}
ROOMS = {"benchmarks", "splits", "audit", "backbones", "compositions", "generators", "classifiers"}
ROOMS |= {"decoding", "composition_prior"}
UPPER = {"selection", "quality", "ratings", "representations", "reports", "bench"}


def room_of(file: Path) -> str:
    """First word below compaug/ ("generators" for all of its files), "stages" for scripts."""
    words = file.relative_to(SRC).with_suffix("").parts
    return "stages" if words[0] == "stages" else words[1]


def library() -> list[Path]:
    return [file for file in SOURCES if room_of(file) not in ("stages", "__init__")]


def test_every_module_has_its_floor():
    assert {room_of(file) for file in library()} <= GROUND | ROOMS | UPPER


def test_imports_only_go_down():
    floor = dict.fromkeys(GROUND, 0) | dict.fromkeys(ROOMS, 1) | dict.fromkeys(UPPER, 2) | {"stages": 3}
    for file in library():
        here = room_of(file)
        for room in {room_of(other) for other in imports_of(file)} - {here, "__init__"}:
            beside = here in GROUND and room in GROUND
            assert floor[room] < floor[here] or beside, f"{short(file)} imports {room}"


def test_the_ground_floor_has_no_circles():
    ground = {
        file: [f for f in imports_of(file) if room_of(f) in GROUND] for file in library() if room_of(file) in GROUND
    }
    assert len(list(TopologicalSorter(ground).static_order())) == len(ground)


def test_a_stage_imports_no_other_stage():
    for script in SCRIPTS:
        stages = [f for f in imports_of(SRC / "stages" / f"{script}.py") if room_of(f) == "stages"]
        assert [f.name for f in stages] == ["__init__.py"], script


@pytest.mark.parametrize("script", LIGHT)
def test_a_light_stage_does_not_wait_for_torch(script):
    code = f"import sys, stages.{script}; sys.exit(', '.join({{'torch', 'transformers', 'sklearn'}} & set(sys.modules)) or 0)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(SRC)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_selection_for_the_generator_none_does_not_wait_for_torch_either(tmp_path):
    Labels(("joy",), ("joy",)).write(tmp_path / "labels.json")
    write_rows(tmp_path / "synthetic.jsonl", [])
    write_json(tmp_path / "synthetic.json", {"requested": 0})
    code = "import sys; from stages import select; select.main(); sys.exit('torch' in sys.modules)"
    options = "--benchmark diagnostic --classifier bert --synthetic synthetic.jsonl --filter none --labels labels.json --train none --seed 13"
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
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        assert called not in ("eval", "exec", "__import__", "yaml.load", "os.system"), f"{short(file)}:{node.lineno}"
        assert called != "torch.load" or given.get("weights_only") == "True", f"{short(file)}:{node.lineno}"
        assert given.get("allow_pickle", "False") == "False", f"{short(file)}:{node.lineno}"
        assert given.get("trust_remote_code", "False") == "False", f"{short(file)}:{node.lineno}"
        assert given.get("shell", "False") == "False", f"{short(file)}:{node.lineno}"


def test_only_stages_read_argv():
    for file, node in nodes(ast.Attribute):
        assert ast.unparse(node) != "sys.argv", f"{short(file)}:{node.lineno}"  # argparse reads it for the stages
    for file, node in nodes(ast.Import | ast.ImportFrom):
        assert "argparse" not in ast.unparse(node) or room_of(file) == "stages", short(file)


def test_scripts_and_models_stay_small():
    limits = {"stages": 130, "generators": 390, "classifiers": 370}
    for file in SOURCES:
        lines = len(file.read_text(encoding="utf-8").splitlines())
        assert lines <= limits.get(room_of(file), 1000), f"{short(file)} has {lines} lines"


def test_no_file_names_a_place_outside_the_repository():
    for file in [*SOURCES, ROOT / "params.yaml", ROOT / "Makefile", *(ROOT / pipeline for pipeline in PIPELINES)]:
        assert not re.search(r"\.\./shared|/(work|tmp|home|root)/", file.read_text(encoding="utf-8")), short(file)


def make_targets() -> dict[str, str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z][\w-]*):(?!=)[^\n]*\n((?:\t[^\n]*\n?)*)", text, re.MULTILINE))


def test_every_phony_target_has_a_rule_and_runs_scripts_that_exist():
    targets = make_targets()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(phony.split()) == set(targets)
    for name, recipe in targets.items():
        for script in re.findall(r"-m stages\.(\w+)", recipe):
            assert script in SCRIPTS, f"make {name}: stages/{script}.py"


def test_every_command_in_the_readme_exists():
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("README.md is not written yet")
    text = readme.read_text(encoding="utf-8")
    assert set(re.findall(r"(?:^|`|\$ )make ([a-z]\w*)", text, re.MULTILINE)) <= set(make_targets())
    assert set(re.findall(r"-m stages\.(\w+)", text)) <= set(SCRIPTS)
    assert set(re.findall(r"\b(?:[\w-]+/)*dvc\.yaml\b", text)) <= set(PIPELINES)
