"""Light stages start at once: no stage loads torch and its like before it has checked what it was given."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from graph import ROOT, SCRIPTS

TOOLS = sorted(path.stem for path in (ROOT / "tools").glob("[!_]*.py") if not path.stem.startswith("bench_"))
MODULES = [*(f"compaug.stages.{script}" for script in SCRIPTS), *(f"tools.{name}" for name in TOOLS), "tools.golden"]
COMMANDS = ["", "inspect", "predict", "export"]
SLOW = ["torch", "transformers", "accelerate", "sklearn", "statsmodels", "krippendorff", "pandas", "matplotlib"]
SLOW += ["datasets", "pyarrow", "scipy.stats", "scipy.special", "scipy.optimize"]
# A fork for each, so that one interpreter starts for all of them.
SHOW_HELP = """
import contextlib, io, json, os, runpy, sys
modules, commands, slow = json.loads(sys.stdin.read())
asked = [([module], module) for module in modules] + [(["compaug", *words.split()], "compaug") for words in commands]
for argv, module in asked:
    sys.stdout.flush()
    if os.fork():
        os.wait()
        continue
    sys.argv, printed, code = [*argv, "--help"], io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_module(module, run_name="__main__")
        except SystemExit as end:
            code = end.code
    loaded = [name for name in slow if name in sys.modules]
    print(json.dumps([" ".join(argv), printed.getvalue(), code, loaded]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def helps() -> dict[str, tuple[str, object, list[str]]]:
    """{module or command: (what `--help` prints, its exit status, the slow libraries it has loaded)}."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW_HELP],
        input=json.dumps([MODULES, COMMANDS, SLOW]),
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: tuple(rest) for name, *rest in map(json.loads, done.stdout.splitlines())}


def test_there_are_stages_to_look_at():
    assert {"raw", "split", "audit_split", "select", "train_classifier"} <= set(SCRIPTS)


@pytest.mark.parametrize("module", MODULES)
def test_help_is_shown_without_any_library_that_is_slow_to_load(module, helps):
    printed, code, loaded = helps[module]
    assert printed.startswith("usage: ") and code == 0 and loaded == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_of_own_corpora_shows_its_help_at_once(command, helps):
    printed, code, loaded = helps[f"compaug {command}".strip()]
    assert "Usage: " in printed and code == 0 and loaded == []
