"""Readers and raw files: every format read as it should be, every bad input one line that says where and what to do."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import threading
import zipfile
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameters import written

from compaug.core.files import InputError, read_json
from compaug.core.records import Example, Labels, read_jsonl
from compaug.data import readers, streams
from compaug.data.corpus import Corpus
from compaug.data.download import obtain
from compaug.data.parameters import File
from compaug.data.readers import authors_split, goemotions, tabular
from compaug.experiments import params
from compaug.stages import raw, split

ROOT = Path(__file__).parents[1]
READERS = readers.READERS
SEMEVAL, AAPD = (authors_split.inventory(name)[0].names for name in ("semeval", "aapd"))


def put(path: Path, text: str) -> Path:
    """Write a file in the form its suffix says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(packed(text.encode()))
    return path


def bits(names: tuple[str, ...], *on: str) -> list[int]:
    return [int(name in on) for name in names]


# ---------------------------------------------------------------- obtaining files


class Handler(BaseHTTPRequestHandler):
    """Serves `server.pages`; a page whose path starts with /short promises more bytes than it sends."""

    def do_GET(self) -> None:
        body = self.server.pages.get(self.path)
        self.server.requested.append(self.path)
        self.send_response(404 if body is None else 200)
        extra = 1000 if self.path.startswith("/short") else 0
        self.send_header("Content-Length", str(len(body or b"") + extra))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as pages:
        pages.pages, pages.requested = {}, []
        threading.Thread(target=pages.serve_forever, args=(0.01,), daemon=True).start()
        yield pages
        pages.shutdown()


def address(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}{path}"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
def test_a_file_below_the_mirror_is_taken_without_a_network(tmp_path, offline, suffix):
    path = put(tmp_path / f"mirror/sub/a.txt{suffix}", "hello\n")
    file = File(url="http://127.0.0.1:9/a.txt", sha256=sha(b"hello\n"), mirror="sub/a.txt")
    assert obtain("train", file, tmp_path / "mirror", tmp_path / "cache") == path
    assert not (tmp_path / "cache").exists()


def test_an_empty_file_is_refused_even_with_its_own_hash(tmp_path):
    put(tmp_path / "mirror/a.txt", "")
    with pytest.raises(InputError, match=r"files\.train: .*a\.txt is empty; fetch it again"):
        obtain("train", File(url=None, sha256=sha(b""), mirror="a.txt"), tmp_path / "mirror", tmp_path / "cache")


@pytest.mark.parametrize("url", ["", "nowhere", "file:///etc/passwd", "ftp://example.org/a"])
def test_an_address_that_cannot_be_one_is_found_with_the_parameters(tmp_path, url):
    with pytest.raises(InputError, match=r"files\.texts\.url: String should match pattern"):
        params.parse(written(tmp_path, {"quick:files": {"texts": {"url": url, "sha256": None, "mirror": None}}}))


def test_a_file_is_downloaded_once_and_then_kept(tmp_path, server):
    server.pages["/a.txt"] = b"hello\n"
    file = File(url=address(server, "/a.txt"), sha256=sha(b"hello\n"), mirror="a.txt")
    paths = {obtain("train", file, None, tmp_path) for _ in range(2)}
    assert [path.read_bytes() for path in paths] == [b"hello\n"]
    assert server.requested == ["/a.txt"]


def test_the_hash_of_a_compressed_download_is_that_of_its_content(tmp_path, server):
    server.pages["/a.txt.gz"] = gzip.compress(b"hello\n")
    path = obtain("a", File(url=address(server, "/a.txt.gz"), sha256=sha(b"hello\n"), mirror=None), None, tmp_path)
    assert list(streams.lines(path)) == [(1, "hello")]


def test_members_of_an_archive_share_one_download(tmp_path, server):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("x/one.txt", "1\n")
        archive.writestr("x/two.txt", "2\n")
    server.pages["/all.zip"] = (tmp_path / "all.zip").read_bytes()
    for member, content in (("x/one.txt", b"1\n"), ("x/two.txt", b"2\n")):
        file = File(url=address(server, f"/all.zip#{member}"), sha256=sha(content), mirror=None)
        assert obtain("a", file, None, tmp_path / "cache").read_bytes() == content
    assert server.requested == ["/all.zip"]
    with pytest.raises(InputError, match="has no member 'x/three.txt'"):
        obtain(
            "a", File(url=address(server, "/all.zip#x/three.txt"), sha256=None, mirror=None), None, tmp_path / "cache"
        )


def test_an_unknown_hash_is_pinned_at_the_first_download_and_enforced_afterwards(tmp_path, server, capsys):
    server.pages["/a.txt"] = b"hello\n"
    file = File(url=address(server, "/a.txt"), sha256=None, mirror=None)
    path = obtain("train", file, None, tmp_path)
    assert sha(b"hello\n") in capsys.readouterr().err
    assert path.with_name(f"{path.name}.sha256").read_text() == f"{sha(b'hello' + bytes([10]))}  {path.name}\n"
    obtain("train", file, None, tmp_path)
    assert capsys.readouterr().err == ""
    path.write_text("changed\n")
    with pytest.raises(InputError, match=f"has SHA-256 {sha(b'changed' + bytes([10]))}, expected"):
        obtain("train", file, None, tmp_path)


def test_another_address_does_not_find_the_earlier_download(tmp_path, server):
    server.pages |= {"/v1/a.txt": b"1\n", "/v2/a.txt": b"2\n"}
    files = [File(url=address(server, f"/{version}/a.txt"), sha256=None, mirror=None) for version in ("v1", "v2")]
    assert [obtain("a", file, None, tmp_path).read_bytes() for file in files] == [b"1\n", b"2\n"]


def test_a_wrong_hash_names_the_file_both_hashes_and_the_remedy(tmp_path):
    put(tmp_path / "a.txt", "hello\n")
    with pytest.raises(InputError) as caught:
        obtain("train", File(url=None, sha256="0" * 64, mirror="a.txt"), tmp_path, tmp_path)
    for part in (
        "files.train",
        str(tmp_path / "a.txt"),
        sha(b"hello\n"),
        "0" * 64,
        "delete",
        "correct files.train.sha256",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("mirror_path", "has_mirror", "message"),
    [
        ("a.txt", True, "files.train: it has no url and is not below COMPAUG_MIRROR .a.txt in /"),
        ("a.txt", False, "not below COMPAUG_MIRROR .a.txt in None"),
    ],
)
def test_a_file_that_is_nowhere_to_be_had_says_so(tmp_path, mirror_path, has_mirror, message):
    file = File(url=None, sha256=None, mirror=mirror_path)
    with pytest.raises(InputError, match=message):
        obtain("train", file, tmp_path if has_mirror else None, tmp_path)


def test_a_mirror_that_is_not_a_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="COMPAUG_MIRROR names .*nowhere, which is not a folder"):
        obtain("train", File(url=None, sha256=None, mirror="a"), tmp_path / "nowhere", tmp_path)


def test_no_network_is_one_line_with_a_remedy(tmp_path, offline):
    file = File(url="http://127.0.0.1:9/a.txt", sha256=None, mirror=None)
    with pytest.raises(
        InputError, match="cannot reach http://127.0.0.1:9/a.txt .*; check the network, or put the file"
    ):
        obtain("train", file, None, tmp_path)


def test_a_refused_address_names_the_status(tmp_path, server):
    with pytest.raises(InputError, match="/gone.txt answered 404 .*; check the url"):
        obtain("train", File(url=address(server, "/gone.txt"), sha256=None, mirror=None), None, tmp_path)


def test_a_cut_off_download_leaves_nothing_behind(tmp_path, server):
    server.pages["/short.txt"] = b"hello\n"
    with pytest.raises(InputError, match=r"broke off \(.*6 bytes read, 1000 more expected.*; check the network"):
        obtain("train", File(url=address(server, "/short.txt"), sha256=None, mirror=None), None, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".xz", ".gz"])
@pytest.mark.parametrize("damage", ["cut off", "garbage", "flipped"])
def test_a_corrupt_compressed_file_is_one_line(tmp_path, suffix, damage):
    path = put(tmp_path / f"a.txt{suffix}", "\n".join(map(str, range(2000))))
    good = path.read_bytes()
    path.write_bytes(
        {
            "cut off": good[: len(good) // 2],
            "garbage": b"this is not compressed",
            "flipped": good[:100] + bytes(255 - byte for byte in good[100:200]) + good[200:],
        }[damage]
    )
    with pytest.raises(InputError, match=rf"a.txt{suffix}: (corrupt or cut-off|not a) {suffix} file; .*fetch"):
        obtain("train", File(url=None, sha256=None, mirror="a.txt"), tmp_path, tmp_path)


def test_an_archive_that_is_not_one_is_an_error(tmp_path, server):
    server.pages["/all.zip"] = b"<html>not found</html>"
    with pytest.raises(InputError, match="not a sound zip archive; delete it"):
        obtain("a", File(url=address(server, "/all.zip#x"), sha256=None, mirror=None), None, tmp_path)


# ---------------------------------------------------------------- lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), min_size=1)))
def test_lines_end_at_newlines_only_and_the_last_one_may_lack_it(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    for end in ("", "\n"):
        path.write_bytes(("\ufeff" + "\n".join(texts) + end * bool(texts)).encode())  # a byte-order mark is no text
        assert [line for _, line in streams.lines(path)] == (texts or [""])


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"fine\ncaf\xe9\n")
    with pytest.raises(InputError, match="a.txt:2: not UTF-8 .*convert"):
        list(streams.lines(tmp_path / "a.txt"))


# ---------------------------------------------------------------- SemEval


def split_line(names: tuple[str, ...], text: str, *on: str) -> str:
    return f"{bits(names, *on)}\t{text}"


def semeval_split(folder: Path) -> dict[str, Path]:
    names = SEMEVAL
    return {
        "train": put(folder / "train.txt", split_line(names, "a b", "joy") + "\n" + split_line(names, "c")),
        "support": put(folder / "support.txt.gz", split_line(names, "d", "love", "joy")),
        "test": put(folder / "test.txt.xz", split_line(names, "e ", "joy", "love") + "\n"),
    }


def test_the_authors_files_give_a_corpus_and_its_split(tmp_path):
    split = READERS["semeval"](semeval_split(tmp_path), {})
    assert split.examples == [
        Example("cg-train-00001", "a b", (4,)),
        Example("cg-train-00002", "c", ()),
        Example("cg-support-00001", "d", (4, 5)),
        Example("cg-test-00001", "e", (4, 5)),
    ]
    assert list(split.reference.values()) == ["train", "train", "support", "test"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[0, 1] no tab", "no tab"),
        ("[0, 1]\ttext", "2 label values, expected 11"),
        (f"{[2] + [0] * 10}\ttext", "the value 2 of label 'anger' is neither 0 nor 1"),
        (f"{[0] * 11}\t ", "empty text"),
        ("[0, 1,\ttext", "Expecting value"),
        ("7\ttext", "not iterable"),
    ],
)
def test_a_malformed_line_of_a_split_file_is_named(tmp_path, line, message):
    path = put(tmp_path / "train.txt", split_line(SEMEVAL, "fine") + "\n" + line + "\n")
    with pytest.raises(InputError, match=f"train.txt:2: .*{message}"):
        READERS["semeval"]({"train": path}, {})


@pytest.mark.parametrize("keys", [(), ("train", "dev"), ("data",)])
def test_files_that_are_no_part_of_the_split_are_refused(tmp_path, keys):
    files = {key: put(tmp_path / key, "") for key in keys}
    with pytest.raises(InputError, match="this reader takes train, support, test"):
        READERS["semeval"](files, {})


def test_a_reader_without_options_refuses_them():
    with pytest.raises(InputError, match="the semeval reader takes none; remove text_column"):
        READERS["semeval"]({}, {"text_column": "x"})


def test_files_without_any_text_are_refused(tmp_path):
    put(tmp_path / "train.txt", "")
    with pytest.raises(InputError, match="files.train: .*train.txt is empty"):
        obtain("train", mirrored("train.txt"), tmp_path, tmp_path)


# ---------------------------------------------------------------- AAPD


def test_aapd_phrases_are_unique_and_the_reference_names_keep_their_mistakes(tmp_path):
    read = READERS["aapd"]({"train": put(tmp_path / "t", split_line(AAPD, "x", "cs.cy"))}, {})
    official, reference = (read.labels_with(name) for name in ("arxiv", "reference"))  # Labels refuses equal phrases
    assert len(read.labels) == 54
    assert official.phrases[official.index("cs.cy")] == "Computers and Society"
    assert official.phrases[official.index("math.na")] == "Numerical Analysis (Mathematics)"
    assert reference.phrases[reference.index("cs.cy")] == "Computational Geometry"
    assert read.labels_with(None).phrases == read.labels.names
    for labels in (official, reference):
        labels.check_separator(" | ")
    with pytest.raises(InputError, match="no set is named 'official'; the sets of this reader are: arxiv, reference"):
        read.labels_with("official")


def test_single_phrases_can_be_replaced_and_unknown_names_are_refused():
    read = Corpus([], Labels(("joy", "love"), ("joy", "love")))
    assert read.labels_with({"joy": "great joy"}).phrases == ("great joy", "love")
    with pytest.raises(InputError, match="unknown label 'hate'"):
        read.labels_with({"hate": "x"})


# ---------------------------------------------------------------- GoEmotions


def test_goemotions_leaves_out_every_text_that_occurs_twice(tmp_path):
    files = {
        "train": put(tmp_path / "train.tsv", "thank  you\t1\tc1\nso glad\t0,2\tc2\nsame\t0\tc3\nsame\t1\tc4\n"),
        "dev": put(tmp_path / "dev.tsv", "Thank you\t0\tc5\n"),
        "test": put(tmp_path / "test.tsv", "fine\t1\tc6\n"),
        "labels": put(tmp_path / "emotions.txt", "joy\nlove\nneutral"),
    }
    read = goemotions.read(files, {})
    assert read.examples == [Example("c2", "so glad", (0, 2)), Example("c6", "fine", (1,))]
    assert sum(read.dropped.values()) == 4
    files["dev"].write_text("ok\t0\tc5\nwhat\t3\tc7\n")
    with pytest.raises(InputError, match="dev.tsv:2: .*unknown label 3"):
        goemotions.read(files, {})
    files["dev"].write_text("ok\t0\n")
    with pytest.raises(InputError, match="dev.tsv:1: expected 'text<TAB>ids<TAB>comment id'"):
        goemotions.read(files, {})


# ---------------------------------------------------------------- tabular

NAMES_OPTIONS = {"label_column": "tags"}
JSON_ROWS = [
    {"text": "so glad", "tags": ["joy", "love"]},
    {"text": "line\nbreak", "tags": []},
    {"text": "so sad", "tags": "sadness, love"},
]


def corpus_of(path: Path, **options: object) -> Corpus:
    return tabular.read({}, {"path": str(path), **options})


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_jsonl_and_csv_of_the_same_rows_give_the_same_corpus(tmp_path, suffix, bom):
    expected = [
        Example("row-000001", "so glad", (0, 1)),
        Example("row-000002", "line\nbreak", ()),
        Example("row-000003", "so sad", (1, 2)),
    ]
    lines = bom + "".join(json.dumps(row) + "\n" for row in JSON_ROWS) + "\n"
    table = bom + 'text,tags\nso glad,"joy,love"\n"line\nbreak",\n\nso sad," sadness ,love"'
    for path, content in ((tmp_path / f"a.jsonl{suffix}", lines), (tmp_path / f"a.csv{suffix}", table)):
        read = corpus_of(put(path, content), **NAMES_OPTIONS)
        assert read.examples == expected
        assert read.labels.names == ("joy", "love", "sadness")


def test_indicator_columns_are_the_inventory_in_their_order(tmp_path):
    path = put(tmp_path / "a.tsv", "key\tlove\tbody\tjoy\nk1\t1\tsome text\t0\nk2\t1\tother\t1\n")
    read = corpus_of(path, text_column="body", id_column="key", label_columns=["joy", "love"])
    assert read.examples == [Example("k1", "some text", (1,)), Example("k2", "other", (0, 1))]
    path = put(tmp_path / "a.jsonl", '{"text": "some text", "joy": 0, "love": 1}\n')
    assert corpus_of(path, label_columns=["joy", "love"]).examples == [Example("row-000001", "some text", (1,))]


def test_the_inventory_can_be_given_in_the_order_of_ids(tmp_path):
    path = put(tmp_path / "a.csv", "text,tags\nx,a|b\n")
    read = corpus_of(path, label_column="tags", label_delimiter="|", labels=["c", "b", "a"])
    assert (read.labels.names, read.examples[0].labels) == (("c", "b", "a"), (1, 2))


def test_the_file_can_come_from_the_mirror_instead(tmp_path):
    put(tmp_path / "mine/a.csv.gz", "text,tags\nx,a\n")
    files = {"data": obtain("data", mirrored("mine/a.csv"), tmp_path, tmp_path)}
    assert len(readers.read("tabular", files, NAMES_OPTIONS).examples) == 1


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("text,tags\nx,a\ny,b,c\n", {}, ":3: 3 columns, the header has 2; quote"),
        ("text,tags\nx,a\ny\n", {}, ":3: 1 columns, the header has 2"),
        ('text,tags\n"two\nlines",a\nx\n', {}, ":4: 1 columns"),
        ('text,tags\nx,a\n"y,b\n', {}, ":3: not valid CSV .*unexpected end of data"),
        ('text,tags\n"x"y,a\n', {}, ":2: not valid CSV"),
        ("text,tags\n ,a\n", {}, ":2: empty text"),
        ("text,labels\nx,a\n", {}, ":1: no column 'tags'; there are: text, labels"),
        ("text,tags,text\nx,a,y\n", {}, ":1: the column name 'text' occurs twice"),
        ("", {}, ":1: no column 'text'; there are: none"),
        ("text,tags\n", {}, "no rows"),
        ("text,tags\nx,\n", {}, "no row has a label"),
        ("text,tags\nx,a\ny,z\n", {"labels": ["a", "b"]}, ":3: unknown label 'z'; options.labels has a, b"),
        ("text,tags,k\nx,a,1\ny,a,1\n", {"id_column": "k"}, ":3: duplicate id '1'"),
        ("text,tags,k\nx,a,\n", {"id_column": "k"}, ":2: empty id"),
        ("text,tags\nx,joy\ny,Joy\n", {}, "'Joy' and 'joy' collide"),
        (
            "text,a\nx,1\ny,maybe\n",
            {"label_column": None, "label_columns": ["a"]},
            ":3: the value 'maybe' of label 'a' is neither 0",
        ),
        (
            "text,a\nx,1\n",
            {"label_column": None, "label_columns": ["a"], "labels": ["a", "b"]},
            "a.csv: --labels has 2 names for 1 columns: give one for each, in their order, or none",
        ),
        ("text,a\nx,1\n", {"label_column": None, "label_columns": ["a", "b"]}, ":1: no column 'b'; there are: text, a"),
    ],
)
def test_a_bad_csv_file_is_one_line_with_its_place(tmp_path, content, options, message):
    with pytest.raises(InputError, match=message) as caught:
        corpus_of(put(tmp_path / "a.csv", content), **NAMES_OPTIONS | options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{'text': 1}", ":2: not valid JSON"),
        ("[1]", ":2: not a JSON object"),
        ('{"tags": ["a"]}', ":2: no column 'text'; there are: tags"),
        ('{"text": null, "tags": ["a"]}', ":2: 'text' is not a string"),
        ('{"text": "", "tags": ["a"]}', ":2: empty text"),
        ('{"text": "x", "tags": [1]}', ":2: 'tags' holds numbers in a file of lists of names"),
        ('{"text": "x", "tags": ["a", 1]}', ":2: 'tags' is neither a string nor a list of strings"),
    ],
)
def test_a_bad_jsonl_line_is_named(tmp_path, line, message):
    path = put(tmp_path / "a.jsonl", '{"text": "fine", "tags": ["a"]}\n' + line + "\n")
    with pytest.raises(InputError, match=f"a.jsonl{message}"):
        corpus_of(path, **NAMES_OPTIONS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "options.*: set label_column .* or label_columns"),
        ({"label_column": "tags", "label_columns": ["a"]}, "options.*: set label_column .* or label_columns"),
        ({"label_columns": "a"}, "options.label_columns: Input should be a valid list"),
        ({"lable_column": "tags"}, "options.lable_column: .*the keys of the tabular reader are path, text_column"),
        ({"label_column": "tags", "label_delimiter": ""}, "label_delimiter is empty"),
    ],
)
def test_wrong_options_name_the_key(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        corpus_of(put(tmp_path / "a.csv", "text,tags\nx,a\n"), **options)


def test_the_path_of_a_tabular_file_must_be_clear(tmp_path):
    path = put(tmp_path / "a.xlsx", "")
    with pytest.raises(InputError, match="unknown kind of file '.xlsx'; use .jsonl, .csv or .tsv"):
        corpus_of(path, **NAMES_OPTIONS)
    with pytest.raises(InputError, match="a.csv: no such file"):
        corpus_of(tmp_path / "a.csv", **NAMES_OPTIONS)
    for files, options in (({}, {}), ({"data": path}, {"path": str(path)}), ({"train": path}, {})):
        with pytest.raises(InputError, match="set options.path, or files with the one key 'data'"):
            tabular.read(files, NAMES_OPTIONS | options)


def test_repeated_texts_are_kept_and_counted(tmp_path):
    path = put(tmp_path / "a.csv", "text,tags\nHello you,a\nhello  YOU,a\nhello you,b\nother words here,\n")
    assert readers.describe(corpus_of(path, **NAMES_OPTIONS)) == {
        "n": 4,
        "n_labels": 2,
        "labels_per_text": {"min": 0, "mean": 0.75, "max": 1},
        "mean_words": 2.25,
        "per_label": {"a": 2, "b": 1},
        "compositions": 3,
        "repeated_texts": 2,
        "repeated_with_other_labels": 1,
        "dropped": {},
    }


# ---------------------------------------------------------------- the stage


def params_with(tmp_path: Path, **changes: object) -> Path:
    """params.yaml of the repository with facts of its tabular corpus changed."""
    return written(tmp_path, {f"own:{key}": value for key, value in changes.items()})


def run_raw(params: Path, benchmark: str, out: Path) -> None:
    raw.main(
        ["--params", str(params), "--benchmark", benchmark, "--out", str(out), "--downloads", str(out.parent / "dl")]
    )


def test_the_raw_stage_writes_one_schema_and_the_reference_split(tmp_path, monkeypatch):
    monkeypatch.setenv("COMPAUG_MIRROR", str(tmp_path))
    semeval_split(tmp_path)
    files = {split: {"url": None, "sha256": None, "mirror": f"{split}.txt"} for split in authors_split.SPLITS}
    params = params_with(tmp_path, reader="semeval", files=files, options={}, label_phrases={"joy": "pure joy"})
    for name in ("first", "again"):
        run_raw(params, "own", tmp_path / name)
    examples = read_jsonl(tmp_path / "first/examples.jsonl", n_labels=11)
    assert [example.id for example in examples] == [
        "cg-train-00001",
        "cg-train-00002",
        "cg-support-00001",
        "cg-test-00001",
    ]
    assert read_json(tmp_path / "first/reference.json") == {
        "train": ["cg-train-00001", "cg-train-00002"],
        "support": ["cg-support-00001"],
        "test": ["cg-test-00001"],
    }
    assert Labels.read(tmp_path / "first/labels.json").phrases[4] == "pure joy"
    assert read_json(tmp_path / "first/corpus.json")["per_label"]["joy"] == 3
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_a_further_corpus_is_one_file(tmp_path):
    """A copy of own.yaml under another name, with another path: nothing else knows of it."""
    params = written(tmp_path)
    rows = "".join(
        f"{text} {i},{labels}\n" for i in range(30) for text, labels in (("x", "a"), ("y", "a;b"), ("z", "b;c"))
    )
    table = put(tmp_path / "letters.csv", "text,labels\n" + rows)
    letters = (
        (tmp_path / "configs/benchmarks/own.yaml").read_text(encoding="utf-8").replace("data/own/texts.csv", str(table))
    )
    letters = letters.replace("compositions: 3", "compositions: 1").replace("[0.03, 0.45]", "[0.1, 0.5]")
    put(tmp_path / "configs/benchmarks/letters.yaml", letters)
    common = ["--params", str(params), "--benchmark", "letters"]
    raw.main([*common, "--out", str(tmp_path / "raw"), "--downloads", str(tmp_path / "dl")])
    split.main([*common, "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "split")])
    parts = {name: len(read_jsonl(tmp_path / f"split/{name}.jsonl")) for name in ("train", "support", "test")}
    assert parts == {"train": 60, "support": 10, "test": 20}


def test_a_failed_raw_stage_leaves_the_earlier_output_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("COMPAUG_MIRROR", raising=False)
    path = put(tmp_path / "a.csv", "text,labels\nx,a;b\n")
    params = params_with(tmp_path, options={"path": str(path), "label_column": "labels", "label_delimiter": ";"})
    run_raw(params, "own", tmp_path / "out")
    before = (tmp_path / "out/examples.jsonl").read_bytes()
    assert not (tmp_path / "out/reference.json").exists()
    put(path, 'text,labels\nx,"a, b"\n')
    with pytest.raises(
        InputError, match="label phrase 'a, b' contains the separator ', '; set another label_separator"
    ):
        run_raw(params, "own", tmp_path / "out")
    assert (tmp_path / "out/examples.jsonl").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "configs", "params.yaml", "out"}


def test_every_benchmark_of_params_yaml_has_a_reader_that_knows_its_files():
    for name in params.benchmarks(ROOT / "params.yaml"):
        benchmark = params.parse(ROOT / "params.yaml", name).corpus
        assert benchmark.reader in readers.READERS, name
        if benchmark.files:
            with pytest.raises(InputError, match="absent: (no such file|unknown kind of file)"):
                readers.READERS[benchmark.reader](dict.fromkeys(benchmark.files, Path("absent")), benchmark.options)


def test_the_diagnostic_corpus_is_made_from_its_options_and_takes_no_files():
    options = params.parse(ROOT / "params.yaml", "diagnostic").corpus.options | {"size": 400}
    toy_corpus = readers.read("diagnostic", {}, options)
    assert len(toy_corpus.examples) == 400
    assert toy_corpus.examples == readers.read("diagnostic", {}, options).examples
    with pytest.raises(InputError, match="options.seed is missing"):
        readers.read("diagnostic", {}, {})
    with pytest.raises(InputError, match="the diagnostic corpus is made, not read"):
        readers.READERS["diagnostic"]({"data": Path("unused")}, options)


def test_only_a_corpus_with_a_known_grammar_has_an_oracle():
    assert readers.oracle_for("semeval", {}) is None
    assert callable(readers.oracle_for("diagnostic", {}).oracle)


# ---------------------------------------------------------------- the real corpora


def from_mirror(name: str, mirror: Path, tmp_path: Path, **files: File) -> Corpus:
    """A benchmark of params.yaml, or the same reader on other files."""
    benchmark = params.parse(ROOT / "params.yaml", name).corpus
    paths = {key: obtain(key, file, mirror, tmp_path) for key, file in (files or benchmark.files).items()}
    return readers.read(benchmark.reader, paths, benchmark.options)


def mirrored(path: str) -> File:
    return File(url=None, sha256=None, mirror=path)


def test_semeval_has_the_published_sizes(mirror, offline, tmp_path):
    split = from_mirror("semeval", mirror, tmp_path)
    assert Counter(split.reference.values()) == {"train": 9530, "support": 50, "test": 1403}
    sets = {part: [e.labels for e in split.examples if split.reference[e.id] == part] for part in authors_split.SPLITS}
    assert len({labels for part in sets.values() for labels in part}) == 402
    assert sum(not labels for labels in sets["train"]) == 293
    assert Counter(sets["test"])[split.labels.composition("joy+love")] == 276


def test_goemotions_has_the_published_rows_less_the_repeated_ones(mirror, offline, tmp_path):
    read = from_mirror("goemotions", mirror, tmp_path)
    assert len(read.examples) + sum(read.dropped.values()) == 43410 + 5426 + 5427
    assert len(read.labels) == 28
    assert readers.describe(read)["repeated_texts"] == 0


def test_aapd_support_rows_have_the_compositions_of_the_paper(mirror, offline, tmp_path):
    read = from_mirror("aapd", mirror, tmp_path, support=mirrored("aapd/ldvae_support.txt"))
    times = Counter(example.labels for example in read.examples)
    assert (len(read.examples), len(times)) == (50, 15)
    assert times[read.labels.composition("cs.dm+math.co")] == 10
    assert times[read.labels.composition("cs.it+math.it+stat.ml")] == 2


def test_imdb_support_rows_have_the_compositions_of_the_paper(mirror, offline, tmp_path):
    read = from_mirror("imdb", mirror, tmp_path, support=mirrored("imdb_genres/ldvae_support.txt"))
    times = Counter(example.labels for example in read.examples)
    assert (len(read.examples), len(times)) == (50, 19)
    assert times[read.labels.composition("Comedy+Drama+Family")] == 5
