"""Files as people have them: each kind is read as it is meant, or refused with its reason and the option that helps."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from compaug.core.files import InputError
from compaug.data.corpus import Corpus
from compaug.data.readers import columns, dialect, literals, tabular
from compaug.project import predict

NAMES = ["noise", "heating", "mould", "rent", "lift"]
SETS = [(0,), (0, 1), (2,), (3,), (1, 2), (), (0, 4), (4,), (1,), (2, 3), (0, 1, 3)]
ROWS = [
    (f"the flat at number {at} is too {'cold' if at % 2 else 'loud'}, and nobody answers", [NAMES[i] for i in labels])
    for at, labels in enumerate(SETS * 6)
]


def table(rows: Iterable[Sequence[object]], delimiter: str = ",", **options: object) -> str:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator="\n", **options).writerows(rows)
    return stream.getvalue()


def listed(cell: Callable[[list[str]], object], header: Sequence[str] = ("text", "labels"), **options: object) -> str:
    """A CSV file whose label cells `cell` writes."""
    return table([header, *([text, cell(names)] for text, names in ROWS)], **options)


def marked(yes: str, no: str, names: Sequence[str] = NAMES, more: dict[str, Callable[[int], str]] | None = None) -> str:
    """A CSV file with a column for each label, and `more` ones after them."""
    more = more or {}
    rows = [[text, *(yes if n in labels else no for n in NAMES)] for text, labels in ROWS]
    rows = [[*row, *(value(at) for value in more.values())] for at, row in enumerate(rows)]
    return table([["text", *names, *more], *rows])


def objects(labels: Callable[[list[str]], dict]) -> str:
    return "".join(json.dumps({"text": text, **labels(names)}) + "\n" for text, names in ROWS)


def vector(names: Sequence[str]) -> list[int]:
    return [int(name in names) for name in NAMES]


def saved(folder: Path, content: str | bytes, name: str = "flats.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(path: Path, **chosen: object) -> Corpus:
    return tabular.read({}, columns.guess(path, chosen).options)


def notes(path: Path, **chosen: object) -> str:
    """What is odd, as inspect prints it."""
    choice = columns.guess(path, chosen)
    return "\n".join([*map(str, choice.doubts), *tabular.read({}, choice.options).notes])


def shown(corpus: Corpus) -> list[tuple[str, list[str]]]:
    names = corpus.labels.names
    return [(e.text, sorted(names[label] for label in e.labels)) for e in corpus.examples]


MEANT = [(text, sorted(names)) for text, names in ROWS]


def refused(path: Path, message: str, **chosen: object) -> InputError:
    with pytest.raises(InputError, match=message) as caught:
        read(path, **chosen)
    assert "\n" not in str(caught.value) and path.name in str(caught.value)
    return caught.value


# ---------------------------------------------------------------- forms of labels that need no option

FORMS = {
    "semicolons": lambda: listed(";".join),
    "slashes": lambda: listed("/".join),
    "double colons": lambda: listed("::".join),
    "line breaks": lambda: listed("\n".join),
    "Chinese commas": lambda: listed("、".join),
    "Arabic commas": lambda: listed("، ".join),
    "Japanese dots": lambda: listed("・".join),
    "wide bars": lambda: listed("｜".join),
    "blanks": lambda: listed(" ".join),
    "doccano's #": lambda: listed("#".join),
    "SharePoint's ;#": lambda: listed(";#".join),
    "plus": lambda: listed("+".join),
    "JSON lists": lambda: listed(json.dumps),
    "Python lists": lambda: listed(repr),
    "tuples": lambda: listed(lambda names: repr(tuple(names))),
    "sets": lambda: listed(lambda names: repr(set(names))),
    "arrays of pandas": lambda: listed(lambda names: f"array({names!r}, dtype=object)"),
    "scalars of numpy": lambda: listed(lambda names: f"[{', '.join(f'np.str_({n!r})' for n in names)}]"),
    "an index of pandas": lambda: listed(lambda names: f"Index({names!r}, dtype='object')"),
    "counters": lambda: listed(lambda names: f"Counter({ {n: 1 for n in names} })"),
    "arrays of PostgreSQL": lambda: listed(lambda names: "{" + ",".join(names) + "}"),
    "dicts": lambda: listed(lambda names: repr({name: name in names for name in NAMES})),
    "JSON objects": lambda: listed(lambda names: json.dumps(dict(zip(NAMES, vector(names), strict=True)))),
    "tags": lambda: listed(lambda names: "".join(f"<{name}>" for name in names)),
    "hash tags": lambda: listed(lambda names: " ".join(f"#{name}" for name in names)),
    "lists of objects": lambda: listed(lambda names: json.dumps([{"id": len(n), "name": n} for n in names])),
    "objects as Python writes them": lambda: listed(lambda names: repr([{"label": n} for n in names])),
    "choices": lambda: listed(lambda names: json.dumps({"choices": names}) if names else ""),
    "Label Studio's CSV": lambda: listed(
        lambda names: names[0] if len(names) == 1 else json.dumps({"choices": names}) if names else ""
    ),
    "dashes": lambda: listed(" - ".join),
    "and signs": lambda: listed(" & ".join),
    "0 and 1": lambda: marked("1", "0"),
    "x and dashes": lambda: marked("x", "-"),
    "ticks": lambda: marked("☑", "☐"),
    "ticks of another colour": lambda: marked("✅", ""),
    "ticks and crosses": lambda: marked("✔️", "❌"),
    "yes and no": lambda: marked("Yes", "No"),
    "German": lambda: marked("WAHR", "FALSCH"),
    "floats and blanks round them": lambda: marked(" 1.0", "0.0 "),
    "x": lambda: marked("x", ""),
    "1 or blank": lambda: marked("1", ""),
    "checked": lambda: marked("Checked", "Unchecked"),
    "the option's name": lambda: table(
        [["text", *NAMES], *([text, *(n if n in names else "" for n in NAMES)] for text, names in ROWS)]
    ),
    "the option's name at the end of a question": lambda: table(
        [
            ["text", *(f"What is wrong? [{n}]" for n in NAMES)],
            *([text, *(n if n in names else "" for n in NAMES)] for text, names in ROWS),
        ]
    ),
    "columns of one name, as Jira writes them": lambda: table(
        [["text", "Labels", "Labels", "Labels"], *([text, *names, "", "", ""][:4] for text, names in ROWS)]
    ),
    "a name in each of three columns": lambda: table(
        [["text", "label1", "label2", "label3"], *([text, *names, "", "", ""][:4] for text, names in ROWS)]
    ),
}
BY_QUESTION = "the option's name at the end of a question"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_labels_is_read_without_an_option(tmp_path, form):
    corpus = read(saved(tmp_path, FORMS[form]()))
    meant = [(t, [f"What is wrong? [{n}]" for n in names]) for t, names in MEANT] if form == BY_QUESTION else MEANT
    assert shown(corpus) == meant
    assert any("-> noise" in note or "wrong? [noise]" in note for note in corpus.notes)


JSON_FORMS = {
    "lists": lambda names: {"labels": names},
    "null": lambda names: {"labels": names or None},
    "no key": lambda names: {"labels": names} if names else {},
    "spaCy": lambda names: {"cats": {name: float(name in names) for name in NAMES}},
    "objects": lambda names: {"tags": [{"name": name, "color": "red"} for name in names]},
    "objects with a switch": lambda names: {"labels": [{"name": name, "selected": name in names} for name in NAMES]},
    "doccano": lambda names: {"id": 3, "label": names},
    "an empty list elsewhere": lambda names: {"annotations": [], "classified": names},
    "an inner object": lambda names: {"meta": {"topics": names, "source": "web"}},
    "NaN elsewhere": lambda names: {"labels": names, "score": float("nan")},
    "argilla": lambda names: {"topic.responses": [names], "topic.responses.users": ["u"], "topic.suggestion": None},
    "argilla's feedback": lambda names: {
        "topic": [{"value": names, "user_id": "u", "status": "submitted"}, {"value": ["lift"], "status": "discarded"}],
        "topic-suggestion": ["lift"],
    },
    "argilla, old": lambda names: {"prediction": [{"label": "lift", "score": 0.9}], "annotation": names},
    "Prodigy": lambda names: {"options": [{"id": n, "text": n} for n in NAMES], "accept": names, "answer": "accept"},
    "JSON-MIN": lambda names: {"topic": {"choices": names} if names else "", "annotation_id": 1, "lead_time": 2.5},
    "yes": lambda names: {name: name in names for name in NAMES},
}


@pytest.mark.parametrize("form", JSON_FORMS)
def test_json_lines_of_every_shape_are_read(tmp_path, form):
    assert shown(read(saved(tmp_path, objects(JSON_FORMS[form]), "flats.ndjson"))) == MEANT


def annotation(names: list[str], **facts: object) -> dict:
    result = {"value": {"choices": names}, "from_name": "topic", "to_name": "text", "type": "choices"}
    return {"id": 1, "completed_by": 1, "result": [result] if names else [], "was_cancelled": False, **facts}


def tasks(annotations: Callable[[list[str]], list[dict]]) -> str:
    return json.dumps([{"id": at, "annotations": annotations(names), "data": {"text": text}, "created_at": "2024"}
                       for at, (text, names) in enumerate(ROWS)])  # fmt: skip


def test_an_export_of_label_studio_is_read_without_what_was_cancelled_or_never_annotated(tmp_path):
    path = saved(tmp_path, tasks(lambda names: [annotation(names), annotation(["lift"], was_cancelled=True)]), "a.json")
    assert shown(read(path)) == MEANT
    path = saved(tmp_path, tasks(lambda names: [annotation(names)] if names else []), "a.json")
    corpus = read(path)
    assert shown(corpus) == [row for row in MEANT if row[1]]
    assert any("6 x rows that nobody has annotated are left out (first in line 6)" in note for note in corpus.notes)


def test_records_of_argilla_are_read_without_those_that_nobody_answered(tmp_path):
    records = [
        {"id": str(at), "fields": {"text": text}, "suggestions": {"topic": {"value": ["lift"]}},
         "responses": {"topic": [{"value": names, "user_id": "u"}]} if names else {}}
        for at, (text, names) in enumerate(ROWS)
    ]  # fmt: skip
    corpus = read(saved(tmp_path, json.dumps(records), "a.json"))
    assert shown(corpus) == [row for row in MEANT if row[1]]
    assert any("6 x rows that nobody has annotated are left out" in note for note in corpus.notes)


def test_annotators_who_differ_need_a_cut(tmp_path):
    path = saved(tmp_path, tasks(lambda names: [annotation(names), annotation(names), annotation(["lift"])]), "a.json")
    refused(path, "texts on which annotators differ .*--positive-above 0.5 takes what more than half of them chose")
    assert shown(read(path, positive_above=0.5)) == MEANT
    assert all("lift" in names for _, names in shown(read(path, positive_above=0.0)))


JSON_FILES = {
    "by column": lambda: {
        "text": {str(i): text for i, (text, _) in enumerate(ROWS)},
        "labels": {str(i): names for i, (_, names) in enumerate(ROWS)},
    },
    "by id": lambda: {str(i): {"text": text, "labels": names} for i, (text, names) in enumerate(ROWS)},
    "under a key": lambda: {"version": 1, "data": [{"text": text, "labels": names} for text, names in ROWS]},
    "lists": lambda: {"text": [text for text, _ in ROWS], "labels": [names for _, names in ROWS]},
    "split": lambda: {"columns": ["text", "labels"], "index": [0], "data": [[text, names] for text, names in ROWS]},
    "records": lambda: [{"text": text, "labels": names} for text, names in ROWS],
}


@pytest.mark.parametrize("order", JSON_FILES)
@pytest.mark.parametrize("indent", [None, 1])
def test_one_json_value_is_read_in_every_order_that_pandas_has(tmp_path, order, indent):
    assert shown(read(saved(tmp_path, json.dumps(JSON_FILES[order](), indent=indent), "flats.json"))) == MEANT


def test_texts_in_inner_objects_and_pairs_of_spacy_are_read(tmp_path):
    inner = "".join(json.dumps({"data": {"text": text}, "labels": names}) + "\n" for text, names in ROWS)
    assert shown(read(saved(tmp_path, inner, "a.jsonl"))) == MEANT
    pairs = [[text, {"cats": {name: int(name in names) for name in NAMES}}] for text, names in ROWS]
    assert shown(read(saved(tmp_path, json.dumps(pairs), "a.json"))) == MEANT


def test_one_list_is_read_under_the_name_of_json_lines(tmp_path):
    for indent in (None, 2):
        content = json.dumps([{"text": text, "labels": names} for text, names in ROWS], indent=indent)
        assert shown(read(saved(tmp_path, content, "a.jsonl"))) == MEANT


def test_a_rating_beside_the_columns_of_labels_is_none_of_them(tmp_path):
    stars = [[row[0], at % 5 + 1, *row[1:]] for at, row in enumerate(csv.reader(marked("1", "0").splitlines()[1:]))]
    path = saved(tmp_path, table([["text", "stars", *NAMES], *stars]))
    assert shown(read(path)) == MEANT and "columns of numbers beside the labels, left out: stars" in notes(path)
    votes = [[row[0], at % 4, *row[2:]] for at, row in enumerate(stars)]
    refused(
        saved(tmp_path, table([["text", "damp", *NAMES], *votes])), "left out: damp: --label-columns 'noise,heating,"
    )


# ---------------------------------------------------------------- how a file is written

PLAIN = listed(";".join)
WRITTEN = {
    "Excel": (listed(", ".join, delimiter=";"), "utf-8-sig", "flats.csv"),
    "Excel's CRLF": (PLAIN.replace("\n", "\r\n"), "utf-8", "flats.csv"),
    "old Macintosh": (PLAIN.replace("\n", "\r"), "utf-8", "flats.csv"),
    "UTF-16": (PLAIN, "utf-16", "flats.csv"),
    "UTF-16 without a mark": (PLAIN, "utf-16-le", "flats.csv"),
    "tabs in .csv": (listed(";".join, delimiter="\t"), "utf-8", "flats.csv"),
    "bars": (listed(";".join, delimiter="|"), "utf-8", "flats.csv"),
    "capitals": (PLAIN, "utf-8", "FLATS.CSV"),
    "blanks before quotes": (listed(";".join, quoting=csv.QUOTE_ALL).replace('","', '", "'), "utf-8", "flats.csv"),
    "all quoted": (listed(";".join, quoting=csv.QUOTE_ALL), "utf-8", "flats.csv"),
    "sep=": ("sep=;\n" + listed(",".join, delimiter=";"), "utf-8", "flats.csv"),
    "columns without names": (PLAIN.replace("\n", ",,\n"), "utf-8", "flats.csv"),
    "delimiters after numbered rows": (
        "id,text,labels\n" + table([(at, text, ";".join(names), "") for at, (text, names) in enumerate(ROWS)]),
        "utf-8",
        "flats.csv",
    ),
    "row names of R": (
        "text\tlabels\n" + table([(at, text, ";".join(names)) for at, (text, names) in enumerate(ROWS, 1)], "\t"),
        "utf-8",
        "flats.tsv",
    ),
    "empty rows at the end": (PLAIN + ",\n" * 40, "utf-8", "flats.csv"),
    "Markdown": (
        "| text | labels |\n| :--- | --- |\n" + "".join(f"| {text} | {';'.join(names)} |\n" for text, names in ROWS),
        "utf-8",
        "flats.csv",
    ),
    "the header again": (PLAIN + "text,labels\n", "utf-8", "flats.csv"),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_a_file_is_read_however_a_spreadsheet_wrote_it(tmp_path, way):
    content, encoding, name = WRITTEN[way]
    assert shown(read(saved(tmp_path, content.encode(encoding), name))) == MEANT


def test_lines_of_fasttext_are_read(tmp_path):
    lines = [" ".join([*(f"__label__{name}" for name in names), text]) for text, names in ROWS]
    for end in ("\n", "\r\n\r\n"):
        path = saved(tmp_path, end.join(lines), "flats.train.txt")
        corpus = read(path)
        assert shown(corpus) == MEANT and corpus.notes[0].endswith("lines of fastText")
    refused(saved(tmp_path, PLAIN, "flats.txt"), "unknown kind of file '.txt'; .*; end the name of a table with .csv")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_packed_file_is_unpacked_whatever_its_name(tmp_path, pack):
    assert shown(read(saved(tmp_path, pack(PLAIN.encode())))) == MEANT


def test_quotes_that_are_letters_swallow_no_rows(tmp_path):
    """Tweets: one begins with a quote, a later one ends in 12 inches."""
    texts = [text for text, _ in ROWS]
    texts[3], texts[9] = '"sorry, we are closed', 'the screen has 12"'
    for stray in (texts[12], 'he said "no" twice', '"no", he said'):
        texts[12] = stray
        lines = [
            f"{at}\t{text}\t{';'.join(names)}" for at, (text, (_, names)) in enumerate(zip(texts, ROWS, strict=True))
        ]
        path = saved(tmp_path, "\n".join(["id\ttext\tlabels", *lines]) + "\n", "flats.tsv")
        assert [e.text for e in read(path).examples] == texts and "quotes are letters" in notes(path)


def test_quotes_after_a_backslash_are_seen(tmp_path):
    rows = [(f'he said "no, never", at {at}', names) for at, (_, names) in enumerate(ROWS)]
    lines = ['"' + text.replace('"', '\\"') + '",' + ";".join(names) for text, names in rows]
    assert [e.text for e in read(saved(tmp_path, "\n".join(["text,labels", *lines]))).examples] == [t for t, _ in rows]


def test_texts_of_two_lines_in_quotes_are_not_taken_for_rows(tmp_path):
    rows = [[text.replace(", ", ",\n"), ";".join(names)] for text, names in ROWS]
    corpus = read(saved(tmp_path, table([["text", "labels"], *rows])))
    assert [e.text for e in corpus.examples] == [text for text, _ in rows]
    assert any("66 x texts that hold line breaks (first in line 3)" in note for note in corpus.notes)


def test_a_file_without_names_of_columns_loses_no_row(tmp_path):
    path = saved(tmp_path, PLAIN.partition("\n")[2])
    corpus = read(path)
    assert shown(corpus) == MEANT and "line 1 is read as a row, because 'noise' stands in its column again" in notes(
        path
    )
    assert len(read(path, header=True, label_column="noise", text_column=ROWS[0][0]).examples) == len(ROWS) - 1
    numbers = saved(tmp_path, marked("1", "0").partition("\n")[2])
    assert len(read(numbers, labels=NAMES).examples) == len(ROWS)


def test_another_encoding_is_named_with_its_line_and_what_it_would_read(tmp_path):
    path = saved(tmp_path, (PLAIN + "ein Café im Haus,noise\n").encode("cp1252"))
    refused(path, r"flats.csv:68: not UTF-8 \(byte 0xe9\); give --encoding cp1252 if 'ein Café im Haus,noise' is right")
    assert shown(read(path, encoding="cp1252"))[-1] == ("ein Café im Haus", ["noise"])


@pytest.mark.parametrize(("line", "encoding"), [("第一次坐车很冷,noise", "gb18030"), ("холодно,noise", "cp1251")])
def test_what_each_likely_encoding_would_read_is_shown(tmp_path, line, encoding):
    path = saved(tmp_path, (PLAIN + line + "\n").encode(encoding))
    refused(path, f"flats.csv:68: not UTF-8 .* give --encoding cp1252 if .*, {encoding} if '{line}' is right")
    assert shown(read(path, encoding=encoding))[-1] == (line.partition(",")[0], ["noise"])


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"PK\x03\x04....", "a.csv", "is a zip archive or an Excel workbook"),
        (b"PK\x03\x04....", "a.xlsx", "is a zip archive or an Excel workbook"),
        (b"<?xml version='1.0'?><a/>", "a.csv", "is XML"),
        (b"<!DOCTYPE lewis><REUTERS>", "a.csv", "is SGML or HTML"),
        (b"\x28\xb5\x2f\xfd\x04\x88", "a.jsonl.zst", "is packed by zstd; unpack it"),
        (b"SQLite format 3\0....", "a.csv", "is a database of SQLite"),
        (b"\x80\x04\x95\x00\x00", "a.pkl", "is a pickle of Python"),
        (b"<HTML><table>", "a.csv", "is HTML"),
        (b"<REUTERS TOPICS='YES'>", "reut2-000.sgm", "is markup"),
        (b"text", "a.pkl", "unknown kind of file '.pkl'; use .jsonl, .csv"),
        (b'"text"', "a.json", "neither a list of objects nor an object"),
        (b'{"a": 1, "b": 2}', "a.json", "an object, not a list of rows; write a list of objects"),
        (b'[\n{"text": "x"},\n]', "a.json", r"a.json:3: not valid JSON .*; mend the file"),
        (
            b'{\n"text": "x"}{"text": "y"}',
            "a.json",
            r"a.json:2: not valid JSON \(Extra data\); write one list, or an ob",
        ),
        (b"", "a.json", "no rows; give the file at least one text"),
        (b'[["text", "labels"], ["x", ["a"]]]', "a.json", r'not a JSON object, such as \{"text": "...", "labels"'),
        (
            b'{"train": [{"text": "x"}], "test": [{"text": "y"}]}',
            "a.json",
            "under several keys: train, test; write one",
        ),
        (b'{"text": "x"\n{"text": y}\n', "a.jsonl", "2 of 2 rows cannot be used: 2 x not valid JSON"),
    ],
)
def test_what_is_no_table_is_named(tmp_path, content, name, message):
    refused(saved(tmp_path, content, name), message)


# ---------------------------------------------------------------- doubts that wait for an answer


def test_vectors_need_names_and_are_never_taken_for_class_numbers(tmp_path):
    for content, name in (
        (listed(lambda names: json.dumps(vector(names))), "a.csv"),
        (listed(lambda names: repr([bool(n) for n in vector(names)])), "a.csv"),
        (listed(lambda names: f"[{', '.join(f'np.{bool(n)}_' for n in vector(names))}]"), "a.csv"),
        (listed(lambda names: f"[{', '.join(f'np.int64({n})' for n in vector(names))}]"), "a.csv"),
        (listed(lambda names: f"tensor({[float(n) for n in vector(names)]})"), "a.csv"),
        (listed(lambda names: " ".join(map(str, vector(names)))), "a.csv"),
        (listed(lambda names: ",".join(map(str, vector(names)))), "a.csv"),
        (listed(lambda names: "".join(map(str, vector(names)))), "a.csv"),
        (objects(lambda names: {"labels": list(map(str, vector(names)))}), "a.jsonl"),
        (objects(lambda names: {"labels": vector(names)}), "a.jsonl"),
    ):
        path = saved(tmp_path, content, name)
        refused(path, "vectors of 5 zeros and ones without names .* give their 5 names in order with --labels")
        refused(path, "--labels has 4", labels=NAMES[:4])
        assert shown(read(path, labels=NAMES)) == MEANT


def test_class_numbers_ask_for_names_and_for_the_first_number(tmp_path):
    path = saved(tmp_path, objects(lambda names: {"labels": [NAMES.index(name) for name in names]}), "a.jsonl")
    refused(path, "labels are numbers from 0 to 4, 5 of them .*give their names with --labels")
    assert shown(read(path, labels=NAMES)) == MEANT
    path = saved(
        tmp_path, objects(lambda names: {"annotations": [{"label": NAMES.index(n) + 1} for n in names]}), "a.jsonl"
    )
    refused(path, "class numbers run from 1 to 5, and --labels from 0 to 4 .*: give --labels 1=NAME", labels=NAMES)
    assert shown(read(path, labels=[f"{at}={name}" for at, name in enumerate(NAMES, 1)])) == MEANT
    spaced = listed(lambda names: "[ " + " ".join(str(NAMES.index(name)) for name in names) + "]")
    assert shown(read(saved(tmp_path, spaced), labels=NAMES)) == MEANT
    bare = table(
        [[text, ",".join(str(NAMES.index(n)) for n in names), f"key{at}"] for at, (text, names) in enumerate(ROWS)]
    )
    path = saved(tmp_path, bare, "bare.csv")
    refused(path, "labels are numbers from 0 to 4, 5 of them")
    assert shown(read(path, labels=NAMES)) == MEANT
    commas = listed(lambda names: ",".join(str(NAMES.index(name)) for name in names))
    assert shown(read(saved(tmp_path, commas), labels=NAMES)) == MEANT


@pytest.mark.parametrize("word", ["NaN", "None", "N/A", "null", "-", '""', "unlabeled", "(no genres listed)"])
def test_words_that_mean_no_value_wait_for_an_answer(tmp_path, word):
    path = saved(tmp_path, listed(lambda names: ";".join(names) or word))
    error = refused(path, f"6 x the label name {re.escape(repr(word))}, which often says .*first in line 7.*--missing ")
    assert any("commonest of 6 labels" in note for note in error.__notes__)
    assert shown(read(path, missing=[word])) == MEANT
    assert (ROWS[5][0], [word]) in shown(read(path, labels=[*NAMES, word]))


@pytest.mark.parametrize("change", [lambda n: n + "\u200b", str.upper])
def test_names_that_look_alike_collide_until_the_right_ones_are_listed(tmp_path, change):
    rows = [(text, [change(n) if at % 2 else n for n in names]) for at, (text, names) in enumerate(ROWS)]
    path = saved(tmp_path, table([["text", "labels"], *([text, ";".join(names)] for text, names in rows)]))
    refused(path, "the label names .* and .* collide, and 4 more such: they differ in .* alone .*--labels")
    assert shown(read(path, labels=NAMES)) == MEANT


def test_columns_of_several_annotators_wait_for_an_answer(tmp_path):
    path = saved(tmp_path, table([["text", "rater_1", "rater_2"], *((t, n[0], n[-1]) for t, n in ROWS if n)]))
    refused(path, "columns of several annotators: rater_1, rater_2: --label-column takes one of them")
    both = read(path, label_columns=["rater_1", "rater_2"])
    assert shown(both) == [(text, sorted({names[0], names[-1]})) for text, names in ROWS if names]


def in_two_columns(folder: Path, cell: Callable[[list[str]], object]) -> Path:
    """The first two names of a row in label1, the others in label2."""
    rows = [[text, cell(names[:2]), cell(names[2:])] for text, names in ROWS]
    return saved(folder, table([["text", "label1", "label2"], *rows]))


@pytest.mark.parametrize("header", [("tags", "tags.1"), ("label", "label2"), ("Category", "Category 2")])
def test_a_column_of_labels_is_read_with_those_of_its_name_and_a_number(tmp_path, header):
    rows = [(text, ";".join(names[:2]), ";".join(names[2:])) for text, names in ROWS]
    rows += [("nothing but mould here", "mould", "rent")]
    path = saved(tmp_path, table([["text", *header], *rows]))
    assert shown(read(path))[:-1] == MEANT
    strange = saved(tmp_path, table([["text", *header], *((text, names, "old") for text, names, _ in rows)]))
    refused(strange, f"columns of one name with numbers: {', '.join(header)}: --label-column {header[0]} takes the fi")
    assert shown(read(strange, label_column=header[0]))[2][1] == ["mould"]


def test_a_name_that_ends_as_one_of_labels_does_is_none_by_that_where_values_say_nothing(tmp_path):
    rows = [{"text": t, "all_labels": NAMES, "zip_code": f"1{at:04d}", "gold": n} for at, (t, n) in enumerate(ROWS)]
    assert shown(read(saved(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "a.jsonl"))) == MEANT


@pytest.mark.parametrize("form", [";".join, json.dumps, repr], ids=["one string", "JSON", "Python"])
def test_several_columns_may_hold_several_names_each(tmp_path, form):
    path = in_two_columns(tmp_path, form)
    assert shown(read(path)) == MEANT == shown(read(path, label_columns=["label1", "label2"]))


def test_the_delimiter_of_several_columns_is_obeyed_and_a_doubtful_mark_waits_for_it(tmp_path):
    rows = [("late and rude", "delay;staff", "app"), ("it crashed", "app", ""), ("hot", "comfort", "")]
    path = saved(tmp_path, table([["text", "label1", "label2"], *rows]))
    refused(
        path, "1 x label cells with ';' whose parts never stand elsewhere, .*first in line 2.*--label-delimiter ';'"
    )
    assert shown(read(path, label_delimiter=";"))[0] == ("late and rude", ["app", "delay", "staff"])
    assert shown(read(path, label_delimiter="|"))[0] == ("late and rude", ["app", "delay;staff"])


@pytest.mark.parametrize("header", [("predicted_labels", "true_labels"), ("emotions", "topics")])
def test_two_columns_that_could_hold_the_labels_wait_for_an_answer(tmp_path, header):
    rows = [(text, ";".join(names), ";".join(reversed(names)) or "rent") for text, names in ROWS]
    path = saved(tmp_path, table([("text", *header), *rows]))
    assert set(header) <= set(str(refused(path, "could hold the labels: give --label-column")).replace(":", "").split())
    assert shown(read(path, label_column=header[0])) == MEANT
    labels = saved(tmp_path, table([("text", "labels", header[1]), *rows]))
    assert shown(read(labels)) == MEANT


def test_a_column_of_classes_is_not_preferred_to_columns_of_yes_and_no(tmp_path):
    content = marked("1", "0", more={"vehicle_class": lambda at: ("bus", "tram")[at % 2]})
    path = saved(tmp_path, content)
    refused(
        path, "vehicle_class of names beside 5 columns of yes and no.*--label-columns 'noise,heating,mould,rent,lift'"
    )
    assert shown(read(path, label_columns=NAMES)) == MEANT


def test_flags_are_told_from_labels_that_begin_alike(tmp_path):
    content = marked("1", "0", [f"is_{name}" for name in NAMES], {"is_train": lambda at: str(at % 2)})
    refused(saved(tmp_path, content), "names say something of the row: is_train")


def test_a_name_alone_may_hold_a_comma_where_others_stand_in_lists(tmp_path):
    rows = [{"text": t, "labels": ["a, b" if name == "lift" else name for name in names]} for t, names in ROWS]
    meant = [(row["text"], sorted(row["labels"])) for row in rows]
    rows = [row | {"labels": row["labels"][0]} if len(row["labels"]) == 1 else row for row in rows]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    assert shown(read(saved(tmp_path, content, "a.jsonl"))) == meant


@pytest.mark.parametrize(("mark", "of"), [(", ", ","), ("&amp;", ";")])
def test_a_mark_that_nothing_explains_waits_for_an_answer(tmp_path, mark, of):
    names = {name: f"{name[:2]}{mark}{name[2:]}" for name in NAMES}
    path = saved(tmp_path, table([("text", "labels"), *((t, names[n[0]]) for t, n in ROWS if n)]))
    refused(path, f"label cells with '{of}' whose parts never stand elsewhere, as in .*--label-delimiter '{of}' if")
    assert shown(read(path, label_delimiter="|")) == [(t, [names[n[0]]]) for t, n in ROWS if n]


@pytest.mark.parametrize("chosen", [{}, {"label_delimiter": ","}])
def test_listed_names_that_hold_the_delimiter_stay_whole(tmp_path, chosen):
    names = {"noise": "noise, at night", "lift": "lift, in use, late"}
    rows = [(text, [names.get(n, n) for n in labels]) for text, labels in ROWS]
    path = saved(tmp_path, table([["text", "labels"], *((text, ", ".join(labels)) for text, labels in rows)]))
    every = [names.get(n, n) for n in NAMES]
    assert shown(read(path, labels=every, **chosen)) == [(text, sorted(labels)) for text, labels in rows]


@pytest.mark.parametrize("spread", [",", ", "])
def test_names_in_quotes_hold_the_mark_where_quotes_stand_beside_it(tmp_path, spread):
    names = {"lift": '"lift, in use"', "rent": '"rent ""due"", now"'}
    path = saved(tmp_path, listed(lambda labels: spread.join(names.get(n, n) for n in labels)))
    meant = {"lift": "lift, in use", "rent": 'rent "due", now'}
    assert shown(read(path)) == [(text, sorted(meant.get(n, n) for n in labels)) for text, labels in ROWS]
    refused(saved(tmp_path, listed(lambda labels: f'"{", ".join(labels)}"')), "label cells with ','")


def test_class_numbers_in_several_columns_are_refused_as_such(tmp_path):
    path = in_two_columns(tmp_path, lambda names: NAMES.index(names[0]) if names else "")
    refused(
        path, "numbers in the columns label1, label2 from .*; if they are class numbers, write names in their place"
    )


@pytest.mark.parametrize("mark", [" > ", " and ", " -> ", " → "])
def test_words_and_arrows_between_names_are_no_names(tmp_path, mark):
    assert shown(read(saved(tmp_path, listed(mark.join)))) == MEANT


@pytest.mark.parametrize(("yes", "no"), [("✓", "✗"), ("1,0", "0,0")])
def test_marks_and_decimal_commas_are_yes_and_no(tmp_path, yes, no):
    assert shown(read(saved(tmp_path, marked(yes, no)))) == MEANT


def test_two_words_that_are_no_yes_and_no_wait_for_an_answer(tmp_path):
    path = saved(tmp_path, marked("ano", "ne"))
    refused(path, "columns of 'ano' and 'ne', of which one says that a label fits", label_columns=NAMES)
    assert shown(read(path, label_columns=NAMES, missing=["ne"])) == MEANT
    numbers = saved(tmp_path, marked("1", "2"))
    refused(
        numbers, "numbers in the columns noise, heating, mould, ... from 1 to 2.*--missing 2 the others if it means no"
    )
    assert shown(read(numbers, missing=["2"])) == MEANT
    path = saved(tmp_path, marked("1", "-1"))
    refused(path, "give --positive-above -1 takes the larger", label_columns=NAMES)
    assert shown(read(path, label_columns=NAMES, positive_above=-1)) == MEANT


def test_the_one_word_that_columns_hold_beside_blanks_means_yes(tmp_path):
    assert shown(read(saved(tmp_path, marked("Mentioned", "")), label_columns=NAMES)) == MEANT


@pytest.mark.parametrize("name", ["ids", "texts"])
def test_a_row_for_each_label_is_joined_by_ids_of_one_text(tmp_path, name):
    rows = [(at, text, label) for at, (text, names) in enumerate(ROWS) for label in names]
    if name == "texts":
        rows[1] = (rows[0][0], "another text of the same id", "rent")
    path = saved(tmp_path, table([("id", "text", "label"), *rows]))
    if name == "ids":
        assert shown(read(path, id_column="id")) == [row for row in MEANT if row[1]]
    else:
        refused(path, r"flats.csv:3: duplicate id '0': a row above has it, with another text", id_column="id")


def test_a_split_that_the_file_brings_is_named(tmp_path):
    rows = [(text, ";".join(names), ("train", "dev", "test")[at % 3]) for at, (text, names) in enumerate(ROWS)]
    path = saved(tmp_path, table([("text", "labels", "part"), *rows]))
    assert "the column part says dev, test, train, and is left out: --split-column part" in notes(path)
    assert "--split-column" not in notes(path, split_column="part")


def test_a_short_first_line_of_one_column_is_said_to_be_read_as_its_name(tmp_path):
    lines = ["App crashed again", "the train was late and nobody told us why", "no seat for an hour"]
    path = saved(tmp_path, "\n".join(lines), "new.csv")
    texts = predict.read_texts(path, {}, [], False)
    assert len(texts.texts) == 2 and any("'App crashed again', is read as the name" in line for line in texts.account)
    assert predict.read_texts(path, {"header": False}, [], False).texts == lines


@pytest.mark.parametrize(("mark", "quoting"), [(", ", csv.QUOTE_MINIMAL), (", ", csv.QUOTE_ALL), ("; ", csv.QUOTE_ALL)])
def test_texts_in_quotes_are_not_cut_where_they_are_the_one_column(tmp_path, mark, quoting):
    texts = [text.replace(", ", mark) for text, _ in ROWS]
    for header in ([["text"]], []):
        path = saved(tmp_path, table([*header, *([text] for text in texts)], quoting=quoting), "new.csv")
        assert predict.read_texts(path, {"header": bool(header)}, [], False).texts == texts


def test_a_file_under_the_name_of_another_kind_is_named(tmp_path):
    refused(
        saved(tmp_path, objects(lambda names: {"labels": names})),
        "holds JSON, an object a line; end its name with .jsonl",
    )
    refused(saved(tmp_path, listed(";".join), "a.jsonl"), "holds no JSON; end its name with .csv")


def test_json_is_read_in_the_encoding_that_is_given(tmp_path):
    content = json.dumps([{"text": f"café {text}", "labels": names} for text, names in ROWS], ensure_ascii=False)
    for name, whole in (("a.json", content), ("a.jsonl", content[1:-1].replace("}, {", "}\n{"))):
        path = saved(tmp_path, whole.encode("cp1252"), name)
        refused(path, "give --encoding cp1252")
        assert shown(read(path, encoding="cp1252")) == [(f"café {text}", names) for text, names in MEANT]


def test_columns_that_say_something_of_the_row_are_no_labels(tmp_path):
    path = saved(
        tmp_path, marked("1", "0", more={"is_train": lambda at: str(at % 2), "verified": lambda at: "01"[at % 3 > 0]})
    )
    refused(path, "names say something of the row: is_train, verified .*--label-columns 'noise,heating,mould,rent,lift'"
            .replace(" .*", ".*"))  # fmt: skip
    assert shown(read(path, label_columns=NAMES)) == MEANT
    apart = saved(tmp_path, marked("1", "0", more={"town": lambda at: f"t{at}", "urgent": lambda at: str(at % 2)}))
    refused(apart, "columns of yes and no with others between them: urgent apart from 5.*--label-columns")


def test_a_flag_in_other_words_than_the_labels_beside_it_waits_for_an_answer(tmp_path):
    path = saved(tmp_path, marked("1", "0", more={"subscriber": lambda at: str(at % 2 > 0)}))
    refused(path, "written otherwise than the others: subscriber: give --label-columns 'noise,heating,mould,rent,lift'")
    assert shown(read(path, label_columns=NAMES)) == MEANT
    floats = saved(tmp_path, marked("1", "0", more={"flood": lambda at: f"{at % 2}.0"}))  # as pandas writes 0 and 1
    assert "flood" in read(floats).labels.names


@pytest.mark.parametrize("end", [":confidence", "_score"])
def test_how_sure_a_column_is_is_no_label_beside_it(tmp_path, end):
    rows = [[text, *(cell for n in NAMES for cell in (int(n in labels), 0.61))] for text, labels in ROWS]
    path = saved(tmp_path, table([["text", *(c for n in NAMES for c in (n, n + end))], *rows]))
    assert shown(read(path)) == MEANT


def test_columns_that_are_the_same_in_every_row_are_one_note(tmp_path):
    more = {f"flood {at}": lambda at, value=value: value for at, value in enumerate("00100")}
    shown_notes = notes(saved(tmp_path, marked("1", "0", more=more)))
    assert "5 columns are '0' or '1' in every row and are left out: flood 0, flood 1, flood 2 and others" in shown_notes


@pytest.mark.parametrize("value", ["0", "1", ""])
def test_a_column_that_is_the_same_in_every_row_is_left_out_and_named(tmp_path, value):
    path = saved(tmp_path, marked("1", "0", more={"flood": lambda at: value}))
    choice = columns.guess(path, {})
    assert shown(tabular.read({}, choice.options)) == MEANT
    assert value == "" or any("the column flood is" in str(doubt) for doubt in choice.doubts)


def test_a_column_of_numbers_is_not_preferred_to_columns_with_names(tmp_path):
    for value in (lambda at: str(vector(ROWS[at][1])), lambda at: str(at % 2)):
        choice = columns.guess(saved(tmp_path, marked("1", "0", more={"labels": value})), {})
        assert choice.options["label_columns"] == NAMES and "labels of numbers is left out" in str(choice.doubts[0])


def test_blank_cells_among_zeros_and_ones_are_faults_and_not_the_end_of_a_column(tmp_path):
    content = marked("1", "0").replace('nobody answers",1,', 'nobody answers",,', 2)
    path = saved(tmp_path, content)
    refused(path, "2 of 66 rows .*2 x 'noise' with a blank cell, neither 0 nor 1 .*--missing blank counts")
    assert read(path, missing=["blank"]).labels.names == tuple(NAMES)


def test_rows_that_nobody_labelled_are_named(tmp_path):
    rows = marked("1", "0").splitlines()
    rows[3] = '"an old row",-1,-1,-1,-1,-1'
    path = saved(tmp_path, "\n".join(rows))
    refused(path, ":4: -1 for every label, which means that nobody labelled it; leave such rows out")
    assert len(read(path, on_bad_rows="drop").examples) == len(ROWS) - 1


def test_minus_one_beside_0_and_1_names_the_option_that_counts_it_as_0(tmp_path):
    path = saved(tmp_path, marked("1", "0").replace("1,0,0", "1,-1,0"))
    refused(path, "x 'heating' with '-1', neither 0 nor 1 .*; --missing -1 counts it as 0")
    assert shown(read(path, missing=["-1"])) == MEANT


@pytest.mark.parametrize(("yes", "no", "cut"), [("3", "1", 1.0), ("0.9", "0.2", 0.5), ("0,9", "0,2", 0.5)])
def test_votes_and_probabilities_need_a_cut(tmp_path, yes, no, cut):
    path = saved(tmp_path, marked(yes, no))
    refused(path, "numbers in the columns noise, heating, mould, ... from .*: votes or probabilities.*--positive-above")
    assert shown(read(path, positive_above=cut)) == MEANT


def test_scores_of_all_labels_need_a_cut(tmp_path):
    scored = lambda names: {"labels": [{"label": n, "score": 0.8 if n in names else 0.1} for n in NAMES]}
    path = saved(tmp_path, objects(scored), "a.jsonl")
    refused(path, "scores of objects from 0.1 to 0.8: votes or probabilities, without a cut.*--positive-above 0.5")
    assert shown(read(path, positive_above=0.5)) == MEANT


def test_scores_at_the_ends_of_names_are_no_part_of_them(tmp_path):
    path = saved(tmp_path, listed(lambda names: ", ".join(f"{n}:0.{at + 7}" for at, n in enumerate(names))))
    message = "label names with scores or answers, such as .*: write .* or a column for each label"
    refused(path, message, label_delimiter=",")


def test_numbers_may_be_the_names_of_labels(tmp_path):
    codes = dict(zip(NAMES, ("101", "203", "77", "9", "40"), strict=True))
    path = saved(tmp_path, objects(lambda names: {"labels": [int(codes[name]) for name in names]}), "a.jsonl")
    refused(path, "labels are numbers from 9 to 203, 5 of them .* or the numbers where these are the names")
    assert shown(read(path, labels=[*codes.values()])) == [(t, sorted(codes[n] for n in names)) for t, names in ROWS]


def test_a_field_of_label_objects_may_hold_a_list_of_names(tmp_path):
    path = saved(tmp_path, objects(lambda names: {"labels": {"topic": names, "tone": ["bad"]}}), "a.jsonl")
    refused(path, "no field holds a name; their fields are topic, tone .*: give --label-field")
    assert shown(read(path, label_field="topic")) == MEANT


def test_names_of_several_columns_that_collide_are_settled_by_the_right_ones(tmp_path):
    rows = [(t, *(n.upper() if at % 2 else n for n in names), "", "", "")[:4] for at, (t, names) in enumerate(ROWS)]
    path = saved(tmp_path, table([["text", "label1", "label2", "label3"], *rows]))
    refused(path, "the label names 'NOISE' and 'noise' collide")
    assert shown(read(path, labels=NAMES)) == MEANT
    bare = saved(tmp_path, table([row for row in rows if "" not in row[:2]]), "bare.csv")
    assert shown(read(bare, labels=NAMES)) == [row for row in MEANT if row[1]]


def test_a_title_above_the_names_of_columns_is_named(tmp_path):
    refused(saved(tmp_path, "Survey 2024\n\n" + PLAIN), "or remove lines above the names of columns")


def test_the_questions_and_ids_of_qualtrics_are_no_rows(tmp_path):
    above = [("Q1", "Topic"), ("What is wrong?", "Choose all that apply"), *[('{"ImportId":"QID1"}',) * 2]]
    path = saved(tmp_path, table([*above, *((text, ",".join(names)) for text, names in ROWS)]))
    refused(path, ":3: Qualtrics' row of ids; remove it and the row of questions above it")


def test_two_delimiters_in_one_column_wait_for_an_answer(tmp_path):
    rows = [[text, (";" if at % 2 else "|").join(names)] for at, (text, names) in enumerate(ROWS)]
    refused(
        saved(tmp_path, table([["text", "labels"], *rows])),
        "would cut into names that stand elsewhere too.*--label-delim",
    )


def test_spans_of_texts_are_no_labels_of_texts(tmp_path):
    path = saved(tmp_path, objects(lambda names: {"label": [[0, 3, name] for name in names]}), "a.jsonl")
    refused(path, r"holds spans \(start, end, name\), which label parts of a text")


SPANS = {
    "doccano": ("entities", lambda name: {"id": 1, "label": name, "start_offset": 0, "end_offset": 3}),
    "Prodigy": ("spans", lambda name: {"start": 0, "end": 3, "token_start": 0, "token_end": 1, "label": name}),
    "Label Studio": ("label", lambda name: {"start": 0, "end": 3, "text": "the", "labels": [name]}),
    "hand": ("labels", lambda name: {"start": 0, "end": 3, "label": name}),
}


@pytest.mark.parametrize("tool", SPANS)
def test_spans_that_are_objects_are_refused_alike(tmp_path, tool):
    column, span = SPANS[tool]
    path = saved(tmp_path, objects(lambda names: {column: [span(name) for name in names]}), "a.jsonl")
    refused(path, rf"'{column}' holds spans \(start, end, name\), which label parts of a text")


SWITCHES = [("relevant", 1, 0), ("answer", "yes", "no"), ("status", "accepted", "rejected"), ("reviewed", True, None)]


@pytest.mark.parametrize(("field", "yes", "no"), SWITCHES)
def test_yes_and_no_beside_a_name_wait_for_an_answer_unless_their_field_is_known(tmp_path, field, yes, no):
    def marked_as(field: str) -> Path:
        rows = objects(lambda names: {"labels": [{"label": n, field: yes if n in names else no} for n in NAMES]})
        return saved(tmp_path, rows, "a.jsonl")

    path = marked_as(field)
    refused(path, f"objects whose '{field}' may say whether their label fits .*--positive-above 0.5 .*--label-field")
    assert shown(read(path, positive_above=0.5)) == MEANT == shown(read(marked_as("selected")))
    every = [sorted(NAMES)] * len(ROWS)
    assert [names for _, names in shown(read(marked_as(field), label_field="label"))] == every


def test_a_label_that_names_no_label_is_reserved(tmp_path):
    path = saved(tmp_path, listed(lambda names: ";".join(names) or "<none>"))
    refused(path, "the label name '<none>'")
    assert shown(read(path, missing=["<none>"])) == MEANT


# ---------------------------------------------------------------- columns and rows


def test_the_text_is_no_column_of_file_names_though_its_name_says_so(tmp_path):
    for name, value in (("Document", "doc_{}.pdf"), ("content", "html")):
        rows = [[value.format(at), text, ";".join(names)] for at, (text, names) in enumerate(ROWS)]
        choice = columns.guess(saved(tmp_path, table([[name, "extracted", "topics"], *rows])), {})
        assert choice.options["text_column"] == "extracted" and f"{name} holds values such as" in choice.text_why


BESIDE_TEXTS = {
    "links": lambda at: f"https://example.org/archive/2024/item-{at:06d}?utm_source=newsletter&utm_medium=mail",
    "numbers": lambda at: str([round(at / (n + 1.7), 6) for n in range(30)]),
    "markup": lambda at: f'<div class="comment" id="c{at}"><p>the flat at <b>number</b> {at} is too cold</p> ...</div>',
    "objects": lambda at: json.dumps([{"id": at, "name": f"a keyword, number {n}"} for n in range(9)]),
    "tokens": lambda at: repr(f"the flat at number {at} is too cold, and nobody has answered the phone".split()),
    "one question": lambda at: "What should we improve in your flat, and why do you think that it would help you most?",
}


@pytest.mark.parametrize("beside", BESIDE_TEXTS)
@pytest.mark.parametrize("header", [("raw", "feedback"), ("question", "answer"), ("content", "column 7")])
def test_the_text_is_what_people_wrote_and_differs_from_row_to_row(tmp_path, header, beside):
    rows = [[BESIDE_TEXTS[beside](at), text, ";".join(names)] for at, (text, names) in enumerate(ROWS)]
    assert shown(read(saved(tmp_path, table([[*header, "codes"], *rows])))) == MEANT


def test_a_longer_text_than_the_one_that_is_taken_by_its_name_is_said(tmp_path):
    rows = [[f"flat {at}, cold or loud", text, ";".join(names)] for at, (text, names) in enumerate(ROWS)]
    choice = columns.guess(saved(tmp_path, table([["title", "abstractText", "codes"], *rows])), {})
    assert choice.options["text_column"] == "title"
    assert choice.text_why == "by its name; abstractText has 2 times its letters, see --text-column"


def test_links_are_texts_where_there_is_no_other(tmp_path):
    rows = [[f"https://example.org/{at}/and-so-on", names[0]] for at, (_, names) in enumerate(ROWS) if names]
    assert columns.guess(saved(tmp_path, table([["page", "label"], *rows])), {}).options["text_column"] == "page"


def test_all_rows_decide_on_the_delimiter_of_names(tmp_path):
    single = [[f"a short one, number {at}", NAMES[at % 5]] for at in range(700)]
    rows = [*single, *([text, ",".join(names)] for text, names in ROWS)]
    assert read(saved(tmp_path, table([["text", "labels"], *rows]))).labels.names == tuple(sorted(NAMES))


def test_names_with_a_mark_in_them_stay_whole(tmp_path):
    names = {"noise": "noise, at night", "lift": "use::lift", "rent": "rent/deposit"}
    rows = [[text, ";".join(names.get(n, n) for n in labels)] for text, labels in ROWS]
    corpus = read(saved(tmp_path, table([["text", "labels"], *rows])))
    assert shown(corpus) == [(text, sorted(names.get(n, n) for n in labels)) for text, labels in ROWS]


def test_a_row_for_each_text_and_label_is_joined(tmp_path):
    rows = [[text, name] for text, names in ROWS for name in names or [""]]
    corpus = read(saved(tmp_path, table([["text", "label"], *rows])))
    assert shown(corpus) == MEANT and any("are joined to 66 texts" in note for note in corpus.notes)
    rows += rows[:3]  # by accident
    assert shown(read(saved(tmp_path, table([["text", "label"], *rows])))) == MEANT
    prodigy = "".join(
        json.dumps({"text": text, "label": name, "answer": "accept" if name in names else "reject"}) + "\n"
        for text, names in ROWS
        for name in NAMES
    )
    assert shown(read(saved(tmp_path, prodigy, "a.jsonl"), join_rows=True)) == MEANT


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("Yes", "No"), ("accept", "reject"), ("0.93", "0.07")])
def test_a_verdict_on_each_label_of_a_text_waits_for_an_answer(tmp_path, yes, no):
    rows = [(text, name, yes if name in names else no) for text, names in ROWS for name in NAMES]
    path = saved(tmp_path, table([["text", "label", "answer"], *rows]))
    refused(path, "rows of one text that differ in answer, which may say whether their label fits: leave out of the fi")
    assert {len(names) for _, names in shown(read(path, join_rows=True))} == {len(NAMES)}
    chosen = saved(tmp_path, table([["text", "label", "answer"], *(row for row in rows if row[2] == yes)]))
    assert shown(read(chosen)) == [row for row in MEANT if row[1]]


def test_rows_of_several_annotators_wait_for_an_answer(tmp_path):
    rows = [
        (text, person, ";".join(names))
        for text, every in ROWS
        for person, names in (("A", every[:1]), ("B", every[1:2]), ("C", every[2:]))
    ]
    path = saved(tmp_path, table([["text", "rater_id", "labels"], *rows]))
    refused(path, "rows of one text with other labels and another rater_id: --join-rows takes what anybody chose")
    assert shown(read(path, join_rows=True)) == MEANT
    assert len(read(path, join_rows=False).examples) == len(rows)


def test_who_answered_is_no_label(tmp_path):
    rows = [(text, person, ";".join(names)) for text, names in ROWS if names for person in ("w1", "w2")]
    path = saved(tmp_path, table([["text", "worker_id", "answer"], *rows]))
    refused(path, "which column has the labels. There are text, worker_id, answer; give --label-column")
    assert shown(read(path, label_column="answer", join_rows=True)) == [row for row in MEANT if row[1]]


def test_a_flag_that_all_rows_of_a_text_share_is_no_verdict(tmp_path):
    rows = [(text, name, "01"[at % 2]) for at, (text, names) in enumerate(ROWS) for name in names]
    assert shown(read(saved(tmp_path, table([["text", "label", "urgent"], *rows])))) == [row for row in MEANT if row[1]]


def test_a_text_that_is_too_long_is_one_bad_row(tmp_path):
    path = saved(
        tmp_path, table([["text", "labels"], *([t, ";".join(n)] for t, n in ROWS), ["long " * 40_000, "rent"]])
    )
    refused(path, r":68: a text of 199,999 characters; cut it, 131,072 is the limit")
    assert len(read(path, on_bad_rows="drop").examples) == len(ROWS)


def test_a_file_of_bad_rows_alone_says_what_is_wrong_with_them(tmp_path):
    refused(saved(tmp_path, '{"text": "x", labels}\n' * 30, "a.jsonl"), "30 of 30 rows .*30 x not valid JSON")


def test_what_was_read_is_said_on_success_and_before_a_refusal(tmp_path):
    corpus = read(saved(tmp_path, PLAIN))
    assert "UTF-8, a comma between cells, quotes doubled, names of columns in line 1" in corpus.notes[0]
    assert "texts: text; labels: labels, names in one string, between ';'" in corpus.notes
    assert sum("  line " in note for note in corpus.notes) == 3
    assert "commonest of 5 labels: noise 24, heating 24, mould 18, rent 18, lift 12" in corpus.notes
    error = refused(saved(tmp_path, table([["a", "b"], ["x", "y"]])), "which column has the labels")
    assert any("column b (1 values, such as 'y')" in note for note in error.__notes__)


# ---------------------------------------------------------------- many rows

MILLION = """
import resource, sys, time
from pathlib import Path
from compaug.data.readers import columns, tabular
path, started = Path(sys.argv[1]), time.process_time()
corpus = tabular.read({}, columns.guess(path, {}).options)
print(len(corpus.examples), time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.slow
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_million_rows_are_read_in_a_minute_and_little_memory(tmp_path, quote):
    """Also where stray quotes have every dialect tried on all lines."""
    path = tmp_path / "flats.tsv"
    with path.open("w", encoding="utf-8") as stream:
        stream.write("text\tlabels\n")
        for at in range(1_000_000):
            stray = quote if at % 1000 == 7 else ""
            stream.write(
                f'{stray}the flat at number {at} is "too" cold, and nobody answers\t{";".join(ROWS[at % 60][1])}\n'
            )
    run = subprocess.run([sys.executable, "-c", MILLION, str(path)], capture_output=True, text=True, check=True)
    rows, seconds, gigabytes = map(float, run.stdout.split())
    assert rows == 1_000_000 and seconds < 60 and gigabytes < 1.2, (seconds, gigabytes)


# ---------------------------------------------------------------- at random

LETTERS = st.characters(exclude_categories=["C", "Zl", "Zp"], exclude_characters="\x85")
TEXTS = st.text(LETTERS, min_size=1, max_size=30).filter(lambda text: bool(text.strip()))
PLAIN_NAMES = st.text(st.characters(categories=["Ll", "Nd"], max_codepoint=0x24F), min_size=2, max_size=8).filter(
    lambda name: not name.isdecimal() and name.casefold() == name
)
CELLS: dict[str, Callable[[list[str]], str]] = {
    "json": lambda names: json.dumps(names, ensure_ascii=False),
    "python": repr,
    "tuple": lambda names: repr(tuple(names)),
    "objects": lambda names: json.dumps([{"name": name} for name in names]),
    **{mark: mark.join for mark in (";", "|", ",", "/")},
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[str]]]]:
    """(a CSV file in a dialect and with a form of labels, its rows)."""
    names = draw(st.lists(PLAIN_NAMES, min_size=2, max_size=5, unique=True))
    rows = draw(
        st.lists(st.tuples(TEXTS, st.lists(st.sampled_from(names), max_size=3, unique=True)), min_size=1, max_size=25)
    )
    delimiter = draw(st.sampled_from(",;\t|"))
    form = draw(st.sampled_from([*CELLS, "columns"]))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    if form == "columns":
        yes, no = draw(st.sampled_from([("1", "0"), ("x", ""), ("yes", "no"), ("True", "False")]))
        content = [["text", *names], *([text, *(yes if n in labels else no for n in names)] for text, labels in rows)]
    else:
        content = [["text", "labels"], *([text, CELLS[form](labels)] for text, labels in rows)]
    ended = draw(st.sampled_from(["\n", "\r\n"]))
    return table(content, delimiter, quoting=quoting).replace("\n", ended), rows


def is_read_back_or_doubted(folder: Path, case: tuple[str, list[tuple[str, list[str]]]]) -> None:
    content, rows = case
    path = saved(folder, content)
    try:
        choice = columns.guess(path, {})
        corpus = tabular.read({}, choice.options)
    except InputError as error:
        assert "\n" not in str(error)
        return
    meant = [(text.strip(), sorted(names)) for text, names in rows]
    usual = ("texts that", "no row has two labels")  # which say nothing of a wrong reading
    doubts = [str(doubt) for doubt in choice.doubts] + [note for note in corpus.notes if note.startswith("note: ")]
    doubts = [doubt for doubt in doubts if not any(words in doubt for words in usual)]
    assert shown(corpus) == meant or doubts, (content, shown(corpus))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_a_table_at_random_is_read_back_or_refused_or_doubted(tmp_path, case):
    is_read_back_or_doubted(tmp_path, case)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_ten_thousand_tables_at_random_are_read_back_or_refused_or_doubted(tmp_path, case):
    is_read_back_or_doubted(tmp_path, case)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(LETTERS, max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(LETTERS, max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_what_json_or_python_writes_is_parsed_to_the_same(value):
    assume(isinstance(value, list | dict))
    assert literals.parse(json.dumps(value)) == value == literals.parse(repr(value))


@given(st.text("[]{}()'\",:abc \\0", max_size=20))
def test_what_is_no_list_is_an_error_and_nothing_else(text):
    try:
        literals.parse(text)
    except ValueError:
        pass


def test_every_quoting_of_the_reader_is_one_of_csv():
    assert set(dialect.QUOTINGS) == {"double", "backslash", "none"}


# ---------------------------------------------------------------- misread before


def test_an_answer_at_the_end_of_a_name_is_no_part_of_it(tmp_path):
    for answer in ("{}={:d}", "{}: {}"):
        cell = lambda names, a=answer: "; ".join(
            a.format(n, n in names if "d" in a else ("no", "yes")[n in names]) for n in NAMES
        )
        path = saved(tmp_path, listed(cell))
        refused(path, "label names with scores or answers, such as 'heating", label_delimiter=";")
    path = saved(tmp_path, listed(lambda names: "; ".join(f"{n} ({70 + at}%)" for at, n in enumerate(names))))
    refused(path, "label names with scores or answers", label_delimiter=";")


def test_single_choices_beside_lists_of_them_are_read(tmp_path):
    single = lambda names: {"problem": {"choices": names} if len(names) > 1 else "".join(names)}
    path = saved(tmp_path, objects(single), "a.jsonl")
    assert shown(read(path)) == MEANT


def test_no_value_as_mysql_writes_it_is_no_letter(tmp_path):
    lines = [f'"{text} \\"so\\"",{";".join(names) or chr(92) + "N"}' for text, names in ROWS]
    path = saved(tmp_path, "\n".join(["text,labels", *lines]))
    refused(path, r"the label name '\\\\N', which often says that there is no value .*--missing")
    assert [names for _, names in shown(read(path, missing=[r"\N"]))] == [names for _, names in MEANT]


def test_commas_behind_names_of_fasttext_are_none_of_theirs(tmp_path):
    for between in (", ", " , "):
        lines = [between.join([*(f"__label__{name}" for name in names), text]) for text, names in ROWS]
        assert shown(read(saved(tmp_path, "\n".join(lines), "a.txt"))) == MEANT
    refused(saved(tmp_path, "\n".join(lines), "a.train"), "holds lines of fastText; end its name with .txt")


@pytest.mark.parametrize("name", ["{}_{}", "{1}_{0}"])
@pytest.mark.parametrize("who", [("true", "pred"), ("ann1", "ann2")])
def test_columns_that_say_the_same_labels_twice_wait(tmp_path, name, who):
    names = [name.format(each, label) for each in who for label in NAMES]
    rows = [[text, *(int(n in labels) for n in NAMES), *(int(n in labels[:1]) for n in NAMES)] for text, labels in ROWS]
    path = saved(tmp_path, table([["text", *names], *rows]))
    refused(path, "say the same labels more than once, such as .* give --label-columns")
    first = read(path, label_columns=names[: len(NAMES)])
    assert [len(e.labels) for e in first.examples] == [len(labels) for _, labels in ROWS]


def test_without_names_of_columns_numbers_and_people_are_no_family_of_labels(tmp_path):
    numbers = [
        (text, ",".join(str(NAMES.index(n)) for n in names), f"u{at % 3}") for at, (text, names) in enumerate(ROWS)
    ]
    path = saved(tmp_path, table(numbers, delimiter="\t", quoting=csv.QUOTE_NONE, escapechar="\\"), "a.tsv")
    refused(path, "which column has the labels.* column_1, column_2, column_3")
    stars = [(*row[:2], at % 5 + 1) for at, row in enumerate(numbers)]
    path = saved(tmp_path, table(stars, delimiter="\t"), "a.tsv")
    refused(path, "labels are numbers from 0 to 4, 5 of them")


def test_characters_as_html_writes_them_are_not_cut(tmp_path):
    path = saved(tmp_path, listed(lambda names: "; ".join(n.replace("mould", "damp &amp; mould") for n in names)))
    refused(path, "label cells with characters as HTML writes them, as in .*damp &amp; mould")
    plain = saved(tmp_path, listed(lambda names: "; ".join(n.replace("mould", "Damp&Mould") for n in names)))
    assert shown(read(plain)) == [(t, sorted(n.replace("mould", "Damp&Mould") for n in names)) for t, names in ROWS]


def test_names_that_differ_in_their_hyphen_collide(tmp_path):
    spelled = lambda names: ";".join("e-rent" if n == "rent" else "e\u2011rent" if n == "lift" else n for n in names)
    refused(saved(tmp_path, listed(spelled)), "collide: they differ in what can hardly be seen alone")


def test_objects_over_several_lines_are_named(tmp_path):
    path = saved(tmp_path, "\n".join(json.dumps({"text": t, "labels": n}, indent=1) for t, n in ROWS), "a.jsonl")
    refused(path, "not valid JSON .*; write one list, or an object a line")


def test_a_kept_column_takes_no_name_of_the_answers(tmp_path):
    path = saved(tmp_path, listed(";".join))
    keep = predict.kept_as(["labels", "text", "labels"], ["noise"])
    assert keep == {"labels": "labels (file)", "text": "text (file)"}
    texts = predict.read_texts(path, {}, keep)
    assert texts.carried[1] == {"labels (file)": ";".join(ROWS[1][1]), "text (file)": ROWS[1][0]}
    assert "note: the file's 'labels' is kept as 'labels (file)'" in texts.account
    assert predict.kept_as(["id", "p(noise)", "line"], ["noise"]) == {
        "id": "id",
        "p(noise)": "p(noise) (file)",
        "line": "line (file)",
    }


def test_a_title_with_empty_cells_beside_it_is_named_too(tmp_path):
    rows = [(at, text, ";".join(names), "X") for at, (text, names) in enumerate(ROWS)]
    path = saved(tmp_path, table([("Feedback 2023", "", "", ""), ("No", "Comment", "Topics", "Agent"), *rows]))
    title = "flats.csv:1: one name for 4 columns, 'Feedback 2023'; remove the lines above the names of columns"
    refused(path, title)
    with pytest.raises(InputError, match=title):
        predict.read_texts(path, {})
