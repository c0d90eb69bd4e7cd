"""The rules of the house that no linter knows: where a file may lie, and words that are no names."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from graph import ROOT, SRC

PACKAGE = SRC / "compaug"
LOOSE = {"__init__", "__main__", "cli", "label_generator", "selection"}
EVERYWHERE = {"__init__", "parameters"}  # a file of this name may lie in several folders
# They say that there is a value, not what it is.
NO_NAMES = {"made", "found", "some", "own", "one", "told", "said", "given", "known", "asked", "wanted"}
FOLDERS = sorted(path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__")


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, name) of every variable, parameter, attribute, function and class bound; not of a schema's keys."""
    keys = {node.target for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)}
    for node in ast.walk(tree):
        if node in keys:
            continue
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.alias(asname=str(name)):
                yield node.lineno, name


def test_only_what_has_no_folder_lies_loose():
    assert {path.stem for path in PACKAGE.glob("*.py")} == LOOSE


def test_no_file_name_occurs_twice():
    names = Counter(path.stem for path in PACKAGE.rglob("*.py"))
    assert {name for name, times in names.items() if times > 1} <= EVERYWHERE


def test_every_bound_name_is_seen():
    tree = ast.parse(
        "import os as said\ndef made(own, *, given=1):\n    for one in own: (found := one).known = some = 1\n"
    )
    assert {name for _, name in bound_names(tree)} == {"said", "made", "own", "given", "one", "found", "known", "some"}


@pytest.mark.parametrize("folder", [*FOLDERS, ROOT / "tools", ROOT / "tests"], ids=lambda path: path.name)
def test_a_name_says_what_a_value_is(folder: Path):
    files = [*folder.rglob("*.py")]
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in files
        for line, name in bound_names(ast.parse(path.read_text(encoding="utf-8")))
        if name.strip("_") in NO_NAMES
    ]
    assert files and wrong == []
