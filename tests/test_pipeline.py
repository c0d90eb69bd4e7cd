"""The whole graph under DVC, on somebody's own CSV file and at toy budgets: what a user of `reader: tabular` sees."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from graph import ROOT
from parameters import written

from compaug.core.files import read_json
from compaug.data.readers import diagnostic

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("dvc") is None, reason="dvc is not installed here")]


REPORTS = ("reports/dvc.yaml", "reports/paper_values.yaml")  # what the graph reads of that folder


def shell(folder: Path, *command: str) -> str:
    """Output of a command in `folder`; fails with that output."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def stages_run(output: str) -> list[str]:
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of what the graph reads of the working tree with a 300-line CSV, one edited block and toy budgets, after
    `dvc repro`."""
    folder = tmp_path_factory.mktemp("project")
    tracked = shell(ROOT, "git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in tracked:
        needed = name in REPORTS or not name.startswith(("docs/", "reports/", "tests/"))
        if needed and (ROOT / name).is_file() and not name.endswith("dvc.lock"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    examples, labels = diagnostic.read({"size": 300}, seed=3)
    with (folder / "data/own/texts.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "labels"])
        writer.writerows([e.text, ";".join(labels.names[label] for label in e.labels)] for e in examples)
    small = {"epochs": 2, "hidden": 32, "layers": 1, "heads": 2, "vocab": 400}
    changes = {f"own:scales.tiny.backbones.{role}": small for role in ("encoder", "decoder")}
    changes |= {
        "own:sizes": {"requested": 40, "k": 10},
        "own:scales.tiny.generators.shared": {"epochs": 2, "mid_dim": 16},
    }
    changes |= {"own:scales.tiny.classifiers.shared": {"epochs": 2}, "label_generator": {"epochs": 40, "lr": 0.01}}
    written(folder, {"run": {"benchmark": "own", "generator": "ls_pt"}} | changes)
    shell(folder, "git", "init", "-q")
    shell(folder, "git", "add", "-A")
    shell(folder, "git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "start")
    shell(folder, "dvc", "repro")
    return folder


def test_an_own_csv_file_goes_through_to_a_report(project):
    measures = read_json(project / "reports/measures.json")
    assert measures["selection"]["n_kept"] == 10
    assert {"augmented", "oversample", "baseline", "iid"} <= set(measures)
    assert "augmented" in (project / "reports/summary.md").read_text()


def test_a_second_run_does_nothing(project):
    assert stages_run(shell(project, "dvc", "repro")) == []


def test_a_repair_learns_from_every_row_and_from_texts_for_rare_combinations(project):
    """All that the audit trained is used as it is; half of the texts that were written are kept."""
    assert {name.rpartition(":")[2] for name in stages_run(shell(project, "dvc", "repro", "repair/dvc.yaml"))} == {
        "requests", "synthesize", "select", "train_classifier",
    }  # fmt: skip
    rows = len((project / "data/raw/run/examples.jsonl").read_text().splitlines())
    written, kept = (
        len((project / f"data/repair/{name}.jsonl").read_text().splitlines()) for name in ("synthetic", "selected")
    )
    learned = read_json(project / "models/repair/history.json")["n_train"]
    assert 0 < kept == math.ceil(written / 2) and learned == rows + kept


def test_a_changed_k_runs_selection_and_what_follows_and_metrics_diff_names_the_rows(project):
    shell(project, "git", "add", "-A")
    shell(project, "git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "run")
    before = (project / "params.yaml").read_text()
    output = shell(project, "dvc", "exp", "run", "-S", "sizes.k=5")
    (project / "params.yaml").write_text(before)
    arms = ("augmented", "oversample")
    again = {f"{kind}@{arm}" for kind in ("select", "train_classifier") for arm in arms}
    assert set(stages_run(output)) == again | {"evaluate", "quality", "report", "samples"}
    assert read_json(project / "reports/measures.json")["selection"]["n_kept"] == 5
    assert "acc_unseen.augmented" in shell(project, "dvc", "metrics", "diff", "--all")


def test_an_edit_that_computes_the_same_trains_nothing_again(project):
    """Heavy stages depend on versions; test_golden.py shows when one is to be raised."""

    def stale() -> set[str]:
        return set(re.findall(r"^([\w@]+):$", shell(project, "dvc", "status", "dvc.yaml"), re.MULTILINE))

    before = stale()
    for name in ("classifiers/bert.py", "training/loop.py", "core/records.py"):
        file = project / "src/compaug" / name
        file.write_text(file.read_text() + "# a comment\n")
    # those of seconds, for records.py
    cheap = {
        "check",
        "raw",
        "split",
        "audit",
        "gold",
        "matched",
        "settings",
        "evaluate",
        "report",
        "samples",
    }
    assert "raw" in stale() - before <= cheap


def run_notebook(folder: Path) -> subprocess.CompletedProcess:
    """All code cells of the walkthrough in one namespace, as a kernel would."""
    cells = json.loads((ROOT / "notebooks/walkthrough.ipynb").read_text(encoding="utf-8"))["cells"]
    source = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    environment = os.environ | {"MPLBACKEND": "Agg"}
    return subprocess.run(
        [sys.executable, "-c", source],
        cwd=folder / "notebooks",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_notebook_runs_on_a_users_results_and_changes_nothing(project):
    before = shell(project, "git", "status", "--short")
    done = run_notebook(project)
    assert done.returncode == 0, done.stderr
    measures = read_json(project / "reports/measures.json")
    assert f"{measures['augmented']['acc']:8.2f}" in done.stdout and "as such in training: False" in done.stdout
    assert "as such in training: True" not in done.stdout and done.stdout.count("asked: ") == 8
    assert shell(project, "git", "status", "--short") == before


def test_the_notebook_without_results_says_what_to_run(tmp_path):
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "params.yaml", tmp_path)
    done = run_notebook(tmp_path)
    assert done.returncode == 1 and "does not exist yet: run `make repro` first" in done.stderr


def test_plots_are_drawn_from_committed_files(project):
    assert "WARNING" not in shell(project, "dvc", "plots", "show", "-o", "drawn")
    assert (project / "drawn/index.html").read_text().count("vegaEmbed('#") == 3
    assert (project / "reports/plots/training.csv").read_text().startswith("epoch,")
