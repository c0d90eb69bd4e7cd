"""BERT of "MLTC Models" on a toy encoder: loss, learning, determinism, and the folder it writes."""

from __future__ import annotations

import itertools
import math
import shutil

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from compaug import classifiers
from compaug.classifiers import bert, body
from compaug.classifiers.parameters import BLOCKS, Bert
from compaug.core.files import InputError, file_digest
from compaug.core.records import Example, Labels
from compaug.models.loading import load_encoder, save

LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
CUES = ("sunny", "darling", "shiver")
FILLERS = ("today", "again", "really", "we", "were", "there", "all", "night")
SETTINGS = Bert(
    epochs=30,
    lr=5e-3,
    lr_head=1e-2,
    batch_size=8,
    max_length=32,
    patience=None,
    validation=0.1,
    head_hidden=0,
    dropout=0.0,
    support_repeat=1,
    dynamics=False,
    pool="cls",
)


def examples(count: int = 32) -> list[Example]:
    """Texts with one cue word per label, fillers around them; every eighth has no label."""
    sets = list(itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in range(4)))
    rows = []
    for i in range(count):
        labels = sets[i % len(sets)]
        words = [FILLERS[(i + j) % len(FILLERS)] for j in range(i % 5 + 1)] + [CUES[label] for label in labels]
        rows.append(Example(f"x{i}", " ".join(words), labels))
    return rows


def write_encoder(folder, **changes):
    """A BERT of some thousand random weights with a vocabulary of whole words."""
    folder.mkdir(parents=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CUES, *FILLERS]
    tokenizer = BertTokenizerFast(vocab={word: i for i, word in enumerate(words)})
    sizes = {"vocab_size": len(words), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    torch.manual_seed(0)
    config = BertConfig(**sizes, intermediate_size=32, max_position_embeddings=32, **changes)
    save(folder, tokenizer, BertModel(config, add_pooling_layer=False))
    return folder


def write_seq2seq(folder):
    """A T5 of some thousand random weights with a vocabulary of whole words; every text ends with EOS, as T5's do."""
    folder.mkdir(parents=True)
    words = ["<pad>", "</s>", "<unk>", "[SSEP]", "it", "says", "clearly", "nothing", *LABELS.names, *CUES, *FILLERS]
    model = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    model.pre_tokenizer = WhitespaceSplit()
    model.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
    torch.manual_seed(0)
    sizes = {"vocab_size": len(words), "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 1, "num_heads": 2}
    config = T5Config(**sizes, dropout_rate=0.0, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    save(folder, tokenizer, T5ForConditionalGeneration(config))
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("backbones") / "encoder")


@pytest.fixture(autouse=True)
def checkpoints_in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def trained(encoder, out, rows=None, settings=SETTINGS, seed=13, **more):
    return bert.train(rows or examples(), LABELS, settings, encoder, out, seed, **more)


@pytest.fixture(scope="module")
def model(encoder, tmp_path_factory):
    """One trained model, shared by the tests that only read it."""
    folder = tmp_path_factory.mktemp("model") / "classifier"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder.parent)
        history = trained(encoder, folder, validation=examples())
    return folder, history


def test_it_overfits_32_rows(model):
    folder, history = model
    predicted = bert.predict(folder, [e.text for e in examples()]) > 0.5
    exact = [tuple(np.flatnonzero(row)) == e.labels for row, e in zip(predicted, examples(), strict=True)]
    assert np.mean(exact) >= 0.9
    assert history[-1]["train"]["loss"] < 0.1 * history[0]["train"]["loss"]


def test_the_loss_is_the_mean_two_way_cross_entropy_over_labels_and_rows(encoder):
    tokenizer, pretrained = load_encoder(encoder)
    network = body.BertClassifier(pretrained, 3).eval()
    rows = examples(5)
    batch = body.collate(body.rows_of(rows, tokenizer, 32, 3), tokenizer.pad_token_id)
    with torch.no_grad():
        loss = network(**batch)["loss"].item()
        states = pretrained(batch["input_ids"], batch["attention_mask"]).last_hidden_state[:, 0]
        scores = network.heads[-1](states).view(5, 3, 2).tolist()
    expected = []
    for example, row_scores in zip(rows, scores, strict=True):
        for label, pair in enumerate(row_scores):
            chosen = math.exp(pair[label in example.labels]) / sum(map(math.exp, pair))
            expected.append(-math.log(chosen))
    assert loss == pytest.approx(sum(expected) / 15, rel=1e-5)


def test_a_softmax_over_two_scores_by_hand():
    """Scores (0, ln 3) are the probabilities 1/4 and 3/4."""

    class Fixed(torch.nn.Module):
        config = BertConfig(hidden_size=1)

        def forward(self, input_ids, attention_mask):
            return type("Output", (), {"last_hidden_state": torch.ones(len(input_ids), 2, 1)})

    network = body.BertClassifier(Fixed(), 1)
    with torch.no_grad():
        network.heads[-1].weight.copy_(torch.tensor([[0.0], [math.log(3)]]))
        network.heads[-1].bias.zero_()
    ids, mask = torch.zeros(2, 2, dtype=torch.long), torch.ones(2, 2)
    assert network.scores(ids, mask).exp()[0, 0].tolist() == pytest.approx([0.25, 0.75])
    hard = network(ids, mask, torch.tensor([[1.0], [0.0]]))["loss"].item()
    assert hard == pytest.approx((math.log(4 / 3) + math.log(4)) / 2)
    soft = network(ids, mask, torch.tensor([[0.75], [0.75]]))["loss"].item()
    assert soft == pytest.approx(0.75 * math.log(4 / 3) + 0.25 * math.log(4))  # the entropy: nothing left to learn


def test_soft_labels_take_the_place_of_the_label_set():
    soft = Example("a", "text", (0,), soft_labels=(0.5, 0.25, 1.0))
    assert body.targets_of(soft, 3).tolist() == [0.5, 0.25, 1.0]
    assert body.targets_of(Example("a", "text", (0, 2)), 3).tolist() == [1.0, 0.0, 1.0]
    assert body.targets_of(Example("a", "text", ()), 3).tolist() == [0.0, 0.0, 0.0]


def test_soft_and_hard_targets_mix_in_one_training_set_and_are_learned(encoder, tmp_path):
    rows = [Example(f"s{i}", "sunny today", (0,), soft_labels=(0.7, 0.2, 0.0)) for i in range(8)]
    rows += [Example(f"h{i}", "shiver again", (2,)) for i in range(8)]
    trained(encoder, tmp_path / "out", rows, validation=rows)
    assert bert.predict(tmp_path / "out", ["sunny today"])[0] == pytest.approx([0.7, 0.2, 0.0], abs=0.05)


def test_texts_without_any_label_are_trained_on_and_predicted(encoder, tmp_path):
    rows = [Example(f"x{i}", "we were there", ()) for i in range(8)]
    trained(encoder, tmp_path / "out", rows, SETTINGS.model_copy(update={"epochs": 10}))
    assert (bert.predict(tmp_path / "out", ["we were there"]) < 0.5).all()


def test_predictions_do_not_depend_on_batch_size_or_order(model):
    folder, _ = model
    texts = [e.text for e in examples()]
    together = bert.predict(folder, texts)
    assert together.shape == (32, 3)
    assert np.allclose(together, bert.predict(folder, texts, batch_size=1), atol=1e-6)
    assert np.allclose(together[::-1], bert.predict(folder, texts[::-1], batch_size=5), atol=1e-6)


def test_no_text_gives_no_rows_and_a_text_of_unknown_words_a_probability(model):
    folder, _ = model
    assert bert.predict(folder, []).shape == (0, 3)
    probabilities = bert.predict(folder, ["zebra " * 100, "", "sunny"])
    assert np.isfinite(probabilities).all() and ((probabilities >= 0) & (probabilities <= 1)).all()


@pytest.mark.parametrize("head_hidden", [0, 8])
def test_a_saved_model_predicts_what_the_model_in_memory_predicts(encoder, tmp_path, head_hidden):
    tokenizer, pretrained = load_encoder(encoder)
    network = body.BertClassifier(pretrained, 3, head_hidden).eval()
    settings = SETTINGS.model_copy(update={"head_hidden": head_hidden})
    facts = body.facts_of("bert", examples(4), LABELS, settings)
    body.save(network, tokenizer, facts, tmp_path / "out")
    batch = body.collate(body.rows_of(examples(4), tokenizer, 32, 3), tokenizer.pad_token_id)
    with torch.no_grad():
        expected = network.scores(batch["input_ids"], batch["attention_mask"])[..., 1].exp().numpy()
    assert np.allclose(bert.predict(tmp_path / "out", [e.text for e in examples(4)]), expected, atol=1e-6)


def test_the_model_folder_holds_no_pickle_and_no_trainer_state(model):
    folder, _ = model
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "heads.safetensors", "classifier.json", "tokenizer.json"} <= names
    assert {path.suffix for path in folder.iterdir()} <= {".json", ".safetensors", ".txt"}
    assert not list((folder.parent).rglob("checkpoint*"))


def test_weights_that_are_cut_off_are_one_line(model, tmp_path):
    shutil.copytree(model[0], tmp_path / "m")
    for name in ("heads.safetensors", "model.safetensors"):
        whole = (tmp_path / "m" / name).read_bytes()
        (tmp_path / "m" / name).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(InputError, match=str(tmp_path / "m")) as error:
            bert.predict(tmp_path / "m", ["a text"])
        assert "\n" not in str(error.value)
        (tmp_path / "m" / name).write_bytes(whole)
    (tmp_path / "m" / "heads.safetensors").unlink()
    with pytest.raises(InputError, match="heads.safetensors: missing or damaged .*train the model again"):
        bert.predict(tmp_path / "m", ["a text"])


def test_the_same_seed_writes_the_same_bytes(encoder, tmp_path):
    short = SETTINGS.model_copy(update={"epochs": 2, "dropout": 0.2, "patience": 1})
    for name, seed in (("a", 13), ("b", 13), ("c", 14)):
        trained(encoder, tmp_path / name, settings=short, seed=seed)
    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b") != file_digest(tmp_path / "c")


def test_a_resumed_training_is_found_again_whatever_the_temporary_folder_is_called(
    encoder, tmp_path, monkeypatch, capsys
):
    """Stages write to a temporary folder that has another name at every run."""
    short = SETTINGS.model_copy(update={"epochs": 3, "dropout": 0.2})
    trained(encoder, tmp_path / "undisturbed", settings=short)
    collate, calls = body.collate, itertools.count()

    def interrupted(rows, pad_id):
        if next(calls) == 7:  # four batches an epoch and one of validation rows
            raise KeyboardInterrupt
        return collate(rows, pad_id)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(body, "collate", interrupted)
        trained(encoder, tmp_path / ".model.k2j3.partial", settings=short)
    trained(encoder, tmp_path / ".model.x9a1.partial", settings=short)
    assert "resuming after epoch 1" in capsys.readouterr().err
    assert file_digest(tmp_path / ".model.x9a1.partial") == file_digest(tmp_path / "undisturbed")


def test_given_validation_rows_are_not_trained_on(encoder, tmp_path):
    rows = examples()
    short = SETTINGS.model_copy(update={"epochs": 1})
    history = trained(encoder, tmp_path / "given", rows[:24], short, validation=rows[24:])
    longer = trained(encoder, tmp_path / "longer", rows[:24], short, validation=rows[16:])
    assert history[0]["train"] == longer[0]["train"] and history[0]["valid"] != longer[0]["valid"]


def test_a_folder_that_is_no_encoder_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such model folder"):
        trained(tmp_path / "absent", tmp_path / "out")


def test_every_classifier_of_params_keeps_the_contract():
    for name in BLOCKS:
        module = classifiers.load(name)
        assert callable(module.train) and callable(module.predict), name


def test_prediction_rows_carry_six_digits(model):
    from compaug.stages.train_classifier import predicted

    rows = list(predicted(bert, model[0], "test", examples(3)))
    assert [(row["id"], row["split"]) for row in rows] == [(f"x{n}", "test") for n in range(3)]
    assert all(p == round(p, 6) and 0 <= p <= 1 for row in rows for p in row["probabilities"])


def test_mixup_mixes_states_and_labels_in_training_alone(monkeypatch, encoder):
    """By hand: alpha 0.25 of each text and 0.75 of the next one."""
    facts = {"settings": SETTINGS.in_force() | {"mixup": True}, "n_labels": 3}
    tokenizer, backbone = load_encoder(encoder)
    torch.manual_seed(0)
    model = bert.build(backbone, facts)
    rows = examples(6)
    batch = body.collate(body.rows_of(rows, tokenizer, 32, 3), tokenizer.pad_token_id)
    targets = batch["targets"]
    monkeypatch.setattr(torch, "rand", lambda *size, **_: torch.full(size, 0.25))
    monkeypatch.setattr(torch, "randperm", lambda n, **_: torch.arange(n).roll(-1))
    model.eval()
    scores = model.scores(batch["input_ids"], batch["attention_mask"])
    plain = -(targets * scores[..., 1] + (1 - targets) * scores[..., 0]).mean()
    torch.testing.assert_close(model(**batch)["loss"], plain)
    model.train()
    model.backbone.eval()  # without its dropout
    states = model.states(batch["input_ids"], batch["attention_mask"])[:, 0]
    both = 0.25 * states + 0.75 * states.roll(-1, 0)
    weight, bias = model.heads[-1].weight, model.heads[-1].bias
    logits = (both @ weight.T + bias).view(-1, 3, 2).log_softmax(-1)
    labels = 0.25 * targets + 0.75 * targets.roll(-1, 0)
    expected = -(labels * logits[..., 1] + (1 - labels) * logits[..., 0]).mean()
    torch.testing.assert_close(model(**batch)["loss"], expected)


def test_a_classifier_that_mixes_learns(tmp_path, encoder):
    settings = SETTINGS.model_copy(update={"mixup": True, "epochs": 60})
    rows = examples()
    trained(encoder, tmp_path / "m", rows, settings, validation=rows)
    predicted = bert.predict(tmp_path / "m", [e.text for e in rows]) > 0.5
    assert np.mean([tuple(np.flatnonzero(row)) == e.labels for row, e in zip(predicted, rows, strict=True)]) >= 0.9
