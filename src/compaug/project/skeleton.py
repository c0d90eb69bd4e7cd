"""A DVC project of one cell and its repair, for a folder anywhere (`compaug init`).

`template/` holds links to the files of this repository, so that there is no second copy; a wheel holds what they link
to. `dot_` in a name stands for a dot. Outside of the repository a stage cannot depend on files of code: there it
depends on the release of the package, and on the versions of methods as here. Both are of the package that wrote them,
and so are the pipelines as long as nobody edits them; with another one installed, stages refuse to run.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from compaug import __version__
from compaug.core.files import InputError, digest, write_text

TEMPLATE = Path(__file__).parent / "template"
RELEASE, VERSIONS = Path("configs/release.yaml"), Path("configs/versions.yaml")
PIPELINES = Path("dvc.yaml"), Path("repair/dvc.yaml")
HEAD = (
    "# `dvc repro` runs it, `dvc exp run -S` changes a key of params.yaml. After an upgrade `compaug init .` writes\n"
    "# it anew unless it has been edited: it is as written while its digest is {digest}.\n\n"
)
SOURCES = re.compile(r"(?m)(^ +- )src/.*\n(?: +- src/.*\n)*")
PRINTED = re.compile(r"(?m)^ +- reports/paper_values\.yaml\n")  # of the paper, which only its corpora are compared with
AUTHOR = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "compaug"), ("EMAIL", "compaug@localhost"))
}


def create(folder: Path) -> list[Path]:
    """Write the project, and what makes it one of Git where it is in none; returns the files that were not there.

    What is there stays as it is, but for what says what the installed package computes and for pipelines that nobody
    has edited. InputError where the folder has a pipeline of somebody else.
    """
    pipeline = folder / "dvc.yaml"
    if pipeline.exists() and "compaug.stages" not in pipeline.read_text(encoding="utf-8"):
        raise InputError(f"{pipeline}: is another pipeline; give a folder without one")
    folder.mkdir(parents=True, exist_ok=True)
    texts = {path: _text(path) for path in [*_sources(), RELEASE]}
    fresh = [path for path in texts if not (folder / path).exists()]
    for path in dict.fromkeys([*fresh, *_outdated(folder)]):
        write_text(folder / path, texts[path])
    if _git(folder, "check-ignore", "--quiet", ".") != 1:  # neither in a working tree, nor ignored by one
        _git(folder, "init", "--quiet")
        _git(folder, "add", "--", *map(str, fresh))
        _git(folder, "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", f"A project of compaug {__version__}")
    return fresh


def outdated(folder: Path = Path()) -> str:
    """One line, with the remedy, where a folder is a project of another release of the package; "" elsewhere."""
    if not (folder / RELEASE).is_file() or not (paths := _outdated(folder)):
        return ""
    return f"{folder / paths[0]}: not of the installed compaug {__version__}; `compaug init {folder}` writes it anew"


def edited(folder: Path) -> list[Path]:
    """Pipelines that somebody has edited, so that they stay as they are, and that differ from those of the package."""
    return [path for path in _different(folder, PIPELINES) if not _as_written(folder / path)]


def _outdated(folder: Path) -> list[Path]:
    """Files of the package, not of the user, that the installed package writes otherwise."""
    return [path for path in _different(folder, (RELEASE, VERSIONS, *PIPELINES)) if path not in edited(folder)]


def _different(folder: Path, paths: Iterable[Path]) -> list[Path]:
    there = [path for path in paths if (folder / path).is_file()]
    return [path for path in there if (folder / path).read_text(encoding="utf-8") != _text(path)]


def _as_written(pipeline: Path) -> bool:
    head, _, body = pipeline.read_text(encoding="utf-8").partition("\n\n")
    return head.startswith(HEAD.partition("{")[0]) and digest(body) in head


def choose(folder: Path, **run: str) -> None:
    """Set values of the block `run` in params.yaml, as a person would: comments and all else stay."""
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8")
    for key, value in run.items():
        place = re.compile(rf"(?m)^(run:\n(?:  .*\n)*?  {key}: +)(\S+ *)")
        text = place.sub(lambda match, value=value: match[1] + f"{value} ".ljust(len(match[2])), text, count=1)
    write_text(path, text)


@cache
def _sources() -> dict[Path, Path]:
    """{where it goes: file of the template}."""
    files = [path for path in sorted(TEMPLATE.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return {Path(str(path.relative_to(TEMPLATE)).replace("dot_", ".")): path for path in files}


def _text(path: Path) -> str:
    """What the installed package writes there."""
    if path == RELEASE:
        return f"compaug: {__version__}  # written by `compaug init`: of another release light stages run again\n"
    if path in PIPELINES:
        body = _pipeline(path)
        return HEAD.format(digest=digest(body)) + body
    return _sources()[path].read_text(encoding="utf-8")


def _pipeline(path: Path) -> str:
    """Without its head, which is about the repository, and with the release in the place of its code."""
    body = _sources()[path].read_text(encoding="utf-8").partition("\n\n")[2]
    return PRINTED.sub("", SOURCES.sub(rf"\g<1>{RELEASE}\n", body))


def _git(folder: Path, *words: str) -> int:
    try:
        done = subprocess.run(["git", *words], cwd=folder, env=os.environ | AUTHOR, capture_output=True, check=False)
    except FileNotFoundError:
        raise InputError("git is not installed, and DVC compares runs by it; install it") from None
    return done.returncode
