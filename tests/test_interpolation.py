"""LINDA goes from one text to the other with alpha, on pairs that it never saw (§5), and how that is measured."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from parameters import written
from tokenizers import Tokenizer, models, pre_tokenizers
from toys import LABELS, TASK, linda_params, synthesis
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from compaug import generators
from compaug.core.files import InputError, read_json
from compaug.core.records import Example
from compaug.evaluation.text_quality import interpolation_behaviour
from compaug.generators.linda import bodies
from compaug.models.loading import IGNORED
from compaug.stages import measure_interpolation as stage

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

WORDS = [f"w{at}" for at in range(24)]
MARKS = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
VOCABULARY = {token: at for at, token in enumerate([*MARKS.values(), *WORDS])}
N, HELD_OUT = 700, 0.14


def sentences() -> list[Example]:
    """Three to six different words in any order: nothing of a text can be guessed, all of it must come from what was
    mixed."""
    rng = np.random.default_rng(0)
    texts = (" ".join(rng.choice(WORDS, rng.integers(3, 7), replace=False)) for _ in range(N))
    return [Example(f"t{at}", text, (at % 4,)) for at, text in enumerate(texts)]


def tokenizer(**more) -> PreTrainedTokenizerFast:
    words = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, **MARKS, **more)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A random BART and a random encoder of this language, and a decoder that has read texts of it."""
    folder = tmp_path_factory.mktemp("backbones")
    backbones = {role: folder / role for role in ("encoder", "decoder", "seq2seq")}
    ends = {"vocab_size": len(VOCABULARY), "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    torch.manual_seed(0)
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128}
    shape = {"d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "max_position_embeddings": 32, "init_std": 0.12}
    quiet = {"dropout": 0.0, "attention_dropout": 0.0, "forced_eos_token_id": None, "decoder_start_token_id": 2}
    BartForConditionalGeneration(BartConfig(**ends, **shape, **heads, **quiet)).save_pretrained(backbones["seq2seq"])
    small = {"hidden_size": 64, "intermediate_size": 128, "initializer_range": 0.1}
    few = {"num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 16}
    config = BertConfig(vocab_size=len(VOCABULARY), pad_token_id=1, **small, **few)
    BertModel(config, add_pooling_layer=False).save_pretrained(backbones["encoder"])
    decoder = small_llama()
    read(decoder, [e.text for e in sentences()[: N // 2]])
    decoder.save_pretrained(backbones["decoder"])
    for role, more in {"encoder": {"cls_token": "<s>"}, "decoder": {}, "seq2seq": {}}.items():
        tokenizer(**more).save_pretrained(backbones[role])
    return backbones


@pytest.fixture(scope="module")
def repeats(folders, tmp_path_factory):
    """The same with a decoder that has learned to repeat what stands before it."""
    folder = tmp_path_factory.mktemp("repeats") / "decoder"
    torch.manual_seed(0)
    decoder = small_llama()
    repeat(decoder)
    decoder.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folders | {"decoder": folder}


def small_llama() -> LlamaForCausalLM:
    ends = {"vocab_size": len(VOCABULARY), "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2}
    shape = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    more = {"initializer_range": 0.1, "max_position_embeddings": 64, "tie_word_embeddings": True}
    return LlamaForCausalLM(LlamaConfig(**ends, **shape, **more))


def read(decoder: LlamaForCausalLM, texts: list[str]) -> None:
    optimizer, rng = torch.optim.AdamW(decoder.parameters(), lr=0.003), np.random.default_rng(0)
    for _ in range(150):
        rows = [[2, *(VOCABULARY[word] for word in texts[at].split()), 2] for at in rng.integers(len(texts), size=32)]
        width = max(map(len, rows))
        ids = torch.tensor([row + [2] * (width - len(row)) for row in rows])
        labels = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
        decoder(ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def repeat(decoder: LlamaForCausalLM, steps: int = 1400) -> None:
    """Any words, once more behind the question: what a pretrained decoder can do and one that has read a few hundred
    texts cannot."""
    optimizer, rng = torch.optim.AdamW(decoder.parameters(), lr=0.003, betas=(0.9, 0.98)), np.random.default_rng(0)
    decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 100) * (1 - step / steps))
    question, again = (
        torch.tensor(tokenizer()(words)["input_ids"]).expand(64, -1) for words in (bodies.ASKED, bodies.AGAIN)
    )
    end = torch.full((64, 1), VOCABULARY["</s>"])
    for _ in range(steps):
        words = torch.from_numpy(np.argsort(rng.random((64, len(WORDS))))[:, : rng.integers(3, 7)] + len(MARKS))
        ids = torch.cat([question, words, again, words, end], dim=1)
        labels = ids.clone()
        labels[:, : -words.shape[1] - 1] = IGNORED
        decoder(ids, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        optimizer.step()
        decay.step()
        optimizer.zero_grad()


COMMON = {"batch_size": 32, "max_length": 16, "validation": HELD_OUT, "warmup": 0.05}
TRAINED = {
    "linda": linda_params(epochs=20, lr=0.005, noise=0.2, **COMMON),
    "linda_prefix": linda_params(epochs=30, lr=0.006, mid_dim=256, **COMMON),
    "linda_prefix, reads": linda_params(epochs=5, lr=0.003, sigma=0.12, reads="decoder", **COMMON),
}
TEMPERATURE = {"linda": 1.0}  # the paper's; of the others 0.7, that of small models on `diagnostic`


@pytest.fixture(scope="module")
def model_of(request, folders, tmp_path_factory):
    """name -> the generator, the folder of its model and its backbones."""
    trained = {}

    def train(name):
        if name not in trained:
            generator, *reads = name.split(", ")
            backbones = request.getfixturevalue("repeats") if reads else folders
            model = tmp_path_factory.mktemp(generator) / "m"
            generators.load(generator).train(sentences(), TASK, TRAINED[name], backbones, model, 13)
            trained[name] = generator, model, backbones
        return trained[name]

    return train


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_on_held_out_pairs_it_goes_from_the_second_text_to_the_first_as_alpha_grows(name, model_of, monkeypatch):
    monkeypatch.setattr(interpolation_behaviour, "ALPHAS", (0, 0.25, 0.5, 0.75, 1))
    settings = synthesis(max_length=16, top_k=50, top_p=0.95, temperature=TEMPERATURE.get(name, 0.7))
    generator, model, backbones = model_of(name)
    measures = interpolation_behaviour.behaviour(generator, model, TASK, settings, backbones, 3)
    assert measures["pairs"] == round(N * HELD_OUT)
    at, chance = measures["alphas"], measures["between"]
    assert interpolation_behaviour.monotony(at, "precision_a") == pytest.approx(1.0)
    assert interpolation_behaviour.monotony(at, "precision_b") == pytest.approx(-1.0)
    assert at["1"]["precision_a"] > 0.8 and at["0"]["precision_b"] > 0.8
    assert at["0.5"]["copies"] < 0.2
    for source in ("a", "b"):  # something of both in the middle
        assert at["0.5"][f"precision_{source}"] > chance["precision"] + 0.15
        assert at["0.5"][f"similarity_{source}"] > chance["similarity"]
    assert at["0"]["similarity_a"] < at["0.5"]["similarity_a"] < at["1"]["similarity_a"] > 0.95
    assert at["1"]["prefers_a"] > 0.95 and at["0"]["prefers_a"] < 0.05 and at["0.5"]["mass"] < 0.2


def test_a_text_without_a_word_has_no_perplexity_and_stops_nothing(model_of, folders, monkeypatch):
    write = interpolation_behaviour.interpolation.write_between
    monkeypatch.setattr(interpolation_behaviour, "ALPHAS", (0, 1))
    monkeypatch.setattr(interpolation_behaviour.interpolation, "write_between", lambda *of: ["", *write(*of)[1:]])
    measures = interpolation_behaviour.behaviour(
        "linda", model_of("linda")[1], TASK, synthesis(max_length=16), folders, 3
    )
    assert all(measures["alphas"][at]["perplexity"] > 0 for at in ("0", "1"))


def test_the_stage_writes_numbers_for_every_alpha_and_no_text(model_of, folders, tmp_path):
    (tmp_path / "split").mkdir()
    LABELS.write(tmp_path / "split" / "labels.json")
    argv = f"--benchmark diagnostic --generator linda --model {model_of('linda')[1]}"
    argv += f" --split split --backbones {folders['encoder'].parent}"
    more = ["--params", "params.yaml", "--seed", "3", "--set", "synthesis.max_length=16", "--out", "made.json"]
    written(tmp_path, {})
    stage.main([*argv.split(), *more])
    measures = read_json(tmp_path / "made.json")
    assert list(measures["alphas"]) == [f"{at / 10:g}" for at in range(11)]
    assert set(measures["alphas"]["0.5"]) >= {"precision_a", "similarity_b", "copies", "novel", "perplexity", "mass"}
    assert "w1 " not in (tmp_path / "made.json").read_text()


# ---------------------------------------------------------------- measures by hand


def test_unigram_precision_is_clipped():
    assert interpolation_behaviour.precision("the the cat", "The dog and the cat the end") == 1.0
    assert interpolation_behaviour.precision("the the the", "the dog the") == pytest.approx(2 / 3)
    assert interpolation_behaviour.precision("", "the dog") == 0.0
    assert interpolation_behaviour.precision("a b c d", "d e") == 0.25


def test_copies_and_novelty_look_at_both_sources_and_at_all_known_texts():
    texts, a, b = ["One  two", "three", "four", ""], ["one two", "x", "y", "z"], ["q", "three", "w", "v"]
    measures = interpolation_behaviour.measures(texts, a, b, {"one two", "three", "four"}, lambda *_: 0.0)
    assert measures["copies"] == 0.5 and measures["novel"] == 0.0 and measures["words"] == 1.0
    assert (
        interpolation_behaviour.measures(texts, a, b, {"x"}, lambda *_: 0.0)["novel"] == 0.75
    )  # nothing is no new text


def test_held_out_pairs_are_of_two_texts_and_none_that_was_learned_from():
    rows = [Example(str(at), f"text {at}", ()) for at in range(6)] + [Example("again", "Text  0", ())]
    a, b = interpolation_behaviour.held_out_pairs(rows, ["0", "1", "2", "3"], 1)
    assert sorted(a) == sorted(b) == ["text 1", "text 2", "text 3"]  # text 0 is also among those learned from
    assert all(x != y for x, y in zip(a, b, strict=True))
    assert interpolation_behaviour.held_out_pairs(rows, ["1"], 1) == ([], [])


def test_monotony_is_1_for_what_grows_at_every_step():
    curve = lambda *values: {str(at): {"x": value} for at, value in enumerate(values)}
    assert interpolation_behaviour.monotony(curve(0.1, 0.2, 0.9), "x") == pytest.approx(1.0)
    assert interpolation_behaviour.monotony(curve(0.1, 0.2, 0.15), "x") == pytest.approx(0.5)
    assert interpolation_behaviour.monotony(curve(0.3, 0.3, 0.3), "x") == 0.0


def test_another_generator_is_refused():
    with pytest.raises(InputError, match="'concat' writes between no texts; choose from linda, linda_prefix"):
        interpolation_behaviour.behaviour("concat", None, TASK, None, {}, 1)
