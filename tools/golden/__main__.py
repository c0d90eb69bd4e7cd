"""Compare what the heavy stages compute with the golden files; write what is new or has another version.

python -m tools.golden [train_generator-ld_vae ...] [--check [--first]]

What a stage's own script computes on a toy corpus (tools/golden/toys.py) is kept in tests/golden. Where it is another
one, the stage's version in configs/versions.yaml is to be raised first, by hand: with it all that the stage has made
goes out of date. A variant or a method that is new raises none. One line for each that differs; with --check nothing is
written; exit 1 when something is left to do.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from compaug.core.files import InputError
from compaug.stages import run
from tools.golden import fingerprints, runs, workplace


def main(argv: list[str] | None = None) -> None:
    args = _parser().parse_args(argv)
    if args.first and not args.check:
        raise InputError("--first: a golden file has all variants; give --check too")
    names = runs.names()
    if unknown := sorted(set(args.names) - set(names)):
        raise InputError(f"there is no fingerprint {unknown[0]!r}; choose from {', '.join(names)}")
    file, folder = (args.params.parent / fingerprints.VERSIONS).absolute(), args.out.absolute()
    versions, left, computed = fingerprints.read_versions(file), [], 0
    for name, now in workplace.computed(args.names or names, args.params, args.first):
        if now is None:
            print(f"{name}: not computed, it needs a package that is not installed; `make install-all`")
            continue
        computed += 1
        path, version = folder / f"{name}.json", versions.get(name)
        before, golden = fingerprints.read(path) if path.exists() else (None, {})
        shared = [variant for variant in now if variant in golden]
        what = list(fingerprints.differences({v: golden[v] for v in shared}, {v: now[v] for v in shared}))
        if what and before == version:
            more = f" and {len(what) - 1} more" if len(what) > 1 else ""
            remedy = f"raise {name} in {fingerprints.VERSIONS}, then `make golden`"
            left.append(f"{name} computes something else ({what[0]}{more}): {remedy}")
        elif what or before != version or (list(golden) != list(now) and not args.first):
            versions[name] = version or 1
            if args.check:
                left.append(f"{name} is new, or has a new variant or version: `make golden` writes it")
            else:
                fingerprints.write(path, versions[name], now if what else now | {v: golden[v] for v in shared})
                print(f"{name}: written", flush=True)
    if not args.check and versions != fingerprints.read_versions(file):
        fingerprints.write_versions(file, {name: versions[name] for name in names if name in versions})
    for name in sorted({path.stem for path in folder.glob("*.json")} | set(versions)) if not args.names else ():
        if name not in names:
            left.append(f"{name}: there is no such stage any more; delete it in {args.out} and {fingerprints.VERSIONS}")
    print("\n".join(left or [f"{computed} fingerprints are as the golden files say"]))
    if left:
        sys.exit(1)


def _parser():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--params", type=Path, default=Path("params.yaml"), help="parameter file (default: params.yaml)"
    )
    options.add_argument("names", nargs="*", help="<stage>-<method>; all of them when none is named")
    options.add_argument("--first", action="store_true", help="with --check: the first variant of each, its defaults")
    options.add_argument("--check", action="store_true", help="write nothing; exit 1 when something is left to do")
    options.add_argument(
        "--out", type=Path, default=Path("tests/golden"), help="folder of the files (default: tests/golden)"
    )
    return options


if __name__ == "__main__":
    run(main)
