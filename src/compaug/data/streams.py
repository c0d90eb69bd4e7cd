"""The lines of somebody's file: unpacked by its first bytes, decoded, and ended by a newline or by CR alone."""

import bz2
import codecs
import contextlib
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from compaug.core.files import InputError

PACKED = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"BZh": bz2.open}
PACKED_NAMES = (".gz", ".xz", ".bz2")
MARKS = {  # longest first: the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
FOREIGN = {  # what other files begin with, and what to do with them
    b"PK\x03\x04": "a zip archive or an Excel workbook; unpack it, or save the sheet as 'CSV UTF-8'",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file; save the sheet as 'CSV UTF-8'",
    b"PAR1": "a Parquet file; end its name with .parquet",
    b"ARROW1": "an Arrow or Feather file; end its name with .arrow",
    b"\x28\xb5\x2f\xfd": "packed by zstd; unpack it (zstd -d), or pack it with gzip",
    b"7z\xbc\xaf": "a 7z archive; unpack it",
    b"Rar!": "a RAR archive; unpack it",
    b"SQLite format 3": "a database of SQLite; export the table (sqlite3 -csv -header)",
    b"\x80\x04\x95": "a pickle of Python; write its table with pandas' to_parquet or to_json",
    b"%PDF": "a PDF; write its texts and labels into a table",
    b"<?xml": "XML; write its texts and labels into a table: .csv or .jsonl",
    b"<html": "HTML; write its texts and labels into a table: .csv or .jsonl",
    b"@relation": "ARFF; write its texts and labels into a table: .csv or .jsonl",
    b"<!DOCTYPE": "SGML or HTML; write its texts and labels into a table: .csv or .jsonl",
}
HEAD = 1 << 16  # bytes by which a file is judged
GUESSES = ("cp1252", "gb18030", "shift_jis", "cp1251")  # read a line that is not UTF-8, as examples in the refusal


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a plain, gzip, xz or bzip2 file, whatever its name; InputError where it is missing or cut off."""
    try:
        with path.open("rb") as stream:
            first = stream.read(8)
        opener = next((opener for mark, opener in PACKED.items() if first.startswith(mark)), open)
        if opener is open and path.suffix.lower() in PACKED_NAMES and first:
            raise InputError(f"{path}: not a {path.suffix} file; end its name with what it is, or fetch it again")
        with opener(path, "rb") as stream:
            yield stream
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file; check the path") from None
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error):
        raise InputError(
            f"{path}: corrupt or cut-off {path.suffix} file; delete it and fetch or write it again"
        ) from None


def head(path: Path) -> bytes:
    """The first bytes of a file, unpacked. InputError for a file of another kind, by name."""
    with unpacked(path) as stream:
        first = stream.read(HEAD)
    for mark, kind in FOREIGN.items():
        if first.lstrip(codecs.BOM_UTF8 + b" \r\n\t").startswith((mark, mark.upper())):
            raise InputError(f"{path}: is {kind}")
    return first


def encoding_of(path: Path) -> str:
    """By its mark, by the zeros that UTF-16 has between letters, else UTF-8."""
    first = head(path)
    for mark, name in MARKS.items():
        if first.startswith(mark):
            return name
    if len(first) > 3 and first.count(0) * 3 > len(first):
        return "utf-16-le" if first[1::2].count(0) >= first[::2].count(0) else "utf-16-be"
    return "utf-8"


def known_encoding(name: str) -> str:
    """The codec of a name that a person wrote; InputError where there is none."""
    try:
        codecs.lookup(name)
    except LookupError:
        raise InputError(f"encoding: Python knows none called {name!r}; write utf-8, utf-16 or cp1252") from None
    return "utf-8-sig" if codecs.lookup(name).name == "utf-8" else name


def lines(path: Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of every line; a newline ends a line, or CR in a file without newlines.

    InputError names the first line that the encoding cannot read, and one that could.
    """
    name = known_encoding(encoding) if encoding else encoding_of(path)
    wide = name.lower().startswith(("utf-16", "utf_16", "utf-32", "utf_32", "utf16", "utf32"))
    with unpacked(path) as stream:
        for number, raw in enumerate(_decoded(path, stream, name) if wide else _ended(path, stream), start=1):
            if isinstance(raw, str):
                line = raw
            else:
                try:
                    line = raw.decode("utf-8" if name == "utf-8-sig" else name)
                except UnicodeDecodeError as error:
                    raise InputError(f"{path}:{number}: {_undecodable(raw, name, error)}") from None
            if number == 1:
                line = line.removeprefix("\ufeff")
            yield number, line.removesuffix("\n").removesuffix("\r")


def _ended(path: Path, stream: BinaryIO) -> Iterator[bytes]:
    """Lines with their ends; of a file of the old Macintosh those that CR ends."""
    first = stream.read(HEAD)
    stream.seek(0)
    if b"\n" in first or b"\r" not in first:
        yield from stream
    else:
        yield from stream.read().replace(b"\r", b"\n").splitlines(keepends=True)


def _decoded(path: Path, stream: BinaryIO, encoding: str) -> Iterator[str]:
    reader = codecs.getreader(encoding)(stream)
    try:
        text = reader.read()
    except UnicodeError as error:
        raise InputError(f"{path}: not {encoding.upper()} ({error}); give --encoding") from None
    mark = "\n" if "\n" in text else "\r"
    yield from text.removesuffix(mark).split(mark)


def _undecodable(raw: bytes, name: str, error: UnicodeDecodeError) -> str:
    shown = "UTF-8" if name.startswith("utf-8") else name
    byte = f"byte 0x{raw[error.start]:02x}"
    read = []
    for guess in GUESSES:
        with contextlib.suppress(UnicodeDecodeError):
            at = raw[: error.start].decode(guess)
            example = (at + raw[error.start :].decode(guess)).strip()
            read.append(f"{guess} if {example[max(0, len(at) - 20) : len(at) + 20]!r} is right")
    if not read:
        return f"not {shown} ({byte}); convert the file to UTF-8, or give its --encoding"
    return f"not {shown} ({byte}); give --encoding {', '.join(read)}; or convert the file to UTF-8"
