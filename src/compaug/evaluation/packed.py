"""Lines of text in a gzip file: predictions, gold labels, the long table. They are in Git, and there large."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from compaug.core.files import InputError, atomic_path


def write(path: Path | str, lines: Iterable[str]) -> None:
    """The same lines, each with its end, give the same bytes: neither the time nor the name goes into the file."""
    with (
        atomic_path(path) as temporary,
        temporary.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream,
    ):
        for line in lines:
            stream.write(line.encode())


def read(path: Path | str, remedy: str) -> Iterator[str]:
    """The lines. InputError, one line with the remedy: no such file, cut off, damaged, not UTF-8."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            yield from stream
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; {remedy}") from None
    except (gzip.BadGzipFile, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"{path}: not a whole gzip file of UTF-8 text ({error}); {remedy}") from None
