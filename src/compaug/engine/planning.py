"""Which experiments DVC knows now: the stages that are planned stand once each in experiments/<step>/cells.yaml.

DVC reads every stage and every lock at every command. So in a clone no experiment is planned: all cells.yaml are empty,
and what has been built is in experiments/built.jsonl.gz, which DVC does not read (`compaug.engine.built`). `bring`
plans experiments and gives DVC the locks that go with them; `put_away` takes both back.
"""

import difflib
import fcntl
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

from compaug.core.files import InputError, read_yaml, write_text
from compaug.engine import built
from compaug.experiments import cells, steps
from compaug.tasks.draws import draws_cells as draws
from compaug.tasks.few_texts import few_texts_cells as low_resource
from compaug.tasks.parsing import parser_cells as parsing
from compaug.tasks.slu import slu_cells as slu

EXPERIMENTS = Path("experiments")
IN_USE, BEFORE = Path(".grid/plan.lock"), "planned before"  # locked while grids run; what it then says
# experiments that are not made of cells: FILE, KINDS, `plan`
OTHERS = {other.FOLDER: other for other in (draws, parsing, low_resource, slu)}
HEAD = "# Written by `python -m tools.plan`, which empties it as well; do not edit.\n"
Kinds = Mapping[str, Mapping[str, Mapping]]  # kind of stage -> name -> what dvc.yaml fills in
Steps = dict[str, dict[str, dict[str, Mapping]]]  # step of experiments/ -> Kinds


# ---------------------------------------------------------------- bringing and putting away


def bring(
    names: Iterable[str], folder: Path = EXPERIMENTS, source: Path = cells.FILE, settings: Path = Path("params.yaml")
) -> list[str]:
    """Plan these experiments, or those that have these stages (by DVC's addresses), beside what is planned now.

    Returns: a line for each file of cells that changed.
    Raises: InputError for a name that there is not, and for what would fail in the middle of a grid.
    """
    experiments = cells.read(source)
    stages = cache(lambda name: frozenset(addresses(of_cells([experiments[name]]))))
    held = {_experiment_of(name, experiments, stages, source) for name in names}
    chosen = [experiment for name, experiment in experiments.items() if name in held]
    cells.check(chosen, settings)
    others = [{name: other.plan(other.FILE)} for name, other in OTHERS.items() if name in held]
    return _replace(folder, _joined([planned(folder), of_cells(chosen), *others]))


@contextmanager
def for_now(names: Collection[str]) -> Iterator[None]:
    """Plan them. The last of those that run at once puts everything away, unless something was planned before all."""
    IN_USE.parent.mkdir(exist_ok=True)
    with IN_USE.open("a+", encoding="utf-8") as file:
        if _is_alone(file):
            file.truncate(0)
            file.write(BEFORE if addresses(planned()) else "")
            file.flush()
        fcntl.flock(file, fcntl.LOCK_SH)
        if names or addresses(planned()):  # what was planned gets its locks again where one was damaged
            bring(names)
        try:
            yield
        finally:
            file.seek(0)
            if _is_alone(file) and file.read() != BEFORE and addresses(planned()):
                put_away()


def _is_alone(file: IO) -> bool:
    """Whether nobody else has the file locked; then it is locked for this one alone."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def put_away(folder: Path = EXPERIMENTS) -> list[str]:
    """Plan nothing: no cells and no locks, what was built stays known; returns a line for each changed file."""
    return _replace(folder, _empty())


def planned(folder: Path = EXPERIMENTS) -> Steps:
    """What is planned now."""
    files = sorted(folder.glob("*/cells.yaml"))
    return {path.parent.name: {kind: entries or {} for kind, entries in read_yaml(path).items()} for path in files}


def addresses(plan: Steps) -> list[str]:
    """What DVC calls the stages of a plan."""
    return [
        f"{EXPERIMENTS}/{step}/dvc.yaml:{kind}@{name}"
        for step, kinds in plan.items()
        for kind, entries in kinds.items()
        for name in entries
    ]


def _replace(folder: Path, plan: Steps) -> list[str]:
    built.collect(folder)
    changed = [*_changed(folder, plan)]
    built.hand_out(folder, addresses(plan))
    return changed


def _changed(folder: Path, plan: Steps) -> Iterator[str]:
    for step, kinds in plan.items():
        path, text = folder / step / "cells.yaml", written(kinds)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)
            yield f"{path}: {', '.join(f'{len(entries)} {kind}' for kind, entries in kinds.items())}"


def written(kinds: Kinds) -> str:
    """YAML with a line for every stage."""
    lines = []
    for kind, entries in kinds.items():
        lines.append(f"{kind}:" if entries else f"{kind}: {{}}")
        lines += [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    return HEAD + "\n".join(lines) + "\n"


# ---------------------------------------------------------------- what an experiment asks for


def _experiment_of(
    name: str, experiments: Collection[str], stages: Callable[[str], Collection[str]], source: Path
) -> str:
    """An experiment's name as it is; for a stage's address that of the first experiment that has the stage."""
    if name in experiments or name in OTHERS:
        return name
    if name.startswith(f"{EXPERIMENTS}/"):
        step = name.split("/")[1]
        held = (each for each in experiments if name in stages(each))
        if step in OTHERS or (step := next(held, "")):
            return step
        raise InputError(f"{name}: no experiment of {source} has such a stage")
    near = difflib.get_close_matches(name, [*experiments, *OTHERS], n=1)
    choose = f"did you mean {near[0]}?" if near else f"choose from {', '.join([*experiments, *OTHERS])}"
    raise InputError(f"{name}: no experiment of {source}; {choose}")


def of_cells(chosen: Iterable[cells.Experiment]) -> Steps:
    """The stages of experiments that are made of cells."""
    plan = _empty()
    for kind, entries in steps.plan(chosen).items():
        plan[steps.FOLDER[kind]][kind] = entries
    return plan


def complete(experiment: cells.Experiment, entries: Collection[str]) -> bool:
    """Whether every stage that the experiment ends at is among the addresses that were built."""
    return all(address in entries for address in steps.targets(experiment))


def _empty() -> Steps:
    kinds_of = steps.KINDS | {name: other.KINDS for name, other in OTHERS.items()}
    return {step: {kind: {} for kind in kinds} for step, kinds in kinds_of.items()}


def _joined(plans: Iterable[Steps]) -> Steps:
    union = _empty()
    for plan in plans:
        for step, kinds in plan.items():
            for kind, entries in kinds.items():
                union[step][kind] = dict(sorted((union[step].get(kind, {}) | dict(entries)).items()))
    return union
