"""What has been built of the experiments: the entries of DVC's locks, by address, in one file that DVC does not read.

A lock of experiments/ is there while its stages are planned, and only then: parsing all of them takes DVC ten seconds
at every command.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

from compaug.core.records import InputError, atomic_path, loads

FILE = "built.jsonl.gz"  # of experiments/: {address: entry} on every line
REMEDY = "take it from Git again"
Entries = dict[str, dict]  # address -> what DVC's lock says of the stage


def read(folder: Path) -> Entries:
    """Every entry of the folder's file; none where there is no file. InputError where it is damaged."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            lines = stream.read().splitlines()
        if not lines:
            raise ValueError("empty")
        entries = {address: entry for line in lines for address, entry in loads(line).items()}
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, AttributeError) as error:
        raise InputError(f"{path}: not a gzip file of lock entries ({error}); {REMEDY}") from None
    return _checked(path, entries, REMEDY)


def locks(folder: Path) -> Entries:
    """The entries of the locks that DVC has of experiments/ now. InputError for a lock that is none."""
    from dvc.utils.serialize import YAMLFileCorruptedError, load_yaml  # YAML 1.2, as DVC has it: 5e-05 is a number

    entries: Entries = {}
    for path in sorted(folder.glob("*/dvc.lock")):
        try:
            content = load_yaml(path.as_posix())
        except YAMLFileCorruptedError:
            content = None
        stages = content.get("stages") if isinstance(content, dict) else None
        stages = _checked(path, stages, "remove it: what it had comes back from the run cache")
        entries |= {
            f"experiments/{path.parent.name}/dvc.yaml:{name}": _in_order(entry) for name, entry in stages.items()
        }
    return entries


def outputs(entry: Mapping) -> tuple[str, ...]:
    """Paths of what the stage wrote, seen from the repository's root."""
    return tuple(out["path"] for out in entry.get("outs", ()))


def _in_order(entry: dict) -> dict:
    """The entry with each dependency once, by path: a stage may name one twice, and DVC keeps the order it finds."""
    unique = {dep["path"]: dep for dep in entry.get("deps", ())}
    return entry | {"deps": [unique[path] for path in sorted(unique)]} if unique else entry


def _checked(path: Path, entries: object, remedy: str) -> Entries:
    if (
        isinstance(entries, dict)
        and entries
        and all(isinstance(entry, dict) and entry.get("cmd") for entry in entries.values())
    ):
        return entries
    raise InputError(f"{path}: not a lock file of DVC; {remedy}")


def write(folder: Path, entries: Mapping[str, dict]) -> None:
    """The same entries give the same bytes."""
    lines = (
        json.dumps({address: entries[address]}, sort_keys=True, separators=(",", ":")) for address in sorted(entries)
    )
    text = "".join(f"{line}\n" for line in lines)
    with atomic_path(folder / FILE) as temporary:
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))


def collect(folder: Path) -> None:
    """Take what the locks say into the file, and the locks away."""
    entries, now = read(folder), locks(folder)
    if any(entries.get(address) != entry for address, entry in now.items()):
        write(folder, entries | now)
    for path in folder.glob("*/dvc.lock"):
        path.unlink()


def hand_out(folder: Path, addresses: Collection[str]) -> None:
    """Write the locks of these stages, as far as they have been built."""
    entries = read(folder) if addresses else {}
    files: dict[Path, Entries] = {}
    for address in addresses:
        if address in entries:
            file, _, name = address.partition(":")
            files.setdefault(folder / Path(file).parent.name / "dvc.lock", {})[name] = entries[address]
    if files:
        from dvc.utils.serialize import dump_yaml
    for path, stages in files.items():
        with atomic_path(path) as temporary:
            dump_yaml(temporary.as_posix(), {"schema": "2.0", "stages": stages})
