"""Light stages start at once: no stage loads torch and its like before it has checked what it was given."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
SCRIPTS = sorted(path.stem for path in (SOURCE / "compaug/stages").glob("[!_]*.py"))
SLOW = ["torch", "transformers", "accelerate", "sklearn", "statsmodels", "krippendorff", "pandas", "matplotlib"]
SLOW += ["datasets", "pyarrow", "scipy.stats", "scipy.special", "scipy.optimize"]
HELP = """
import runpy, sys
sys.argv = [{script!r}, "--help"]
try:
    runpy.run_module("compaug.stages.{script}", run_name="__main__")
except SystemExit as end:
    print("exit", end.code, *(name for name in {slow} if name in sys.modules))
"""


def test_there_are_stages_to_look_at():
    assert {"raw", "split", "audit_split", "select", "train_classifier"} <= set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_shown_without_any_library_that_is_slow_to_load(script):
    program = HELP.format(script=script, slow=SLOW)
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("usage: ") and done.stdout.splitlines()[-1] == "exit 0", done.stderr


@pytest.mark.parametrize("words", [["--help"], ["inspect", "--help"], ["predict", "--help"], ["export", "--help"]])
def test_the_command_of_own_corpora_shows_its_help_at_once(words):
    program = f"""
import runpy, sys
sys.argv = ["compaug", *{words!r}]
try:
    runpy.run_module("compaug", run_name="__main__")
except SystemExit as end:
    print("exit", end.code, *(name for name in {SLOW} if name in sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False
    )
    assert "Usage: " in done.stdout and done.stdout.splitlines()[-1] == "exit 0", done.stderr
