"""From somebody's file to a verdict, in a folder of its own (`compaug audit`): project, account of the file, run.

Called again it goes on: what is there stays, a file that has changed is taken anew, and DVC runs what is missing.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from compaug.core import extras, lock_files, preloaded
from compaug.core.files import InputError, atomic_path, read_yaml, write_text
from compaug.core.markdown import head_of
from compaug.data.readers import columns
from compaug.experiments import params
from compaug.project import proposed, skeleton

PAGE = Path("reports/summary.md")
FILES = ("path", "test_path")  # options that name a file of the user's
SAY = partial(print, flush=True)  # into a log too, before the stages write there
STAGE = re.compile(r"(Running stage|Stage) '([^']+)'")  # a line of DVC's for each

# `dvc repro` without a warning, at every stage that reads it, for the file of no synthetic texts, which is empty.
REPRO = """import logging, sys
logging.getLogger("dvc.output").addFilter(lambda record: "is empty" not in record.msg)
from dvc.cli import main
sys.exit(main(["repro"]))"""


def folder_of(file: Path, name: str = "") -> Path:
    """Where the audit of a file is, unless somebody says another place."""
    return Path(f"audit-{proposed.name_of(name, file)}")


def prepare(file: Path, folder: Path, name: str, scale: str, chosen: Mapping[str, Any]) -> list[str]:
    """Write the project with the file in it, or bring it up to date; returns the account of the file.

    `chosen` are options of the tabular reader. InputError, before anything is written, as of `proposed.inspected`, for
    options that are not those of the project that is there, and for a package that the run will need.
    """
    extras.require("dvc")
    name = proposed.name_of(name, file)
    target = folder / params.BENCHMARK.format(benchmark=name)
    files = {key: Path(path) for key in FILES if (path := {**chosen, "path": file}.get(key))}
    places = {key: (proposed.OWN / path.name).as_posix() for key, path in files.items()}
    if len(set(places.values())) < len(places):
        raise InputError(f"{files['test_path']}: has the name of {file}; give one of them another")
    if target.exists():
        _check(folder, target, file, chosen, places)
        benchmark = None
    else:
        _check_alone(folder, file)
        benchmark = proposed.inspected(file, chosen, target, places)
    scale = scale or (benchmark.scale if benchmark else "")
    if scale == "pretrained":
        extras.require("gguf")  # its decoder's format
    skeleton.create(folder)
    changed = [path for key, path in files.items() if not benchmark and not _is_copy(path, folder / places[key])]
    for key, path in files.items():
        _copy(path, folder / places[key])
    skeleton.choose(folder, benchmark=name, **({"scale": scale} if scale else {}))
    if benchmark:
        write_text(target, benchmark.text)  # the last, so that it is a sign of all that comes before
    params.parse(folder / "params.yaml")
    anew = f", and with {' and '.join(map(str, changed))} as it is now" if changed else ""
    return benchmark.report if benchmark else [f"{target}: goes on with the audit that is there{anew}"]


def run(folder: Path, show: Callable[[str], None] = SAY) -> int:
    """`dvc repro`, by this interpreter; a line for each stage, with the minutes so far. Returns its exit status."""
    lock_files.mend(folder)
    stages = read_yaml(folder / "dvc.yaml")["stages"].values()
    total, number, start = sum(len(stage.get("foreach", "1")) for stage in stages), 0, time.monotonic()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = [sys.executable, "-c", REPRO]
    with preloaded.started() as address:
        environment = os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"} | dict(address)
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                for line in process.stdout or ():
                    if match := STAGE.match(line):
                        number += 1
                        if match[1] == "Running stage":
                            minutes = int(time.monotonic() - start) // 60
                            show(f"[{number:2}/{total}] {match[2]}" + (f", after {minutes} min" if minutes else ""))
            finally:
                process.wait()  # after Ctrl-C, which it gets too
    return process.returncode


def verdict(folder: Path) -> str:
    """The verdict, the rows behind it and where the page is."""
    page = folder / PAGE
    return f"{head_of(page.read_text(encoding='utf-8'))}\nThe whole page: {page}"


def _check(folder: Path, target: Path, file: Path, chosen: Mapping[str, Any], places: Mapping[str, str]) -> None:
    """InputError where the audit that is there is of another file, or has other options."""
    there = read_yaml(target).get("options") or {}
    if there.get("path") != places["path"]:
        other = Path(there.get("path") or there.get("hub") or target).name
        raise InputError(f"{folder}: is the audit of {other}; give --name or --dir for that of {file}")
    typed = any(value not in (None, "", []) for value in chosen.values())
    if typed and there != {**columns.guess(file, chosen).options, **places}:
        raise InputError(f"{target}: has other options; edit them there, or remove it to have {file} read anew")


def _check_alone(folder: Path, file: Path) -> None:
    """InputError where the folder is the audit of a file of another name, whose results this one would replace."""
    if not (folder / "params.yaml").exists():
        return
    chosen = (read_yaml(folder / "params.yaml").get("run") or {}).get("benchmark")
    if not chosen:
        raise InputError(f"{folder / 'params.yaml'}: run.benchmark has no value; give it one, or give another --dir")
    there = folder / params.BENCHMARK.format(benchmark=chosen)
    path = Path((read_yaml(there).get("options") or {}).get("path") or "") if there.exists() else Path()
    if path.parent == proposed.OWN and (folder / path).exists():
        raise InputError(f"{folder}: is the audit of {path.name}; give another --dir for that of {file}")


def _is_copy(source: Path, target: Path) -> bool:
    """Whether the project has the file as it is; of folders it is not asked."""
    return source.is_dir() or (target.is_file() and filecmp.cmp(source, target, shallow=False))


def _copy(source: Path, target: Path) -> None:
    if source.resolve() == target.resolve():
        return
    if source.is_dir():  # as datasets' save_to_disk writes it
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        return
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
