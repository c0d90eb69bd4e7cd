"""Pre-trained models as plain local folders: loading, losses, token states.

Only safetensors are read, no code from a folder is run, and nothing is fetched.
"""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DynamicCache,
    EncoderDecoderCache,
    PreTrainedModel,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils import logging

from compaug.core.files import InputError, read_json
from compaug.models import one_query
from compaug.training.batching import batches_by_length
from compaug.training.loop import device, reduced

__all__ = ["BaseModelOutput", "DynamicCache", "EncoderDecoderCache", "PreTrainedModel"]  # for others

IGNORED = -100  # label id that a language-model loss skips
TOO_LONG = "sequence-length-is-longer-than-the-specified-maximum"  # a warning of transformers
CONFIGURATIONS = ("config.json", "generation_config.json", "tokenizer_config.json")
WEIGHTS, WEIGHTS_INDEX = "model.safetensors", "model.safetensors.index.json"
DEPTHS = ("num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers")
HEADS = ("num_attention_heads", "num_key_value_heads", "n_head", "num_heads", "decoder_attention_heads")
TOKENIZER_FILES = (("tokenizer.json",), ("vocab.txt",), ("vocab.json", "merges.txt"), ("spiece.model",))


class LanguageModelLoss(torch.nn.Module):
    """A causal language model as `loop.fit` wants it: the mean cross-entropy of the labelled next tokens."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, labels: torch.Tensor, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        """`labels` [B, T] are the ids themselves, IGNORED where nothing is to be learned; the shift happens here."""
        logits = self.model(**inputs).logits[:, :-1]  # [B, T - 1, V]
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=IGNORED
        )
        return {"loss": loss}


class Seq2SeqLoss(torch.nn.Module):
    """An encoder-decoder as `loop.fit` wants it: the mean cross-entropy of the target tokens."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, labels: torch.Tensor, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        """`labels` [B, T] are the target ids, IGNORED on padding; the decoder reads them shifted by one."""
        read = self.model.prepare_decoder_input_ids_from_labels(labels=labels)
        logits = self.model(**inputs, decoder_input_ids=read, use_cache=False).logits  # [B, T, V]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED)
        return {"loss": loss}


def load_encoder(folder: Path | str):
    """(tokenizer, model) of an encoder in evaluation mode, float32, without its pooling layer, which nothing reads.

    InputError when a file is missing, the weights are pickled or do not fit the configuration, or the folder holds a
    decoder.
    """
    tokenizer, model = _load(folder, AutoModel)
    if tokenizer.cls_token is None or tokenizer.pad_token is None:
        raise InputError(
            f"{folder}: the tokenizer has no [CLS] or [PAD] token, so this is not an encoder; give a BERT-like model"
        )
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return tokenizer, model


def load_decoder(folder: Path | str):
    """(tokenizer, model) of a causal language model in evaluation mode, float32.

    It pads on the right with the end-of-text id, because the reference code's [PAD] would add a row to the tied, frozen
    embedding matrix. Hence: mask by `attention_mask`, never by comparing ids with the pad id, for the end of text is
    learned. InputError as in `load_encoder`.
    """
    tokenizer, model = _load(folder, AutoModelForCausalLM)
    if tokenizer.eos_token is None:
        raise InputError(
            f"{folder}: the tokenizer has no end-of-text token, so this is not a decoder; give a GPT-2-like model"
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "right"
    if model.config.model_type == "gpt2":  # its activation is the same function in one kernel, not seven
        for block in model.transformer.h:
            block.mlp.act = torch.nn.GELU(approximate="tanh")
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return tokenizer, model


def frozen(model: PreTrainedModel, backward: bool = False) -> PreTrainedModel:
    """The model on `device()`, with nothing of it to be trained and its dropout off.

    Where a CPU computes in bfloat16 its weights are turned once (autocast, which a GPU leaves them to, would do so at
    every call). With `backward`, where what stands before the model is trained through it, attention is spelled out
    there: torch's kernel for it takes longer backwards than all matrix products together.
    """
    where = device()
    model = model.to(where).requires_grad_(False).eval()
    if where.type == "cpu" and reduced(where):
        model.set_attn_implementation("eager" if backward else one_query.implementation())
        model.to(torch.bfloat16)
        # of a slice with gaps torch copies the vocabulary's matrix for every row
        if (head := model.get_output_embeddings()) is not None:
            head.register_forward_pre_hook(lambda _, states: (states[0].contiguous(),))
    return model


def load_seq2seq(folder: Path | str):
    """(tokenizer, model) of a T5-shaped encoder-decoder in evaluation mode, float32.

    InputError as in `load_encoder`.
    """
    tokenizer, model = _load(folder, AutoModelForSeq2SeqLM)
    if tokenizer.eos_token is None or tokenizer.pad_token is None or model.config.decoder_start_token_id is None:
        raise InputError(
            f"{folder}: has no end-of-text, padding or decoder start token, so this is not a sequence-to-sequence "
            "model; give a T5-like model"
        )
    return tokenizer, model


LOADERS = {"encoder": load_encoder, "decoder": load_decoder, "seq2seq": load_seq2seq}  # by role


def check_files(folder: Path | str) -> None:
    """InputError naming the first file that a model folder lacks."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such model folder; run the backbones stage or mend the path")
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: config.json is missing; a model folder has config.json, {WEIGHTS} and a tokenizer")
    for file in CONFIGURATIONS:
        if (folder / file).is_file():
            read_json(folder / file, dict[str, Any], "fetch the folder again")  # transformers takes NaN for a number
    for name in _weight_files(folder):
        if not (folder / name).is_file():
            raise InputError(
                f"{folder}: {name} is missing; pickled weights (pytorch_model.bin) are refused, "
                "save them with safetensors"
            )
    if not any(all((folder / name).is_file() for name in names) for names in TOKENIZER_FILES):
        expected = ", ".join(" + ".join(names) for names in TOKENIZER_FILES)
        raise InputError(f"{folder}: the tokenizer files are missing; expected one of {expected}")


def _weight_files(folder: Path) -> list[str]:
    """The weights of a folder: one file, or the parts that its index names."""
    if (folder / WEIGHTS).is_file() or not (folder / WEIGHTS_INDEX).is_file():
        return [WEIGHTS]
    index = read_json(folder / WEIGHTS_INDEX, dict[str, Any], "fetch the folder again")
    return sorted(set(index["weight_map"].values()))


def _check_sizes(folder: Path) -> None:
    """InputError where a model of these sizes would be built for ever, or could be built and would not run.

    That is where the configuration has more layers than the weights have tensors, or a number of heads below one.
    """
    config = read_json(folder / "config.json", dict[str, Any])
    if any(isinstance(config.get(name), int) and config[name] < 1 for name in HEADS):
        raise InputError(f"{folder}: config.json: a number of heads is below one; fetch the folder again")
    layers = max((depth for depth in map(config.get, DEPTHS) if isinstance(depth, int)), default=0)
    tensors = 0
    for name in _weight_files(folder):
        with safe_open(folder / name, "pt") as weights:
            tensors += len(weights.keys())
    if layers > tensors:
        raise InputError(
            f"{folder}: config.json says more layers than {WEIGHTS} has tensors, {tensors}; fetch the folder again"
        )


def _load(folder: Path | str, architecture):
    check_files(folder)
    try:
        _check_sizes(Path(folder))
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model, report = architecture.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
    except InputError:
        raise
    except Exception as error:  # a damaged folder fails in many places of three libraries, each with its own errors
        fault = f"cannot be loaded as a model ({' '.join(str(error).split())[:300]})"
        if "Unrecognized configuration class" in str(error):
            fault = "it is another kind of model than this backbone's; mend the path or the role"
        elif "ignore_mismatched_sizes" in str(error):
            fault = f"{WEIGHTS} has other sizes than config.json says; fetch the folder again"
        raise InputError(f"{folder}: {fault}") from error
    if absent := sorted(name for name in report["missing_keys"] if "pooler" not in name):
        raise InputError(
            f"{folder}: {WEIGHTS} has no weights for {absent[0]} ({len(absent)} missing); it is another kind of model"
        )
    if len(tokenizer) > (n_embeddings := model.get_input_embeddings().num_embeddings):
        raise InputError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens but the model knows {n_embeddings}; "
            "take both from the same model"
        )
    tokenizer.deprecation_warnings[TOO_LONG] = True  # as if it had been said: whoever has longer texts read cuts them
    return tokenizer, model.eval()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' load reports and bars: what matters in them is checked and becomes an InputError."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def load_tensors(path: Path | str) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file by name; InputError where there is none, or it is damaged."""
    try:
        return load_file(path)
    except (FileNotFoundError, SafetensorError) as error:
        raise InputError(f"{path}: missing or damaged ({error}); remove its folder, train the model again") from None


def save(folder: Path | str, tokenizer, model) -> None:
    """Write a model folder: config.json, model.safetensors and the tokenizer."""
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def pad(rows: Sequence[Sequence[int]], value: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ids [B, T] and their mask [B, T] (1 on real tokens)."""
    longest = max(map(len, rows))
    ids = torch.tensor([list(row) + [value] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return ids, mask


def say_cut(what: str, cut: int, of: int, max_length: int) -> None:
    """A line on standard error where texts lose their ends."""
    if cut:
        print(
            f"note: {what}: {cut} of {of} texts ({cut / of:.1%}) are longer than max_length, {max_length} tokens, "
            "and are cut",
            file=sys.stderr,
        )


def read_texts(
    model,
    tokenizer,
    texts: Sequence[str],
    max_length: int,
    batch_size: int,
    special_tokens: bool = True,
    keep_states: bool = True,
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """(means, states) of the last layer for each text, on the CPU, from one reading in length buckets.

    The mask-aware means of token states [n, H], and with `keep_states` these themselves, [T, H] each, padding removed.
    Texts are cut at `max_length` tokens (special ones included) or at what the model can take. With
    `special_tokens=False` the states of [CLS] and [SEP] are left out; they still take part in the attention. A text
    without any token then has the zero vector as its mean.
    """
    means = torch.zeros(len(texts), model.config.hidden_size)
    states: list[torch.Tensor] = [torch.empty(0)] * len(texts) if keep_states else []
    for rows, hidden, kept in _hidden_batches(model, tokenizer, texts, max_length, batch_size, special_tokens):
        weights = kept.unsqueeze(-1).to(hidden.dtype)  # [B, T, 1]
        means[rows] = ((hidden * weights).sum(1) / weights.sum(1).clamp(min=1)).cpu()  # [B, H]
        if keep_states:
            hidden, kept = hidden.cpu(), kept.cpu()
            for row, row_states, row_kept in zip(rows, hidden, kept, strict=True):
                states[row] = row_states[row_kept]  # [T, H]
    return means, states


def mean_states(*args, **options) -> torch.Tensor:
    """The means of `read_texts`."""
    return read_texts(*args, **options, keep_states=False)[0]


def _positions(model) -> int:
    """How many tokens an encoder can take: where padding has a position (MPNet), others begin behind it."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    before = 0 if getattr(table, "padding_idx", None) is None else table.padding_idx + 1
    return model.config.max_position_embeddings - before


@torch.no_grad()
def _hidden_batches(
    model, tokenizer, texts: Sequence[str], max_length: int, batch_size: int, special_tokens: bool
) -> Iterator[tuple[list[int], torch.Tensor, torch.Tensor]]:
    """Row numbers, states [B, T, H] and the mask of the positions asked for [B, T], batch by batch."""
    if not texts:
        return
    limit = min(max_length, _positions(model))
    tokens = tokenizer(list(texts), truncation=True, max_length=limit, return_special_tokens_mask=True)
    for rows in batches_by_length([len(ids) for ids in tokens["input_ids"]], batch_size):
        ids, mask = pad([tokens["input_ids"][row] for row in rows], tokenizer.pad_token_id)
        special, _ = pad([tokens["special_tokens_mask"][row] for row in rows], 1)
        ids, mask, special = (tensor.to(model.device) for tensor in (ids, mask, special))
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state  # [B, T, H]
        yield rows, hidden, (mask if special_tokens else mask * (1 - special)).bool()
