"""A toy language and toy backbones for the generator tests: a text is one phrase per label, the decoder knows the
phrases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import torch
from tokenizers import pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertModel,
    BertTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Tokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from compaug.core.records import Draft, Example, Labels
from compaug.data.multi_label import Task
from compaug.generators.parameters import FlanT5, LdVae, LindaPrefix, PrefixGenerator, VaeDprior

LABELS = Labels(("joy", "fear", "anger", "trust"), ("joy", "fear", "anger", "trust"))
PHRASES = (
    ("the sun is out", "we laughed all day"),
    ("it was so dark", "my hands shake"),
    ("he broke my cup", "stop that noise"),
    ("you can count on her", "they kept their word"),
)
TASK = Task(LABELS, "A message with {labels} :", ", ")
SETTINGS = {
    "epochs": 12,
    "lr": 0.01,
    "batch_size": 8,
    "patience": None,
    "warmup": 0.0,
    "validation": 0.0,
    "max_length": 40,
    "prefix_length": 3,
    "mid_dim": 32,
    "loss_on_prompt": False,
    "generator_data": "all",
    "epoch_share": None,
}
LATENTS = {
    "latent": 8,
    "clusters": 4,
    "alpha": 0.1,
    "beta": 0.1,
    "prior": "conditional",
    "kl_form": "exact",
    "kl_reduction": "mean",
    "label_pool": "mean",
    "label_heads": "per_label",
    "label_prior": "per_label",
    "position_embedding": True,
    "noise_per_copy": False,
    "prior_variance": 1.0,
    "kl_warmup": 0.0,
    "free_bits": 0.0,
    "batch_order": "shuffled",
    "cache_gib": 1.0,
}


def ls_pt_params(**changes) -> PrefixGenerator:
    return PrefixGenerator(**(SETTINGS | changes))


def ld_vae_params(**changes) -> LdVae:
    return LdVae(**(SETTINGS | LATENTS | changes))


def vae_dprior_params(**changes) -> VaeDprior:
    settings = SETTINGS | LATENTS | changes
    return VaeDprior(**{name: settings[name] for name in VaeDprior.model_fields if name in settings})


def flan_t5_params(**changes) -> FlanT5:
    settings = SETTINGS | changes
    return FlanT5(**{name: settings[name] for name in FlanT5.model_fields if name in settings})


INTERPOLATION = {
    "p_mask": 0.1,
    "norm": 0.001,
    "noise": 0.001,
    "alpha_for": "pair",
    "reduction": "mean",
    "sigma": 0.5,
    "pairs": "union",
    "alpha_low": 0.3,
    "alpha_high": 0.7,
}


def linda_params(**changes) -> LindaPrefix:
    """Of both bodies: the encoder-decoder has no use for `mid_dim`."""
    values = SETTINGS | INTERPOLATION | changes
    return LindaPrefix(**{name: value for name, value in values.items() if name in LindaPrefix.model_fields})


def synthesis(**changes) -> SimpleNamespace:
    """Greedy decoding unless told otherwise."""
    settings = {
        "max_length": 40,
        "batch_size": 8,
        "temperature": 1.0,
        "top_k": 1,
        "top_p": 1.0,
        "no_repeat_ngram": 0,
        "guidance": None,
    }
    return SimpleNamespace(**(settings | changes))


def examples() -> list[Example]:
    """32 texts: two phrasings of every composition of one to three labels, two of which make up the support set."""
    compositions = [c for size in (1, 2, 3) for c in combinations(range(4), size)]
    rows = [(c, " and ".join(PHRASES[y][way] for y in c)) for c in compositions for way in (0, 1)]
    rows += [((0, 1, 2, 3), " and ".join(PHRASES[y][way] for y in range(4))) for way in (0, 1)]
    rows += [((), "nothing at all"), ((), "it is what it is")]
    return [
        Example(f"t{at}", text, labels, source="support" if labels in ((0, 1), (2, 3)) else "train")
        for at, (labels, text) in enumerate(rows)
    ]


def texts(drafts: Iterable[Draft], requests: Sequence[Sequence[int]]) -> list[str]:
    """The text of every request, "" where there is none; no request may have two, and each has the labels asked for."""
    by_request = [""] * len(requests)
    for draft in drafts:
        assert not by_request[draft.request] and draft.labels == tuple(requests[draft.request])
        by_request[draft.request] = draft.text
    return by_request


def backbones(folder: Path, honest: bool = False) -> dict[str, Path]:
    """A random BERT, a random T5 and a GPT-2 that was shortly trained on the toy texts, as model folders; `honest`:
    behind prompts that name their labels."""
    torch.manual_seed(0)
    texts = [e.text for e in examples()]
    words = sorted({word for text in [*texts, *LABELS.phrases] for word in text.split()})
    vocabulary = {token: at for at, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])}
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=48,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder / "encoder")
    BertTokenizer(vocab=vocabulary).save_pretrained(folder / "encoder")

    tokenizer = GPT2Tokenizer(vocab={"<|endoftext|>": 0}).train_new_from_iterator(
        [TASK.source(range(4))] + [f" {text}" for text in texts],
        400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=128, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(config)
    pretrain(model, tokenizer, examples(), honest)
    model.save_pretrained(folder / "decoder")
    tokenizer.save_pretrained(folder / "decoder")

    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        dropout_rate=0.0,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=0,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder / "seq2seq")
    tokenizer.save_pretrained(folder / "seq2seq")
    return {role: folder / role for role in ("encoder", "decoder", "seq2seq")}


def bart(folder: Path, seq2seq: Path) -> Path:
    """A random BART as a model folder, in place of the random T5: learned positions, a mask token, a text begins and
    ends with marks."""
    tokenizer = GPT2Tokenizer.from_pretrained(seq2seq)
    tokenizer.add_special_tokens({"bos_token": "<s>", "mask_token": "<mask>"})
    first, last = (tokenizer.bos_token, tokenizer.bos_token_id), (tokenizer.eos_token, tokenizer.eos_token_id)
    marked = processors.TemplateProcessing(single="<s> $A <|endoftext|>", special_tokens=[first, last])
    tokenizer.backend_tokenizer.post_processor = marked
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
    shape = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "max_position_embeddings": 48, "init_std": 0.15}
    quiet = {"dropout": 0.0, "attention_dropout": 0.0, "forced_eos_token_id": None}
    ends = {"bos_token_id": first[1], "eos_token_id": last[1], "decoder_start_token_id": last[1]}
    torch.manual_seed(0)
    config = BartConfig(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **shape, **heads, **quiet, **ends
    )
    BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def llama(folder: Path, decoder: Path) -> Path:
    """A random Llama as a model folder: fewer heads for keys than for queries, heads wider than their share, rotary
    positions; the tokenizer of that decoder with a beginning-of-text token, which it puts in front of what it reads."""
    tokenizer = GPT2Tokenizer.from_pretrained(decoder)
    tokenizer.add_special_tokens({"bos_token": "<s>"})
    marked = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)])
    tokenizer.backend_tokenizer.post_processor = marked
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "max_position_embeddings": 128}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12}
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), tie_word_embeddings=True, initializer_range=0.2, **shape, **heads, **ends
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def pretrain(model: GPT2LMHeadModel, tokenizer: GPT2Tokenizer, rows_of: list[Example], honest: bool) -> None:
    """A language model of texts behind a prompt: with random labels, so that only a prefix can tell which text follows,
    or with the text's own."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    rng = torch.Generator().manual_seed(0)
    for _ in range(150):
        rows = []
        for at in torch.randint(len(rows_of), (16,), generator=rng).tolist():
            labels = sorted(torch.randperm(4, generator=rng)[: at % 3 + 1].tolist())
            if honest:
                labels = rows_of[at].labels
            rows.append(tokenizer(f"{TASK.source(labels)} {rows_of[at].text}")["input_ids"] + [0])
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
        targets = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
        start = int(torch.randint(40, (1,), generator=rng))  # every position is in use behind some prefix
        model(ids, position_ids=torch.arange(start, start + width)[None], labels=targets).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
