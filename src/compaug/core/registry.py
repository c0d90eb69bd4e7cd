"""Generators and classifiers are files of a folder, loaded by their names."""

import ast
import importlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from compaug.core.files import InputError


@cache  # experiments ask for each of their cells
def roles_of(package: ModuleType, name: str) -> tuple[str, ...]:
    """The `ROLES` of a file, the backbones that it opens, read without importing it: torch is slow to import."""
    for node in ast.parse(_file_of(package, name).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ROLES":
            return ast.literal_eval(node.value)
    return ()


def names(package: ModuleType, functions: Sequence[str]) -> list[str]:
    """Every file of the folder that has all these functions, read without importing it."""
    files = sorted(Path(package.__file__).parent.rglob("[!_]*.py"), key=lambda file: file.stem)
    return [file.stem for file in files if set(functions) <= _defined(file)]


@cache
def _defined(file: Path) -> set[str]:
    """The names that a file defines or imports at its top."""
    defined: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined |= {ast.unparse(target) for target in node.targets}
        elif isinstance(node, ast.ImportFrom):
            defined |= {alias.asname or alias.name for alias in node.names}
    return defined


def load(package: ModuleType, name: str, functions: Sequence[str]) -> ModuleType:
    """The module of that name. InputError when there is no such file, or one of the functions is not in it."""
    file = _file_of(package, name)
    folder = file.parent.relative_to(Path(package.__file__).parent)
    module = importlib.import_module(".".join([package.__name__, *folder.parts, name]))
    if not all(hasattr(module, function) for function in functions):
        lacks = " or ".join(f"`{function}`" for function in functions)
        raise InputError(f"{_short(file)} is no {_kind(package)}; it lacks {lacks}")
    return module


def _file_of(package: ModuleType, name: str) -> Path:
    folder = Path(package.__file__).parent
    files = sorted(folder.rglob(f"{name}.py")) if name.isidentifier() else []
    if not files:
        kind = _kind(package)
        raise InputError(f"unknown {kind} {name!r}; a {kind} is a file of {_short(folder)}")
    return files[0]


def _kind(package: ModuleType) -> str:
    return package.__name__.rpartition(".")[2].removesuffix("s")


def _short(path: Path) -> str:
    return path.relative_to(Path(__file__).parents[3]).as_posix()
