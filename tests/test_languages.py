"""Texts that are not English: letters and labels stay what they are, from the file to the classifier."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from compaug import classifiers
from compaug.classifiers.parameters import Bert
from compaug.data.multi_label import Task
from compaug.data.parameters import Backbone, Backbones
from compaug.data.readers import tabular
from compaug.models.backbones import prepare
from compaug.models.loading import load_encoder
from compaug.models.tiny_tokenizers import wordpiece
from compaug.project import inspection, proposed

GERMAN = [
    ("Das war schön, Herr Weiß", "Lob"),
    ("Das war schon, Herr Weiss", "Ärger"),
    ("überfüllt, ärgerlich", "Ärger;Bahn"),
]
CHINESE = [("价格太高，服务很差", "价格;服务"), ("服务很好", "服务"), ("价格便宜", "价格")]
SIZES = {
    "layers": 1,
    "hidden": 32,
    "heads": 2,
    "vocab": 300,
    "max_positions": 48,
    "epochs": 1,
    "lr": 0.01,
    "batch_size": 8,
}


def corpus(folder: Path, rows: list[tuple[str, str]]):
    path = folder / "texts.csv"
    path.write_text("text,labels\n" + "".join(f'"{text}",{labels}\n' for text, labels in rows), encoding="utf-8")
    return tabular.read({}, {"path": str(path), "label_column": "labels", "label_delimiter": ";"})


def encoder(folder: Path, rows: list[tuple[str, str]], cased: bool | None) -> Path:
    folder.mkdir()
    spec = Backbone(kind="tiny", cased=cased, **SIZES)
    prepare("encoder", spec, [text for text, _ in rows] * 8, folder, 0, folder.parent / "work")
    return folder


def pieces(folder: Path, text: str) -> list[str]:
    tokenizer, _ = load_encoder(folder)
    return tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])[1:-1]


def test_a_cased_tokenizer_keeps_umlauts_and_capitals_and_comes_back_from_its_folder(tmp_path):
    cased, plain = (encoder(tmp_path / str(kind), GERMAN, kind) for kind in (True, None))
    assert pieces(cased, "überfüllt Weiß") == ["überfüllt", "Weiß"]
    assert pieces(plain, "überfüllt Weiß") == ["uberfullt", "weiß"]
    assert pieces(cased, "schön") != pieces(cased, "schon") and pieces(plain, "schön") == pieces(plain, "schon")


def test_without_the_option_a_tokenizer_is_as_it_was():
    texts = [text for text, _ in GERMAN] * 8
    plain, off = (wordpiece(texts, Backbone(kind="tiny", cased=cased, **SIZES)) for cased in (None, False))
    assert plain.get_vocab() == off.get_vocab() and "ü" not in "".join(plain.get_vocab())


def test_chinese_is_read_sign_by_sign_and_no_sign_is_lost(tmp_path):
    for cased in (None, True):
        tokens = pieces(encoder(tmp_path / str(cased), CHINESE, cased), "价格太高，服务很差")
        assert tokens == list("价格太高，服务很差")


@pytest.mark.parametrize("rows", [GERMAN, CHINESE], ids=["German", "Chinese"])
def test_a_classifier_learns_texts_and_labels_of_another_language(tmp_path, in_a_temporary_folder, rows):
    read = corpus(tmp_path, rows)
    assert set("".join(read.labels.names)) <= set("LobÄrgerBahn价格服务")
    task = Task(read.labels, "标签 {labels} ：", "，")
    assert all(name in task.source(range(len(read.labels))) for name in read.labels.names)
    values = {"epochs": 20, "lr": 5e-3, "lr_head": 1e-2, "batch_size": 8, "max_length": 32, "patience": None}
    values |= {
        "validation": 0.1,
        "head_hidden": 0,
        "dropout": 0.0,
        "support_repeat": 1,
        "dynamics": False,
        "pool": "mean",
    }
    many = [dataclasses.replace(e, id=f"{e.id}-{at}") for at in range(8) for e in read.examples]
    model, folder = classifiers.load("bert"), tmp_path / "model"
    folder.mkdir()
    model.train(
        many, read.labels, Bert(**values), encoder(tmp_path / "encoder", rows, True), folder, 0, validation=many[:3]
    )
    label_rows = model.predict(folder, [e.text for e in read.examples]) > 0.5
    assert [tuple(np.flatnonzero(row)) for row in label_rows] == [e.labels for e in read.examples]


THAI = [("รถไฟมาช้ามากและไม่มีใครบอกอะไรเลยตลอดทั้งวัน" * 3, "delay"), ("ราคาแพงเกินไปสำหรับทุกคน" * 5, "price")]


def test_thai_is_read_letter_by_letter_and_stays_so_in_its_folder(tmp_path):
    texts = [text for text, _ in THAI] * 8
    for characters in (None, True):
        folder = tmp_path / str(characters)
        folder.mkdir()
        spec = Backbone(kind="tiny", cased=True, characters=characters, **SIZES)
        prepare("encoder", spec, texts, folder, 0, tmp_path / f"work-{characters}")
        tokens = pieces(folder, THAI[0][0])
        assert (tokens == ["[UNK]"]) is (characters is None)
    assert "".join(tokens).replace("##", "") == THAI[0][0]


@pytest.mark.parametrize(
    ("texts", "scale", "characters"),
    [
        ([text for text, _ in THAI] * 20, "tiny", True),
        (["价格太高，服务很差", "服务很好"] * 20, "tiny", None),
        (["Поезд опоздал, и никто ничего не сказал"] * 20, "tiny", None),
        (["the train was late 😂", "prices — too high"] * 20, "pretrained", None),
    ],
)
def test_the_scale_follows_the_script_before_anything_is_fetched(in_a_temporary_folder, texts, scale, characters):
    spec = Backbone(kind="tiny", **SIZES | {"vocab": 600})
    reading = proposed._tiny(spec, texts, wordpiece(texts, spec))
    readings = {"tiny": reading, "pretrained": reading}
    assert inspection._scale(readings)["scale"].value == scale
    assert inspection._characters(reading)["characters"].value == characters


def test_the_option_is_that_of_a_tiny_encoder():
    with pytest.raises(ValidationError, match="`characters` belongs to kind tiny, not to path"):
        Backbone(kind="path", path="x", characters=True)
    with pytest.raises(ValidationError, match="`cased` belongs to kind tiny, not to path"):
        Backbone(kind="path", path="x", cased=True)
    plain = Backbone(kind="tiny", pretraining="texts", **SIZES)
    with pytest.raises(ValidationError, match="decoder: `cased` is the encoder's"):
        Backbones(
            encoder=Backbone(kind="tiny", **SIZES), decoder=plain.model_copy(update={"cased": True}), seq2seq=plain
        )
