"""The tiny fixed input of the fingerprints: a split of 30 texts, random backbones, parameters.

And an endpoint that answers anything.

No stage makes any of it, so that a stage's fingerprint can change only when what that stage computes changes. The
weights are large for random ones: what comes of them then depends on all of them, and a text on every option.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import torch
import yaml
from tokenizers import pre_tokenizers
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Tokenizer,
    T5Config,
    T5ForConditionalGeneration,
)

from compaug.core.files import write_json
from compaug.models.loading import quiet

HERE = Path(__file__).parent
LABELS = ("anger", "disgust", "fear", "joy", "love", "optimism", "sadness", "surprise")
WIDTH, LAYERS, HEADS = 16, 2, 2
STD = 0.3  # of the random weights
FILES = {  # of the split: the part of rows.jsonl that each has, and its fields
    "train": ("train", ("labels", "source")),
    "support": ("support", ("labels", "source")),
    "test": ("test", ("labels", "source")),
    "test_inputs": ("test", ()),
    "synthetic": ("synthetic", ("labels", "source", "requested_labels", "seed", "soft_labels")),
}


def rows() -> list[dict]:
    """Fixed texts of the diagnostic grammar, whose oracle can judge them."""
    return [json.loads(line) for line in (HERE / "rows.jsonl").read_text(encoding="utf-8").splitlines()]


def parameters(repository: Mapping, folder: Path) -> dict:
    """Write params.yaml and configs/ below `folder`; returns the further variants.

    From the `repository`'s params.yaml comes what the toys have none of, which is what no heavy stage reads, and
    methods that are new.
    """
    toys = yaml.safe_load((HERE / "params.yaml").read_text(encoding="utf-8"))
    methods = {kind: repository[kind] | toys["params"][kind] for kind in ("generators", "classifiers")}
    write_json(folder / "params.yaml", {**repository, **toys["params"], **methods})
    write_json(folder / "configs" / "benchmarks" / "toy.yaml", toys["corpus"])
    write_json(folder / "configs" / "scales.yaml", toys["scales"])
    write_json(folder / "configs" / "parsing.yaml", toys["parsing"])
    write_json(folder / "configs" / "slu.yaml", toys["slu"])
    return toys["variants"]


def write(folder: Path) -> None:
    """split/ with all its files, map/, requests, selected synthetic rows, backbones/, parsing/ and slu/ in `folder`."""
    split = folder / "split"
    split.mkdir(parents=True)
    (split / "labels.json").write_text(json.dumps({"names": LABELS, "phrases": LABELS}))
    for name, (part, fields) in FILES.items():
        kept = [
            {"labels": []} | {key: row[key] for key in ("id", "text", *fields) if key in row}
            for row in rows()
            if row["part"] == part
        ]
        _write_rows(split / f"{name}.jsonl", kept)
    requested = [row["requested_labels"] for row in rows() if row["part"] == "synthetic"]
    _write_rows(folder / "requests.jsonl", [{"requested_labels": labels} for labels in requested])
    (split / "synthetic.json").write_text(json.dumps({"requested": len(requested), "kept": len(requested)}))
    (folder / "requests.json").write_text(
        json.dumps({"requested": len(requested), "rejected": {"empty": 1}, "rejection_rate": 0.1})
    )
    write_json(split / "low_resource.json", {"train": 6, "seed": 13})
    _write_map(folder / "map" / "mean_label.csv", [row["id"] for row in rows() if row["part"] == "train"])
    backbones(folder / "backbones")
    parsing(folder / "parsing")
    utterances(folder / "slu")


def parsing(folder: Path) -> None:
    """16 sentences with their logical forms, as corpus/, and a data map of them, as map/."""
    words = ("dog", "cat", "girl", "boy")
    pairs = [
        {
            "id": f"{subject}-{other}",
            "source": f"The {subject} saw a {other} .",
            "target": f"see ( {subject} , {other} )",
            "category": subject,
        }
        for subject in words
        for other in words
    ]
    for name, part in {"corpus/train": pairs, "corpus/gen": pairs[::3]}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        _write_rows(folder / f"{name}.jsonl", part)
    _write_map(folder / "map" / "chia.csv", [pair["id"] for pair in pairs])


def _write_map(path: Path, ids: list[str]) -> None:
    path.parent.mkdir()
    lines = (f"{row_id},{at / 16},{at % 5 / 10},0.5\n" for at, row_id in enumerate(ids))
    path.write_text("".join(["id,confidence,variability,correctness\n", *lines]), encoding="utf-8")


def utterances(folder: Path) -> None:
    """Few utterances of two intents, and as many that were written, texts.jsonl."""
    folder.mkdir()
    verbs = {"go": ("city", "O"), "find": ("thing", "B-thing")}
    written = [
        {
            "id": f"{verb}-{noun}",
            "intent": verb.title(),
            "words": [verb, "to", noun, "now"],
            "tags": ["O", tag, f"B-{slot}", "O"],
        }
        for verb, (slot, tag) in verbs.items()
        for noun in ("rome", "oslo", "bern", "kyiv")
    ]
    for name, kept in {
        "train": written[::2],
        "validation": written[:1],
        "test": written[1::2],
        "texts": written[1:3],
    }.items():
        _write_rows(folder / f"{name}.jsonl", kept)
    write_json(folder / "inventory.json", {"intents": ["Find", "Go"], "slots": ["city", "thing"]})
    write_json(folder / "corpus.json", {"corpus": "toy", "share": 0.5, "seed": 13})
    facts = {
        "mode": "span",
        "loss": 0.5,
        "requested": 4,
        "written": 2,
        "copied": 0,
        "duplicate": 0,
        "refused": {"not a sentence": 2},
        "validity": 50.0,
        "fresh": 50.0,
    }
    write_json(folder / "texts.json", facts)


def _write_rows(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in records), encoding="utf-8")


def backbones(folder: Path) -> None:
    """A BERT of words, a GPT-2 and a T5 of byte pairs, with random weights."""
    texts = [row["text"] for row in rows()]
    words = {word for text in [*texts, *LABELS] for word in re.findall(r"\w+|[^\w\s]", text.lower())}
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
    tokenizer = BertTokenizer(vocab={token: at for at, token in enumerate(tokens)})
    shape = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "intermediate_size": 2 * WIDTH}
    config = BertConfig(**shape, **size, initializer_range=STD)
    _save(folder / "encoder", tokenizer, BertModel, config)

    tokenizer = GPT2Tokenizer(vocab={"<|endoftext|>": 0}).train_new_from_iterator(
        [f" {text}" for text in [*texts, *LABELS]],
        360,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    size = {"vocab_size": len(tokenizer), "max_position_embeddings": 128}
    config = GPT2Config(**shape, **size, bos_token_id=0, eos_token_id=0, initializer_range=STD)
    _save(folder / "decoder", tokenizer, GPT2LMHeadModel, config)

    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    size = {"vocab_size": len(tokenizer), "num_decoder_layers": LAYERS, "d_kv": WIDTH // HEADS, "d_ff": 2 * WIDTH}
    pad = tokenizer.pad_token_id
    config = T5Config(**shape, **size, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad)
    _save(folder / "seq2seq", tokenizer, T5ForConditionalGeneration, config)


def _save(folder: Path, tokenizer, architecture, config) -> None:
    torch.manual_seed(0)
    with quiet():
        architecture(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


@contextlib.contextmanager
def endpoint() -> Iterator[None]:
    """A client in place of the hub's, so that no server is needed.

    Its answer to a request is a text that depends on all that was asked.
    """

    def create(**request) -> SimpleNamespace:
        words = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()[:8]
        choice = SimpleNamespace(finish_reason="stop", message=SimpleNamespace(content=f"<text>answer {words}</text>"))
        return SimpleNamespace(choices=[choice], usage=SimpleNamespace(prompt_tokens=20, completion_tokens=5))

    client = SimpleNamespace(chat_completion=create)
    with patch("huggingface_hub.InferenceClient", lambda **_: client), patch.dict(os.environ, OPENAI_API_KEY="none"):
        yield
