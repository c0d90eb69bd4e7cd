"""The committed digits on an Intel CPU: stages/as_amd.py and the library that answers for the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from graph import ROOT

from compaug.records import InputError
from stages import as_amd

AMD = as_amd.facts().get("vendor_id") == as_amd.AMD
can_pretend = pytest.mark.skipif(not AMD and bool(as_amd.missing()), reason=as_amd.missing() or "")
PRODUCTS = """
import compaug, hashlib, json, torch
def product(n, k, m):
    one, other = (torch.arange(n * k) * 0.7366).sin().view(n, k), (torch.arange(k * m) * 0.3319).cos().view(k, m)
    return hashlib.sha256((one @ other).numpy().tobytes()).hexdigest()[:16]
print(json.dumps([product(560, 336, 128), product(32, 128, 128), product(300, 300, 300), product(16, 128, 1500)]))
"""
# of the CPUs that made the results
COMMITTED = ["24bad6b4593e2dfc", "a02a6eb47b747906", "85f91b3e5a7c19f7", "61dc21344fd4a34c"]


def pretended(*command: str) -> subprocess.CompletedProcess:
    argv = [sys.executable, "-m", "stages.as_amd", *command]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@can_pretend
def test_products_of_matrices_have_the_committed_digits():
    # which wants the signal that the library needs
    done = pretended(sys.executable, "-X", "faulthandler", "-c", PRODUCTS)
    assert json.loads(done.stdout) == COMMITTED, done.stderr


@can_pretend
def test_processes_that_the_command_starts_have_them_too_and_its_exit_code_is_kept():
    nested = f"import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {PRODUCTS!r}], text=True)); sys.exit(3)"
    done = pretended(sys.executable, "-c", nested)
    assert (json.loads(done.stdout), done.returncode) == (COMMITTED, 3), done.stderr


@can_pretend
def test_an_ordinary_fault_still_ends_the_process():
    assert pretended(sys.executable, "-c", "import ctypes; ctypes.string_at(0)").returncode == -11


def test_a_machine_that_cannot_says_so_with_the_other_way(monkeypatch, tmp_path):
    cpu = tmp_path / "cpuinfo"
    monkeypatch.setattr(as_amd, "CPU", cpu)
    with pytest.raises(InputError, match="on Linux alone; COMPAUG_MKL=COMPATIBLE makes all CPUs equal"):
        as_amd.library(tmp_path)
    cpu.write_text("vendor_id\t: GenuineIntel\nflags\t\t: fpu avx2\n\nvendor_id\t: none\n")
    monkeypatch.setattr(as_amd.platform, "machine", lambda: "x86_64")
    with pytest.raises(InputError, match="no cpuid_fault in /proc/cpuinfo"):
        as_amd.library(tmp_path)
    cpu.write_text("vendor_id\t: GenuineIntel\nflags\t\t: fpu avx2 cpuid_fault\n")
    monkeypatch.setattr(as_amd, "COMPILERS", ("no-such-compiler",))
    with pytest.raises(InputError, match="no C compiler .no-such-compiler.; install"):
        as_amd.library(tmp_path)
    monkeypatch.setattr(as_amd, "COMPILERS", ("false",))
    with pytest.raises(InputError, match="false could not make .*: no message"):
        as_amd.library(tmp_path)
    assert list(tmp_path.iterdir()) == [cpu]


def test_a_command_is_wanted_and_must_be_there():
    assert pretended().returncode == 2
    done = pretended("no-such-program")
    assert (done.returncode, done.stderr) == (2, "error: there is no program 'no-such-program'\n")
