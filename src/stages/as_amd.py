"""Run a command with the committed digits on an Intel CPU, which has kernels of its own in MKL: as if the CPU were AMD's (docs/departures.md).

python -m stages.as_amd make repro

Linux and the CPU must be able to trap the instruction that says what the CPU is; a C compiler makes the small library that answers it
(compaug/as_amd.c), once, into .venv. AMD's kernels are about a seventh slower there. An AMD CPU runs the command as it is.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import compaug
from compaug.records import InputError, file_digest
from stages import run

SOURCE = Path(compaug.__file__).with_name("as_amd.c")
CPU = Path("/proc/cpuinfo")
COMPILERS = ("cc", "gcc", "clang")
AMD = "AuthenticAMD"


def main(argv: list[str] | None = None) -> None:
    parser = _parser()
    command = parser.parse_args(argv).command
    if not command:
        parser.error("a command is wanted, such as: make repro")
    if not shutil.which(command[0]):
        raise InputError(f"there is no program {command[0]!r}")
    preloaded = [] if facts().get("vendor_id") == AMD else [str(library())]
    before = [os.environ["LD_PRELOAD"]] if os.environ.get("LD_PRELOAD") else []
    os.execvpe(command[0], command, os.environ | {"LD_PRELOAD": ":".join(preloaded + before)})


def facts() -> dict[str, str]:
    """What Linux says of the first CPU; {} elsewhere."""
    if not CPU.exists():
        return {}
    lines = CPU.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0].splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def missing() -> str | None:
    """Why this machine cannot do it."""
    if platform.machine() != "x86_64" or not CPU.exists():
        return "the committed digits are those of x86-64, and its CPU can be told otherwise on Linux alone"
    if "cpuid_fault" not in facts().get("flags", "").split():
        return "this CPU or its virtual machine cannot trap the instruction that says what it is (no cpuid_fault in /proc/cpuinfo)"
    return None if compiler() else f"there is no C compiler ({', '.join(COMPILERS)}); install Debian's package gcc"


def compiler() -> str | None:
    return next((name for name in COMPILERS if shutil.which(name)), None)


def library(folder: Path = Path(sys.prefix)) -> Path:
    """The library, which is made where it is not there already. InputError where it cannot be."""
    if why := missing():
        raise InputError(f"{why}; COMPAUG_MKL=COMPATIBLE makes all CPUs equal, in digits of its own")
    out = folder / f"as_amd-{file_digest(SOURCE)[:16]}.so"
    if not out.exists():
        partial = out.with_suffix(f".{os.getpid()}.partial")
        made = [compiler(), "-shared", "-fPIC", "-O2", "-o", str(partial), str(SOURCE), "-ldl"]
        done = subprocess.run(made, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"{compiler()} could not make {out}: {last}")
        partial.replace(out)
    return out


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("command", nargs=argparse.REMAINDER, help="the command and its arguments")
    return made


if __name__ == "__main__":
    run(main)
