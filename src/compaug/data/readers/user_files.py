"""A user's file of any kind as rows: CSV in its dialect, JSON in its shapes, and what `datasets` opens.

Values of CSV and JSON stay what they are (an id 007, a text "NA"), and a fault has its line.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any

from compaug.core.files import InputError, loads
from compaug.data import streams
from compaug.data.corpus import require_columns
from compaug.data.readers import annotation_tools, dialect, headings
from compaug.data.readers.doubts import Doubt
from compaug.data.rows import TYPED, BadRow, Row, typed_rows

USUAL = {".csv": ",", ".tsv": "\t"}
JSON = (".jsonl", ".ndjson", ".json")
FASTTEXT, LABEL = ".txt", "__label__"  # before each name, at the start of a line
KINDS = (
    "use .jsonl, .csv or .tsv (also with .gz, .xz or .bz2), .json, .parquet, .arrow, or a folder that datasets' "
    "save_to_disk wrote; end the name of a table with .csv"
)
MARKUP = (".xml", ".sgm", ".sgml", ".html", ".htm")
SURVEY = {"Response", "Open-Ended Response"}  # below the questions in an export of SurveyMonkey
JUDGED = 10  # lines by which a file is told that has another kind's name
SEVERAL = "write one list, or an object a line and end its name with .jsonl"
SAMPLE = 5_000  # rows by which a header and a tool are told


@dataclass
class UserFile:
    """What is known of a file before its rows are read; `rows` reads them, as often as it is called."""

    path: Path
    kind: str
    dialect: dialect.Dialect | None = None
    columns: list[str] | None = None  # None where rows name their own
    repeated: tuple[str, ...] = ()  # names of several columns
    header: bool = True
    tool: str | None = None
    whole: bool = True  # names of a tool's taxonomy, with what they stand under
    doubts: list[Doubt] = field(default_factory=list)
    objects: list[Any] | None = None  # of a .json file that is one value
    encoding: str | None = None  # of JSON; None where the file says it

    def described(self) -> str:
        if self.dialect is None:
            tool = f", an export of {self.tool}" if self.tool else ""
            names = {".parquet": "Parquet", ".arrow": "Arrow", FASTTEXT: "lines of fastText"} | dict.fromkeys(
                JSON, "JSON"
            )
            return names.get(self.kind, "a folder of datasets") + tool
        encoding = (self.dialect.encoding or streams.encoding_of(self.path)).upper().replace("-SIG", "")
        header = "names of columns in line 1" if self.header else "no names of columns"
        return f"{encoding}, {self.dialect}, {header}"

    def rows(self, needed: Iterable[str] = ()) -> Iterator[Row]:
        """Rows, bad ones among them. InputError for a column that is missing, and a quote that never closes."""
        if self.dialect is not None:
            return self._cells(list(needed))
        if self.kind in JSON:
            return self._json(list(needed))
        if self.kind == FASTTEXT:
            return self._fasttext()
        return typed_rows(self.path, self.kind, list(needed))

    def _cells(self, needed: Sequence[str]) -> Iterator[Row]:
        where = f"{self.path}:1" if self.header else f"{self.path}"
        require_columns(where, needed, [name for name in self.columns or () if name])
        columns = self.columns or []
        records = dialect.records(self.path, dialect.lines(self.path, self.dialect.encoding), self.dialect)
        if self.header:
            next(records, None)
        named = [(at, name) for at, name in enumerate(columns) if name]
        nameless = len(named) < len(columns)
        width = len(columns)
        for line, values in records:
            if isinstance(values, BadRow):
                yield Row(line, None, bad=values)
                continue
            if len(values) > width and not any(map(str.strip, values[width:])):
                values = values[:width]
            if len(values) != width:
                fault = (
                    f"{len(values)} columns, the header has {width}; "
                    "quote values that contain the delimiter, a quote or a line break"
                )
                if width == 1:
                    fault += "; or give --delimiter, or remove lines above the names of columns"
                yield Row(line, None, bad=BadRow("another number of columns than the header", fault))
            elif nameless:
                yield Row(line, {name: values[at] for at, name in named})
            else:
                yield Row(line, dict(zip(columns, values, strict=True)))

    def _json(self, needed: Sequence[str]) -> Iterator[Row]:
        for number, value in enumerate(self.objects, 1) if self.objects is not None else self._json_lines():
            if isinstance(value, BadRow):
                yield Row(number, None, bad=value)
                continue
            if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
                value = {"text": value[0], **value[1]}  # as spaCy's training data
            if not isinstance(value, dict):
                what = 'not a JSON object, such as {"text": "...", "labels": ["a"]}; mend or remove the line'
                yield Row(number, None, bad=BadRow("not a JSON object", what))
                continue
            if self.tool:
                try:
                    value = annotation_tools.flattened(self.tool, value, self.whole)
                except (KeyError, TypeError, AttributeError, IndexError):
                    what = f"another shape than rows of {self.tool} have"
                    yield Row(number, None, bad=BadRow(what, f"{what}; mend or remove the row"))
                    continue
            else:
                value = _lifted(value)
            absent = next((name for name in needed if name not in value), None)
            if absent is not None:
                there = ", ".join(name for name in value if name != annotation_tools.QUESTIONS) or "none"
                what = f"no column {absent!r}"
                yield Row(number, None, bad=BadRow(what, f"{what}; there are: {there}"))
                continue
            yield Row(number, value)

    def _json_lines(self) -> Iterator[tuple[int, Any]]:
        for number, line in streams.lines(self.path, self.encoding):
            if not line.strip():
                continue
            try:
                yield number, loads(line, nan_is_null=True)
            except ValueError as error:
                yield number, BadRow("not valid JSON", f"not valid JSON ({error}); mend or remove the line")

    def _fasttext(self) -> Iterator[Row]:
        for number, line in streams.lines(self.path, self.encoding):
            words = list(takewhile(_is_label, line.split()))
            text = line.split(maxsplit=len(words))[len(words) :]
            if words or text:
                names = [name.removeprefix(LABEL).rstrip(",") for name in words if name != ","]
                yield Row(number, {"text": "".join(text), "labels": names})


def _is_label(word: str) -> bool:
    """Or a comma, which some scripts write behind names."""
    return word.startswith(LABEL) or word == ","


def _lifted(value: dict[str, Any]) -> dict[str, Any]:
    """With strings and lists of inner objects as columns, such as data.text."""
    inner = {
        f"{key}.{name}": item
        for key, part in value.items()
        if isinstance(part, dict)
        for name, item in part.items()
        if isinstance(item, str | list)
    }
    return value | inner if inner else value


def kind_of(path: Path) -> str:
    """The end of its name, in small letters, without that of its packing."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in streams.PACKED_NAMES else suffix


def opened(path: Path, chosen: Mapping[str, Any]) -> UserFile:
    """`chosen`: delimiter, quoting, encoding and header of the reader's options.

    InputError for what makes the whole of it unreadable: no such file, another kind of file.
    """
    kind = kind_of(path)
    if path.is_dir() or kind in TYPED:
        return UserFile(path, kind)
    if kind in MARKUP:
        raise InputError(f"{path}: is markup; write its texts and labels into a table: .csv or .jsonl")
    if kind not in USUAL and kind not in JSON:
        if not path.exists():
            raise InputError(f"{path}: no such file; check the path")
        first = streams.head(path)
        if kind == FASTTEXT and first.lstrip().startswith(LABEL.encode()):
            return UserFile(path, kind, encoding=chosen.get("encoding"))
        if first.lstrip().startswith(LABEL.encode()):
            raise InputError(f"{path}: holds lines of fastText; end its name with {FASTTEXT}")
        if first.lstrip().startswith(b"{"):
            _refuse_json(path, chosen.get("encoding"))
        raise InputError(f"{path}: unknown kind of file {kind!r}; {KINDS}")
    streams.head(path)
    return _opened_json(path, kind, chosen.get("encoding")) if kind in JSON else _opened_cells(path, kind, chosen)


# ---------------------------------------------------------------- cells


def _opened_cells(path: Path, kind: str, chosen: Mapping[str, Any]) -> UserFile:
    _refuse_json(path, chosen.get("encoding"))
    mark = chosen.get("delimiter")
    written, why = dialect.detected(
        path,
        {"delimiter": mark, "quoting": chosen.get("quoting"), "encoding": chosen.get("encoding")},
        USUAL[kind],
    )
    file = UserFile(path, kind, written)
    if why:
        file.doubts.append(Doubt(f"{written}: {why}", "--delimiter and --quoting say it otherwise"))
    sample = [
        values
        for _, values in islice(dialect.records(None, dialect.lines(path, written.encoding), written), SAMPLE)
        if isinstance(values, list)
    ]
    first = [name.strip().strip("\ufeff") for name in sample[0]] if sample else []
    header = chosen.get("header")
    if header is None:
        header, evidence = headings.has_names(first, sample[1:])
        if evidence:
            remedy = "--header if it has names of columns" if not header else "--no-header if it is a row"
            what = f"line 1 is read as {'names of columns' if header else 'a row'}, because {evidence}"
            file.doubts.append(Doubt(what, remedy, 0, 1))
        elif header and len(first) == 1 and headings.plain(first[0]) not in headings.NAMES:
            what = f"line 1, {first[0][:40]!r}, is read as the name of the one column"
            file.doubts.append(Doubt(what, "--no-header if it is a row", 0, 1))
    file.header = header
    if not header:
        file.columns = [f"column_{at}" for at in range(1, len(first) + 1)]
        return file
    if _have_row_names(first, sample[1:]):
        first = ["", *first]
    file.columns = first = list(_told_apart(file, first))
    nameless = [at for at, name in enumerate(first) if not name]
    if len(sample) > 1 and SURVEY & set(sample[1]) and any(sample[1][at] for at in nameless if at < len(sample[1])):
        what = "SurveyMonkey's second line of names, of the options of a question"
        raise InputError(f"{path}:2: {what}; write them into line 1, over the question, and remove line 2")
    if nameless:
        held = sum(any(row[at].strip() for at in nameless if at < len(row)) for row in sample[1:])
        if len(nameless) > 1 and len(first) - len(nameless) == 1 and 2 * held > len(sample) - 1:
            what = f"one name for {len(first)} columns, {max(first)[:40]!r}"
            raise InputError(f"{path}:1: {what}; remove the lines above the names of columns")
        values = f", with values in {held:,} of the first rows" if held else ""
        file.doubts.append(Doubt(f"{len(nameless)} columns have no name and are left out{values}"))
    return file


def _have_row_names(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows begin with a number that the header has no name for, as R writes them, and do not end in a mark."""
    longer = all(len(row) == len(names) + 1 and row[0].isdecimal() for row in rows)
    return longer and sum(bool(row[-1].strip()) for row in rows) * 2 > len(rows)


def _told_apart(file: UserFile, names: Sequence[str]) -> Iterator[str]:
    """As pandas does: tags, tags.1, tags.2. InputError where one of these is there already."""
    file.repeated = tuple(name for name, n in Counter(names).items() if name and n > 1)
    if file.repeated:
        what = f"names of columns that repeat are read as {file.repeated[0]}, {file.repeated[0]}.1 and so on"
        file.doubts.append(Doubt(what, "", len(file.repeated), 1))
    seen: Counter[str] = Counter()
    for name in names:
        again = f"{name}.{seen[name]}" if name and seen[name] else name
        if again != name and again in names:
            raise InputError(f"{file.path}:1: the column name {name!r} occurs twice; rename one of them")
        seen[name] += 1
        yield again


# ---------------------------------------------------------------- JSON


def _opened_json(path: Path, kind: str, encoding: str | None) -> UserFile:
    file = UserFile(path, kind, encoding=encoding)
    first = [line.strip()[:1] for _, line in islice(streams.lines(path, encoding), JUDGED) if line.strip()]
    if len(first) > 1 and not {"{", "["} & set(first):
        raise InputError(f"{path}: holds no JSON; end its name with .csv or .tsv if it is a table")
    if kind == ".json":
        file.objects, note = _whole(path, encoding)
        if note:
            file.doubts.append(Doubt(note))
    elif _is_whole(path, encoding):
        try:
            file.objects, _ = _whole(path, encoding)
        except InputError as error:
            if SEVERAL in str(error):
                raise
            # then it has bad lines
    sample = [row.values for row in islice(file.rows(), 200) if row.values]
    file.tool = annotation_tools.tool_of(sample)
    if file.tool == "Label Studio":
        file.whole = annotation_tools.share_ends(row.values for row in file.rows() if row.values)
    if any("NaN" in line or "Infinity" in line for _, line in islice(streams.lines(path, encoding), 200)):
        file.doubts.append(Doubt("NaN in JSON, as Python writes it, is read as null"))
    return file


def _refuse_json(path: Path, encoding: str | None) -> None:
    if _holds_json(islice(streams.lines(path, encoding), JUDGED)):
        raise InputError(f"{path}: holds JSON, an object a line; end its name with .jsonl")


def _holds_json(lines: Iterable[tuple[int, str]]) -> bool:
    """Whether each of these lines is an object of JSON."""
    filled = [line for _, line in lines if line.strip()]
    with contextlib.suppress(ValueError):
        return bool(filled) and all(isinstance(loads(line, nan_is_null=True), dict) for line in filled)
    return False


def _is_whole(path: Path, encoding: str | None) -> bool:
    """Whether a file of JSON lines is one value over many lines, or one list."""
    first = next((line.strip() for _, line in streams.lines(path, encoding) if line.strip()), "")
    return first in ("[", "{", "[{") or (first.startswith("[{") and _is_only_line(path, encoding))


def _whole(path: Path, encoding: str | None) -> tuple[list[Any] | None, str | None]:
    """(rows of a .json file that is one value, or None where it has an object a line; a remark on their order)."""
    first = next((line.strip() for _, line in streams.lines(path, encoding) if line.strip()), "")
    if not first.startswith("["):
        try:
            if isinstance(loads(first, nan_is_null=True), dict) and not _is_only_line(path, encoding):
                return None, None  # an object a line
        except ValueError:
            pass
    content = "\n".join(line for _, line in streams.lines(path, encoding))
    try:
        value = loads(content, nan_is_null=True)
    except ValueError as error:
        if not first:
            raise InputError(f"{path}: no rows; give the file at least one text") from None
        remedy = SEVERAL if "Extra data" in str(error) else "mend the file"
        raise InputError(f"{path}:{_bad_line(content)}: not valid JSON ({error}); {remedy}") from None
    if isinstance(value, list):
        return value, None
    if not isinstance(value, dict):
        raise InputError(f"{path}: neither a list of objects nor an object; write a list of rows")
    return _rows_of_object(path, value)


def _bad_line(content: str) -> int:
    """Where it is no JSON; the first line where Python does not say."""
    try:
        JSONDecoder().decode(content)
    except (JSONDecodeError, RecursionError) as error:
        return getattr(error, "lineno", 1)
    return 1


def _is_only_line(path: Path, encoding: str | None) -> bool:
    return sum(1 for _ in islice((line for _, line in streams.lines(path, encoding) if line.strip()), 2)) == 1


def _rows_of_object(path: Path, value: dict) -> tuple[list[Any], str | None]:
    """Rows of an object that has them by column, by their ids, or under one of its keys."""
    parts = list(value.values())
    if {"columns", "data"} <= value.keys() and isinstance(value["data"], list) and isinstance(value["columns"], list):
        rows = [dict(zip(value["columns"], row, strict=False)) for row in value["data"]]
        return rows, "an object with columns and data, as pandas writes it (orient=split)"
    lists = {key: part for key, part in value.items() if isinstance(part, list) and part}
    under = [key for key, part in lists.items() if all(isinstance(row, dict) for row in part)]
    if len(under) > 1 and "text" not in value:
        raise InputError(f"{path}: rows are under several keys: {', '.join(under)}; write one list of objects")
    if len(under) == 1:
        return lists[under[0]], f"an object whose rows are under {under[0]!r}"
    if parts and len(lists) == len(parts) and len({len(part) for part in parts}) == 1 and len(parts) > 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*parts, strict=True)], "an object of columns"
    if parts and all(isinstance(part, dict) for part in parts):
        if len({frozenset(part) for part in parts}) == 1 and len(parts[0]) > len(parts):
            ids = list(parts[0])
            rows = [{name: part[i] for name, part in value.items()} for i in ids]
            return rows, "an object of columns, as pandas writes it"
        return parts, "an object of rows by their ids"
    if "text" in value or len(value) > 1 and any(isinstance(part, str) for part in parts):
        return [value], None
    raise InputError(f"{path}: an object, not a list of rows; write a list of objects (in pandas orient='records')")
