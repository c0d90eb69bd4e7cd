"""A DVC project of one cell and its repair, for a folder anywhere (`compaug init`).

`template/` holds links to the files of this repository, so that there is no second copy; a wheel holds what they link
to. `dot_` in a name stands for a dot. Outside of the repository code is no file that a stage could depend on: the
release of the package stands there instead, and the versions of methods as here.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from compaug import __version__
from compaug.core.records import InputError, write_text

TEMPLATE = Path(__file__).parent / "template"
RELEASE, VERSIONS = Path("configs/release.yaml"), Path("configs/versions.yaml")
PIPELINE = "# Made by `compaug init`: `dvc repro` runs it, `dvc exp run -S` changes a key of params.yaml.\n\n"
SOURCES = re.compile(r"(?m)(^ +- )src/.*\n(?: +- src/.*\n)*")
PRINTED = re.compile(r"(?m)^ +- reports/paper_values\.yaml\n")  # of the paper, which only its corpora are compared with
AUTHOR = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "compaug"), ("EMAIL", "compaug@localhost"))
}


def create(folder: Path) -> list[Path]:
    """Write the project, and what makes it one of Git where it is in none; returns the files that were not there.

    What is there stays as it is, but for what says what the installed package computes. InputError where the folder
    has a pipeline of somebody else.
    """
    pipeline = folder / "dvc.yaml"
    if pipeline.exists() and "compaug.stages" not in pipeline.read_text(encoding="utf-8"):
        raise InputError(f"{pipeline}: is another pipeline; give a folder without one")
    folder.mkdir(parents=True, exist_ok=True)
    texts = {path: _text(source) for source, path in _files()}
    texts[RELEASE] = f"compaug: {__version__}  # written by `compaug init`: of another release light stages run again\n"
    fresh = [path for path in texts if not (folder / path).exists()]
    for path in dict.fromkeys([*fresh, RELEASE, VERSIONS]):
        write_text(folder / path, texts[path])
    if _git(folder, "check-ignore", "--quiet", ".") != 1:  # neither in a working tree, nor ignored by one
        _git(folder, "init", "--quiet")
        _git(folder, "add", "--", *map(str, fresh))
        _git(folder, "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", f"A project of compaug {__version__}")
    return fresh


def choose(folder: Path, **run: str) -> None:
    """Set values of the block `run` in params.yaml, as a person would: comments and all else stay."""
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8")
    for key, value in run.items():
        place = re.compile(rf"(?m)^(run:\n(?:  .*\n)*?  {key}: +)(\S+ *)")
        text = place.sub(lambda match, value=value: match[1] + f"{value} ".ljust(len(match[2])), text, count=1)
    write_text(path, text)


def _files() -> list[tuple[Path, Path]]:
    """(file of the template, where it goes)."""
    files = [(path, path.relative_to(TEMPLATE)) for path in sorted(TEMPLATE.rglob("*")) if path.is_file()]
    return [(path, Path(str(to).replace("dot_", "."))) for path, to in files if not path.name.startswith(".")]


def _text(source: Path) -> str:
    text = source.read_text(encoding="utf-8")
    if source.name != "dvc.yaml":
        return text
    body = PRINTED.sub("", SOURCES.sub(rf"\g<1>{RELEASE}\n", text))
    return PIPELINE + body.partition("\n\n")[2]  # without the head, which is about the repository


def _git(folder: Path, *words: str) -> int:
    try:
        done = subprocess.run(["git", *words], cwd=folder, env=os.environ | AUTHOR, capture_output=True, check=False)
    except FileNotFoundError:
        raise InputError("git is not installed, and DVC compares runs by it; install it") from None
    return done.returncode
