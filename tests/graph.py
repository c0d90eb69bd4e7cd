"""What the graph must say, read from the code: the modules a stage imports and the parameters it declares; and what it
says."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from tools.golden import fingerprints

from compaug.engine import planning
from compaug.experiments import cells

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
SCRIPTS = sorted(file.stem for file in (SRC / "compaug/stages").glob("[!_]*.py"))
# what the stage `settings` joined, for one method or block
SETTINGS = re.compile(r"data/settings/[^/]+/([^/-]+)(?:-(\w+))?\.json")
KINDS = {"without_texts": "classifiers"}  # without what concerns synthetic texts alone


def module_file(name: str) -> Path | None:
    """Source file of a module of this repository, None for anything else."""
    path = SRC.joinpath(*name.split("."))
    file = next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)
    return file if file and _has_code(file) else None


def _has_code(file: Path) -> bool:
    """Whether there is more in it than a docstring."""
    return len(ast.parse(file.read_text(encoding="utf-8")).body) > 1


@cache
def imports_of(file: Path) -> frozenset[Path]:
    """Files of this repository that `file` imports anywhere, functions included, and templates that it renders."""
    imports: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8") if file.suffix == ".py" else "")):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "render":
            imports.add(SRC / "compaug/core/templates" / ast.literal_eval(node.args[0]))
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:  # importing a.b also runs a/__init__.py
            words = name.split(".")
            if "parameters" in words:
                continue  # PLUMBING
            imports |= {f for i in range(1, len(words) + 1) if (f := module_file(".".join(words[:i])))}
    return frozenset(imports - {file})


# stages/__init__.py reads argv, writes costs and turns errors into one line; params.py and the schemas that it
# collects check values; compaug/__init__.py holds the version; numerics.py is checked by the numbers themselves.
# None of them computes a result.
PLUMBING = {
    SRC / "compaug/stages/__init__.py",
    SRC / "compaug/__init__.py",
    *(SRC / "compaug/core" / name for name in ("numerics.py", "schema.py")),
    SRC / "compaug/experiments/params.py",
    *SRC.glob("compaug/**/parameters.py"),
}


def code_of(script: str) -> set[str]:
    """The script of a stage and every module it reaches."""
    reached = {SRC / "compaug/stages" / f"{script}.py"}
    todo = list(reached)
    while todo:
        last = todo.pop()
        for file in imports_of(last) - reached if last not in PLUMBING else ():
            reached.add(file)
            todo.append(file)
    return {file.relative_to(ROOT).as_posix() for file in reached - PLUMBING}


def declared_params(script: str) -> list[str]:
    """The PARAMS list of a stage script; one that reads no parameters has none."""
    return getattr(importlib.import_module(f"compaug.stages.{script}"), "PARAMS", [])


def parser_of(module: ModuleType) -> argparse.ArgumentParser:
    """The options of a stage, or of a tool that makes them when it is called."""
    return module.OPTIONS if hasattr(module, "OPTIONS") else module._parser()


# ---------------------------------------------------------------- the graph, as DVC resolves it


@dataclass(frozen=True)
class Stage:
    """One stage; paths are seen from the repository's root."""

    name: str  # experiments/filter/dvc.yaml:train_filter@diagnostic-13
    script: str
    options: dict[str, list[str]]
    deps: list[str]
    params: list[str]
    versions: list[str]  # keys of configs/versions.yaml
    outs: list[str]
    cached: list[str]  # outs that DVC keeps, not Git
    desc: str

    @property
    def file(self) -> str:
        """The dvc.yaml that it stands in."""
        return self.name.split(":")[0] if ":" in self.name else "dvc.yaml"

    @property
    def kind(self) -> str:
        return self.name.split(":")[-1].split("@")[0]

    @property
    def sources(self) -> list[str]:
        return [dep for dep in self.deps if dep.startswith("src/")]

    @property
    def paths(self) -> list[str]:
        """Arguments that are not the stage's own outputs."""
        return [value for values in self.options.values() for value in values if value not in self.outs]

    def reads(self, path: str) -> bool:
        """`path`, a folder around it or something in it is a dependency."""
        return any(f"{path}/".startswith(f"{dep}/") or dep.startswith(f"{path}/") for dep in self.deps)


@cache
def stages() -> tuple[Stage, ...]:
    """Every stage that the repository can have: of experiments that are planned on request, too."""
    from dvc.repo import Repo  # slow to import

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        for file in ("params.yaml", "dvc.yaml", "*/dvc.yaml", "experiments/*/dvc.yaml", "configs/**/*.yaml"):
            for source in ROOT.glob(file):
                (folder / source.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, folder / source.relative_to(ROOT))
        every = [*cells.read(ROOT / cells.FILE), *planning.OTHERS]
        with contextlib.chdir(ROOT):
            planning.bring(every, folder=folder / planning.EXPERIMENTS)
        (folder / ".dvc").mkdir()
        (folder / ".dvc/config").write_text("[core]\n    no_scm = true\n    analytics = false\n")
        with Repo(str(folder)) as repo:
            return tuple(_stage(stage, folder) for stage in repo.index.stages)


def _stage(stage, folder: Path) -> Stage:
    def path(item) -> str:
        return Path(item.fs_path).relative_to(folder).as_posix()

    file = Path(stage.path).relative_to(folder).as_posix()

    python, flag, module, *arguments = shlex.split(stage.cmd)
    assert (python, flag, module.rpartition(".")[0]) == ("python", "-m", "compaug.stages"), stage.addressing
    options: dict[str, list[str]] = {}
    for word in arguments:
        if word.startswith("--"):
            values = options.setdefault(word.removeprefix("--"), [])
        else:
            values.append(word)
    params = [dep for dep in stage.deps if getattr(dep, "params", None)]
    joined = [SETTINGS.fullmatch(path(dep)) for dep in stage.deps]
    return Stage(
        name=stage.name if file == "dvc.yaml" else f"{file}:{stage.name}",
        script=module.split(".")[2],
        options=options,
        deps=list(dict.fromkeys(path(dep) for dep in stage.deps if dep not in params)),
        params=[
            f"{path(dep)}:{key}".removeprefix("params.yaml:")
            for dep in params
            if path(dep) != fingerprints.VERSIONS
            for key in dep.params
        ]
        + [".".join(filter(None, (KINDS.get(match[1], match[1]), match[2]))) for match in joined if match],
        versions=[key for dep in params if path(dep) == fingerprints.VERSIONS for key in dep.params],
        outs=[path(out) for out in stage.outs],
        cached=[path(out) for out in stage.outs if out.use_cache],
        desc=stage.desc or "",
    )
