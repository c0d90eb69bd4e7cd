"""Compute the fingerprints of the heavy stages; write those that changed, or say which did.

python -m stages.fingerprint [train_generator-ld_vae ...] [--check]

A fingerprint is what a stage's own script computes on a toy corpus (compaug/fingerprints): graphs depend on it in place of source files. A
file whose contents are the same within the tolerance keeps its bytes, so that its stages stay up to date. With --check nothing is
written; one line for each that changed, exit 1.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from compaug import fingerprints
from compaug.fingerprints import runs
from compaug.params import Loader
from compaug.records import InputError, write_json
from stages import run

OUTSIDE = ("ACCELERATE_", "HF_", "OPENAI_")  # settings of the caller that could change a number


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    known = runs.names()
    if unknown := sorted(set(args.names) - set(known)):
        raise InputError(f"there is no fingerprint {unknown[0]!r}; choose from {', '.join(known)}")
    folder, changed = args.out.absolute(), []
    for name, now in computed(args.names or known, args.params):
        path = fingerprints.path_of(name, folder)
        what = list(fingerprints.differences(fingerprints.read(path), now)) if path.exists() else ["it is new"]
        if what:
            changed.append(name)
            more = f" (and {len(what) - 1} more)" if len(what) > 1 else ""
            renew = f"; renew it: python -m stages.fingerprint {name} && dvc repro" if args.check else ""
            print(f"{name}: {what[0]}{more}{renew}", flush=True)
            if not args.check:
                fingerprints.write(path, now)
    if not args.names:
        for path in sorted(set(folder.glob("*.json")) - {fingerprints.path_of(name, folder) for name in known}):
            changed.append(path.stem)
            print(f"{path.stem}: there is no such stage any more{'' if args.check else '; removed'}")
            if not args.check:
                path.unlink()
    if not changed:
        print(f"{len(args.names or known)} fingerprints, none changed")
    elif args.check:
        sys.exit(1)


def computed(names: Sequence[str], params: Path) -> Iterator[tuple[str, fingerprints.Fingerprint]]:
    """Each fingerprint; a variant that its stage refuses is an error that names it."""
    with workplace(params) as toys:
        for name in names:
            found = {}
            for variant, steps in runs.variants(name, toys).items():
                try:
                    for step in steps:
                        run_step(step)
                except InputError as error:
                    raise InputError(f"{name}, {variant}: {error}") from error
                found[variant] = fingerprints.summary(Path("out"))
                shutil.rmtree("out")
            yield name, found


@contextlib.contextmanager
def workplace(params: Path) -> Iterator[runs.Toys]:
    """A temporary folder with the toys as the current one; nothing of the caller's environment, no GPU, no network."""
    for name in list(os.environ):
        if name.startswith(OUTSIDE):
            del os.environ[name]
    os.environ |= {"CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    from compaug.fingerprints import toys  # torch is slow to import

    with params.open(encoding="utf-8") as stream:
        tree, further = toys.parameters(yaml.load(stream, Loader=Loader))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), toys.endpoint():
        write_json("params.yaml", tree)
        toys.write(Path("toys"))
        yield runs.Toys(tree, further)


def run_step(step: runs.Step) -> None:
    """Run a stage's script in this process, from the same state of all random numbers."""
    import numpy as np
    import torch

    if Path(step.out).exists():
        return
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    importlib.import_module(f"stages.{step.stage}").main([*step.argv, "--out", step.out])


def _parser():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--params", type=Path, default=Path("params.yaml"), help="parameter file (default: params.yaml)")
    made.add_argument("names", nargs="*", help="<stage>-<method>; all of them when none is named")
    made.add_argument("--check", action="store_true", help="write nothing; exit 1 when one changed")
    made.add_argument(
        "--out", type=Path, default=Path("fingerprints"), help="folder of the files (default: fingerprints)"
    )
    return made


if __name__ == "__main__":
    run(main)
