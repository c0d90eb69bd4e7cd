"""An MPNet as encoder: its padding is token 1, its positions begin behind it, its layers share a bias of positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from test_bert import CUES, FILLERS, LABELS, SETTINGS, examples
from transformers import MPNetConfig, MPNetModel, MPNetTokenizer

from compaug import classifiers
from compaug.classifiers.bert_p import BertPrefix
from compaug.core.files import InputError, file_digest
from compaug.data.parameters import Backbone
from compaug.models.backbones import prepare
from compaug.models.loading import load_encoder, load_tensors, mean_states, save
from compaug.project import export

POSITIONS = 32  # of a text; the table has two rows more
TEXTS = [e.text for e in examples()]


@pytest.fixture(scope="module")
def mpnet(tmp_path_factory) -> Path:
    """A folder as the pipeline leaves it, of random weights in a folder of a user's own."""
    source = tmp_path_factory.mktemp("models") / "mpnet"
    words = ["<s>", "<pad>", "</s>", "[UNK]", "<mask>", *CUES, *FILLERS]
    sizes = {"vocab_size": len(words), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = MPNetConfig(**sizes, intermediate_size=32, max_position_embeddings=POSITIONS + 2, initializer_range=0.3)
    save(source, MPNetTokenizer(vocab={word: at for at, word in enumerate(words)}), MPNetModel(config))
    folder = source.parent / "encoder"
    folder.mkdir()
    prepare("encoder", Backbone(kind="path", path=str(source)), [], folder, 0, source.parent / "work")
    return folder


@pytest.fixture(autouse=True)
def checkpoints_go_to_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def trained(folder: Path, encoder: Path, **changes) -> Path:
    settings = SETTINGS.model_copy(update=changes)
    classifiers.load("bert").train(examples(), LABELS, settings, encoder, folder, 13, "toy", examples())
    return folder


def probabilities_of(model: Path, texts: list[str] = TEXTS) -> np.ndarray:
    return classifiers.load("bert").predict(model, texts)


def test_its_tokens_have_the_marks_and_the_padding_of_its_own(mpnet):
    tokenizer, model = load_encoder(mpnet)
    assert tokenizer("sunny darling")["input_ids"] == [0, 5, 6, 2] and tokenizer.pad_token_id == 1
    assert model.pooler is None


def test_the_state_of_a_text_is_the_same_beside_longer_ones(mpnet):
    tokenizer, model = load_encoder(mpnet)
    together = mean_states(model, tokenizer, TEXTS, 32, batch_size=32)
    alone = torch.cat([mean_states(model, tokenizer, [text], 32, batch_size=1) for text in TEXTS])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


def test_a_text_longer_than_its_positions_is_cut_to_them(mpnet):
    tokenizer, model = load_encoder(mpnet)
    long, cut = "sunny " * 100, "sunny " * (POSITIONS - 2)  # and two marks
    states = mean_states(model, tokenizer, [long, cut], 512, batch_size=2)
    assert torch.equal(states[0], states[1])


@pytest.mark.parametrize("changes", [{}, {"freeze_layers": 1}, {"freeze_layers": 0}, {"pool": "mean"}], ids=str)
def test_a_classifier_learns_on_it_and_its_folder_is_a_whole_model(tmp_path, mpnet, changes):
    model = trained(tmp_path / "a", mpnet, **changes)
    probabilities = probabilities_of(model)
    hits = [
        (row > 0.5).nonzero()[0].tolist() == list(e.labels) for row, e in zip(probabilities, examples(), strict=True)
    ]
    assert sum(hits) >= 28
    alone = np.concatenate([probabilities_of(model, [text]) for text in TEXTS])
    np.testing.assert_allclose(probabilities, alone, atol=1e-5)
    before, after = (load_tensors(folder / "model.safetensors") for folder in (mpnet, model))
    before = {name: tensor for name, tensor in before.items() if "pooler" not in name}
    assert before.keys() == after.keys()
    same = {name for name in before if torch.equal(before[name], after[name])}
    frozen = ("embeddings.", "encoder.layer.0.", "encoder.relative_attention_bias.")
    if changes.get("freeze_layers"):
        assert same == {name for name in before if name.startswith(frozen)}
        assert file_digest(trained(tmp_path / "b", mpnet, **changes)) == file_digest(model)
    else:
        assert not any(name.startswith(frozen[1:]) for name in same)


def test_a_prefix_that_its_attention_would_not_see_is_refused(mpnet):
    _, encoder = load_encoder(mpnet)
    with pytest.raises(
        InputError, match=r"^classifiers\.bert_p: the encoder is a mpnet, whose attention takes no prefix"
    ):
        BertPrefix(encoder, 3, 4, 0.1, "cls")


def test_plain_transformers_reads_the_same_probabilities_from_its_export(tmp_path, mpnet):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = trained(tmp_path / "model", mpnet, freeze_layers=1)
    folder = tmp_path / "out"
    folder.mkdir()
    export.classifier(model, LABELS.names, dict.fromkeys(LABELS.names, 0.5), folder)
    tokenizer, network = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForSequenceClassification.from_pretrained(folder),
    )
    assert type(network).__name__ == "MPNetForSequenceClassification" and network.config.id2label[1] == "love"
    with torch.no_grad():
        inputs = tokenizer([*TEXTS, "sunny " * 99], truncation=True, padding=True, return_tensors="pt")
        probabilities = network(**inputs).logits.sigmoid().numpy()
    np.testing.assert_allclose(probabilities, probabilities_of(model, [*TEXTS, "sunny " * 99]), atol=1e-6)


def test_the_head_of_an_export_is_linear_for_logits_of_any_size(tmp_path, mpnet):
    _, encoder = load_encoder(mpnet)
    wrapped = torch.nn.Module()
    wrapped.backbone = encoder
    torch.manual_seed(0)
    weight, bias = torch.randn(16, 16) * 4, torch.randn(16) * 4
    network = export._as_mpnet(tmp_path, wrapped, {"pool": "cls"}, weight, bias).eval()
    ids = torch.randint(5, 16, (64, 8))
    with torch.no_grad():
        states = encoder(ids).last_hidden_state[:, 0]
        logits, exact = network(ids).logits, states.double() @ weight.double().T + bias
        assert exact.abs().max() > 20
        torch.testing.assert_close(logits.double(), exact, atol=1e-5, rtol=1e-6)
    with pytest.raises(InputError, match="17 labels need an encoder of width 17, and this one has 16"):
        export._as_mpnet(tmp_path, wrapped, {"pool": "cls"}, torch.zeros(17, 16), torch.zeros(17))


def test_an_export_that_would_give_other_numbers_is_refused_in_one_line(tmp_path, mpnet):
    model = trained(tmp_path / "model", mpnet, pool="mean", epochs=1)
    with pytest.raises(InputError, match="it reads the mean of MPNet's states, which no classifier"):
        export.classifier(model, LABELS.names, {}, tmp_path / "out")
    assert not (tmp_path / "out").exists()
