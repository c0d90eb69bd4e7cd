from __future__ import annotations

import itertools
import json
import random
import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from parameters import written
from transformers import tokenization_utils_base

from compaug.core.files import InputError, read_json, write_json
from compaug.core.records import Example, Labels, write_jsonl
from compaug.data.multi_label import Task
from compaug.data.parameters import Backbone, Backbones
from compaug.experiments.params import parse
from compaug.generators.disentangled.prefix_tuning import text_rows
from compaug.models.backbones import (
    _causal_language_model,
    _masked_language_model,
    _written_or_restored,
    prepare,
)
from compaug.models.denoising import corrupt, infilled
from compaug.models.loading import IGNORED, LOADERS, load_decoder, load_encoder, mean_states, read_texts
from compaug.models.tiny_tokenizers import wordpiece
from compaug.stages import prepare_backbone
from compaug.training.loop import seed_everything

ROOT = Path(__file__).parent.parent
TEXTS = [
    f"{who} {verb} the {thing} {when}"
    for who in ("anna", "Ben", "my aunt", "nobody")
    for verb in ("loved", "lost", "found", "feared")
    for thing in ("train", "garden", "letter")
    for when in ("today", "last night!", "again")
]
ROLES = ["encoder", "decoder", "seq2seq"]


def tiny(**changes) -> Backbone:
    values = {"layers": 1, "hidden": 32, "heads": 2, "vocab": 320, "max_positions": 48}
    values |= {"epochs": 6, "lr": 0.01, "batch_size": 16}
    return Backbone(kind="tiny", **(values | changes))


def of(role: str, **changes) -> Backbone:
    """The encoder learns from a few tokens of a text alone, and so needs more epochs."""
    more = {"epochs": 40} if role == "encoder" else {"pretraining": "texts"}
    return tiny(**(more | changes))


def make(role: str, folder: Path, spec: Backbone, texts=TEXTS, seed: int = 3) -> Path:
    folder.mkdir(parents=True)
    prepare(role, spec, texts, folder, seed, folder.parent / "work")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("backbones")
    return {role: make(role, root / role, of(role)) for role in ROLES}


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# ---------------------------------------------------------------- tiny


@pytest.mark.parametrize("role", ROLES)
def test_a_tiny_backbone_predicts_held_out_text_better_than_word_frequencies(folders, role):
    result = read_json(folders[role] / "pretraining.json")
    assert result["held_out_loss"] < 0.8 * result["unigram_loss"]
    assert result["texts"] + result["held_out_texts"] == len(TEXTS)


@pytest.mark.parametrize("role", ROLES)
def test_the_same_seed_makes_the_same_bytes_and_another_seed_others(folders, role, tmp_path):
    assert contents(make(role, tmp_path / "again", of(role))) == contents(folders[role])
    other = contents(make(role, tmp_path / "other", of(role), seed=4))
    assert other["model.safetensors"] != contents(folders[role])["model.safetensors"]


@pytest.mark.parametrize("role", ROLES)
def test_no_word_that_only_other_texts_use_is_in_the_vocabulary(folders, role):
    tokenizer, _ = LOADERS[role](folders[role])
    vocabulary = {token.removeprefix("##").removeprefix("Ġ") for token in tokenizer.get_vocab()}
    vocabulary -= set(tokenizer.all_special_tokens)
    assert "garden" in vocabulary
    assert not vocabulary & {"zeppelin", "zep", "pelin", "quartz"}
    seen = " ".join([*TEXTS, *(text.lower() for text in TEXTS)])
    assert all(len(token) == 1 or token in seen for token in vocabulary if token.isalpha())


def test_only_words_of_the_vocabulary_come_back_from_the_encoder_and_every_string_from_the_decoder(folders):
    encoder, _ = load_encoder(folders["encoder"])
    assert encoder.decode(encoder("My AUNT loved 漢", add_special_tokens=False)["input_ids"]) == "my aunt loved [UNK]"
    decoder, _ = load_decoder(folders["decoder"])
    text = " Ben | a zeppelin, 漢 \n"
    assert decoder.decode(decoder(text)["input_ids"]) == text


def test_a_saved_tiny_decoder_has_its_trained_weights_tied_and_stops_at_the_end_of_text(folders):
    tokenizer, model = load_decoder(folders["decoder"])
    assert model.get_output_embeddings().weight.data_ptr() == model.get_input_embeddings().weight.data_ptr()
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id == model.config.eos_token_id
    start = torch.tensor([[tokenizer.eos_token_id, *tokenizer(" my")["input_ids"]]] * 16)
    seed_everything(0)
    lists = model.generate(start, attention_mask=torch.ones_like(start), do_sample=True, max_new_tokens=40)
    ended = (lists[:, 1:] == tokenizer.eos_token_id).any(1)
    assert ended.float().mean() > 0.5


def test_masking_touches_no_special_token_and_at_least_one_word_of_every_text():
    spec = tiny()
    tokenizer = wordpiece(TEXTS, spec)
    objective = _masked_language_model(tokenizer, [("", text) for text in [*TEXTS, "anna"]], spec)
    seed_everything(0)
    batch = objective.collate(objective.rows)
    chosen = batch["labels"] != IGNORED
    original, _ = torch.nn.utils.rnn.pad_packed_sequence(
        torch.nn.utils.rnn.pack_sequence([torch.tensor(row["ids"]) for row in objective.rows], enforce_sorted=False),
        batch_first=True,
    )
    assert chosen.any(1).all()
    assert not (chosen & torch.isin(original, torch.tensor(tokenizer.all_special_ids))).any()
    assert torch.equal(batch["labels"][chosen], original[chosen])
    assert torch.equal(batch["input_ids"][~chosen], original[~chosen])
    masked = (batch["input_ids"][chosen] == tokenizer.mask_token_id).float().mean().item()
    assert masked == pytest.approx(0.8, abs=0.1)


def test_rows_of_a_decoder_are_what_generators_write_or_the_texts_between_two_ends(folders):
    tokenizer, _ = load_decoder(folders["decoder"])
    task = Task(Labels(("joy",), ("joy",)), "A message with {labels} :", ", ")
    example = Example("t", TEXTS[0], (0,))
    (written,) = text_rows([example], task, tokenizer, 48)
    prompted = _causal_language_model(tokenizer, [(task.source((0,)), example.text)], tiny(pretraining="prompted"))
    assert prompted.rows[0]["ids"] == written["input_ids"]

    end = tokenizer.eos_token_id
    objective = _causal_language_model(tokenizer, [("", text) for text in TEXTS], tiny(pretraining="texts"))
    batch = objective.collate(objective.rows)
    for ids, targets, row in zip(batch["input_ids"], batch["labels"], objective.rows, strict=True):
        length = row["length"]
        assert ids[0] == ids[length - 1] == end and end not in ids[1 : length - 1]
        assert targets[0] == IGNORED and (targets[length:] == IGNORED).all()
        assert torch.equal(targets[1:length], ids[1:length])


def test_a_text_longer_than_the_positions_is_cut_and_nothing_warns_of_it(tmp_path, monkeypatch):
    warnings: list[str] = []
    monkeypatch.setattr(tokenization_utils_base.logger, "warning", lambda text, *_: warnings.append(text))
    long = [" ".join(random.Random(i).choices(TEXTS, k=20)) for i in range(8)]
    for role in ROLES:
        folder = make(role, tmp_path / role, of(role, epochs=1), long)
        tokenizer, _ = LOADERS[role](folder)
        assert len(tokenizer(long[0])["input_ids"]) > 48
    assert warnings == []


def test_too_few_texts_are_refused(tmp_path):
    with pytest.raises(InputError, match="needs at least two training texts"):
        make("encoder", tmp_path / "encoder", tiny(), ["one"])


# ---------------------------------------------------------------- folders


@pytest.mark.parametrize(("role", "load"), [("encoder", load_encoder), ("decoder", load_decoder)])
@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("config.json", "config.json is missing"),
        ("model.safetensors", "model.safetensors is missing"),
        ("tokenizer.json", "tokenizer files"),
    ],
)
def test_a_missing_file_of_a_model_folder_is_named(folders, tmp_path, role, load, missing, message):
    for name, content in contents(folders[role]).items():
        if name != missing:
            (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(tmp_path)


def test_pickled_weights_are_refused(folders, tmp_path):
    for name, content in contents(folders["encoder"]).items():
        (tmp_path / name.replace("model.safetensors", "pytorch_model.bin")).write_bytes(content)
    with pytest.raises(InputError, match="pickled weights .* are refused"):
        load_encoder(tmp_path)


def test_damaged_weights_are_one_line(folders, tmp_path):
    for name, content in contents(folders["encoder"]).items():
        (tmp_path / name).write_bytes(content[:100] if name == "model.safetensors" else content)
    with pytest.raises(InputError, match="cannot be loaded as a model") as error:
        load_encoder(tmp_path)
    assert "\n" not in str(error.value)


def _config(**changes):
    def edit(folder: Path) -> None:
        write_json(folder / "config.json", read_json(folder / "config.json") | changes)

    return edit


def _tokens(folder: Path) -> None:
    content = read_json(folder / "tokenizer.json")
    content["model"]["vocab"]["zebra"] = len(content["model"]["vocab"]) + 500
    (folder / "tokenizer.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_config(vocab_size="many"), "cannot be loaded as a model"),
        (_config(vocab_size=10), "has other sizes than config.json says"),
        (_config(num_hidden_layers=-1), "cannot be loaded as a model"),
        (_config(num_attention_heads=5), "cannot be loaded as a model"),
        (_config(num_attention_heads=-1), "config.json: a number of heads is below one"),
        (_config(num_hidden_layers=10**400), "says more layers than model.safetensors has tensors"),
        (_config(hidden_activation="none such"), "cannot be loaded as a model"),
        (
            lambda folder: (folder / "config.json").write_text("[]"),
            "config.json: the file: Input should be a valid dict",
        ),
        (lambda folder: (folder / "config.json").write_text('{"norm_eps": NaN}'), "config.json: not valid JSON .*NaN"),
        (lambda folder: (folder / "tokenizer.json").write_text("[]"), "cannot be loaded as a model"),
        (
            lambda folder: (folder / "tokenizer_config.json").write_text("[]"),
            "tokenizer_config.json: the file: Input sh",
        ),
        (lambda folder: (folder / "model.safetensors").write_bytes(b""), "cannot be loaded as a model"),
    ],
)
def test_a_damaged_model_folder_is_one_line_whatever_library_finds_out(folders, tmp_path, edit, message):
    folder = tmp_path / "model"
    shutil.copytree(folders["encoder"], folder)
    edit(folder)
    with pytest.raises(InputError, match=message) as refused:
        load_encoder(folder)
    assert str(folder) in str(refused.value) and "\n" not in str(refused.value)


def test_a_decoder_of_endless_depth_is_refused_before_it_is_built(folders, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(folders["decoder"], folder)
    _config(n_layer=10**400)(folder)
    with pytest.raises(InputError, match="says more layers than"):
        load_decoder(folder)


def test_a_tokenizer_with_tokens_that_the_model_lacks_is_refused(folders, tmp_path):
    shutil.copytree(folders["decoder"], tmp_path / "model")
    _tokens(tmp_path / "model")
    with pytest.raises(InputError, match="the tokenizer has .* tokens but the model knows"):
        load_decoder(tmp_path / "model")


def test_a_model_in_the_other_role_is_refused(folders):
    with pytest.raises(InputError, match="not an encoder"):
        load_encoder(folders["decoder"])
    with pytest.raises(InputError, match="another kind of model"):
        load_decoder(folders["encoder"])


# ---------------------------------------------------------------- states


def test_states_do_not_depend_on_batching_and_means_leave_padding_out(folders):
    tokenizer, model = load_encoder(folders["encoder"])
    texts = ["anna found the letter", "nobody", "Ben lost the train last night!"]
    means, together = read_texts(model, tokenizer, texts, 48, batch_size=3)
    _, alone = read_texts(model, tokenizer, texts, 48, batch_size=1)
    for text, a, b in zip(texts, together, alone, strict=True):
        assert a.shape == (len(tokenizer(text)["input_ids"]), 32)
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(means, torch.stack([states.mean(0) for states in alone]))
    assert torch.equal(means, mean_states(model, tokenizer, texts, 48, batch_size=3))
    _, inner = read_texts(model, tokenizer, texts, 48, 3, special_tokens=False)
    torch.testing.assert_close(inner[0], together[0][1:-1])
    assert read_texts(model, tokenizer, texts, 4, 3)[1][2].shape == (4, 32)
    assert mean_states(model, tokenizer, [], 48, 3).shape == (0, 32)


# ---------------------------------------------------------------- the stage


def test_the_stage_reads_train_texts_only_and_makes_the_role_it_is_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_jsonl("split/train.jsonl", [Example(f"t{i}", text, (0,)) for i, text in enumerate(TEXTS)])
    Labels(("joy", "zebra"), ("joy", "zebra")).write("split/labels.json")
    (tmp_path / "split" / "test.jsonl").write_text("this file must not be opened")
    specs = {role: tiny(epochs=1).model_dump(exclude_none=True) for role in ROLES}
    specs |= {role: specs[role] | {"pretraining": "prompted"} for role in ("decoder", "seq2seq")}
    path = written(
        tmp_path,
        {
            "diagnostic:scales.tiny.backbones": specs,
            "classifiers.shared.max_length": 32,
            "generators.shared.max_length": 32,
            "synthesis.max_length": 32,
            "label_generator.max_tokens": 32,
        },
    )
    arguments = ["--benchmark", "diagnostic", "--split", "split"]
    for out, role in itertools.product(("a", "b"), ROLES):
        prepare_backbone.main([*arguments, "--role", role, "--out", f"{out}/{role}"])
    for role in ROLES:
        assert contents(tmp_path / "a" / role) == contents(tmp_path / "b" / role)
        assert str(tmp_path) not in json.dumps({k: repr(v) for k, v in contents(tmp_path / "a" / role).items()})
    prompt = parse(path).corpus.text_prompt.split()[1]
    assert prompt in (tmp_path / "a/decoder/tokenizer.json").read_text()  # a decoder reads texts after their prompts
    assert prompt in (tmp_path / "a/seq2seq/tokenizer.json").read_text()
    assert prompt not in (tmp_path / "a/encoder/tokenizer.json").read_text()
    prepare_backbone.main([*arguments, "--role", "seq2seq", "--generator", "ld_vae", "--out", "c"])
    assert {file.name for file in (tmp_path / "c").iterdir()} == {"unused.json", ".written"}
    prepare_backbone.main([*arguments, "--role", "seq2seq", "--generator", "oversample", "--out", "d"])
    assert contents(tmp_path / "c") == contents(tmp_path / "d")  # what follows is not made again
    prepare_backbone.main([*arguments, "--role", "seq2seq", "--generator", "flan_t5", "--out", "c"])
    assert contents(tmp_path / "c") == contents(tmp_path / "a" / "seq2seq")
    for role in ("encoder", "decoder"):  # the filter and the label generator open them, whatever the generator does
        prepare_backbone.main(
            [*arguments, "--role", role, "--generator", "oversample", "--classifier", "t5_clp", "--out", f"d/{role}"]
        )
        assert contents(tmp_path / "d" / role) == contents(tmp_path / "a" / role)
    assert capsys.readouterr().err == ""


# ---------------------------------------------------------------- T5


def test_texts_with_a_prompt_are_written_from_it_and_the_others_restored(folders):
    tokenizer, _ = LOADERS["seq2seq"](folders["seq2seq"])
    texts = [("with joy :", text) for text in TEXTS[:6]] + [("", TEXTS[0])] * 2
    objective = _written_or_restored(tokenizer, texts, tiny(pretraining="prompted"))
    seed_everything(0)
    batch = objective.collate(objective.rows)
    for at, ((prompt, text), labels) in enumerate(zip(texts, batch["labels"], strict=True)):
        source = tokenizer.decode(batch["input_ids"][at][batch["attention_mask"][at].bool()])
        target = tokenizer.decode(labels[labels != IGNORED])
        if prompt:
            assert (source, target) == (f"{prompt}<|endoftext|>", f"{text}<|endoftext|>")
        else:
            assert "<extra_id_0>" in source and target.startswith("<extra_id_0>")


def test_a_bart_restores_whole_texts_with_masks_in_the_place_of_spans(tmp_path):
    folder = make("seq2seq", tmp_path / "bart", of("seq2seq", architecture="bart", epochs=60))
    tokenizer, model = LOADERS["seq2seq"](folder)
    assert model.config.model_type == "bart" and tokenizer.mask_token == "<mask>"
    report = read_json(folder / "pretraining.json", dict)
    assert report["held_out_loss"] < report["unigram_loss"]
    objective = _written_or_restored(tokenizer, [("", text) for text in TEXTS[:6]], of("seq2seq", architecture="bart"))
    batch = objective.collate(objective.rows)
    for text, source, labels in zip(TEXTS, batch["input_ids"], batch["labels"], strict=False):
        assert tokenizer.decode(labels[labels != IGNORED]) == f"{text}<|endoftext|>"
        assert (source == tokenizer.mask_token_id).any() and tokenizer.decode(source) != text


@given(st.lists(st.integers(100, 200), min_size=2, max_size=80), st.integers(0, 1000))
def test_a_mask_stands_for_a_span_of_any_length(ids, seed):
    torch.manual_seed(seed)
    source, target = infilled(ids, 0)
    assert target == ids
    left = iter(ids)  # what is shown comes in its order
    assert all(token == 0 or token in left for token in source)
    hidden = len(ids) - sum(token != 0 for token in source)
    assert hidden == min(max(1, round(0.15 * len(ids))), len(ids) - 1) and 1 <= source.count(0) <= hidden


def test_only_the_sequence_to_sequence_model_has_an_architecture():
    with pytest.raises(ValueError, match="remove it from the others"):
        Backbones(encoder=tiny(architecture="bart"), decoder=of("decoder"), seq2seq=of("seq2seq"))


@given(st.lists(st.integers(100, 200), min_size=2, max_size=80), st.integers(0, 1000))
def test_the_marks_of_the_source_stand_for_the_spans_of_the_target(ids, seed):
    marks = list(range(8))
    torch.manual_seed(seed)
    source, target = corrupt(ids, marks)
    spans, current = {}, None
    for token in target:
        if token in marks:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    restored = [t for token in source for t in (spans[token] if token in marks else [token])]
    assert restored == ids
    assert list(spans) == marks[: len(spans)] and all(spans.values())
    hidden = sum(map(len, spans.values()))
    assert hidden == min(max(1, round(0.15 * len(ids))), len(ids) - 1)
