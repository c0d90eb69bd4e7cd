"""What has been built of the experiments: the entries of DVC's locks, by address, in one file that DVC does not read.

A lock of experiments/ is there while its stages are planned, and only then: parsing all of them takes DVC ten seconds
at every command.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from compaug.core.files import InputError, atomic_path
from compaug.evaluation import packed

FILE = "built.jsonl.gz"  # of experiments/: {address: entry} on every line
Entries = dict[str, dict]  # address -> what DVC's lock says of the stage


def read(folder: Path) -> Entries:
    """Every entry of the folder's file; none where there is no file. InputError for one that is damaged."""
    path = folder / FILE
    if not path.exists():
        return {}
    remedy = f"git checkout {path}"
    try:
        return {address: entry for line in packed.read(path, remedy) for address, entry in json.loads(line).items()}
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path}: damaged ({error}); {remedy}") from None


def locks(folder: Path) -> Entries:
    """The entries of the locks that DVC has of experiments/ now."""
    from dvc.utils.serialize import load_yaml  # YAML 1.2, as DVC has it: 5e-05 is a number

    return {
        f"experiments/{path.parent.name}/dvc.yaml:{name}": _in_order(entry)
        for path in sorted(folder.glob("*/dvc.lock"))
        for name, entry in load_yaml(path.as_posix())["stages"].items()
    }


def outputs(entry: Mapping) -> tuple[str, ...]:
    """Paths of what the stage wrote, seen from the repository's root."""
    return tuple(out["path"] for out in entry.get("outs", ()))


def _in_order(entry: dict) -> dict:
    """The entry with each dependency once, by path: a stage may name one twice, and DVC keeps the order it finds."""
    unique = {dep["path"]: dep for dep in entry.get("deps", ())}
    return entry | {"deps": [unique[path] for path in sorted(unique)]} if unique else entry


def write(folder: Path, entries: Mapping[str, dict]) -> None:
    """The same entries give the same bytes."""
    options = {"sort_keys": True, "separators": (",", ":")}
    packed.write(folder / FILE, (f"{json.dumps({name: entries[name]}, **options)}\n" for name in sorted(entries)))


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
