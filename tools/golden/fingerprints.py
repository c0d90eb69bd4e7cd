"""Fingerprints: what the code of a heavy stage computes on a tiny fixed input, and the version of each.

A heavy stage depends on its version in place of the source files. A version is raised by hand when the fingerprint is
another one, which a test sees (`tools.golden`): a docstring, a new name, a helper taken out leave it as it is; another
dropout does not; an option that is off adds nothing to it. Losses, weights (their norms), probabilities, texts and
reports are all in it: whatever the stage's own script writes. Numbers are compared with a tolerance, because CPUs
differ in the last digits; everything else must be equal.

    configs/versions.yaml                    {<stage>[-<method>]: version}
    tests/golden/<stage>[-<method>].json     {version, variants: {variant: {file: what is in it}}}

The graph depends on the versions. Of the variants the first is whole, another one has only what differs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from compaug.core.files import WRITTEN, InputError, read_json, read_yaml, write_text

DIGITS = 5
AGAIN = "delete it, and `make golden` writes it again"
RELATIVE, ABSOLUTE = 1e-3, 1e-5  # of two numbers that count as the same
# of inputs, last digits included: it says nothing that the numbers do not
HASH = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")
# The same added to all keys changes no attention: its gradient is rounding, which AdamW makes as large as any other.
UNDEFINED = ".self.key.bias"
CHAOTIC = ("points",)  # of t-SNE: where they end depends on the last digits; their number is kept
LIBRARIES = ("transformers_version", "tokenizer_version")  # not the project's code
VERSIONS = "configs/versions.yaml"  # beside params.yaml
HEAD = (
    "# What each heavy stage computes, as a number: DVC runs a stage again when its number is another one. "
    "`make test` says when to raise one.\n"
)

Fingerprint = dict[str, dict[str, object]]


# ---------------------------------------------------------------- what is in a folder


def summary(folder: Path) -> dict[str, object]:
    """What the files below `folder` hold, by their paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != WRITTEN)
    return {path.relative_to(folder).as_posix(): rounded(_read(path)) for path in files}


def _read(path: Path) -> object:
    kind = next((suffix for suffix in READERS if path.name.endswith(suffix)), None)
    return READERS[kind](path) if kind else hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def _rows(text: str) -> list[object]:
    return [json.loads(line) for line in text.splitlines()]


def _norms(path: Path) -> dict[str, list]:
    from safetensors.numpy import load_file

    return {name: _norm(tensor) for name, tensor in load_file(path).items() if not name.endswith(UNDEFINED)}


def _array(path: Path) -> list:
    import numpy as np

    return _norm(np.load(path))


def _norm(array) -> list:
    """Shape and Euclidean norm of what are numbers."""
    import numpy as np

    return [list(array.shape), math.sqrt(float(np.nansum(array.astype(float) ** 2)))]


def _cell(word: str) -> float | str:
    return float(word) if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", word) else word


READERS: dict[str, Callable[[Path], object]] = {
    "tokenizer.json": lambda path: hashlib.sha256(path.read_bytes()).hexdigest()[:12],
    ".jsonl": lambda path: _rows(path.read_text(encoding="utf-8")),
    ".jsonl.gz": lambda path: _rows(gzip.decompress(path.read_bytes()).decode()),
    ".json": read_json,
    ".safetensors": _norms,
    ".npy": _array,
    ".csv": lambda path: [[_cell(word) for word in line.split(",")] for line in path.read_text("utf-8").splitlines()],
}


def rounded(value: object) -> object:
    """Floats to five digits; without hashes of inputs, versions of libraries and what is chaotic."""
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if key not in LIBRARIES}
        return {key: len(part) if key in CHAOTIC else rounded(part) for key, part in kept.items()}
    if isinstance(value, list | tuple):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return "hash" if isinstance(value, str) and HASH.fullmatch(value) else value


# ---------------------------------------------------------------- versions


def read_versions(path: Path) -> dict[str, int]:
    """The version of each fingerprint."""
    versions = read_yaml(path)
    for name, version in versions.items():
        if type(version) is not int:
            raise InputError(f"{path}: {name}: {version!r} is no whole number; restore it with `git checkout {path}`")
    return versions


def write_versions(path: Path, versions: dict[str, int]) -> None:
    write_text(path, HEAD + "".join(f"{name}: {version}\n" for name, version in versions.items()))


# ---------------------------------------------------------------- golden files


def write(path: Path, version: int, fingerprint: Fingerprint) -> None:
    """One line for each file of each variant."""
    first = next(iter(fingerprint.values()))
    written = {}
    for number, (variant, files) in enumerate(fingerprint.items()):
        kept = {file: what for file, what in files.items() if not number or what != first.get(file)}
        written[variant] = kept | {file: None for file in first if file not in files}
    blocks = []
    for variant, files in written.items():
        lines = [f"{json.dumps(file)}: {json.dumps(what, ensure_ascii=False)}" for file, what in files.items()]
        blocks.append(f"{json.dumps(variant)}: {{\n" + ",\n".join(lines) + "\n}")
    write_text(path, f'{{"version": {version}, "variants": {{\n' + ",\n".join(blocks) + "\n}}\n")


def read(path: Path) -> tuple[int, Fingerprint]:
    """What `write` wrote, every variant whole again."""
    golden = read_json(path, remedy=AGAIN)
    if not {"version", "variants"} <= set(golden):
        raise InputError(f"{path}: is no golden file; {AGAIN}")
    first = next(iter(golden["variants"].values()), {})
    whole = {variant: first | files for variant, files in golden["variants"].items()}
    return golden["version"], {
        variant: {file: what for file, what in files.items() if what is not None} for variant, files in whole.items()
    }


# ---------------------------------------------------------------- comparison


def differences(before: object, after: object, where: str = "") -> Iterator[str]:
    """Where two fingerprints differ by more than the tolerance, and how."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            place = f"{where} {key}".strip()
            if key not in before or key not in after:
                yield f"{place}: {'new' if key not in before else 'gone'}"
            else:
                yield from differences(before[key], after[key], place)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{where}: {len(before)} values, now {len(after)}"
        for at, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from differences(old, new, f"{where} {at}")
    elif not same(before, after):
        yield f"{where}: {_short(before)}, now {_short(after)}"


def same(before: object, after: object) -> bool:
    """Whether two values are equal, or two floats nearly so."""
    if isinstance(before, float) or isinstance(after, float):
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (before, after))
        return numbers and math.isclose(before, after, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(before) is type(after) and before == after


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
