"""A project anywhere: what `compaug init` writes, DVC and the package take as it is; `compaug audit` is all in one."""

from __future__ import annotations

import contextlib
import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from graph import ROOT
from parameters import written
from typer.testing import CliRunner

from compaug import __version__, cli, stages
from compaug.core import extras
from compaug.core.files import InputError, read_json, read_yaml
from compaug.data.readers import diagnostic
from compaug.experiments import params
from compaug.project import auditing, skeleton
from compaug.project.file_audit import Audit

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

FOLDER = Path("audit-calls")
BENCHMARK = FOLDER / "configs/benchmarks/calls.yaml"
WORDS = ("audit", "calls.csv", "--scale", "tiny", "--label-column", "tags")


def compaug(*words: str):
    return CliRunner().invoke(cli.app, [*words], catch_exceptions=False)


def shell(folder: Path, *command: str) -> str:
    """Output of a command in `folder`, which the interpreter's other commands are first for; fails with that output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "src"), "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def write_calls(size: int = 300) -> None:
    examples, labels = diagnostic.read({"size": size}, seed=3)
    with Path("calls.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = ([e.text, ";".join(labels.names[label] for label in e.labels)] for e in examples)
        csv.writer(stream).writerows([["message", "tags"], *rows])


@pytest.fixture
def runs(monkeypatch) -> list[Path]:
    """The folders that an audit has run in, in the place of DVC."""
    folders: list[Path] = []

    def run(folder: Path) -> int:
        folders.append(folder)
        (folder / auditing.PAGE).parent.mkdir(exist_ok=True)
        (folder / auditing.PAGE).write_text("# calls\n\n**Texts teach.**\n\n## Result\n\nmore\n")
        return 0

    monkeypatch.setattr(auditing, "run", run)
    return folders


# ---------------------------------------------------------------- init


def test_a_project_has_the_stages_of_the_root_cell_and_all_that_they_read():
    from dvc.repo import Repo

    assert "files written" in compaug("init", "mine").output
    folder = Path("mine").resolve()
    with contextlib.chdir(folder), Repo(".") as repo:
        outs = {out.fs_path for stage in repo.index.stages for out in stage.outs}
        deps = {dep.fs_path for stage in repo.index.stages for dep in stage.deps}
        cached = [out.fs_path for stage in repo.index.stages for out in stage.outs if out.use_cache]
        names = {stage.addressing for stage in repo.index.stages}
    assert {"report", "samples", "train_classifier@matched_b", "repair/dvc.yaml:train_classifier"} <= names
    assert not [dep for dep in deps if "src" in Path(dep).parts]
    needed = [dep for dep in deps if dep not in outs and not any(dep.startswith(f"{out}/") for out in outs)]
    written_by_split = str(folder / "data/splits/run")
    assert [dep for dep in needed if not Path(dep).exists() and not dep.startswith(written_by_split)] == []
    ignored = subprocess.run(["git", "check-ignore", *cached], cwd=folder, capture_output=True, text=True, check=False)
    assert sorted(ignored.stdout.splitlines()) == sorted(cached)
    assert shell(folder, "git", "status", "--short") == ""
    assert set(params.benchmarks(folder / "params.yaml")) == {"quick", "diagnostic", "own"}
    for corpus, scale in params.every(folder / "params.yaml"):
        assert params.parse(folder / "params.yaml", corpus, scale)


def test_what_a_stage_computes_in_a_project_is_what_it_computes_here():
    """All but what it depends on: commands, parameters, outputs."""

    def of(folder: Path) -> list[dict]:
        stages = [{**stage, **stage.get("do", {})} for stage in read_yaml(folder / "dvc.yaml")["stages"].values()]
        return [{key: value for key, value in stage.items() if key not in ("deps", "do")} for stage in stages]

    skeleton.create(Path("mine"))
    assert of(Path("mine")) == of(ROOT) and of(Path("mine/repair")) == of(ROOT / "repair")
    for name in ("params.yaml", "configs/scales.yaml", "configs/benchmarks/quick.yaml"):
        assert Path("mine", name).read_bytes() == (ROOT / name).read_bytes()


def test_a_template_is_a_link_to_the_file_here():
    """So there is no second copy that could drift."""
    copies = {path.name for path in skeleton.TEMPLATE.rglob("*") if path.is_file() and not path.is_symlink()}
    assert copies == {"README.md", ".dvcignore"}


def test_what_is_there_stays_but_for_the_versions_of_the_package():
    Path("mine/configs").mkdir(parents=True)
    Path("mine/params.yaml").write_text("a line of mine\n")
    Path("mine/configs/versions.yaml").write_text("select: 0\n")
    skeleton.create(Path("mine"))
    assert Path("mine/params.yaml").read_text() == "a line of mine\n"
    assert read_yaml("mine/configs/versions.yaml") == read_yaml(ROOT / "configs/versions.yaml")
    assert read_yaml("mine/configs/release.yaml") == {"compaug": __version__}


def upgraded(monkeypatch) -> None:
    """A project `mine` that another release has written, in the working directory."""
    skeleton.create(Path("mine"))
    written = {path: Path("mine", path).read_text() for path in skeleton.PIPELINES}
    monkeypatch.setattr(skeleton, "__version__", "9.9")
    pipelines = {path: text.replace("--seed", "--any-seed") for path, text in written.items()}
    monkeypatch.setattr(skeleton, "_pipeline", lambda path: pipelines[path].partition("\n\n")[2])
    monkeypatch.chdir("mine")


def test_a_project_of_another_release_is_noticed_by_commands_and_refused_by_stages(monkeypatch, capsys):
    upgraded(monkeypatch)
    line = "configs/release.yaml: not of the installed compaug 9.9; `compaug init .` writes it anew"
    with pytest.raises(SystemExit):
        cli.main(["settings"])
    assert capsys.readouterr().err == f"note: {line}\n"
    with pytest.raises(SystemExit):
        stages.run(lambda: print("runs"))
    assert capsys.readouterr() == ("", f"error: {line}\n")
    compaug("init", ".")
    stages.run(lambda: print("runs"))
    assert capsys.readouterr() == ("runs\n", "")


def test_a_project_is_brought_to_the_installed_release_but_for_what_somebody_has_edited(monkeypatch):
    upgraded(monkeypatch)
    Path("dvc.yaml").write_text(Path("dvc.yaml").read_text() + "  # mine\n")
    shown = compaug("init", ".").output
    assert shown.startswith(".: now of compaug ") and "note: dvc.yaml: has been edited, and stays; " in shown
    assert "--any-seed" in Path("repair/dvc.yaml").read_text() and "--any-seed" not in Path("dvc.yaml").read_text()
    assert compaug("init", ".").output.startswith(".: is a project of compaug ")


def test_the_pipeline_of_somebody_else_is_refused(capsys):
    Path("mine").mkdir()
    Path("mine/dvc.yaml").write_text("stages: {}\n")
    with pytest.raises(SystemExit):
        cli.main(["init", "mine"])
    assert capsys.readouterr().err == "error: mine/dvc.yaml: is another pipeline; give a folder without one\n"
    assert [path.name for path in Path("mine").iterdir()] == ["dvc.yaml"]


def test_in_a_repository_of_the_users_a_project_is_a_folder_unless_it_is_ignored_there():
    shell(Path("."), "git", "init", "-q")
    Path(".gitignore").write_text("/audit-*/\n")
    skeleton.create(Path("mine"))
    skeleton.create(FOLDER)
    assert not Path("mine/.git").exists() and (FOLDER / ".git").exists()


def test_a_chosen_value_keeps_comments_and_columns():
    skeleton.create(Path("mine"))
    before = Path("mine/params.yaml").read_text().splitlines()
    skeleton.choose(Path("mine"), benchmark="calls", scale="pretrained")
    after = Path("mine/params.yaml").read_text().splitlines()
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert [line.split()[:2] for _, line in changed] == [["benchmark:", "calls"], ["scale:", "pretrained"]]
    assert all(old.index("#") == new.index("#") for old, new in changed)


# ---------------------------------------------------------------- audit


def test_an_audit_makes_its_project_and_ends_with_the_verdict(runs):
    write_calls()
    shown = compaug(*WORDS).output
    assert "rows: 300, with 8 labels" in shown and runs == [FOLDER]
    assert "**Texts teach.**\n\nThe whole page: audit-calls/reports/summary.md\nNext: cd audit-calls" in shown
    assert "more" not in shown.partition("Texts teach")[2]
    run = read_yaml(FOLDER / "params.yaml")["run"]
    assert (run["benchmark"], run["scale"]) == ("calls", "tiny")
    assert read_yaml(BENCHMARK)["options"]["path"] == "data/own/calls.csv"
    assert (FOLDER / "data/own/calls.csv").read_bytes() == Path("calls.csv").read_bytes()


def test_called_again_it_goes_on_with_what_a_person_has_edited_and_the_file_as_it_is_now(runs):
    write_calls()
    compaug(*WORDS)
    BENCHMARK.write_text(edited := BENCHMARK.read_text() + "# mine\n")
    write_calls(310)
    shown = compaug(*WORDS[:2]).output
    assert "goes on with the audit that is there, and with calls.csv as it is now" in shown
    assert len(runs) == 2 and BENCHMARK.read_text() == edited
    assert read_yaml(FOLDER / "params.yaml")["run"]["scale"] == "tiny"
    assert (FOLDER / "data/own/calls.csv").read_bytes() == Path("calls.csv").read_bytes()
    assert "goes on with the audit that is there\n" in compaug(*WORDS).output
    with pytest.raises(InputError, match="calls.yaml: has other options; edit them there, or remove it"):
        compaug(*WORDS, "--label-delimiter", "|")


@pytest.mark.parametrize(
    ("first", "second", "folder"),
    [
        ("calls.csv", "calls.tsv", "audit-calls"),
        ("my-calls.csv", "my_calls.csv", "audit-my_calls"),
        ("通話.csv", "苦情.csv", "audit-corpus"),
    ],
)
def test_the_audit_of_another_file_is_not_gone_on_with(runs, first, second, folder):
    write_calls()
    Path("calls.csv").rename("calls")
    for name in (first, second):
        shutil.copy("calls", name)
    compaug("audit", first, *WORDS[2:])
    message = f"^{folder}: is the audit of {first}; give --name or --dir for that of {second}$"
    with pytest.raises(InputError, match=message):
        compaug("audit", second, *WORDS[2:])
    assert "goes on" in compaug("audit", first, *WORDS[2:]).output and len(runs) == 2
    assert "goes on" not in compaug("audit", second, *WORDS[2:], "--name", "second").output
    assert runs[-1] == Path("audit-second")
    with pytest.raises(InputError, match=f"^{folder}: is the audit of {first}; give another --dir"):
        compaug("audit", second, *WORDS[2:], "--name", "third", "--dir", folder)


def test_years_in_names_of_files_tell_their_audits_apart_and_another_folder_to_call_from_does_not(runs, monkeypatch):
    write_calls()
    for year in (2023, 2024):
        shutil.copy("calls.csv", f"calls.{year}.csv")
        compaug("audit", f"calls.{year}.csv", *WORDS[2:])
    assert runs == [Path("audit-calls_2023"), Path("audit-calls_2024")]
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert "goes on" in compaug("audit", "../calls.2023.csv", "--dir", "../audit-calls_2023").output


def test_a_doubt_is_refused_in_one_line_before_anything_is_written(runs, capsys):
    Path("votes.csv").write_text(
        "text,joy,fear\n" + "".join(f"a text of number {n},0.{n % 9},0.3\n" for n in range(60))
    )
    with pytest.raises(SystemExit):
        cli.main(["audit", "votes.csv"])
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith("error: votes.csv: ") and "--positive-above" in last
    assert [path.name for path in Path(".").iterdir()] == ["votes.csv"] and runs == []


@pytest.mark.parametrize(("module", "extra", "scale"), [("dvc", "pipeline", "tiny"), ("gguf", "llm", "pretrained")])
def test_the_extra_of_what_an_audit_lacks_is_named_before_anything_is_written(monkeypatch, module, extra, scale):
    write_calls()
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == module else name)
    monkeypatch.setattr(extras, "extra_of", {module: extra}.get)
    monkeypatch.setattr(extras, "CLONE", Path("Makefile"))
    with pytest.raises(
        InputError, match=rf"^{module} is not installed; `pip install '.\[{extra}\]'` in compaug's clone$"
    ):
        Audit("calls.csv", scale=scale).run()
    assert not FOLDER.exists()


def test_minutes_and_stages_are_shown_and_a_lock_that_a_kill_left_half_written_is_mended(monkeypatch, capsys):
    skeleton.create(FOLDER)
    (FOLDER / "dvc.lock").write_text("schema: '2.0'\nstages: [")
    lines = "Stage 'check' didn't change, skipping\nRunning stage 'raw':\n> python\nRunning stage 'split':\n"
    command = [sys.executable, "-c", f"import sys; sys.stdout.write({lines!r}); sys.exit(3)"]
    popen, seconds = subprocess.Popen, iter([0, 59, 300])
    monkeypatch.setattr(
        subprocess, "Popen", lambda words, **k: popen(command if auditing.REPRO in words else words, **k)
    )
    monkeypatch.setattr(auditing.time, "monotonic", lambda: next(seconds))
    shown: list[str] = []
    assert auditing.run(FOLDER, shown.append) == 3
    assert shown == ["[ 2/28] raw", "[ 3/28] split, after 5 min"]
    assert "note: dvc.lock could not be read" in capsys.readouterr().err and not (FOLDER / "dvc.lock").exists()


def test_two_files_of_one_name_are_refused(runs):
    write_calls()
    with pytest.raises(InputError, match="test/calls.csv: has the name of calls.csv; give one of them another"):
        compaug("audit", "calls.csv", "--test-path", "test/calls.csv")


def test_outside_of_a_project_inspect_says_what_is_in_a_file_and_writes_nothing():
    write_calls()
    assert "rows: 300, with 8 labels" in compaug("inspect", "calls.csv").output
    with pytest.raises(InputError, match="no params.yaml here; `compaug audit calls.csv`, or `compaug init .`"):
        compaug("inspect", "calls.csv", "--write")


@pytest.mark.slow
@pytest.mark.timeout(1800)  # 28 stages, each a process
@pytest.mark.skipif(shutil.which("dvc") is None, reason="dvc is not installed here")
def test_a_whole_audit_and_what_dvc_does_in_its_folder_afterwards():
    write_calls()
    auditing.prepare(Path("calls.csv"), FOLDER, "", "tiny", {})
    toy = {"epochs": 2, "hidden": 32, "layers": 1, "heads": 2, "vocab": 400}
    small = {f"calls:scales.tiny.backbones.{role}": toy for role in ("encoder", "decoder", "seq2seq")}
    small |= {"calls:sizes": {"requested": 40, "k": 10}, "label_generator": {"epochs": 40, "lr": 0.01}}
    small |= {f"calls:scales.tiny.{kind}.shared": {"epochs": 2} for kind in ("generators", "classifiers")}
    written(FOLDER, small)
    shown = shell(Path("."), sys.executable, "-m", "compaug", "audit", "calls.csv")
    assert "[28/28] report" in shown and "no synthetic texts" in shown.partition("[28/28]")[2]
    again = shell(Path("."), sys.executable, "-m", "compaug", "audit", "calls.csv")
    assert "no synthetic texts" in again and "/28]" not in again
    shell(FOLDER, "git", "add", "-A")
    shell(FOLDER, "git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "first run")
    ran = re.findall("Running stage '(.*)'", shell(FOLDER, "dvc", "exp", "run", "-S", "evaluation.threshold=0.3"))
    assert ran == ["evaluate", "report"]
    assert "acc_unseen.augmented" in shell(FOLDER, "dvc", "metrics", "diff", "--all")
    assert read_json(FOLDER / "reports/metrics.json")


# ---------------------------------------------------------------- the package


def test_there_is_one_version():
    assert compaug("--version").output == f"compaug {__version__}\n"
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__
    assert 'version = { attr = "compaug.__version__" }' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    number, date = re.search(r"(?m)^## (.*), (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")).groups()
    assert __version__ == (f"{number}.dev0" if date == "unreleased" else number)
