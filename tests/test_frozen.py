"""An encoder with frozen lower layers is the encoder: same states, same gradients above, and a whole model in the
folder."""

from __future__ import annotations

import pytest
import torch
from test_bert import CUES, SETTINGS, examples, write_encoder
from transformers import BertConfig, BertModel, ModernBertConfig, ModernBertModel, MPNetConfig, MPNetModel

from compaug import classifiers
from compaug.classifiers import body
from compaug.classifiers.parameters import Magnet, Sgm
from compaug.core.files import InputError, file_digest
from compaug.core.records import Labels
from compaug.models.frozen import FrozenBelow
from compaug.models.loading import load_tensors, pad

LABELS = Labels(("joy", "love", "fear"), CUES)
LAYERS = 4
TEXTS = [[2, 5, 6, 7, 3], [2, 8, 3], [2, 9, 10, 3], [2, 5, 3], [2, 3]]


def model(kind):
    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "hidden_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 32, "max_position_embeddings": 32, "initializer_range": 0.3}
    if kind == "bert":
        dropouts = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        return BertModel(BertConfig(**sizes, **dropouts), add_pooling_layer=False)
    if kind == "mpnet":  # of which a token with id 1 is padding
        dropouts = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        return MPNetModel(MPNetConfig(**sizes, **dropouts), add_pooling_layer=False)
    marks = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}
    return ModernBertModel(ModernBertConfig(**sizes, **marks, local_attention=4, global_attn_every_n_layers=2))


@pytest.fixture(autouse=True)
def checkpoints_go_to_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


every_kind = pytest.mark.parametrize("kind", ["bert", "modernbert", "mpnet"])
PAD = 1


@every_kind
@pytest.mark.parametrize("layers", range(1, LAYERS))
@pytest.mark.parametrize("kept", ["all", "none", "some"])
def test_the_states_are_those_of_the_whole_model(kind, layers, kept):
    whole = model(kind).eval()
    ids, mask = pad(TEXTS, PAD)
    with torch.no_grad():
        expected = whole(input_ids=ids, attention_mask=mask).last_hidden_state
        frozen = FrozenBelow(whole, layers).eval()
        frozen.keep({"all": TEXTS, "none": [], "some": TEXTS[:2]}[kept], PAD)
        states = frozen(input_ids=ids, attention_mask=mask).last_hidden_state
        again = whole(input_ids=ids, attention_mask=mask).last_hidden_state  # as it was
    real = mask.bool()
    torch.testing.assert_close(states[real], expected[real], atol=1e-5, rtol=1e-4)
    assert torch.equal(again, expected)


@every_kind
def test_where_the_device_has_bfloat16_the_lower_layers_are_read_in_it_and_their_states_kept_in_float32(
    kind, monkeypatch
):
    whole = model(kind).eval()
    ids, mask = pad(TEXTS, PAD)
    states = {}
    for reduced in (False, True):
        monkeypatch.setattr("compaug.models.frozen.reduced", lambda _, reduced=reduced: reduced)
        frozen = FrozenBelow(whole, 2).eval()
        frozen.keep(TEXTS, PAD)
        with torch.no_grad():
            states[reduced] = frozen(input_ids=ids, attention_mask=mask).last_hidden_state[mask.bool()]
    assert states[True].dtype == torch.float32 and not torch.equal(states[True], states[False])
    torch.testing.assert_close(states[True], states[False], atol=0.1, rtol=0.1)


@every_kind
def test_what_is_above_gets_the_gradients_of_the_whole_model_and_what_is_below_none(kind):
    ids, mask = pad(TEXTS, PAD)
    whole, other = model(kind), model(kind)
    whole(input_ids=ids, attention_mask=mask).last_hidden_state[mask.bool()].square().sum().backward()
    frozen = FrozenBelow(other, 2).train()
    frozen.keep(TEXTS, PAD)
    frozen(input_ids=ids, attention_mask=mask).last_hidden_state[mask.bool()].square().sum().backward()
    both = "encoder.relative_attention_bias."  # of MPNet: what the frozen layers read as well is not trained
    trained = {name: p for name, p in whole.named_parameters() if not name.startswith(both)}
    expected = {name: p.grad for name, p in trained.items() if p.grad is not None}
    gradients = {name: p.grad for name, p in other.named_parameters() if p.grad is not None}
    below = ("embeddings.", "encoder.layer.0.", "encoder.layer.1.", "layers.0.", "layers.1.")
    assert gradients.keys() == {name for name in expected if not name.startswith(below)} and gradients
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-4, rtol=1e-3, msg=name)
    assert sum(p.requires_grad for p in frozen.parameters()) == len(gradients)  # each once


def test_frozen_layers_have_no_dropout_and_the_others_have_theirs():
    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    frozen = FrozenBelow(BertModel(BertConfig(**sizes, hidden_dropout_prob=0.5), add_pooling_layer=False), 1).train()
    ids, mask = pad(TEXTS, PAD)
    assert torch.equal(frozen._below(ids, mask), frozen._below(ids, mask)) and frozen.training
    first, second = (frozen(input_ids=ids, attention_mask=mask).last_hidden_state for _ in "ab")
    assert not torch.equal(first, second)


@pytest.mark.parametrize("layers", [0, LAYERS, 9])
def test_a_number_that_leaves_nothing_to_train_or_nothing_frozen_is_refused(layers):
    with pytest.raises(
        InputError, match=f"freeze_layers: {layers} of 4 layers leave none to train; set 1 to 3, or null"
    ):
        FrozenBelow(model("bert"), layers)


OWN = {name: value for name, value in SETTINGS.in_force().items() if name not in ("head_hidden", "pool")}
GRAPH = {"gat_layers": 1, "gat_heads": 2, "adjacency": "identity", "adjacency_mask": False}
SETTINGS_OF = {
    "bert": SETTINGS.model_copy(update={"freeze_layers": 1, "dropout": 0.2}),
    "magnet": Magnet(**(OWN | {"epochs": 3}), **GRAPH, freeze_layers=1),
    "sgm": Sgm(**(OWN | {"epochs": 3}), embedding=8, hidden=8, beams=1, freeze_layers=1),
}


@pytest.mark.parametrize("name", SETTINGS_OF)
def test_a_classifier_trains_above_and_its_folder_is_a_whole_model(tmp_path, name):
    encoder = write_encoder(tmp_path / "encoder", initializer_range=0.3)
    for out in ("a", "b"):
        classifiers.load(name).train(
            examples(), LABELS, SETTINGS_OF[name], encoder, tmp_path / out, 13, "toy", examples()
        )
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b")
    before, after = (load_tensors(tmp_path / folder / "model.safetensors") for folder in ("encoder", "a"))
    assert before.keys() == after.keys()
    same = {key for key in before if torch.equal(before[key], after[key])}
    assert {key for key in before if key.startswith(("embeddings.", "encoder.layer.0."))} <= same < before.keys()
    probabilities = classifiers.load(name).predict(tmp_path / "a", [e.text for e in examples()])
    if name == "bert":  # it has learned
        hits = [
            (row > 0.5).nonzero()[0].tolist() == list(e.labels)
            for row, e in zip(probabilities, examples(), strict=True)
        ]
        assert sum(hits) >= 28


def test_an_interrupted_training_goes_on_to_the_same_bytes(tmp_path, monkeypatch):
    encoder = write_encoder(tmp_path / "encoder", initializer_range=0.3)
    bert, settings = classifiers.load("bert"), SETTINGS_OF["bert"].model_copy(update={"epochs": 4})
    bert.train(examples(), LABELS, settings, encoder, tmp_path / "a", 13, "toy", examples())
    step, steps = body.BertClassifier.forward, []

    def stops(self, *args, **more):
        steps.append(1)
        if len(steps) == 14:
            raise KeyboardInterrupt
        return step(self, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(body.BertClassifier, "forward", stops)
        with pytest.raises(KeyboardInterrupt):
            bert.train(examples(), LABELS, settings, encoder, tmp_path / "b", 13, "toy", examples())
    bert.train(examples(), LABELS, settings, encoder, tmp_path / "b", 13, "toy", examples())
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b")


def test_more_states_than_fit_are_read_in_every_epoch(monkeypatch, capsys):
    monkeypatch.setattr("compaug.models.frozen.AT_MOST", 100)
    frozen = FrozenBelow(model("bert"), 2)
    frozen.keep(TEXTS, PAD)
    assert not frozen._kept and "5 texts are too many to keep" in capsys.readouterr().err
