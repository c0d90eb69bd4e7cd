"""A lab for faults: what people bring or edit is damaged, one file after the other, and stages are killed at work.

Every step runs in a fork of this process, so that the libraries are loaded once. What must hold of it: whatever such a
file holds, the stage ends well or with one line that says what is wrong; it never leaves half an output; killed at any
moment and started again, it writes the bytes of an undisturbed run. `fault_worlds` has the steps and their inputs.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.golden.runs import Step
from tqdm import tqdm

from compaug.core.files import write_text

PATIENCE = 120.0  # seconds after which a step counts as hanging
TEXT = (".json", ".yaml", ".csv", ".tsv", ".txt")
COMMAND = "compaug "  # a step of this name is a command of the command line, the others are stages
OPENED = "opened"  # beside a step's log: the files that it opened
ONE_LINE = re.compile(r"(?:note: .*\n)*error: [^\n]+\n")
KINDS = ("refused in one line", "read all the same", "no difference", "traceback", "hang", "half an output")
BAD = ("traceback", "hang", "half an output")


# ---------------------------------------------------------------- what is done to a file


def _flipped(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _retyped(content: bytes, rng: random.Random) -> bytes:
    """One value of a JSON document, or of one of its lines, becomes one of another type."""
    documents = [content.decode()]
    try:
        json.loads(documents[0])
    except ValueError:
        documents = documents[0].splitlines()
    at = rng.randrange(len(documents))
    value = json.loads(documents[at])
    places = [*_places(value)]
    if not places:
        raise ValueError
    holder, key = rng.choice(places)
    holder[key] = rng.choice([None, True, -1, 1.5, "x", [], {}, [[]], "\ud83d\ude00", 10**400])
    documents[at] = json.dumps(value)
    return "\n".join(documents).encode() + b"\n"


def _places(value: object) -> Iterator[tuple]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield value, key
        yield from _places(part)


def _without_a_key(content: bytes, rng: random.Random) -> bytes:
    value = json.loads(content)
    holders = [holder for holder, key in _places(value) if isinstance(key, str)]
    holder = rng.choice(holders)
    del holder[rng.choice(list(holder))]
    return json.dumps(value).encode()


MUTATIONS: dict[str, Callable[[bytes, random.Random], bytes | None]] = {  # None: the file is gone
    "gone": lambda content, rng: None,
    "empty": lambda content, rng: b"",
    "cut": lambda content, rng: content[: rng.randrange(1, len(content))],
    "one bit flipped": _flipped,
    "no UTF-8": lambda content, rng: content[: len(content) // 2] + b"\xff\xfe" + content[len(content) // 2 :],
    "a list": lambda content, rng: b"[]\n",
    "an object": lambda content, rng: b"{}\n",
    "null": lambda content, rng: b"null\n",
    "NaN": lambda content, rng: re.sub(rb"(?<=[:\[,] )-?\d+(\.\d+)?", b"NaN", content, count=1),
    "half a surrogate pair": lambda content, rng: content.replace(b'"', b'"\\ud800', 2),
    "a value of another type": _retyped,
    "a key less": _without_a_key,
    "twice": lambda content, rng: content + content,
}


OF_ANY_FILE = ("gone", "empty", "cut")  # the others need text


def mutated(path: Path, name: str, rng: random.Random) -> bytes | None:
    """The damaged content; ValueError where the mutation does not apply."""
    content = path.read_bytes()
    if not content and name != "gone":
        raise ValueError
    mutant = MUTATIONS[name](content, rng)
    if mutant == content:
        raise ValueError
    return mutant


# ---------------------------------------------------------------- one step


@dataclass(frozen=True)
class Ended:
    """How a step ended: its exit status, None for a hang, a negative number for a signal; what it said; its seconds."""

    status: int | None
    log: str
    seconds: float


def run_fork(step: Step, out: Path, log: Path, kill_after: float | None = None) -> Ended:
    """Run a step in a fork, its output going to `out`; SIGKILL after so many seconds."""
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        _child(step, out, log)
    limit = PATIENCE if kill_after is None else kill_after
    status = _wait(child, limit)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        status = None if kill_after is None else -signal.SIGKILL
    return Ended(status, log.read_text(encoding="utf-8", errors="replace"), time.perf_counter() - start)


def _child(step: Step, out: Path, log: Path) -> None:
    """Never returns."""
    import numpy as np
    import torch

    status, opened = 1, set()
    # tqdm's own lock is shared by all forks: where one was killed while it held it, the next would wait for ever
    tqdm.set_lock(threading.RLock())
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        faulthandler.dump_traceback_later(PATIENCE - 10)  # what hangs says where
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        argv = [re.sub("^out/", f"{out.parent}/", word) for word in step.argv]
        sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
        if step.stage.startswith(COMMAND):
            _command([step.stage.removeprefix(COMMAND), *argv], out)
        else:
            script = importlib.import_module(f"compaug.stages.{step.stage}")
            importlib.import_module("compaug.stages").run(lambda: script.main([*argv, "--out", str(out)]))
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - what `run` lets through is what this lab looks for
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            log.with_name(OPENED).write_text("\0".join(sorted(opened)), encoding="utf-8")
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _command(words: list[str], out: Path) -> None:
    """A command of `compaug`, whose last argument is what it writes; `inspect` writes to standard output, which goes
    there."""
    from compaug import cli

    if words[0] != "inspect":
        return cli.main([*words, str(out)])
    stdout = io.StringIO()
    try:
        with contextlib.redirect_stdout(stdout):
            cli.main(words)
    except SystemExit as ended:
        if ended.code:
            raise
    write_text(out, stdout.getvalue())


def _wait(child: int, limit: float) -> int | None:
    end = time.perf_counter() + limit
    while (left := end - time.perf_counter()) > 0:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(0.01, left))
    return None


def brought(step: Step, opened: set[Path]) -> list[Path]:
    """The files of a step that people bring or edit, as far as the step opens them.

    That is parameters, configurations, corpora, and an audit that is exported; of a command and of `prepare_backbone`
    what the arguments name too. Of a model's folder all, because its libraries open them out of sight.
    """
    places = ["params.yaml", "configs", os.environ.get("COMPAUG_MIRROR", "")]
    if step.stage.startswith(COMMAND) or step.stage == "prepare_backbone":
        places += [word for word in step.argv if not word.startswith("out/")]
    if step.stage == "compaug export":  # from an audit's places
        places += ["models/run", "data", "reports"]
    files = []
    for path in map(Path, filter(None, places)):
        if path.is_dir():
            files += [file for file in sorted(path.rglob("*")) if file.is_file() and file.name != ".written"]
        elif path.is_file():
            files.append(path)
    seen = lambda file: file.resolve() in opened or (file.parent / "config.json").resolve() in opened
    return [file for file in dict.fromkeys(files) if seen(file)]


def contents(out: Path) -> dict[str, bytes]:
    """What a step wrote: its output and what stands beside it under the same name."""
    files = [file for file in sorted(out.parent.rglob("*")) if file.is_file()]
    return {file.relative_to(out.parent).as_posix(): file.read_bytes() for file in files}


# ---------------------------------------------------------------- the lab


@dataclass(frozen=True)
class Found:
    """What one fault did."""

    stage: str
    file: str
    fault: str
    kind: str  # one of KINDS
    log: str


def faults(
    step: Step, files: Sequence[Path], undisturbed: dict[str, bytes], rng: random.Random, n: int, desk: Path
) -> Iterator[Found]:
    """n faults of a step's input files, chosen at random among all files and mutations; every file is put back."""
    drawn = set()
    cases = [(file, name) for file in files for name in MUTATIONS if file.suffix in TEXT or name in OF_ANY_FILE]
    rng.shuffle(cases)
    for file, name in cases:
        if len(drawn) >= n:
            return
        try:
            content = mutated(file, name, rng)
        except (ValueError, IndexError, UnicodeDecodeError, RecursionError):
            continue
        drawn.add((file, name))
        before = file.read_bytes()
        out = desk / "out" / Path(step.out).name
        try:
            file.unlink()
            if content is not None:
                file.write_bytes(content)
            ended = run_fork(step, out, desk / "log")
            outputs = contents(out) if out.parent.exists() else {}
            yield Found(step.stage, file.as_posix(), name, kind_of(ended, outputs, undisturbed), ended.log[-2000:])
        finally:
            file.write_bytes(before)
            shutil.rmtree(out.parent, ignore_errors=True)
            shutil.rmtree(".checkpoints", ignore_errors=True)


def kind_of(ended: Ended, outputs: dict[str, bytes], undisturbed: dict[str, bytes]) -> str:
    if ended.status is None:
        return "hang"
    if ended.status == 0:
        return "no difference" if outputs == undisturbed else "read all the same"
    if ended.status != 2 or not ONE_LINE.fullmatch(ended.log):
        return "traceback"
    return "half an output" if outputs else "refused in one line"


@dataclass(frozen=True)
class Killed:
    stage: str
    after: float  # share of the undisturbed seconds
    same: bool  # bytes of the undisturbed run, after one more start
    clean: bool  # and nothing half-written beside them


def kills(
    step: Step, undisturbed: dict[str, bytes], seconds: float, rng: random.Random, n: int, desk: Path
) -> Iterator[Killed]:
    """n times: SIGKILL at a random moment, then one more start."""
    for _ in range(n):
        share = rng.uniform(0.02, 1.05)
        out = desk / "out" / Path(step.out).name
        run_fork(step, out, desk / "log", kill_after=share * seconds)
        again = run_fork(step, out, desk / "log")
        outputs = contents(out)
        clean = not [name for name in outputs if ".partial" in name or name.endswith(".old")]
        yield Killed(step.stage, share, again.status == 0 and outputs == undisturbed, clean)
        shutil.rmtree(out.parent, ignore_errors=True)
        shutil.rmtree(".checkpoints", ignore_errors=True)


def undisturbed(step: Step, desk: Path) -> tuple[dict[str, bytes], float, set[Path]]:
    """What the step writes where nothing is wrong, its seconds, and what it opens."""
    out = desk / "out" / Path(step.out).name
    ended = run_fork(step, out, desk / "log")
    if ended.status != 0:
        how = f"no end after {PATIENCE:.0f} s" if ended.status is None else f"status {ended.status}"
        raise RuntimeError(f"{step.stage}: {how}: {ended.log}")
    outputs, opened = contents(out), (desk / OPENED).read_text(encoding="utf-8").split("\0")
    shutil.rmtree(out.parent, ignore_errors=True)
    return outputs, ended.seconds, {Path(name).resolve() for name in opened}


def tried(groups: Sequence[Sequence[Step]], seed: int, n: int, n_kills: int, desk: Path) -> Iterator[Found | Killed]:
    """n faults and `n_kills` kills of the last step of every group."""
    from tools.golden.workplace import run_step

    for number, group in enumerate(groups):
        rng = random.Random(f"{seed} {number}")
        for step in group[:-1]:
            run_step(step)
        whole, seconds, opened = undisturbed(group[-1], desk)
        yield from faults(group[-1], brought(group[-1], opened), whole, rng, n, desk)
        yield from kills(group[-1], whole, seconds, rng, n_kills, desk)
