"""A decoder folder as a language model: many answers at a time, and a prompt that they share is read once."""

import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from compaug.core.files import InputError, file_digest
from compaug.core.records import sub_seed
from compaug.models import prefix_decoder, sampling
from compaug.models.language_models.answers import is_kept, keep
from compaug.models.loading import DynamicCache, frozen, load_decoder
from compaug.training.loop import device

Rows = Sequence[tuple[Mapping, list[int]]]  # requests with the tokens of their prompts


def answer(requests: Sequence[Mapping], decoder: Path, store: Path, batch_size: int) -> None:
    """Answer what is missing, in batches of at most `batch_size`, and keep the answers of each batch.

    Batches are those of all requests, answered or not, so an interrupted run goes on with the same numbers. InputError
    for requests that name another model, for prompts that do not fit, and for messages where the model has no template
    for them.
    """
    name = name_of(decoder)
    if others := {request["model"] for request in requests} - {name}:
        raise InputError(f"{decoder}: is {name}, but {min(others)} was to be asked; train the generator again")
    tokenizer, model = load_decoder(decoder)
    frozen(model)
    rows = [(request, _prompt(tokenizer, request)) for request in requests]
    for request, ids in rows:
        if len(ids) + request["max_tokens"] > (room := prefix_decoder.shape(model.config).positions):
            raise InputError(
                f"{decoder}: a prompt of {len(ids)} tokens and an answer of {request['max_tokens']} exceed its {room} "
                "positions; lower few_shot_words or max_tokens"
            )
    # equal prompts together, others of their length beside
    rows.sort(key=lambda row: (_decoding(row), len(row[1]), row[1]))
    ends = {stop: sampling.tokens_with(tokenizer, stop) for stop in {request.get("stop") for request in requests}}
    alike = [list(group) for _, group in groupby(rows, _decoding)]
    batches = [group[at : at + batch_size] for group in alike for at in range(0, len(group), batch_size)]
    missing = [batch for batch in batches if not all(is_kept(store, request) for request, _ in batch)]
    shown = sys.stderr.isatty()
    for batch in tqdm(missing, "answers", unit="batch", leave=False, disable=not shown):
        for (request, _), reply in zip(batch, _answers(tokenizer, model, batch, ends), strict=True):
            keep(store, request, reply)


def name_of(decoder: Path) -> str:
    """What a request calls the model of that folder: its bytes."""
    return f"sha256:{file_digest(decoder)}"


def _decoding(row: tuple[Mapping, list[int]]) -> tuple:
    """What all requests of a batch have in common."""
    request, _ = row
    return *(request[name] for name in ("temperature", "top_p", "top_k", "max_tokens")), request.get("stop") or ""


def _prompt(tokenizer, request: Mapping) -> list[int]:
    if "prompt" in request:
        if not (ids := tokenizer(request["prompt"])["input_ids"]):
            raise InputError("a language model was given an empty prompt")
        return ids
    if tokenizer.chat_template is None:
        raise InputError(f"{tokenizer.name_or_path}: has no chat template, so it takes no messages; give a chat model")
    return tokenizer.apply_chat_template(request["messages"], add_generation_prompt=True, return_dict=False)


def _answers(tokenizer, model, batch: Rows, ends: Mapping[str | None, Tensor]) -> list[dict]:
    """What is kept of the answers to requests with the same decoding."""
    where, request = device(), batch[0][0]
    options = SimpleNamespace(
        max_length=request["max_tokens"] + 1,  # the last token of the prompt stands before the answer
        temperature=request["temperature"] or 1.0,
        top_k=request["top_k"] if request["temperature"] else 1,
        top_p=request["top_p"],
        no_repeat_ngram=0,
    )
    noise = [np.random.default_rng(sub_seed(query["seed"], "tokens")).random(options.max_length) for query, _ in batch]
    uniforms = torch.tensor(np.stack(noise), dtype=torch.float32, device=where)
    stop = request.get("stop")
    with sampling.inference(where):
        step = prefix_decoder.Step(model, *_read(model, [ids[:-1] for _, ids in batch]))
        last = [ids[-1:] for _, ids in batch]
        written = sampling.sample_tokens(step, last, uniforms, tokenizer.eos_token_id, options, ends[stop].to(where))
    replies = []
    for (_, ids), tokens in zip(batch, written, strict=True):
        text, stopped, _ = tokenizer.decode(tokens, skip_special_tokens=True).partition(stop or "\0")
        cut = len(tokens) == request["max_tokens"] and not stopped
        usage = {"prompt_tokens": len(ids), "completion_tokens": len(tokens)}
        facts = {"refusal": None, "finish_reason": "length" if cut else "stop", "usage": usage}
        replies.append({"content": text.strip(), **facts})
    return replies


def _read(model, prompts: Sequence[list[int]]) -> tuple[DynamicCache, Tensor]:
    """Keys and values of the prompts, padded on the left, and their mask [B, P]; equal neighbours are read once."""
    longest, of = max(map(len, prompts)), prefix_decoder.shape(model.config)
    where = device()
    mask = torch.zeros(len(prompts), longest, dtype=torch.long, device=where)
    empty = (len(prompts), of.heads, longest, of.head)
    keys_values = [tuple(torch.zeros(empty, dtype=model.dtype, device=where) for _ in "kv") for _ in range(of.layers)]
    at = 0
    for ids, same in groupby(prompts):
        rows = slice(at, at := at + len(list(same)))
        if not ids:
            continue
        mask[rows, -len(ids) :] = 1
        read = model.base_model(torch.tensor([ids], device=where), use_cache=True).past_key_values
        for (keys, values), layer in zip(keys_values, read.layers, strict=True):
            keys[rows, :, -len(ids) :], values[rows, :, -len(ids) :] = layer.keys, layer.values
    return DynamicCache(keys_values), mask
