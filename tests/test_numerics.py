"""The same numbers on every CPU: what is fixed before numpy and torch are loaded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from graph import ROOT

from compaug.core import numerics
from compaug.training import loop

HOSTILE = {
    "ATEN_CPU_CAPABILITY": "default",
    "OMP_NUM_THREADS": "4",
    "MKL_NUM_THREADS": "4",
    "OPENBLAS_NUM_THREADS": "4",
    "OPENBLAS_CORETYPE": "Prescott",
    "MKL_CBWR": "SSE4_2",
    "DNNL_MAX_CPU_ISA": "SSE41",
    "NPY_DISABLE_CPU_FEATURES": "",
    "NPY_ENABLE_CPU_FEATURES": "X86_V4",
    "MKL_DYNAMIC": "TRUE",
}
SEEN = """
import json, os
import compaug, numpy, torch
from numpy._core._multiarray_umath import __cpu_features__ as features
from threadpoolctl import threadpool_info
print(json.dumps({
    "capability": torch.backends.cpu.get_cpu_capability(),
    "threads": [torch.get_num_threads(), *(info["num_threads"] for info in threadpool_info())],
    "blas": [info["architecture"] for info in threadpool_info() if info.get("architecture")],
    "wide": features["X86_V4"], "cbwr": os.environ["MKL_CBWR"],
}))
"""


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMP", "MKL", "COMPAUG_MKL"))}
    whole = clean | {"PYTHONPATH": str(ROOT / "src")} | environment
    return subprocess.run(
        [sys.executable, "-c", code], env=whole, cwd=ROOT, capture_output=True, text=True, check=False
    )


x86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the instruction sets are those of x86-64")


# ---------------------------------------------------------------- the environment


@x86
@pytest.mark.parametrize("outside", [{}, HOSTILE], ids=["plain", "hostile"])
def test_instruction_set_and_threads_are_fixed_whatever_the_caller_says(outside):
    seen = json.loads(python(SEEN, **outside).stdout)
    assert seen["capability"] == "AVX2"
    assert set(seen["threads"]) == {1}
    assert set(seen["blas"]) == {"Haswell"}
    assert not seen["wide"]
    assert seen["cbwr"] == "AVX2"


@x86
def test_one_variable_makes_the_makers_of_cpus_equal():
    assert json.loads(python(SEEN, COMPAUG_MKL="compatible").stdout)["cbwr"] == "COMPATIBLE"


@x86
@pytest.mark.parametrize(
    "name, choices", [("COMPAUG_MKL", "AVX2 or COMPATIBLE"), ("COMPAUG_CPU", "PORTABLE or NATIVE")]
)
def test_a_wrong_choice_is_one_line(name, choices):
    done = python("import compaug", **{name: "fast"})
    assert done.returncode == 2
    assert done.stderr == f"error: {name}=FAST: it can be {choices}; unset it\n"


# ---------------------------------------------------------------- as fast as this CPU can


@x86
def test_native_leaves_the_instruction_set_alone_and_keeps_one_thread():
    fixed = numerics.instructions()
    seen = python(
        "import json, os, compaug, torch; from compaug.core import numerics;"
        "print(json.dumps([dict(os.environ), torch.get_num_threads(), numerics.is_fixed()]))",
        **HOSTILE | {"COMPAUG_CPU": "native"},
    )
    environment, threads, is_fixed = json.loads(seen.stdout)
    assert not set(environment) & {*fixed, *numerics.UNSET}
    assert threads == 1 and is_fixed


def test_bfloat16_is_for_native_cpus_that_have_it(monkeypatch):
    cpu = torch.device("cpu")
    for cpu_kind, has, expected in (("portable", True, False), ("native", False, False), ("native", True, True)):
        monkeypatch.setenv("COMPAUG_CPU", cpu_kind)
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        assert loop.reduced(cpu) is expected


@x86
@pytest.mark.parametrize(("first", "noted"), [("numpy", True), ("json", False)])
def test_numpy_before_compaug_is_noted(first, noted):
    clean = dict.fromkeys(("ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE"), "")
    done = python(f"import {first}, compaug", **clean)
    assert ("numpy was loaded before compaug" in done.stderr) is noted


@x86
def test_a_process_that_compaug_started_may_load_numpy_first():
    code = "import compaug, subprocess, sys; subprocess.run([sys.executable, '-c', 'import numpy, compaug'])"
    assert python(code).stderr == ""


@pytest.mark.slow
def test_a_small_training_has_the_same_bytes_with_one_and_four_threads_and_on_one_core(tmp_path):
    ways = {threads: {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads} for threads in ("1", "4")}
    traces = {}
    for name, outside in ways.items():
        traces[name] = traced(tmp_path / name, **outside)
    if shutil.which("taskset"):
        core = str(min(os.sched_getaffinity(0)))
        traces["one core"] = traced(tmp_path / "core", "taskset", "-c", core, **HOSTILE)
    assert len(set(traces.values())) == 1
    assert b"aten::_fused_adamw_" in traces["1"]


def traced(out, *command: str, **outside: str) -> bytes:
    """What a training step at the default cell's sizes computes."""
    argv = [*command, sys.executable, "-m", "tests.traces", str(out)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | outside
    subprocess.run(argv, env=environment, cwd=ROOT, check=True, capture_output=True)
    return out.read_bytes()
