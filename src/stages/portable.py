"""Train every kind of model in small, here and on an emulated CPU, and compare bit for bit (docs/departures.md, "The same digits everywhere").

python -m stages.portable [--cpu EPYC-Milan --cpu Haswell] [train_generator-ld_vae ...]

The trainings are those of the fingerprints, and one step of each part of the default cell at its own size. One line for each: equal, or the
first operation of torch that differs; exit 1 when one does. The CPU is emulated by qemu-user, which takes a quarter of an hour for all.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from compaug.fingerprints import runs, workplace
from compaug.records import InputError, file_digest
from stages import run

EMULATOR = "qemu-x86_64"
CPU = "EPYC-Milan"  # AMD, no AVX-512
FULL_SIZE = "full-size"  # the kind of runs.full_size
TRAINED = ("backbones", "classifier", "label_generator", "train_generator", FULL_SIZE)


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    kinds = args.kinds or trainings()
    if unknown := sorted(set(kinds) - set(known())):
        raise InputError(f"there is no kind {unknown[0]!r}; choose from {', '.join(known())}")
    if args.trace:
        trace(kinds, args.params, args.trace)
        return
    if why := missing():
        print(f"skipped: {why}")
        return
    different = []
    with tempfile.TemporaryDirectory() as folder:
        print("this CPU", flush=True)
        here = traced(kinds, args.params, Path(folder) / "here")
        for cpu in args.cpu or [CPU]:
            print(f"{cpu}, emulated", flush=True)
            there = traced(kinds, args.params, Path(folder) / cpu, (EMULATOR, "-cpu", cpu))
            for kind, what in compared(here, there):
                equal = f"equal, {len(here[kind]['operations'])} operations"
                print(f"{cpu}: {kind}: {what or equal}", flush=True)
                different += [kind] if what else []
    if different:
        sys.exit(1)


def known() -> list[str]:
    """What can be compared: the fingerprints' computations, and a step of each part of the default cell at its own size."""
    return [*runs.names(), FULL_SIZE]


def trainings() -> list[str]:
    """Those of them that train a model: what takes last digits further."""
    idle = {f"train_generator-{name}" for name in runs.controls()}
    return [name for name in known() if name.startswith(TRAINED) and name not in idle]


def steps_of(kind: str, toys: runs.Toys) -> list[runs.Step]:
    """The first variant of a fingerprint; of a classifier without the filter, which is trained in the same way."""
    if kind == FULL_SIZE:
        return runs.full_size()
    steps = next(iter(runs.variants(kind, toys).values()))
    return [step for step in steps if step.stage != "train_filter" or kind == "select"]


def missing() -> str | None:
    """Why no CPU can be emulated here."""
    if not sys.platform.startswith("linux"):
        return f"{EMULATOR} runs programs of Linux only"
    return None if shutil.which(EMULATOR) else f"there is no {EMULATOR}; install Debian's package qemu-user"


def traced(kinds: Sequence[str], params: Path, out: Path, emulator: Sequence[str] = ()) -> dict[str, dict]:
    """What `trace` writes in a process of its own, that of an emulator if one is given."""
    command = [*emulator, sys.executable, "-m", "stages.portable", "--params", str(params), "--trace", str(out), *kinds]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
        done = subprocess.run(command, stderr=errors, check=False)
        errors.seek(0)
        said = [line for line in errors if "TCG doesn't support requested feature" not in line]
    if done.returncode:
        raise InputError(f"{' '.join(command[:4])} ...: exit {done.returncode}: {''.join(said[-3:]).strip()}")
    return {row["kind"]: row for row in map(json.loads, out.read_text(encoding="utf-8").splitlines())}


def trace(kinds: Sequence[str], params: Path, out: Path) -> None:
    """One line of JSON for each kind: its operations (compaug/traces.py) and the digests of the files that it wrote."""
    print(f"  {libraries()}", flush=True)
    from compaug.traces import Recorder

    out = out.absolute()
    with out.open("w", encoding="utf-8") as stream, workplace.prepared(params) as toys:
        for kind in kinds:
            start = time.perf_counter()
            with Recorder() as recorder:
                for step in steps_of(kind, toys):
                    workplace.run_step(step)
            files = {str(path): file_digest(path) for path in sorted(Path("out").rglob("*")) if path.is_file()}
            shutil.rmtree("out")
            rows = [(operation.name, operation.given, operation.made) for operation in recorder.operations]
            stream.write(json.dumps({"kind": kind, "operations": rows, "files": files}) + "\n")
            print(f"  {kind}: {len(rows)} operations, {time.perf_counter() - start:.0f} s", flush=True)


def libraries() -> str:
    """What the libraries take this CPU for."""
    import torch
    from numpy._core._multiarray_umath import __cpu_features__ as features
    from threadpoolctl import threadpool_info

    blas = ", ".join(info["architecture"] for info in threadpool_info() if info.get("architecture"))
    wide = "with" if features.get("AVX512F") else "without"
    return f"a CPU {wide} AVX-512; ATen {torch.backends.cpu.get_cpu_capability()}, OpenBLAS {blas}, {torch.get_num_threads()} thread"


def compared(here: dict[str, dict], there: dict[str, dict]) -> Iterator[tuple[str, str | None]]:
    """What differs in each kind, None where nothing does."""
    from compaug.traces import Operation, first_difference

    for kind, own in here.items():
        other = there[kind]
        what = first_difference(*([Operation(*row) for row in one["operations"]] for one in (own, other)))
        if what is None and own["files"] != other["files"]:
            names = own["files"].keys() | other["files"].keys()
            file = min(name for name in names if own["files"].get(name) != other["files"].get(name))
            what = f"equal in torch, but {file} has other bytes"
        yield kind, what


def _parser():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("kinds", nargs="*", help="what to compare; every training when nothing is named")
    made.add_argument("--cpu", action="append", help=f"a CPU that {EMULATOR} knows; may be repeated (default: {CPU})")
    made.add_argument("--params", type=Path, default=Path("params.yaml"), help="parameter file (default: params.yaml)")
    made.add_argument("--trace", type=Path, help="compare nothing, write what this CPU computes to this file")
    return made


if __name__ == "__main__":
    run(main)
