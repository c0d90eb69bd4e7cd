"""The same numbers on every CPU: what is fixed before numpy and torch are loaded, and how two CPUs are compared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from graph import ROOT
from torch.nn import functional

from compaug import portable as portable_cpu
from compaug import training
from compaug.traces import Operation, Recorder, first_difference
from stages import portable

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
@pytest.mark.parametrize("name, known", [("COMPAUG_MKL", "AVX2 or COMPATIBLE"), ("COMPAUG_CPU", "PORTABLE or NATIVE")])
def test_a_wrong_choice_is_one_line(name, known):
    done = python("import compaug", **{name: "fast"})
    assert done.returncode == 2
    assert done.stderr == f"error: {name}=FAST: it can be {known}; unset it\n"


# ---------------------------------------------------------------- as fast as this CPU can


@x86
def test_native_leaves_the_instruction_set_alone_and_keeps_one_thread():
    fixed = portable_cpu.instructions()
    seen = python(
        "import json, os, compaug, torch; from compaug import portable;"
        "print(json.dumps([dict(os.environ), torch.get_num_threads(), portable.is_fixed()]))",
        **HOSTILE | {"COMPAUG_CPU": "native"},
    )
    environment, threads, is_fixed = json.loads(seen.stdout)
    assert not set(environment) & {*fixed, *portable_cpu.UNSET}
    assert threads == 1 and is_fixed


def test_bfloat16_is_for_native_cpus_that_have_it(monkeypatch):
    cpu = torch.device("cpu")
    for asked, has, wanted in (("portable", True, False), ("native", False, False), ("native", True, True)):
        monkeypatch.setenv("COMPAUG_CPU", asked)
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        assert training.reduced(cpu) is wanted


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
    argv = [*command, sys.executable, "-m", "stages.portable", "--trace", str(out), portable.FULL_SIZE]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")} | outside
    subprocess.run(argv, env=environment, cwd=ROOT, check=True, capture_output=True)
    return out.read_bytes()


# ---------------------------------------------------------------- comparison


def operations(*made: int) -> list[Operation]:
    """A chain of operations: each reads what the one before it wrote."""
    return [
        Operation(f"aten::op{at} [2, 2]", given, now)
        for at, (given, now) in enumerate(zip((0, *made), made, strict=False))
    ]


def test_the_first_operation_that_differs_is_named():
    assert first_difference(operations(1, 2, 3), operations(1, 2, 3)) is None
    assert (
        first_difference(operations(1, 2, 3), operations(1, 9, 8)) == "differs first at operation 2, aten::op1 [2, 2]"
    )


def test_a_difference_that_torch_did_not_make_is_not_blamed_on_it():
    here, there = operations(1, 2), operations(1, 2)
    there[1] = Operation(here[1].name, 7, 7)
    assert "before operation 2, aten::op1 [2, 2], outside torch" in first_difference(here, there)


def test_another_way_and_another_end_are_differences():
    here = operations(1, 2, 3)
    other = [here[0], Operation("aten::add [2]", 1, 2)]
    assert "takes another way at operation 2: aten::op1 [2, 2] here, aten::add [2] there" in first_difference(
        here, other
    )
    assert "equal for 2 operations" in first_difference(here, here[:2])


def test_a_recorder_sees_forward_backward_and_optimizer():
    def trace(scale: float) -> list[Operation]:
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2)
        optimizer = torch.optim.AdamW(layer.parameters(), fused=True)
        with Recorder() as recorder:
            functional.mse_loss(layer(torch.ones(4, 3)) * scale, torch.zeros(4, 2)).backward()
            optimizer.step()
        return recorder.operations

    names = [operation.name.split()[0] for operation in trace(1.0)]
    assert {"aten::addmm", "aten::mse_loss_backward", "aten::_fused_adamw_"} <= set(names)
    assert first_difference(trace(1.0), trace(1.0)) is None
    assert "aten::mul [4, 2]" in first_difference(trace(1.0), trace(1.5))


def test_other_files_behind_equal_operations_are_a_difference():
    one = {"bert": {"operations": [("aten::mm", 1, 2)], "files": {"out/model": "a"}}}
    other = {"bert": {"operations": [("aten::mm", 1, 2)], "files": {"out/model": "b"}}}
    assert list(portable.compared(one, one)) == [("bert", None)]
    assert list(portable.compared(one, other)) == [("bert", "equal in torch, but out/model has other bytes")]


# ---------------------------------------------------------------- the command


def test_without_an_emulator_it_skips_with_a_reason(monkeypatch, capsys):
    monkeypatch.setattr(portable.shutil, "which", lambda name: None)
    portable.main([])
    assert capsys.readouterr().out == "skipped: there is no qemu-x86_64; install Debian's package qemu-user\n"


def test_a_difference_ends_with_exit_1(monkeypatch, capsys):
    monkeypatch.setattr(portable, "missing", lambda: None)
    made = iter([1, 2])
    monkeypatch.setattr(
        portable,
        "traced",
        lambda kinds, *_: {kinds[0]: {"operations": [("aten::mm [8, 16] x [16, 32]", 0, next(made))], "files": {}}},
    )
    with pytest.raises(SystemExit) as stopped:
        portable.main(["classifier-bert"])
    assert stopped.value.code == 1
    assert (
        "EPYC-Milan: classifier-bert: differs first at operation 1, aten::mm [8, 16] x [16, 32]"
        in capsys.readouterr().out
    )
