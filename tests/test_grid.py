"""`make grid` on a copy of the graph whose stages do nothing but write files: experiments are planned for a run and put
away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from graph import ROOT
from tools import grid
from tools import plan as plan_stage

from compaug.engine import built, planning
from compaug.experiments import cells

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("dvc") is None, reason="dvc is not installed here")]

STEP = """
import sys
from pathlib import Path
with open("notes", "a") as notes:
    notes.write(sys.argv[1] + "\\n")
for name in sys.argv[2:]:
    path = Path(name)
    files = [path] if path.suffix else [path / file for file in FILES]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(sys.argv[1])
"""
FILES = (
    *("labels.json", "no_texts.jsonl", "support.jsonl", "test_inputs.jsonl", "train.jsonl", "classifiers-bert.json"),
    "label_generator.json",
)
EXPERIMENTS = """
mine:
  title: Mine
  axes: {benchmark: diagnostic, seed: 1}
  cells:
  - generator: none
"""
LAST = "experiments/classifier/dvc.yaml:train_classifier@diagnostic-none-bert-1"


def emptied(stage: dict) -> dict:
    """A stage of the repository that reads and writes the same files, and computes nothing."""
    do = stage["do"]
    outs = [out if isinstance(out, str) else next(iter(out)) for out in do["outs"]]
    deps = [dep for dep in do.get("deps", ()) if dep.startswith(("data/", "models/", "${")) and dep != "data/own"]
    return {
        "foreach": stage["foreach"],
        "do": {
            "wdir": do["wdir"],
            "cmd": f"python step.py ${{key}} {' '.join(outs)}",
            "deps": ["step.py", *deps],
            "outs": do["outs"],
        },
    }


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "tree"
    shutil.copytree(ROOT / "configs", folder / "configs")
    shutil.copy(ROOT / "params.yaml", folder)
    (folder / cells.FILE).write_text(EXPERIMENTS)
    (folder / "step.py").write_text(STEP.replace("FILES", repr(FILES)))
    (folder / ".gitignore").write_text("/data/\n/models/\n/notes\n.grid/\n")
    for path in (ROOT / planning.EXPERIMENTS).glob("*/dvc.yaml"):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if path.parent.name not in planning.OTHERS:
            stages = {kind: emptied(stage) for kind, stage in content["stages"].items()}
            (folder / planning.EXPERIMENTS / path.parent.name).mkdir(parents=True)
            text = yaml.safe_dump({"vars": content["vars"], "stages": stages})
            (folder / planning.EXPERIMENTS / path.parent.name / "dvc.yaml").write_text(text)
    monkeypatch.chdir(folder)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "t")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "t@example.org")
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    planning.put_away()
    run("git", "init", "-q")
    run("dvc", "init", "-q")
    commit()
    return folder


def run(*command: str) -> str:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def commit() -> None:
    run("git", "add", "-A")
    run("git", "commit", "-qm", "x", "--allow-empty")


def names_run() -> list[str]:
    return Path("notes").read_text().split() if Path("notes").exists() else []


def test_a_grid_plans_an_experiment_builds_it_and_puts_it_away(repository, capsys):
    grid.main(["mine", "--workers", "2"])
    times = len(names_run())
    assert (
        "diagnostic-none-bert-1" in names_run() and times == len(set(names_run())) + names_run().count("diagnostic") - 1
    )
    assert run("git", "status", "--short") == "?? experiments/built.jsonl.gz\n?? reports/\n"  # nothing is planned
    assert LAST in built.read(planning.EXPERIMENTS)
    commit()

    capsys.readouterr()
    grid.main(["mine"])
    assert "everything is up to date" in capsys.readouterr().out and len(names_run()) == times
    run("dvc", "gc", "--workspace", "--force")  # DVC knows of no experiment now
    grid.main(["mine"])
    assert "everything is up to date" in capsys.readouterr().out
    assert run("git", "status", "--short") == ""
    assert [*Path(".dvc/cache/files").rglob("*")]  # the cache has them again
    run("dvc", "gc", "--workspace", "--force")
    Path("step.py").write_text(Path("step.py").read_text() + "# another\n")
    grid.main(["mine"])
    assert len(names_run()) == 2 * times  # what changed is not taken for what it was


def test_a_grid_that_ends_leaves_the_plan_of_another_one_that_runs(repository):
    def n_planned() -> int:
        return len(planning.addresses(planning.planned()))

    cells.FILE.write_text(EXPERIMENTS + EXPERIMENTS.replace("mine:", "other:").replace("seed: 1", "seed: 2"))
    first, second = planning.for_now(["mine"]), planning.for_now(["other"])
    first.__enter__()
    alone = n_planned()
    second.__enter__()
    both = n_planned()
    first.__exit__(None, None, None)
    assert alone and n_planned() == both
    second.__exit__(None, None, None)
    assert n_planned() == 0

    planning.bring(["mine"])  # by hand
    with planning.for_now(["other"]):
        assert n_planned() == both
    assert n_planned() == both


def test_in_a_clone_what_has_results_is_not_built_again(repository, tmp_path, monkeypatch, capsys):
    grid.main(["mine"])
    commit()
    run("git", "clone", "-q", ".", str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    shutil.copytree(repository / "reports", "reports", dirs_exist_ok=True)
    capsys.readouterr()
    grid.main(["mine", "--allow-missing"])
    assert "everything is up to date" in capsys.readouterr().out and names_run() == []
    file = cells.FILE
    file.write_text(file.read_text().replace("seed: 1", "seed: [1, 2]"))
    grid.main(["mine", "--allow-missing"])  # a new seed, and what it needs of the others
    assert "diagnostic-none-bert-2" in names_run() and "diagnostic-none-bert-1" not in names_run()


def test_a_stage_is_a_target_and_so_is_what_is_planned(repository, capsys):
    with pytest.raises(
        Exception, match="experiments/corpus/dvc.yaml: nothing of it is planned; `python -m tools.plan EXPERIMENT`"
    ):
        grid.main(["experiments/corpus/dvc.yaml"])
    grid.main([LAST, "--workers", "2"])
    assert "diagnostic-none-bert-1" in names_run() and planning.addresses(planning.planned()) == []
    plan_stage.main(["mine"])
    times = len(names_run())
    capsys.readouterr()
    grid.main(["experiments/corpus/dvc.yaml"])
    printed = capsys.readouterr()
    # No classifier reads it.
    assert "gold@diagnostic: done" in printed.out and "still planned, as it was" in printed.err
    assert len(names_run()) == times + 1
    assert LAST in planning.addresses(planning.planned())
    run(sys.executable, "-m", "tools.plan")
    assert planning.addresses(planning.planned()) == [] and run("git", "status", "--short").count("\n") == 2


def test_workers_in_clones_get_the_plan_of_the_head(repository):
    commit()
    run(sys.executable, "-m", "tools.grid", "mine", "--clones", "--workers", "1")
    assert LAST in built.read(planning.EXPERIMENTS) and planning.addresses(planning.planned()) == []
