"""What grid/<step>/dvc.yaml runs over: the stages of every planned experiment, once each, in grid/<step>/cells.yaml.

DVC reads every stage that there is, at every command. So an experiment that has no results in Git (`on_request: true`) is planned when somebody asks
for it, by `make grid` or `python -m stages.plan NAME`, and then stays.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from compaug import experiments, steps
from compaug.low_resource import cells as low_resource
from compaug.parsing import cells as parsing
from compaug.records import InputError, read_yaml, write_text
from compaug.slu import cells as slu

GRID = Path("grid")
# experiments that are not made of cells: FILE, KINDS, `plan`
OTHERS = {other.FOLDER: other for other in (parsing, low_resource, slu)}
HEAD = "# Made by `python -m stages.plan` from {}; do not edit.\n"
Kinds = Mapping[str, Mapping[str, Mapping]]  # kind of stage -> name -> what dvc.yaml fills in


def write(
    names: Collection[str] = (),
    keep: bool = False,
    folder: Path = GRID,
    source: Path = experiments.FILE,
    settings: Path = Path("params.yaml"),
) -> list[str]:
    """Write cells.yaml for every step; a file whose cells are the same keeps its bytes. `names` are planned whether they have results or not,
    and with `keep` those that are planned now.  # a line for each file that changed

    InputError for a name that there is not, and for what would fail in the middle of a grid.
    """
    known = experiments.read(source)
    experiments.check(known.values(), settings)
    if wrong := [name for name in names if name not in known and name not in OTHERS]:
        near = difflib.get_close_matches(wrong[0], [*known, *OTHERS], n=1)
        raise InputError(
            f"{wrong[0]}: no experiment of {source}; "
            + (f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}")
        )
    present = {path.parent.name: read_yaml(path) for path in sorted(folder.glob("*/cells.yaml"))} if keep else {}
    chosen = [
        experiment
        for name, experiment in known.items()
        if not experiment.on_request or name in names or _holds(present, _by_folder(steps.plan([experiment])))
    ]
    planned = {at: (kinds, source) for at, kinds in _by_folder(steps.plan(chosen)).items()}
    for name, other in OTHERS.items():
        kinds = other.plan(other.FILE)
        wanted = name in names or _holds(present, {name: kinds})
        planned[name] = (kinds if wanted else other.plan(other.FILE, asked_for=False), other.FILE)
    return [*_changed(folder, planned)]


def _by_folder(planned: Kinds) -> dict[str, Kinds]:
    made: dict[str, dict] = {part: {"train_classifier": {}} for part in steps.PARTS}
    for kind, at in steps.FOLDER.items():
        made.setdefault(at, {})[kind] = {}
        for name, entry in planned[kind].items():
            made[steps.folder(kind, name)][kind][name] = entry
    return made


def _holds(present: Mapping[str, Kinds], planned: Mapping[str, Kinds]) -> bool:
    """Whether every stage stands in the files that there are."""
    return all(
        entries.keys() <= (present.get(at, {}).get(kind) or {}).keys()
        for at, kinds in planned.items()
        for kind, entries in kinds.items()
    )


def _changed(folder: Path, planned: Mapping[str, tuple[Kinds, Path]]) -> Iterator[str]:
    for at, (kinds, source) in planned.items():
        path, text = folder / at / "cells.yaml", written(kinds, source)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
            yield f"{path}: {', '.join(f'{len(entries)} {kind}' for kind, entries in kinds.items())}"


def written(kinds: Kinds, source: Path = experiments.FILE) -> str:
    """YAML with a line for every stage, in which a diff shows what an experiment added; `source` is the file that asked for them."""
    lines = []
    for kind, entries in kinds.items():
        lines.append(f"{kind}:" if entries else f"{kind}: {{}}")
        lines += [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    return HEAD.format(source) + "\n".join(lines) + "\n"
