"""What the graph must say, read from the code: the modules a stage imports and the parameters it declares."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"


def module_file(name: str) -> Path | None:
    """Source file of a module of this repository, None for anything else."""
    path = SRC.joinpath(*name.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


@cache
def imports_of(file: Path) -> frozenset[Path]:
    """Files of this repository that `file` imports anywhere, functions included."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:  # importing a.b also runs a/__init__.py
            words = name.split(".")
            found |= {f for i in range(1, len(words) + 1) if (f := module_file(".".join(words[:i])))}
    return frozenset(found - {file})


SHARED_GENERATOR_FILES = [
    f"src/compaug/generators/{name}.py"
    for name in ("__init__", "controls", "examples", "latents", "posterior", "prefix", "sampling")
]


def code_of(stage: str, *imported_by_name: str) -> list[str]:
    """The script of a stage and every module it reaches, as dvc.yaml lists them; generators and classifiers are imported by their
    names ("generators/ld_vae").

    stages/__init__.py is left out: it reads argv, writes costs and turns errors into one line, and cannot change a result.
    So is compaug/__init__.py, which holds the version, and params.py: it checks the values of params.yaml, which every stage lists
    one by one, and computes none (tests/test_params.py), so a new block there makes no result stale.
    """
    plumbing = {SRC / "stages" / "__init__.py", SRC / "compaug" / "__init__.py", SRC / "compaug" / "params.py"}
    script = SRC / "stages" / f"{stage}.py"
    reached = {script} | {SRC / "compaug" / f"{name}.py" for name in imported_by_name}
    todo = list(reached)
    while todo:
        for file in imports_of(todo.pop()) - reached:
            reached.add(file)
            todo.append(file)
    return sorted(str(file.relative_to(ROOT)) for file in reached - plumbing)


def declared_params(stage: str) -> list[str]:
    """The PARAMS list of a stage script."""
    for node in ast.parse((SRC / "stages" / f"{stage}.py").read_text(encoding="utf-8")).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id == "PARAMS":
            return ast.literal_eval(node.value)
    raise AssertionError(f"stages/{stage}.py declares no PARAMS")
