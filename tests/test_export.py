"""What leaves the project: a classifier that plain transformers opens with the same probabilities, texts that datasets
loads, labels for new texts."""

from __future__ import annotations

import csv
import importlib
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from graph import ROOT
from test_bert import LABELS, SETTINGS, examples, write_encoder

from compaug import classifiers, cli
from compaug.classifiers.parameters import Bert, Dbloss
from compaug.core.files import InputError, read_json, write_json
from compaug.core.records import Example, Labels, read_label_sets, write_jsonl
from compaug.data.parameters import Backbone
from compaug.evaluation import gold, predictions
from compaug.models.backbones import prepare
from compaug.project import export
from compaug.project.classifier import load
from compaug.stages import write_requests

TINY = {
    "layers": 2,
    "hidden": 32,
    "heads": 2,
    "vocab": 300,
    "max_positions": 48,
    "epochs": 1,
    "lr": 0.01,
    "batch_size": 8,
}
NAMES = Labels(("Joy & co", "love", "fear"), LABELS.phrases)
TEXTS = [e.text for e in examples(12)] + ["darling " * 60, "unheard-of words", "x"]
# A fresh process that cannot import this package, and opens the folder as anybody would.
PLAIN = """
import json, sys
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline
folder, texts = sys.argv[1], json.loads(sys.stdin.read())
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
inputs = tokenizer(texts, truncation=True, padding=True, return_tensors="pt")
with torch.no_grad():
    found = model(**inputs).logits.sigmoid().tolist()
piped = pipeline("text-classification", folder, top_k=None, truncation=True)(texts)
piped = [{one["label"]: one["score"] for one in row} for row in piped]
assert not any(name.startswith("compaug") for name in sys.modules)
print(json.dumps({"found": found, "piped": piped, "type": type(model).__name__, "problem": model.config.problem_type}))
"""


@pytest.fixture
def tiny(tmp_path) -> Path:
    """A tiny ModernBERT, as the pipeline makes it."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    prepare("encoder", Backbone(kind="tiny", **TINY), TEXTS * 4, folder, 0, tmp_path / "work")
    return folder


def trained(folder: Path, encoder: Path, name: str = "bert", **changes) -> Path:
    settings = {"epochs": 12, **changes}
    if name == "dbloss":
        schema = Dbloss.model_fields
        settings |= {"gamma": 2.0, "negative_scale": 2.0, "bias_scale": 0.05}
        settings |= {"weight_offset": 0.1, "weight_slope": 10.0, "weight_centre": 0.9}
        params = Dbloss(**{k: v for k, v in dict(SETTINGS).items() if k in schema} | settings)
    else:
        params = Bert(**dict(SETTINGS) | settings)
    labels = Labels(NAMES.names, LABELS.phrases)
    classifiers.load(name).train(examples(), labels, params, encoder, folder, seed=1)
    return folder


def opened_plainly(folder: Path) -> dict:
    done = subprocess.run(
        [sys.executable, "-I", "-c", PLAIN, str(folder)],
        input=json.dumps(TEXTS), capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


CASES = {
    "bert": ("bert", "write", {}, "ElectraForSequenceClassification"),
    "dbloss": ("dbloss", "write", {}, "ElectraForSequenceClassification"),
    "tiny, mean": ("bert", "tiny", {"prediction_head": True, "pool": "mean"}, "ModernBertForSequenceClassification"),
    "tiny, cls": ("bert", "tiny", {"prediction_head": True}, "ModernBertForSequenceClassification"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_plain_transformers_opens_the_classifier_and_finds_the_same_probabilities(
    tmp_path, in_a_temporary_folder, tiny, case
):
    name, kind, changes, architecture = CASES[case]
    encoder = tiny if kind == "tiny" else write_encoder(tmp_path / "encoder")
    model = trained(tmp_path / "model", encoder, name, **changes)
    ours = classifiers.load(name).predict(model, TEXTS)
    assert np.ptp(ours) > 0.2  # it has learned to tell texts apart
    export.classifier(model, NAMES.names, dict.fromkeys(NAMES.names, 0.4), tmp_path)
    plain = opened_plainly(tmp_path)
    assert (plain["type"], plain["problem"]) == (architecture, "multi_label_classification")
    np.testing.assert_allclose(plain["found"], ours, atol=1e-6)
    for row, expected in zip(plain["piped"], ours, strict=True):
        np.testing.assert_allclose([row[name] for name in NAMES.names], expected, atol=1e-6)
    assert read_json(tmp_path / "thresholds.json") == {"default": 0.5, "tuned": dict.fromkeys(NAMES.names, 0.4)}
    card = (tmp_path / "README.md").read_text()
    assert "Joy & co" in card and architecture in card and "after 32 tokens" in card


def test_many_labels_are_exact_up_to_half_the_width(tmp_path):
    """gelu(z) - gelu(-z) = z for logits of any size."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    sizes = {
        "vocab_size": 64,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    encoder = BertModel(BertConfig(**sizes, max_position_embeddings=8), add_pooling_layer=False).eval()
    weight, bias = torch.randn(8, 16) * 5, torch.randn(8) * 5
    wrapped = torch.nn.Module()
    wrapped.backbone = encoder
    electra = export._as_electra(tmp_path, wrapped, {"pool": "cls"}, weight, bias).eval()
    ids, mask = torch.randint(64, (6, 8)), torch.ones(6, 8, dtype=torch.long)
    with torch.no_grad():
        logits = encoder(ids, mask).last_hidden_state[:, 0] @ weight.T + bias
        assert logits.abs().max() > 20
        torch.testing.assert_close(electra(ids, mask).logits, logits, atol=1e-4, rtol=1e-6)
        torch.testing.assert_close(electra(ids, mask).logits.sigmoid(), logits.sigmoid(), atol=1e-6, rtol=0)
    with pytest.raises(InputError, match="9 labels need an encoder of width 18, and this one has 16"):
        export._as_electra(tmp_path, wrapped, {"pool": "cls"}, torch.zeros(9, 16), torch.zeros(9))


def test_what_would_give_other_numbers_is_refused_in_one_line(tmp_path, in_a_temporary_folder, tiny):
    encoder = write_encoder(tmp_path / "encoder")
    refused = {
        "a linear head on a ModernBERT is no model of transformers": trained(tmp_path / "a", tiny, pool="mean"),
        "it reads the mean of BERT's states": trained(tmp_path / "b", encoder, pool="mean"),
        "its heads have a hidden layer": trained(tmp_path / "c", encoder, head_hidden=4),
    }
    for message, model in refused.items():
        (tmp_path / "out").mkdir(exist_ok=True)
        with pytest.raises(InputError, match=message) as caught:
            export.classifier(model, NAMES.names, {}, tmp_path / "out")
        assert "\n" not in str(caught.value) and not any((tmp_path / "out").iterdir())
    with pytest.raises(InputError, match="prediction_head: the encoder is a bert, which needs none"):
        trained(tmp_path / "d", encoder, prediction_head=True)
    with pytest.raises(
        InputError, match="this is no classifier that was trained here; models/repair of an audit is one"
    ):
        export.check(tmp_path)
    with pytest.raises(InputError, match="nowhere: no such folder; give that of a classifier"):
        export.check(tmp_path / "nowhere")


# ---------------------------------------------------------------- the commands


@pytest.fixture
def run(tmp_path, in_a_temporary_folder) -> Path:
    """What a finished run leaves, in a working directory."""
    split = tmp_path / "data/splits/run"
    NAMES.write(split / "labels.json")
    rows = examples()
    write_jsonl(split / "train.jsonl", rows[:20])
    write_jsonl(split / "support.jsonl", [Example("s", 'a, "b"\nc', (0, 1), "support")])
    kept = [
        Example("g1", "darling 你好", (1,), "ls_pt", (1,), 3, 0.5),
        Example("g2", "shiver", (2,), "ls_pt", (0, 2), 3, 1.0),
    ]
    write_jsonl(tmp_path / "data/selected/run/augmented.jsonl", kept)
    model = trained(tmp_path / "models/run/augmented", write_encoder(tmp_path / "encoder"))
    probabilities = classifiers.load("bert").predict(model, [e.text for e in rows[20:]]).tolist()
    held = [{"id": e.id, "split": "validation", "probabilities": p, "labels": list(e.labels), "source": "train"}
            for e, p in zip(rows[20:], probabilities, strict=True)]  # fmt: skip
    header = {"learned": {}, "train": {}, "support": {}, "n_train": 21, "n_synthetic": 2, "losses": []}
    predictions.write(tmp_path / "reports/run/augmented.jsonl.gz", header, held)
    return tmp_path


def compaug(*words: str) -> None:
    cli.app([*words], standalone_mode=False)


@pytest.mark.parametrize("format", ("parquet", "csv"))
def test_exported_texts_load_as_a_data_set_with_names_request_and_score(run, format, monkeypatch):
    datasets = pytest.importorskip("datasets")
    compaug("export", "home", "--what", "texts", "--format", format)
    load = lambda name: datasets.load_dataset("home/texts", name, split="train", cache_dir=str(run / "cache"))
    synthetic, train = load("synthetic"), load("train")
    cell = (lambda value: json.loads(value)) if format == "csv" else (lambda value: value)
    assert [
        (row["text"], cell(row["labels"]), cell(row["requested"]), row["source"], row["score"]) for row in synthetic
    ] == [
        ("darling 你好", ["love"], ["love"], "ls_pt", 0.5),
        ("shiver", ["fear"], ["Joy & co", "fear"], "ls_pt", 1.0),
    ]
    assert len(train) == 23 and train[20]["text"] == 'a, "b"\nc' and train[20]["score"] is None
    card = (run / "home/texts/README.md").read_text()
    assert "| `train` | 23 | 2 | ls_pt, support, train |" in card
    selected = run / "data/selected/run/augmented.jsonl"
    selected.write_text(selected.read_text().replace("shiver", "tremble"))
    compaug("export", "later", "--what", "texts", "--format", format)
    again = datasets.load_dataset("later/texts", "synthetic", split="train", cache_dir=str(run / "cache"))
    assert again["text"][-1] == "tremble"  # and not what the cache has of a folder of that name


def test_exported_texts_can_be_somebodys_own_corpus_again(run):
    from compaug.data.readers import tabular

    for format in ("parquet", "csv"):
        compaug("export", format, "--what", "texts", "--format", format)
        (rows,) = Path(format, "texts").glob("train-*")
        read = tabular.read({}, {"path": str(rows), "label_column": "labels", "id_column": "id"})
        assert len(read.examples) == 23 and set(read.labels.names) == set(NAMES.names)


def test_both_are_exported_whole_and_what_a_user_has_is_not_replaced(run):
    compaug("export", "home")
    assert {path.name for path in (run / "home/classifier").iterdir()} >= {
        "config.json",
        "model.safetensors",
        "thresholds.json",
    }
    compaug("export", "home", "--what", "texts")  # written by ourselves, so it may be replaced
    assert not (run / "home/classifier").exists()
    (run / "home/mine.txt").write_text("mine")
    with pytest.raises(InputError, match="home: holds mine.txt"):
        compaug("export", "home")


def test_new_texts_get_names_and_probabilities(run, capsys):
    with (run / "new.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["body", "n"], ["sunny today", 1], ["darling, shiver", 2], ["again", 3]])
    expected = classifiers.load("bert").predict(
        Path("models/run/augmented"), ["sunny today", "darling, shiver", "again"]
    )
    for out in ("out.csv", "out.jsonl"):
        compaug("predict", "models/run/augmented", "new.csv", "--out", out)
    message = capsys.readouterr().out
    assert "texts: body\n" in message and "out.csv: 3 texts, " in message
    rows = [json.loads(line) for line in (run / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    for row, probabilities in zip(rows, expected, strict=True):
        np.testing.assert_allclose([row["probabilities"][name] for name in NAMES.names], probabilities, atol=1e-6)
        assert row["labels"] == [name for name in NAMES.names if row["probabilities"][name] > 0.5]
    with (run / "out.csv").open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [row["line"] for row in table] == ["2", "3", "4"] and table[1]["text"] == "darling, shiver"
    assert [json.loads(row["labels"]) for row in table] == [row["labels"] for row in rows]
    compaug("export", "home", "--what", "classifier")
    home = "home/classifier/thresholds.json"
    compaug(
        "predict", "models/run/augmented", "new.csv", "--out", "t.csv", "--text-column", "body", "--thresholds", home
    )


def test_an_export_says_how_the_audit_would_read_and_predict_does_so(run, capsys):
    texts, learned = {"u": "sunny today", "s": "darling"}, [e for e in examples()[:20] if len(e.labels) < 3]
    model = Path("models/run/augmented")
    rows = [
        {"id": name, "split": "test", "probabilities": p}
        for name, p in zip(texts, classifiers.load("bert").predict(model, [*texts.values()]).tolist(), strict=True)
    ]
    trained_on = Counter(e.labels for e in learned)
    counts = {",".join(map(str, label_set)): n for label_set, n in trained_on.items()}
    header = {"learned": counts, "train": counts, "support": {}, "n_train": 21, "n_synthetic": 2, "losses": []}
    predictions.write(cli.AUDITED[2], header, rows)
    parts = {"train": learned, "test": [Example("u", texts["u"], (0, 1, 2))]}
    gold.write(cli.GOLD, NAMES, parts | {"seen_test": [Example("s", texts["s"], (1,))]}, {})
    compaug("export", "home", "--what", "classifier")
    choices = read_json(run / "home/classifier/combinations.json")
    assert choices["unseen"] == [everything := NAMES.key((0, 1, 2))]
    assert {*choices["seen"]} == {*map(NAMES.key, trained_on)}
    (run / "new.csv").write_text("body\nsunny today\ndarling\n")
    words = ["predict", "home/classifier", "new.csv", "--out", "out.jsonl", "--combinations"]
    for constant, every in ((1000.0, True), (-1000.0, False)):
        write_json(run / "mine.json", choices | {"constant": constant})
        compaug(*words, "mine.json")
        assert ("out.jsonl: 2 texts, 0 without a label, 0 cut" in capsys.readouterr().out) or not every
        answers = [json.loads(line)["labels"] for line in (run / "out.jsonl").read_text().splitlines()]
        assert [labels == list(NAMES.names) for labels in answers] == [every] * 2
        assert load("home/classifier").predict([*texts.values()], combinations="mine.json") == answers
    shutil.copytree(model, "models/repair")
    write_jsonl(cli.CORPUS, [*learned, Example("r", "darling", (0, 1, 2))])
    write_jsonl(cli.REPAIRED[1], [Example("g", "shiver", (), "ls_pt", (0, 1, 2), 0, 1.0)])
    shutil.copy(cli.AUDITED[2], cli.REPAIRED[2])
    compaug("export", "repaired", "--what", "classifier", "--repaired")
    repaired = read_json(run / "repaired/classifier/combinations.json")
    assert (repaired["constant"], repaired["unseen"]) == (choices["constant"], [])
    assert sorted(repaired["seen"]) == sorted([*choices["seen"], everything])
    for option, value in (("--thresholds", "home/classifier/thresholds.json"), ("--threshold", "0.5")):
        with pytest.raises(InputError, match=f"{option} and --combinations: labels are chosen by one of them"):
            compaug(*words, "mine.json", option, value)
    classifier = load("home/classifier")
    for threshold, message in ((0.4, "leave thresholds out"), ({"joy": 0.4}, "one for each of its names")):
        with pytest.raises(InputError, match=message):
            classifier.predict(["sunny"], threshold, combinations="mine.json" if threshold == 0.4 else None)
    write_json(run / "mine.json", choices | {"constant": "high"})
    with pytest.raises(InputError, match="mine.json: constant: Input should be a valid number; give the combinations"):
        compaug(*words, "mine.json")


def test_a_classifier_opens_anywhere_with_its_names_and_so_does_its_export(run, tmp_path_factory, monkeypatch):
    compaug("export", "home", "--what", "classifier")
    expected = classifiers.load("bert").predict(Path("models/run/augmented"), TEXTS)
    away = tmp_path_factory.mktemp("away")
    shutil.copytree("models/run/augmented", away / "ours")
    shutil.copytree("home/classifier", away / "exported")
    (away / "new.csv").write_text("body\nsunny today\ndarling\n")
    monkeypatch.chdir(away)
    for folder in ("ours", "exported"):
        opened = load(folder)
        assert opened.labels == list(NAMES.names) and opened.max_length == 32
        np.testing.assert_allclose(opened.predict_proba(TEXTS), expected, atol=1e-6)
        named = [[NAMES.names[label] for label in np.flatnonzero(row > 0.5)] for row in expected]
        assert opened.predict(TEXTS) == named and opened.predict([]) == []
        assert opened.predict(TEXTS, dict.fromkeys(NAMES.names, 0.0)) == [list(NAMES.names)] * len(TEXTS)
        compaug("predict", folder, "new.csv", "--out", f"{folder}.csv")
    assert Path("ours.csv").read_text().splitlines()[0] == Path("exported.csv").read_text().splitlines()[0]
    with pytest.raises(InputError, match="texts: give a list of strings"):
        opened.predict("sunny today")
    with pytest.raises(InputError, match="elsewhere: no such folder"):
        load("elsewhere")


def test_names_that_are_phrases_are_in_the_folder_once(run):
    body = importlib.import_module("compaug.classifiers.body")
    settings = Bert(**dict(SETTINGS))
    same = body.facts_of("bert", examples(4), Labels(NAMES.phrases, NAMES.phrases), settings)
    others = body.facts_of("bert", examples(4), NAMES, settings)
    assert "names" not in same and others == same | {"names": list(NAMES.names)}


def predicted(run: Path, *words: str) -> list[dict]:
    compaug("predict", "models/run/augmented", *words, "--out", "answers.jsonl")
    return [json.loads(line) for line in (run / "answers.jsonl").read_text(encoding="utf-8").splitlines()]


def test_new_texts_are_read_as_inspect_reads_them_and_every_row_has_an_answer(run, capsys):
    bodies = ["sunny, today", "", "darling", "shiver, again", *(f"again and again, {at}" for at in range(9))]
    ways = {
        "plain.csv": "id,text\n" + "".join(f'k{at},"{body}"\n' for at, body in enumerate(bodies)),
        "excel.csv": "id;text\n" + "".join(f"k{at};{body}\n" for at, body in enumerate(bodies)),
        "tabs.tsv": "id\ttext\n" + "".join(f"k{at}\t{body}\n" for at, body in enumerate(bodies)),
        "lines.ndjson": "".join(json.dumps({"id": f"k{at}", "text": body}) + "\n" for at, body in enumerate(bodies)),
        "tasks.json": json.dumps([{"id": f"k{at}", "data": {"text": body}, "annotations": []}
                                  for at, body in enumerate(bodies)]),
    }  # fmt: skip
    answers = {}
    for name, content in ways.items():
        (run / name).write_text(content)
        rows = answers[name] = predicted(run, name, "--keep", "id")
        assert [row["id"] for row in rows] == [f"k{at}" for at in range(len(bodies))], name
        assert [row["text"] for row in rows] == bodies and rows[1]["labels"] == [] == list(rows[1]["probabilities"])
        assert "1 rows without a text, answered without labels" in capsys.readouterr().out
    assert len({json.dumps([row["probabilities"] for row in rows]) for rows in answers.values()}) == 1
    compaug("predict", "models/run/augmented", "plain.csv", "--out", "answers.csv", "--keep", "id")
    with (run / "answers.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["p(Joy & co)"] == "" for row in csv.DictReader(stream)] == [not body for body in bodies]


def test_texts_without_names_of_columns_lose_no_row(run):
    (run / "bare.csv").write_text("".join(f'"sunny today, again and again and {at}",{at % 2}\n' for at in range(20)))
    assert len(predicted(run, "bare.csv")) == 20
    assert len(predicted(run, "bare.csv", "--header", "--text-column", "sunny today, again and again and 0")) == 19


def test_a_row_that_cannot_be_read_is_left_out_where_that_is_asked_for(run):
    (run / "ragged.csv").write_text("id,text\n1,sunny\n2\n3,again\n")
    with pytest.raises(InputError, match="ragged.csv:3: 1 columns, the header has 2"):
        predicted(run, "ragged.csv")
    assert [row["line"] for row in predicted(run, "ragged.csv", "--on-bad-rows", "drop")] == [2, 4]


def test_another_file_than_thresholds_is_not_to_be_deleted(run):
    (run / "new.csv").write_text("text\nsunny\n")
    with pytest.raises(InputError, match="labels.json: .*give the thresholds.json that `compaug export` writes"):
        predicted(run, "new.csv", "--thresholds", "data/splits/run/labels.json")


def test_the_command_says_what_was_cut_and_ends_with_one_line_where_it_cannot(run, monkeypatch, capsys):
    (run / "long.csv").write_text("text\nsunny\n" + "darling " * 60 + "\n")
    compaug("predict", "models/run/augmented", "long.csv", "--out", "o.csv")
    assert "o.csv: 2 texts, " in (message := capsys.readouterr().out) and "1 cut after 32 tokens" in message
    monkeypatch.setattr(sys, "argv", ["compaug", "predict", "models/none", "long.csv", "--out", "p.csv"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    message = capsys.readouterr().err
    assert (
        end.value.code == 2
        and message.startswith("error: models/none: no such folder; give that of a classifier")
        and message.count("\n") == 1
    )


def test_requests_are_for_what_is_rare_or_listed_and_come_in_turns(run, capsys):
    corpus = run / "data/raw/run"
    NAMES.write(corpus / "labels.json")
    sets = [(0, 1)] * 3 + [(1, 2)] + [(0,)] + [()]
    write_jsonl(corpus / "examples.jsonl", [Example(f"x{at}", "text", y) for at, y in enumerate(sets)])

    def write(out: str, **repair) -> None:
        edits = [word for key, value in repair.items() for word in ("--set", f"repair.{key}={value}")]
        write_requests.main(["--params", str(ROOT / "params.yaml"), "--raw", str(corpus), "--out", out, *edits])

    write("r.jsonl", rare=3, each=2, combinations="[Joy & co+fear]")
    assert read_label_sets(run / "r.jsonl", 3) == [(0, 2), (1, 2)] * 2
    assert "4 texts for 2 combinations, 2 each" in capsys.readouterr().out
    for repair, message in (
        ({"combinations": "[love+hate]"}, "repair.combinations: 'love[+]hate': unknown label 'hate'"),
        ({"rare": 1}, "fewer than 1 rows; love[+]fear has 1, the fewest: `dvc .*-S repair.rare=2`, or list some"),
        ({"rare": 0, "combinations": "['<none>']"}, "repair.combinations: '<none>' names no label"),
        ({"each": 0}, "repair.each"),
    ):
        with pytest.raises(InputError, match=message):
            write("s.jsonl", **repair)
    assert not (run / "s.jsonl").exists()


def test_what_was_repaired_goes_home_with_all_rows_and_what_the_audit_measured(run):
    """The card of a classifier that learned from every row says what an audit of the same recipe found, and that it is
    not measured itself."""
    arm = {"acc": 12.5, "jacc": 40.0, "n": 80}
    write_json(
        run / "reports/measures.json", {"baseline": arm, "augmented": arm | {"acc": 37.25}, "gap": {"ratio": 2.0}}
    )
    compaug("export", "audited")
    with pytest.raises(InputError, match="nothing has been repaired yet; run `dvc repro repair/dvc.yaml` after"):
        compaug("export", "home", "--repaired")
    card = (run / "audited/classifier/README.md").read_text()
    assert "measured this classifier" in card and "learned from every row" not in card
    assert (
        "| unseen; with synthetic texts | 80 | 37.25 | 40.00 |" in card and "| seen;" not in card.split("Acc: rows")[0]
    )
    shutil.move(run / "models/run/augmented", run / "models/repair")
    (run / "data/repair").mkdir()
    shutil.move(run / "data/selected/run/augmented.jsonl", run / "data/repair/selected.jsonl")
    shutil.move(run / "reports/run/augmented.jsonl.gz", run / "data/repair/predictions.jsonl.gz")
    write_jsonl(run / "data/raw/run/examples.jsonl", examples(30))
    compaug("export", "home", "--repaired", "--format", "csv")
    (rows,) = (run / "home/texts").glob("train-*.csv")
    with rows.open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 32  # every row, and two texts
    assert "`train` are all rows of the corpus" in (run / "home/texts/README.md").read_text()
    card = (run / "home/classifier/README.md").read_text()
    assert "learned from every row" in card and "the same recipe without them" in card and "37.25" in card
    (run / "reports/measures.json").unlink()
    compaug("export", "other", "--repaired")
    assert "has not been measured" in (run / "other/classifier/README.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("models/run", "new.csv", "--out", "o.csv"), "models/run: no classifier.json"),
        (("models/run/augmented", "new.csv", "--out", "o.txt"), "the name must end in .csv or .jsonl"),
        (("models/run/augmented", "new.csv", "--out", "new.csv"), "is the file that is read"),
        (
            ("models/run/augmented", "new.csv", "--out", "o.csv", "--text-column", "text"),
            "new.csv:1: no column 'text'; there are: body; name it with --text-column",
        ),
        (
            ("models/run/augmented", "bad.jsonl", "--out", "o.csv"),
            "2 of 4 rows cannot be used: 2 x 'text' is not a string.* leave these 2 rows out with --on-bad-rows drop",
        ),
        (
            ("models/run/augmented", "survey.csv", "--out", "o.csv"),
            "survey.csv:3: Qualtrics' row of ids; remove",
        ),
        (("models/run/augmented", "gone.csv", "--out", "o.csv"), "gone.csv: no such file"),
        (
            ("models/run/augmented", "new.csv", "--out", "o.csv", "--labels", "other.json"),
            "its 1 labels are not the 3 of",
        ),
    ],
)
def test_what_predict_cannot_do_is_one_line_and_writes_nothing(run, words, message):
    (run / "new.csv").write_text("body\nsunny\n")
    (run / "bad.jsonl").write_text('{"text": "x"}\n{"text": " "}\n{"text": 3}\n{"text": [4]}\n')
    (run / "survey.csv").write_text('text\nWhat is new?\n"{""ImportId"":""QID1""}"\nsunny\n')
    Labels(("a",), ("a",)).write(run / "other.json")
    before = (run / "new.csv").read_bytes()
    with pytest.raises(InputError, match=message) as caught:
        compaug("predict", *words)
    assert "\n" not in str(caught.value)
    assert (run / "new.csv").read_bytes() == before and not list(run.glob("o.*"))


def test_a_split_without_training_rows_is_not_exported(run):
    (run / "data/splits/run/train.jsonl").write_text("")
    with pytest.raises(InputError, match=r"train\.jsonl"):
        compaug("export", "home", "--what", "texts")
    assert not (run / "home").exists()
