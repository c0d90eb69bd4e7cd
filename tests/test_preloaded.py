"""A stage that a process with torch loaded runs for it is the stage that runs itself."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from compaug.core import preloaded

# A stage that tells what it sees, or waits to be told to end.
STAGE = """
import os, sys, time
from pathlib import Path
from compaug.core.files import InputError
from compaug.stages import run

def main():
    word = sys.argv[1]
    print(word, os.getcwd(), os.environ["COLOUR"], os.environ.get("COMPAUG_PRELOADED"), __name__, sys.argv[0])
    print("torch" in sys.modules, file=sys.stderr)
    if word == "fails":
        raise InputError("corpus.csv: is empty")
    if word == "dies":
        os.kill(os.getpid(), 9)
    if word == "works":
        while time.process_time() < 3:
            pass
    if word == "waits":
        Path("pid").write_text(str(os.getpid()))
        try:
            time.sleep(60)
        finally:
            Path("tidied").write_text("")

if __name__ == "__main__":
    run(main, loads_torch=True)
"""
PATIENCE = 60


@pytest.fixture(scope="module")
def address():
    with preloaded.started() as variables:
        if not variables:
            pytest.skip("on Linux alone, and without a GPU")
        yield dict(variables)


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "toy_stage.py").write_text(STAGE)
    return tmp_path


def start(folder: Path, word: str, address: dict[str, str]) -> subprocess.Popen:
    environment = os.environ | {"COLOUR": "blue"} | address
    return subprocess.Popen(
        [sys.executable, "-m", "toy_stage", word],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def seen(folder: Path, word: str, address: dict[str, str]) -> tuple[int, str, list[str]]:
    process = start(folder, word, address)
    out, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, out, errors.splitlines()


@pytest.mark.parametrize(("word", "status"), [("ends", 0), ("fails", 2), ("dies", -signal.SIGKILL)])
def test_it_sees_prints_and_exits_as_it_would_by_itself(folder, address, word, status):
    alone, forked = seen(folder, word, {}), seen(folder, word, address)
    assert alone[0] == forked[0] == status
    assert alone[1] == forked[1]
    assert (alone[2][0], forked[2][0]) == ("False", "True")  # whether torch was there before
    assert alone[2][1:] == forked[2][1:]


def wait_for(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def fork_of(folder: Path) -> psutil.Process:
    """The process in which that folder's stage runs."""
    wait_for(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
    return psutil.Process(int((folder / "pid").read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_reaches_the_fork_which_tidies_up(folder, address, number):
    process = start(folder, "waits", address)
    fork = fork_of(folder)
    assert fork.pid != process.pid
    process.send_signal(number)
    assert "interrupted" in process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 130
    assert (folder / "tidied").exists()
    wait_for(lambda: not fork.is_running())


def test_a_killed_stage_takes_its_fork_with_it(folder, address):
    process = start(folder, "waits", address)
    fork = fork_of(folder)
    process.kill()
    process.communicate(timeout=PATIENCE)
    wait_for(lambda: not fork.is_running())


def test_a_stage_whose_fork_is_lost_is_one_line(folder, address):
    process = start(folder, "waits", address)
    fork = fork_of(folder)
    fork.parent().kill()  # it keeps the fork, and has its status
    process.wait(PATIENCE)
    fork.kill()
    errors = process.communicate(timeout=PATIENCE)[1].splitlines()
    message = "error: the process that ran this stage is gone; start again, and it goes on"
    assert (process.returncode, errors[1:]) == (1, [message])


def test_stages_at_the_same_time_keep_apart(folder, address):
    first = start(folder, "waits", address)
    fork = fork_of(folder)
    assert seen(folder, "fails", address)[0] == 2
    assert fork.is_running()
    first.terminate()
    first.communicate(timeout=PATIENCE)


def test_a_stage_whose_process_is_gone_runs_by_itself(folder):
    with preloaded.started() as variables:
        pass
    assert seen(folder, "ends", dict(variables))[0] == 0


def test_there_is_none_where_stages_run_elsewhere():
    with preloaded.started(False) as variables:
        assert variables == ()


def seconds(folder: Path, word: str) -> float:
    """Of the CPU, by the process's own account, with one stage."""
    before = os.times()
    with preloaded.started() as variables:
        if not variables:
            pytest.skip("on Linux alone, and without a GPU")
        assert seen(folder, word, dict(variables))[0] == 0
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


def test_what_a_stage_takes_counts_as_its_engine_s(folder):
    assert seconds(folder, "works") > seconds(folder, "ends") + 1
