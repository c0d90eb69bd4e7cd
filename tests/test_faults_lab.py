"""The lab for faults: a few faults and kills of every kind of stage at every run of the tests, hundreds by `make
faults`."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from graph import ROOT
from tests.faults import lab
from tests.faults.lab import Ended
from tools.golden.runs import Step
from tqdm import tqdm


def test_a_fault_is_judged_by_its_status_by_what_was_said_and_by_what_was_left():
    whole = {"run.json": b"1"}
    for status, message, files, kind in (
        (0, "", whole, "no difference"),
        (0, "", {"run.json": b"2"}, "read all the same"),
        (2, "error: a.json: empty; mend it\n", {}, "refused in one line"),
        (2, "note: resumed\nerror: a.json: empty\n", {}, "refused in one line"),
        (2, "error: a.json: empty\n", whole, "half an output"),
        (2, "error: a.json\nand more\n", {}, "traceback"),
        (2, "", {}, "traceback"),
        (1, "Traceback (most recent call last):\n", {}, "traceback"),
        (-11, "", {}, "traceback"),
        (None, "", {}, "hang"),
    ):
        assert lab.kind_of(Ended(status, message, 1.0), files, whole) == kind


@pytest.mark.parametrize("name", lab.MUTATIONS)
def test_every_fault_changes_the_file_or_does_not_apply(tmp_path, name):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"a": [1, {"b": 2.5}], "c": "x"}, indent=2))
    contents = {lab.mutated(path, name, random.Random(seed)) for seed in range(20)}
    assert path.read_bytes() not in contents
    path.write_bytes(b"")
    if name != "gone":
        with pytest.raises(ValueError):
            lab.mutated(path, name, random.Random(0))


def test_a_step_killed_at_its_progress_bar_does_not_stop_the_next(tmp_path, monkeypatch):
    def bar(argv):
        with tqdm.get_lock():
            if argv[0] == "holds it":
                time.sleep(60)

    monkeypatch.setitem(sys.modules, "compaug.stages.bar", SimpleNamespace(main=bar))
    monkeypatch.setattr(lab, "PATIENCE", 20.0)
    tqdm([], disable=True)  # as any stage before it: the forks have its lock from here
    killed, next_one = Step("bar", "out/it", ("holds it",)), Step("bar", "out/it", ("and lets it go",))
    assert lab.run_fork(killed, tmp_path / "out", tmp_path / "log", kill_after=3.0).status == -signal.SIGKILL
    ended = lab.run_fork(next_one, tmp_path / "out", tmp_path / "log")
    assert ended.status == 0, ended.log


@pytest.mark.slow
def test_no_fault_of_a_sample_makes_a_traceback_and_no_kill_loses_anything(tmp_path):
    command = [sys.executable, "-m", "tests.faults", "--faults", "2", "--kills", "1", "--seed", "5"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "page.md")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "72 faults, 0 of them not refused" in done.stdout and "47 kills, 0 that left something" in done.stdout
    assert "| all " in page and all(f"| {stage} " in page for stage in ("train_generator", "select", "folds"))
