"""Compute the fingerprints of the heavy stages; write those that changed, or say which did.

python -m stages.fingerprint [train_generator-ld_vae ...] [--check]

A fingerprint is what a stage's own script computes on a toy corpus (compaug/fingerprints): graphs depend on it in place of source files. A
file whose contents are the same within the tolerance keeps its bytes, so that its stages stay up to date. With --check nothing is
written; one line for each that changed, exit 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from compaug import fingerprints
from compaug.fingerprints import runs, workplace
from compaug.records import InputError
from stages import run


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    known = runs.names()
    if unknown := sorted(set(args.names) - set(known)):
        raise InputError(f"there is no fingerprint {unknown[0]!r}; choose from {', '.join(known)}")
    folder, changed = args.out.absolute(), []
    if foreign := next((path for path in sorted(folder.glob("*.json")) if not fingerprints.is_written(path)), None):
        raise InputError(f"{foreign}: not a fingerprint, and no stage wrote it; give another --out, or move it away")
    for name, now in workplace.computed(args.names or known, args.params):
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
