"""reports/<kind>.jsonl.gz: what was measured of texts, of generators and in other tasks, a line each, with its `name`.

A stage leaves a file of its own, data/<kind>/<name>.json, an output that DVC keeps; Git has one file for each kind.
"""

from collections.abc import Mapping
from pathlib import Path

from compaug.core.files import read_json
from compaug.evaluation.predictions import read_lines, refused, write_lines

KINDS = (
    "quality",
    "judged",
    "representations",
    "interpolation",
    "distances",
    "maps",
    "parsing",
    "low_resource",
    "slu",
    "draws",
)
REMEDY = "take it from Git again (`git checkout`)"


def path_of(reports: Path, kind: str) -> Path:
    """The file of a kind in the folder `reports`."""
    return reports / f"{kind}.jsonl.gz"


def read(reports: Path, kind: str) -> dict[str, dict]:
    """By name; {} where there is no such file. InputError names the line that is wrong."""
    path, values = path_of(reports, kind), {}
    if not path.exists():
        return values
    for number, row in read_lines(path, REMEDY):
        with refused(f"{path}:{number}", "a line with a name", REMEDY):
            name = str(row.pop("name"))
        values[name] = row
    return values


def write(reports: Path, kind: str, values: Mapping[str, Mapping]) -> None:
    """By name, in the order of the names: the same values give the same bytes."""
    write_lines(path_of(reports, kind), ({"name": name} | value for name, value in sorted(values.items())))


def changed(reports: Path, kind: str, files: Mapping[str, Path]) -> dict[str, dict]:
    """What these files say by name, where that is not what `reports` has."""
    kept = read(reports, kind)
    values = {name: read_json(path) for name, path in sorted(files.items())}
    return {name: value for name, value in values.items() if kept.get(name) != value}
