"""The files between stages: validated on read, written atomically, and what an output may replace."""

from __future__ import annotations

import contextlib
import csv
import glob
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

PARTIAL, OLD = ".partial", ".old.partial"  # ends of names: half-written, and set aside until its successor is in place
FULL = re.compile(
    r"No space left|os error (?:27|28|122)\b|[Ff]ile too large|Disk quota|PytorchStreamWriter failed|file write failed"
)
WRITTEN = ".written"  # in every folder that a stage writes: the names of its files, one a line


class InputError(ValueError):
    """Something the user can mend: the message is one line that names the file, line or key and the remedy."""


def as_notes(lines: Iterable[str]) -> str:
    """What a command prints beside its result or before an error: each line as a note."""
    return "".join(f"note: {line.removeprefix('note: ')}\n" for line in lines)


def digest(value: object) -> str:
    """Short content hash of a JSON-able value, for side-cars and checkpoints."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False, default=str).encode()).hexdigest()[:16]


def file_digest(path: Path | str) -> str:
    """SHA-256 of a file, or of the names and bytes of a folder's files in sorted order."""
    path, sha = Path(path), hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        if path.is_dir():
            sha.update(str(file.relative_to(path)).encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                sha.update(block)
    return sha.hexdigest()


# ---------------------------------------------------------------- what an output may replace


def check_folder(path: Path | str) -> None:
    """InputError unless a stage may put a folder at `path`.

    It may where nothing is there, an empty folder, or one in which stages wrote every file, which are named in its
    file WRITTEN: people put their own beside them.
    """
    path = Path(path)
    _check_place(path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file, and a folder is to be written there; give another path, or move it away")
    mark = path / WRITTEN
    listed = {WRITTEN, *mark.read_text(encoding="utf-8").splitlines()} if mark.is_file() else set()
    if foreign := next((name for name in _files_in(path) if name not in listed), None):
        fault = (
            f"holds {foreign}, which no stage put there"
            if listed
            else f"no stage wrote this folder (it holds {foreign})"
        )
        raise InputError(f"{path}: {fault}; give another path, or move it away")


def check_file(path: Path | str) -> None:
    """InputError unless a stage may put a file at `path`: no folder, no link, no JSON written by another hand.

    A file has no place for a mark, but the bytes of `write_json` and `write_rows` are told from those of people and
    other programs.
    """
    path = Path(path)
    _check_no_folder(path)
    if path.suffix in (".json", ".jsonl") and path.exists() and not _is_own_json(path):
        raise InputError(f"{path}: no stage wrote this file; give another path, or move it away")


def _check_no_folder(path: Path) -> None:
    _check_place(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder, and a file is to be written there; give another path")


def _check_place(path: Path) -> None:
    if Path.cwd().is_relative_to(path.resolve()):
        raise InputError(f"{path}: is the working directory or a folder above it; give a path below it")
    if path.is_symlink():
        raise InputError(f"{path}: is a symbolic link; give the path that it points to, or remove the link")


def _files_in(folder: Path) -> Iterator[str]:
    """Names, relative to the folder, of everything below it that is no folder: links are not followed."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_dir():
            yield path.relative_to(folder).as_posix()


def _is_own_json(path: Path) -> bool:
    """Whether a .json file, or the first row of a .jsonl file, has the bytes that the writers below give it.

    An empty file is nobody's.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.readline() if path.suffix == ".jsonl" else stream.read()
        return not text or text == (_row if path.suffix == ".jsonl" else _document)(json.loads(text))
    except ValueError:  # not UTF-8, not JSON, or with a NaN in it
        return False


# ---------------------------------------------------------------- atomic writing


@contextlib.contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """A temporary path beside `path`, renamed over it on success and removed on failure."""
    path = Path(path)
    _check_no_folder(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(path)
    handle, name = tempfile.mkstemp(prefix=_partial(path), suffix=PARTIAL, dir=path.parent)
    os.close(handle)
    os.chmod(name, 0o644)
    try:
        yield Path(name)
        os.replace(name, path)
    except Exception as error:
        if refusal := _disk_error(path, error):
            raise refusal from error
        raise
    finally:
        Path(name).unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_dir(path: Path | str) -> Iterator[Path]:
    """A temporary folder beside `path` that replaces it on success and is removed on failure; see `check_folder`."""
    path = Path(path)
    check_folder(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(path)
    temporary = Path(tempfile.mkdtemp(prefix=_partial(path), suffix=PARTIAL, dir=path.parent))
    temporary.chmod(0o755)
    try:
        yield temporary
        (temporary / WRITTEN).write_text(
            "".join(f"{name}\n" for name in sorted(_files_in(temporary))), encoding="utf-8"
        )
        check_folder(path)  # again: hours may have passed
        _swap(temporary, path)
    except Exception as error:
        if refusal := _disk_error(path, error):
            raise refusal from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap(new: Path, path: Path) -> None:
    """Move `new` to `path`. What was there is set aside first and removed last: one of the two is always there."""
    old = new.with_suffix(OLD)
    try:
        if path.exists():
            os.rename(path, old)
        os.rename(new, path)
    finally:
        if old.exists() and not path.exists():
            os.rename(old, path)
    shutil.rmtree(old, ignore_errors=True)


def _partial(path: Path) -> str:
    """How the name of a half-written `path` begins: with the process that writes it."""
    return f".{path.name}.{os.getpid()}-"


def _clear_leftovers(path: Path) -> None:
    """Remove what dead processes of this machine left half-written beside `path`.

    An output that one of them had just set aside comes back.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"):
        owner = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        if not owner.isdecimal() or _is_alive(int(owner)):
            continue
        if left.name.endswith(OLD) and not path.exists():
            os.rename(left, path)
        elif left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        pass
    return True


def _disk_error(path: Path, error: Exception) -> InputError | None:
    """One line for what the disk refused, whichever library found out; None for any other error."""
    if isinstance(error, FileNotFoundError | InputError):
        return None
    if isinstance(error, OSError):
        return InputError(f"cannot write {path}: {error.strerror or error}; nothing was left half-written")
    if FULL.search(str(error)):  # safetensors and torch have errors of their own
        return InputError(f"cannot write {path}: no space left, or a limit reached; nothing was left half-written")
    return None


# ---------------------------------------------------------------- text, tables, JSON and YAML


def write_text(path: Path | str, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_csv(path: Path | str, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([columns, *rows])


def write_json(path: Path | str, value: object) -> None:
    """Sorted keys, two spaces; NaN is refused because no JSON reader agrees on it."""
    check_file(path)
    write_text(path, _document(value))


def _document(value: object) -> str:
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def loads(text: str, nan_is_null: bool = False) -> Any:
    """The one way in for JSON: ValueError, in one line, for all that cannot be read.

    Also for what Python's reader takes or fails on in its own way: NaN and infinities, unless they are to be null,
    halves of surrogate pairs, numbers of thousands of digits, thousands of brackets.
    """
    try:
        value = json.loads(text, parse_constant=_null if nan_is_null else _no_number)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise ValueError(error.msg) from None
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is no valid Unicode") from None
    except RecursionError:
        raise ValueError("brackets within brackets, too many of them") from None
    return value


def _null(name: str) -> None:
    return None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def read_json(path: Path | str, shape: Any = Any, remedy: str = "delete it and run its stage again") -> Any:
    """What a JSON file holds; of a file that people bring, checked against its type `shape`.

    InputError names the file, the first place that differs and the remedy.
    """
    try:
        value = loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the stage that makes it (`dvc repro`)") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON ({error}); {remedy}") from None
    if shape is not Any:
        from pydantic import TypeAdapter, ValidationError  # slow to import

        from compaug.core.schema import first_problem

        try:
            TypeAdapter(shape).validate_python(value, strict=True)
        except ValidationError as error:
            raise InputError(f"{path}: {first_problem(error)}; {remedy}") from None
    return value


def read_yaml(path: Path | str, may_be_empty: bool = False) -> dict:
    """A mapping from a YAML file, safe types alone.

    Read in C where PyYAML has that: params.yaml takes ten times as long in Python. InputError for anything else.
    """
    import yaml  # most stages' files are JSON

    try:
        text = Path(path).read_text(encoding="utf-8")
        blocks = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text).get_single_data()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run in the folder of the project, or name the file") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None
    if blocks is None and may_be_empty:
        return {}
    if not isinstance(blocks, dict):
        raise InputError(f"{path}: expected a mapping of blocks, each a name with its keys below it; mend it")
    return blocks


def write_rows(path: Path | str, rows: Iterable[dict]) -> int:
    """Stream rows to a JSONL file; returns how many were written."""
    check_file(path)
    count = 0
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for row in rows:
            stream.write(_row(row))
            count += 1
    return count


def _row(row: object) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def iter_rows(path: Path | str) -> Iterator[tuple[int, dict]]:
    """Line number (from 1) and object of every line of a JSONL file; InputError names a malformed line."""
    try:
        stream = Path(path).open(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the stage that makes it (`dvc repro`)") from None
    with stream:
        try:
            for number, line in enumerate(stream, start=1):
                try:
                    row = loads(line)
                except ValueError as error:
                    raise InputError(f"{path}:{number}: not a JSON object ({error}); mend or remove the line") from None
                if not isinstance(row, dict):
                    raise InputError(f"{path}:{number}: not a JSON object; mend or remove the line")
                yield number, row
        except UnicodeDecodeError:
            raise InputError(f"{path}: not UTF-8 text; convert the file to UTF-8") from None
