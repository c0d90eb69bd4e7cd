"""Golden files: what a heavy stage computes is what is committed, or a version is raised with it; and what that puts
out of date."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from graph import ROOT
from parameters import written
from tools.golden import __main__ as golden
from tools.golden import fingerprints, runs, workplace

from compaug.core.files import InputError, file_digest

COMMITTED = ROOT / "tests/golden"
QUICK = "train_generator-concat"
# of the files edited below
READERS_OF_ALL_THREE = ("classifier-bert", "classifier-sgm", "train_generator-ld_vae", "label_generator")


def compute(*names: str, source: Path = ROOT / "src", out: Path = COMMITTED, params: Path = ROOT / "params.yaml"):
    """`python -m tools.golden` with the code in `source`."""
    command = [sys.executable, "-m", "tools.golden", *names, "--out", str(out), "--params", str(params)]
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def edited(folder: Path, file: str, *edits: tuple[str, str]) -> Path:
    """A copy of src/ in `folder` with edits of a file, (regular expression, replacement); each must find something."""
    if not (folder / "src").exists():
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    path = folder / "src/compaug" / file
    text = path.read_text(encoding="utf-8")
    for pattern, replacement in edits:
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{file} has no {pattern!r} any more; edit something else here"
    path.write_text(text, encoding="utf-8")
    return folder / "src"


def changed(done: subprocess.CompletedProcess) -> set[str]:
    return {line.partition(" ")[0] for line in done.stdout.splitlines() if " computes something else " in line}


# ---------------------------------------------------------------- the committed files


@pytest.mark.parametrize("variants", [["--first"], pytest.param([], marks=pytest.mark.slow)], ids=["defaults", "all"])
def test_every_heavy_stage_computes_what_its_golden_file_says(variants):
    if "AuthenticAMD" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("the committed digits are those of an AMD CPU: MKL has other kernels elsewhere")
    done = compute("--check", *variants)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_docstrings_and_pure_refactorings_compute_the_same(tmp_path):
    helper = "\n\ndef _width(hidden: int, width: int) -> int:\n    return hidden or width\n\n\ndef two_way_heads("
    edited(
        tmp_path,
        "core/records.py",
        (r"A 31-bit seed for a named purpose", "The seed of a purpose"),
        (r"\border\b", "positions"),
    )
    edited(
        tmp_path,
        "training/loop.py",
        (r'"""Mean losses over `rows` in evaluation mode', '"""What validation finds'),
        (r"\bsums\b", "totals"),
        (r"math\.ceil\(len\(rows\) / self\.options\.batch_size\)", "_ceiling(len(rows), self.options.batch_size)"),
        (r"\n\ndef fit\(", "\n\ndef _ceiling(rows: int, size: int) -> int:\n    return -(-rows // size)\n\n\ndef fit("),
    )
    source = edited(
        tmp_path,
        "classifiers/body.py",
        (r"From a state \[B, width\] to two scores a label", "Two scores a label"),
        (r"\n\ndef two_way_heads\(", helper),
        (r"nn\.Linear\(hidden or width, ", "nn.Linear(_width(hidden, width), "),
        (r"\bmiddle\b", "between"),
    )
    done = compute(*READERS_OF_ALL_THREE, "--check", source=source)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_another_dropout_changes_the_classifiers_that_have_it_and_nothing_else(tmp_path):
    source = edited(tmp_path, "classifiers/body.py", (r"nn\.Dropout\(dropout\)", "nn.Dropout(dropout / 2)"))
    classifiers = [name for name in runs.names() if name.startswith(("classifier", "map_classifier"))]
    others = ("label_generator", "train_generator-ls_pt", "select", "quality", "judge", "folds")  # one of each kind
    done = compute(*classifiers, *others, "--check", source=source)
    assert done.returncode == 1, done.stderr
    assert changed(done) == {"classifier-bert", "classifier-bert_p", "map_classifier"}  # which trains bert
    assert "): raise classifier-bert in configs/versions.yaml, then `make golden`\n" in done.stdout


def test_every_method_has_its_file_and_every_file_its_method():
    assert {path.stem for path in COMMITTED.glob("*.json")} == set(runs.names())
    assert {"classifier-bert", "train_generator-ld_vae", "synthesize-ld_vae", "select"} <= set(runs.names())
    assert "classifier-body" not in runs.names()
    assert "train_generator-prefix" not in runs.names()


# ---------------------------------------------------------------- writing and checking


@pytest.fixture
def params(tmp_path) -> Path:
    """A params.yaml, beside which are versions that may change."""
    (tmp_path / "golden").mkdir()
    shutil.copy(COMMITTED / f"{QUICK}.json", tmp_path / "golden")
    return written(tmp_path)


def raised(params: Path, name: str) -> None:
    file = params.parent / fingerprints.VERSIONS
    versions = fingerprints.read_versions(file)
    fingerprints.write_versions(file, versions | {name: versions[name] + 1})


@pytest.mark.slow
def test_what_computes_something_else_is_written_with_another_version_alone(tmp_path, params):
    path = tmp_path / f"golden/{QUICK}.json"
    version, prints = fingerprints.read(path)
    prints["default"]["model/examples.jsonl"][0]["text"] = "another text"
    fingerprints.write(path, version, prints)
    before = path.read_bytes()
    for more in (["--check"], []):
        done = compute(QUICK, *more, out=path.parent, params=params)
        assert done.returncode == 1 and changed(done) == {QUICK}
        assert "(default model/examples.jsonl 0 text: " in done.stdout
        assert path.read_bytes() == before
    raised(params, QUICK)
    done = compute(QUICK, "--check", out=path.parent, params=params)
    assert done.returncode == 1 and not changed(done) and "`make golden` writes it" in done.stdout
    assert compute(QUICK, out=path.parent, params=params).returncode == 0
    assert fingerprints.read(path) == (version + 1, fingerprints.read(COMMITTED / path.name)[1])
    assert compute(QUICK, "--check", out=path.parent, params=params).returncode == 0


def test_last_digits_leave_the_file_alone(tmp_path):
    path = tmp_path / "quality.json"
    text = (COMMITTED / path.name).read_text()
    value = json.loads(text)["variants"]["default"]["run.json"]["perplexity"]
    path.write_text(text.replace(str(value), str(value * (1 + 1e-4))))
    before = path.read_bytes()
    done = compute("quality", out=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_bytes() == before != (COMMITTED / path.name).read_bytes()


def test_a_parameter_of_the_repository_changes_nothing(tmp_path):
    changes = {"classifiers.dbloss": {"gamma": 1.0, "dropout": 0.4, "epochs": 3}, "classifiers.shared.lr": 0.1}
    done = compute("classifier-dbloss", "--check", params=written(tmp_path, changes))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_new_generator_gets_its_version_and_its_golden_file_without_being_listed(tmp_path):
    source = edited(tmp_path, "generators/baselines/concat.py", (r"Concat", "Joined"))
    (source / "compaug/generators/baselines/concat.py").rename(source / "compaug/generators/joined.py")
    shutil.copy(ROOT / "src/compaug/generators/baselines/concat.py", source / "compaug/generators/baselines/concat.py")
    params = written(tmp_path, {"generators.joined": {}})
    done = compute("train_generator-joined", source=source, out=tmp_path / "golden", params=params)
    assert done.returncode == 0, done.stdout + done.stderr
    assert fingerprints.read(tmp_path / "golden/train_generator-joined.json") == fingerprints.read(
        COMMITTED / f"{QUICK}.json"
    )
    before, after = (fingerprints.read_versions(folder / fingerprints.VERSIONS) for folder in (ROOT, tmp_path))
    assert after == before | {"train_generator-joined": 1}


def test_the_file_of_a_method_that_is_gone_is_to_be_deleted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(workplace, "computed", lambda names, params, first: iter(()))
    path = tmp_path / "train_generator-gone.json"
    fingerprints.write(path, 1, {"default": {"model/config.json": {"layers": 2}}})
    with pytest.raises(SystemExit):
        golden.main(["--check", "--out", str(tmp_path), "--params", str(ROOT / "params.yaml")])
    assert capsys.readouterr().out.startswith("train_generator-gone: there is no such stage any more; delete it in ")


def test_a_file_of_somebody_else_stays(params):
    path = params.parent / f"golden/{QUICK}.json"
    path.write_text('{"mine": 1}')
    done = compute(QUICK, out=path.parent, params=params)
    assert done.returncode == 2 and done.stderr.startswith(f"error: {path}: ") and done.stderr.count("\n") == 1
    assert path.read_text() == '{"mine": 1}'


def test_a_misspelt_name_is_one_line():
    done = compute("train_generator-ldvae", "--check")
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no fingerprint 'train_generator-ldvae'; choose from")
    assert done.stderr.count("\n") == 1


def test_a_version_that_is_no_number_is_one_line(tmp_path):
    file = written(tmp_path).parent / fingerprints.VERSIONS
    file.write_text(file.read_text().replace("train_generator-ld_vae: 1", "train_generator-ld_vae: one"))
    with pytest.raises(InputError, match=f"^{file}: train_generator-ld_vae: 'one' is no whole number; restore it"):
        fingerprints.read_versions(file)


# ---------------------------------------------------------------- what is put out of date


@pytest.fixture
def clone(tmp_path) -> Path:
    """The repository without experiments and reports."""
    for folder in ("configs", "repair", "src", "tests/golden"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.lock"))
    for file in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / file, tmp_path)
    (tmp_path / ".dvc").mkdir()
    (tmp_path / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
    return tmp_path


def changes(folder: Path, *edits: tuple[str, str, str]) -> None:
    """Edits of files, (path, text that is there once, its replacement)."""
    for file, text, replacement in edits:
        before = (folder / file).read_text(encoding="utf-8")
        assert before.count(text) == 1, f"{file} has {text!r} {before.count(text)} times; edit something else here"
        (folder / file).write_text(before.replace(text, replacement), encoding="utf-8")


def settle(folder: Path) -> None:
    """What the stage `settings` writes for the root cell."""
    command = [
        "-m",
        "compaug.stages.settings",
        "--benchmark",
        "diagnostic",
        "--scale",
        "tiny",
        "--out",
        "data/settings/run",
    ]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True)


def inputs(folder: Path) -> dict[str, dict]:
    """Of every heavy stage what DVC compares: values of parameters, and digests of the files that `settings` writes."""
    from dvc.dependency import ParamsDependency
    from dvc.repo import Repo  # slow to import

    with Repo(str(folder)) as repo:
        return {
            f"{Path(stage.path).relative_to(folder)}:{stage.name}".removeprefix("dvc.yaml:"): {
                str(dep): dep.read_params() if isinstance(dep, ParamsDependency) else file_digest(dep.fs_path)
                for dep in stage.deps
                if isinstance(dep, ParamsDependency) or "data/settings/" in dep.def_path
            }
            for stage in repo.index.stages
            if fingerprints.VERSIONS in map(str, stage.deps)
        }


def settled(folder: Path) -> dict[str, dict]:
    settle(folder)
    return inputs(folder)


def stale(before: dict[str, dict], after: dict[str, dict]) -> set[str]:
    assert before.keys() == after.keys() and len(before) > 10
    return {name for name in before if before[name] != after[name]}


PARAMETERS, LATENTS = "src/compaug/generators/parameters.py", "src/compaug/generators/disentangled/ld_vae.py"
ARMS = ("augmented", "oversample", "baseline", "matched_a", "matched_b", "iid")
READERS = {"train_filter", *(f"train_classifier@{arm}" for arm in ARMS), "repair/dvc.yaml:train_classifier"}


@pytest.mark.slow
def test_a_new_option_costs_nothing_until_it_is_on(clone):
    before = settled(clone)
    weights = "alpha, beta = (1.0, 1.0) if literal else (self.params.alpha, self.params.beta)\n"
    changes(
        clone,
        (PARAMETERS, "    cache_gib: Amount\n", "    cache_gib: Amount\n    louder: bool | None = None\n"),
        (LATENTS, weights, f"{weights}        alpha *= 2 if self.params.louder else 1\n"),
        ("params.yaml", "    prior: conditional\n", "    prior: conditional\n    louder: null\n"),
    )
    assert stale(before, settled(clone)) == set()
    names, where = (
        ("train_generator-ld_vae", "train_generator-vae_dprior"),
        {"source": clone / "src", "params": clone / "params.yaml"},
    )
    done = compute(*names, "--check", **where)
    assert done.returncode == 0, done.stdout + done.stderr
    changes(clone, ("params.yaml", "    louder: null\n", "    louder: true\n"))
    assert stale(before, settled(clone)) == {"train_generator@augmented"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "schema", "entry"),
    [
        ("synthesis", (PARAMETERS, "    no_repeat_ngram: Count\n"), "  no_repeat_ngram: null "),
        ("selection", ("src/compaug/classifiers/parameters.py", "    k: Count\n"), "  overgenerate: null "),
        ("label_generator", (PARAMETERS, "    min_labels: Positive\n"), "  min_labels: 2 "),
    ],
)
def test_neither_does_one_of_what_is_no_method(clone, block, schema, entry):
    before = settled(clone)
    file, line = schema
    changes(
        clone,
        (file, line, f"{line}    louder: bool | None = None\n"),
        ("params.yaml", entry, f"  louder: null\n{entry}"),
    )
    assert stale(before, settled(clone)) == set()
    changes(clone, ("params.yaml", "  louder: null\n", "  louder: true\n"))
    of = {"synthesis": "synthesize", "selection": "select", "label_generator": "label_generator"}[block]
    assert {name.rpartition(":")[2].partition("@")[0] for name in stale(before, settled(clone))} == {of}


@pytest.mark.slow
def test_a_new_value_of_an_option_raises_no_version(clone):
    before, versions = settled(clone), (clone / fingerprints.VERSIONS).read_bytes()
    changes(clone, (PARAMETERS, 'kl_reduction: Literal["mean", ', 'kl_reduction: Literal["mean", "other", '))
    assert stale(before, settled(clone)) == set()
    name, where = "train_generator-vae_dprior", {"source": clone / "src", "params": clone / "params.yaml"}
    done = compute(name, "--check", out=clone / "tests/golden", **where)
    assert (
        done.returncode == 1
        and done.stdout == f"{name} is new, or has a new variant or version: `make golden` writes it\n"
    )
    done = compute(name, out=clone / "tests/golden", **where)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (clone / fingerprints.VERSIONS).read_bytes() == versions
    (old, prints_before), (new, prints_after) = (
        fingerprints.read(folder / f"{name}.json") for folder in (COMMITTED, clone / "tests/golden")
    )
    assert old == new and prints_after == prints_before | {"kl_reduction=other": prints_after["kl_reduction=other"]}


def test_another_dropout_in_params_yaml_concerns_every_classifier(clone):
    before = settled(clone)
    changes(clone, ("params.yaml", "    dropout: 0.1\n", "    dropout: 0.2\n"))
    assert stale(before, settled(clone)) == READERS


def test_a_raised_version_concerns_the_stages_of_that_method(clone):
    before, file = settled(clone), clone / fingerprints.VERSIONS
    for name, concerned in {
        "train_generator-ld_vae": {"train_generator@augmented"},
        "synthesize-ld_vae": {"synthesize@augmented", "repair/dvc.yaml:synthesize"},
        "synthesize-oversample": {"synthesize@oversample"},
        "classifier-bert": READERS,
        "backbones-encoder": {"backbones@encoder"},
        "train_generator-vae": set(),
    }.items():
        versions = file.read_bytes()
        raised(clone / "params.yaml", name)
        assert stale(before, inputs(clone)) == concerned, name
        file.write_bytes(versions)


# ---------------------------------------------------------------- comparison


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (1.0, 1.0005, None),
        (1.0, 1.01, "1.0, now 1.01"),
        (0.0, 1e-6, None),
        (3, 4, "3, now 4"),
        (True, 1, "true, now 1"),
        ("a text", "a test", '"a text", now "a test"'),
        ([1.0, 2.0], [1.0], "2 values, now 1"),
        ({"loss": 1.0}, {"nll": 1.0}, "loss: gone"),
        ({"epochs": [{"loss": 1.0}]}, {"epochs": [{"loss": 2.0}]}, "epochs 0 loss: 1.0, now 2.0"),
    ],
)
def test_numbers_may_differ_in_the_last_digits_and_nothing_else_may(before, after, where):
    differences = list(fingerprints.differences(before, after))
    assert differences == [] if where is None else where in differences[0]


def test_a_variant_is_stored_by_what_it_changes_and_read_whole(tmp_path):
    prints = {"default": {"a": 1, "b": [0.5]}, "x=2": {"a": 1, "b": [0.7]}, "y=3": {"b": [0.5], "c": "new"}}
    fingerprints.write(tmp_path / "f.json", 3, prints)
    assert fingerprints.read(tmp_path / "f.json") == (3, prints)
    assert "a" not in json.loads((tmp_path / "f.json").read_text())["variants"]["x=2"]
