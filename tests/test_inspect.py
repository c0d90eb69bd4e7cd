"""`compaug inspect`: what is in a file is told, and the benchmark that it proposes is one that the pipeline takes."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from compaug import cli
from compaug.core.files import InputError, read_json, read_yaml
from compaug.core.records import Example, Labels, read_jsonl
from compaug.data.corpus import Corpus
from compaug.data.multi_label import Task
from compaug.data.readers import columns, diagnostic, tabular
from compaug.data.splits import Split, split_corpus
from compaug.data.streams import lines as corpus_lines
from compaug.experiments import params
from compaug.project import inspection, proposed
from compaug.stages import audit_split, raw, split

ROOT = Path(__file__).parents[1]


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Path:
    """A repository's parameters, and the user's folder."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "data/own").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(path: Path, rows, header=("message", "tags")) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def calls_of(size: int, seed: int = 3) -> list[tuple[str, str]]:
    examples, labels = diagnostic.read({"size": size}, seed=seed)
    return [(e.text, ";".join(labels.names[label] for label in e.labels)) for e in examples]


def compaug(*words: str):
    return CliRunner().invoke(cli.app, [*words], catch_exceptions=False)


def reading(lengths=(8, 9, 30), **shares) -> inspection.Reading:
    return inspection.Reading("model", 128, np.array(lengths), **shares)


@pytest.mark.parametrize("size", [120, 400, 3000])
def test_the_proposed_benchmark_runs_as_it_stands_whatever_the_corpus_size(desk, size):
    table(desk / "data/own/calls.csv", calls_of(size))
    done = compaug("inspect", "data/own/calls.csv", "--write")
    assert "dvc exp run report samples -S run.benchmark=calls -S run.scale=pretrained" in done.output
    assert f"rows: {size:,}, with 8 labels" in done.output and "not fetched yet" in done.output
    for scale in ("pretrained", "tiny"):
        proposal = params.parse("params.yaml", "calls", scale)
        assert proposal.split.support_size <= 50 and proposal.sizes.requested == 2 * proposal.sizes.k
    common = ["--benchmark", "calls"]
    raw.main([*common, "--out", "raw"])
    split.main([*common, "--raw", "raw", "--out", "split"])
    parts = read_json(Path("split/split.json"))
    assert parts["compositions"]["test"] == proposal.split.compositions and not parts["compositions"]["shared"]
    assert parts["examples"]["test"] >= 3 * parts["examples"]["support"]


def test_every_value_has_a_reason_and_nothing_is_written_unless_asked(desk):
    table(desk / "data/own/calls.csv", calls_of(300))
    text = compaug("inspect", "data/own/calls.csv").output
    for key in (
        "support_size",
        "requested",
        "k",
        "compositions",
        "min_count",
        "test_share",
        "max_length",
        "epoch_share",
        "batch_size",
    ):
        (line, *_) = [line for line in text.splitlines() if line.strip().startswith(f"{key}:")]
        assert len(line.partition("#")[2]) > 15, key
    assert "scales: # this corpus: pretrained, because" in text
    assert not (desk / "configs/benchmarks/calls.yaml").exists()


def test_a_benchmark_that_is_there_is_never_replaced_and_a_committed_name_is_not_taken(desk):
    table(desk / "data/own/semeval.csv", calls_of(300))
    compaug("inspect", "data/own/semeval.csv", "--write")
    mine = desk / "configs/benchmarks/my_semeval.yaml"
    assert mine.exists()
    before = mine.read_bytes()
    for name in ("my_semeval", "semeval"):
        with pytest.raises(InputError, match=f"{name}.yaml: there already; give --name"):
            compaug("inspect", "data/own/semeval.csv", "--name", name, "--write")
    with pytest.raises(InputError, match="cannot name a benchmark"):
        compaug("inspect", "data/own/semeval.csv", "--name", "../up", "--write")
    assert mine.read_bytes() == before
    table(desk / "else.csv", calls_of(300))
    with pytest.raises(InputError, match="else.csv: copy it into data/own first"):
        compaug("inspect", "else.csv", "--write")
    assert not (desk / "configs/benchmarks/else.yaml").exists()


def test_a_name_that_dvc_would_read_as_a_number_is_not_taken(desk):
    table(desk / "data/own/2024.csv", calls_of(300))
    assert "-S run.benchmark=my_2024 " in compaug("inspect", "data/own/2024.csv").output
    table(desk / "data/own/Données 2.csv", calls_of(300))
    shown = compaug("inspect", "data/own/Données 2.csv", "--label-delimiter", ";")
    assert "-S run.benchmark=donnees_2 " in shown.output
    for name in ("2024", "1e5", "null", "True", "_x"):
        with pytest.raises(
            InputError, match=f"--name {name}: cannot name a benchmark; begin with a letter from a to z"
        ):
            compaug("inspect", "data/own/2024.csv", "--name", name)


@pytest.mark.parametrize(
    ("delimiter", "header", "mark", "blank", "words"),
    [
        ("\t", "", ";", "", ()),
        (";", "body;topics", ", ", "", ()),
        ("|", "text|labels", ";", "NaN", ("--missing", "NaN")),
    ],
)
def test_raw_reads_what_inspect_has_read(desk, delimiter, header, mark, blank, words):
    rows = [(text.replace(";", ","), labels) for text, labels in calls_of(300)]
    lines = [f"{text}{delimiter}{labels.replace(';', mark) or blank}" for text, labels in rows]
    (desk / "data/own/calls.tsv").write_text("\n".join([*filter(None, [header]), *lines]), encoding="utf-8")
    assert "rows: 300, with 8 labels" in compaug("inspect", "data/own/calls.tsv", "--write", *words).output
    raw.main(["--benchmark", "calls", "--out", "raw"])
    names = Labels.read("raw/labels.json").names
    read = [(e.text, {names[label] for label in e.labels}) for e in read_jsonl(Path("raw/examples.jsonl"))]
    assert read == [(text, set(filter(None, labels.split(";")))) for text, labels in rows]


def test_what_was_read_is_printed_before_a_refusal_too(desk, capsys):
    table(desk / "data/own/calls.csv", [(text, labels.replace(";", "@")) for text, labels in calls_of(300)])
    with pytest.raises(SystemExit):
        cli.main(["inspect", "data/own/calls.csv"])
    *account, error = capsys.readouterr().err.splitlines()
    assert "no row has two labels" in error and error.startswith("error: ")
    assert any("commonest of" in line for line in account) and any("  line 2: " in line for line in account)


def test_columns_and_delimiter_are_found_by_their_names_and_contents(tmp_path):
    path = table(
        tmp_path / "a.csv", [("7", "a long enough text", "x|y"), ("8", "another", "z")], ("n", "what", "Genres")
    )
    assert columns.guess(path, {}).options == {
        "path": str(path), "text_column": "what", "label_column": "Genres", "label_delimiter": "|",
    }  # fmt: skip
    path = table(tmp_path / "b.csv", [("a text", "True", "0"), ("more", "False", "1")], ("text", "joy", "love"))
    assert columns.guess(path, {}).options["label_columns"] == ["joy", "love"]
    rows = [
        (f"p{n}", f"the text of package {n}", ("viewing, editing", "viewing", "playing")[n % 3], n % 4)
        for n in range(30)
    ]
    path = table(tmp_path / "e.csv", rows, ("package", "description", "use", "size"))  # neither a key nor a number
    assert columns.guess(path, {}).options == {
        "path": str(path), "text_column": "description", "label_column": "use", "label_delimiter": ",",
    }  # fmt: skip
    two = table(
        tmp_path / "f.csv", [(*row, "en" if row[3] else "de") for row in rows], ("n", "what", "use", "m", "language")
    )
    with pytest.raises(InputError, match="which column has the labels"):
        columns.guess(two, {})
    path = table(tmp_path / "c.csv", [("a text", "x")], ("text", "what"))
    with pytest.raises(
        InputError, match="c.csv: which column has the labels. There are text, what; give --label-column"
    ):
        columns.guess(path, {})
    assert columns.guess(path, {"label_column": "what"}).options["label_column"] == "what"
    with pytest.raises(InputError, match="no rows"):
        columns.guess(table(tmp_path / "d.csv", []), {})


def test_faults_of_the_file_are_told_before_anything_else(desk):
    table(desk / "data/own/bad.csv", [*calls_of(200), ("", "joy"), (" ", "joy")])
    with pytest.raises(InputError, match="2 of 202 rows cannot be used: 2 x empty text"):
        compaug("inspect", "data/own/bad.csv")
    shown = compaug("inspect", "data/own/bad.csv", "--on-bad-rows", "drop").output
    assert "2 rows are left out" in shown and 'on_bad_rows: "drop"' in shown


@pytest.mark.parametrize(("broken", "says"), [("tiny", "pretrained.backbones"), ("[]", "expected a mapping")])
def test_scales_without_a_size_of_encoders_are_one_line(desk, broken, says):
    table(desk / "data/own/calls.csv", calls_of(120))
    shown = yaml.safe_load((desk / "configs/scales.yaml").read_text())["tiny"]
    (desk / "configs/scales.yaml").write_text(broken if broken == "[]" else json.dumps({"tiny": shown}))
    with pytest.raises(InputError, match=says) as error:
        compaug("inspect", "data/own/calls.csv")
    assert "scales.yaml" in str(error.value) and "\n" not in str(error.value)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(30, 600))
def test_a_split_that_is_proposed_can_be_made_and_otherwise_the_lack_is_named(seed, n_labels, size):
    rng = np.random.default_rng(seed)
    sets = [tuple(np.flatnonzero(rng.random(n_labels) < rng.choice([0.2, 0.5]))) for _ in range(size)]
    sets = [tuple(map(int, codes_of_row)) for codes_of_row in sets]
    names = tuple(f"l{at}" for at in range(n_labels))
    corpus = Corpus([Example(f"x{i}", f"text {i}", y) for i, y in enumerate(sets)], Labels(names, names))
    try:
        proposal = inspection.proposal(corpus, {"tiny": reading(), "pretrained": reading()})
    except InputError as error:
        assert "held out" in str(error) or "hold out" in str(error)
        return
    options = {name: proposal[name].value for name in ("compositions", "min_count", "test_share")}
    parts = split_corpus(
        corpus.examples,
        corpus.labels,
        Split(mode="generate", seed=0, support_size=proposal["support"].value, **options),
    )
    assert parts.positions["train"] and parts.positions["test"]
    assert proposal["requested"].value == 2 * proposal["k"].value


def test_an_own_split_is_proposed_for_its_test_rows(desk):
    rows = [(text, labels, "test" if at % 3 == 0 else "train") for at, (text, labels) in enumerate(calls_of(900))]
    path = table(desk / "data/own/calls.csv", rows, ("message", "tags", "part"))
    shown = compaug("inspect", str(path), "--split-column", "part").output
    assert 'split_column: "part"' in shown and "of the test rows" in shown


def test_the_scale_follows_what_the_encoders_can_read():
    plain = {"tiny": reading(), "pretrained": reading()}
    assert inspection._scale(plain)["scale"].value == "pretrained"
    chinese = inspection._scale(plain | {"pretrained": reading(lacks={"价": 3, "😂": 9}, lacking=0.9)})["scale"]
    assert chinese.value == "tiny" and "no token for 价, in 90%" in chinese.why
    emoji = plain | {"pretrained": reading(lacks={"😂": 9})}
    assert inspection._scale(emoji)["scale"].value == "pretrained"
    german = {name: reading(changes={"ü": 5}, changing=0.4) for name in plain}
    proposal = inspection._scale(german)
    assert (proposal["scale"].value, proposal["cased"].value) == ("tiny", True) and "no accents (ü)" in proposal[
        "scale"
    ].why


@pytest.mark.parametrize(
    ("lengths", "limit", "why"),
    [
        ([20] * 90 + [43] * 10, 48, "cuts no text"),
        ([20] * 99 + [120], 32, "cuts 1.0% of the texts; 95 % have at most 32"),
        ([200] * 100, 128, "cuts 100.0% of the texts; 95 % have at most 208"),  # more than the model takes
    ],
)
def test_room_for_the_longest_text_is_given_where_it_is_no_outlier(lengths, limit, why):
    proposed = inspection._lengths({"pretrained": reading(lengths)})["max_length_pretrained"]
    assert proposed.value == limit and why in proposed.why


@pytest.mark.parametrize(
    ("n_train", "tokens", "epochs", "batch_size"),
    [(910, 208, 5, 8), (700, 12, 20, 16), (5000, 20, 10, 32), (50_000, 30, 1, 32)],
)
def test_a_small_corpus_is_read_often_in_small_steps_within_one_budget(n_train, tokens, epochs, batch_size):
    reading = inspection.Reading("MiniLM", 512, np.full(n_train, tokens))
    budgets = inspection._budgets(n_train, 64, reading)
    assert (budgets["passes"].value, budgets["batch"].value) == (epochs, batch_size)
    assert epochs * n_train * tokens <= max(inspection.ENCODER.tokens, n_train * tokens)


@pytest.mark.parametrize(
    ("most", "name", "positions", "written"), [(3, "", None, 48), (11, "", 256, 64), (16, "long names ", 384, 160)]
)
def test_rows_of_many_labels_have_room_in_the_tiny_decoder(desk, most, name, positions, written):
    """A prefix has positions for each label, and the prompt names them all."""
    names = [f"{name}kind {letter}" for letter in "abcdefghijklmnopqrst"]
    pairs = [("a few words of it", [names[i % 20], names[(i + 1) % 20]]) for i in range(600)]
    rows = [*pairs, ("all at once", names[:most])]
    table(desk / "data/own/many.csv", [(f"{text} {i}", "|".join(labels)) for i, (text, labels) in enumerate(rows)])
    compaug("inspect", "data/own/many.csv", "--write")
    proposal = params.parse("params.yaml", "many", "tiny")
    assert proposal.backbones.decoder.max_positions == (positions or inspection.TINY_POSITIONS)
    assert proposal.generators["ld_vae"].max_length == proposal.synthesis.max_length == written
    assert proposal.generators["ld_vae"].prefix_length == inspection.PREFIX
    facts = read_yaml("configs/benchmarks/many.yaml")
    task = Task(Labels(names, names), facts["text_prompt"], facts["label_separator"])
    assert len(task.source(range(most))) / 3 < written


def test_positions_are_proposed_from_what_the_scale_has():
    decoder = read_yaml(ROOT / "configs/scales.yaml")["tiny"]["backbones"]["decoder"]
    assert decoder["max_positions"] == inspection.TINY_POSITIONS


def test_what_a_tokenizer_loses_is_counted(tmp_path):
    from compaug.data.parameters import Backbone
    from compaug.models.tiny_tokenizers import TOKENIZERS

    sizes = {
        "layers": 1,
        "hidden": 32,
        "heads": 2,
        "vocab": 300,
        "max_positions": 48,
        "epochs": 1,
        "lr": 0.01,
        "batch_size": 8,
    }
    tokenizer = TOKENIZERS["encoder"](["so gut", "auch gut"] * 20, Backbone(kind="tiny", **sizes))
    tokenized = inspection.read_with("tiny", tokenizer, 48, ["so gut", "gűt Q", "好 so", "gut"])
    assert tokenized.lacking == 0.5 and set(tokenized.lacks) == {"Q", "好"}
    assert tokenized.changing == 0.25 and set(tokenized.changes) == {"ű"}
    assert list(inspection.read_with("tiny", tokenizer, 48, ["gut ş ő ű", "Š"]).changes) == ["ő", "ş", "ű", "Š"]
    assert tokenized.lengths.tolist() == [4, 4, 4, 3] and tokenized.share_above(3) == 0.75


def test_options_of_the_file_are_those_of_the_reader():
    option_names = {
        "on_bad_rows",
        "id_column",
        "label_columns",
        "label_delimiter",
        "label_column",
        "text_column",
        "split_column",
        "test_path",
    }
    assert option_names <= set(tabular.Options.model_fields) and proposed.OWN == Path("data/own")


# ---------------------------------------------------------------- public corpora in three shapes


def _lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for _, line in corpus_lines(path)]


def goemotions_as_parquet(mirror: Path, folder: Path) -> Path:
    import datasets

    names = [name for (name,) in _lines(mirror / "goemotions/emotions.txt")]
    rows = _lines(mirror / "goemotions/dev.tsv.xz")
    kinds = {"text": datasets.Value("string"), "labels": datasets.List(datasets.ClassLabel(names=names))}
    columns = {
        "text": [text for text, _, _ in rows],
        "labels": [[int(y) for y in ids.split(",")] for _, ids, _ in rows],
    }
    datasets.Dataset.from_dict(columns, datasets.Features(kinds)).to_parquet(folder / "comments.parquet")
    return folder / "comments.parquet"


def aapd_as_csv_with_lists(mirror: Path, folder: Path) -> Path:
    texts, codes = (
        [line for _, line in corpus_lines(mirror / f"aapd/official/{kind}_test.xz")] for kind in ("text", "label")
    )
    rows = [(text, json.dumps(row_codes.split())) for text, row_codes in zip(texts, codes, strict=True)]
    return table(folder / "abstracts.csv", rows, ("abstract", "topics"))


def snips_in_pairs_as_jsonl(mirror: Path, folder: Path) -> Path:
    rows = _lines(mirror / "slu_snips/valid.tsv.xz")
    pairs = [(rows[at], rows[(at * 7 + 3) % len(rows)]) if at % 3 else (rows[at],) for at in range(len(rows))]
    paired = [
        {"utterance": " and ".join(r[1] for r in pair), "intents": sorted({r[0] for r in pair})} for pair in pairs
    ]
    path = folder / "calls.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in paired), encoding="utf-8")
    return path


@pytest.mark.parametrize("make", [goemotions_as_parquet, aapd_as_csv_with_lists, snips_in_pairs_as_jsonl])
def test_public_corpora_of_three_shapes_are_inspected_and_split_without_an_edit(mirror, desk, make):
    path = make(mirror, Path("data/own"))
    done = compaug("inspect", str(path), "--write")
    name = path.stem
    assert f"dvc exp run report samples -S run.benchmark={name} -S run.scale=pretrained" in done.output
    raw.main(["--benchmark", name, "--out", "raw"])
    split.main(["--benchmark", name, "--raw", "raw", "--out", "split"])
    audit_split.main(["--benchmark", name, "--split", "split", "--out", "audit.json"])
    parts = read_json(Path("split/split.json"))
    assert parts["compositions"]["test"] >= 4 and parts["examples"]["test"] > parts["examples"]["support"] >= 5
