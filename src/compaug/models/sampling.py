"""The one sampling loop of all decoders (docs/spec/ld-vae.md, 5): top-k, top-p, no repeated n-grams.

A generator gives, for a batch of requests, their first tokens and a `Step`, that is a model with its cache of keys and
values. The noise of a request depends on the seed and its number alone, so neither batching nor the number of processes
changes its text.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from torch import Tensor
from tqdm import tqdm

from compaug.core.records import sub_seed
from compaug.training.batching import batches_by_length
from compaug.training.loop import device, reduced


class Step(Protocol):
    """One step of a batch."""

    def __call__(self, tokens: Tensor, seen: Tensor, new: int) -> Tensor:
        """Logits [B, vocabulary] after `tokens` [B, T], of which the last `new` columns are not in the cache yet;
        `seen` [B, T] is 0 on padding, which is on the left."""

    def keep(self, rows: Tensor) -> None:
        """Forget all rows of the batch but these."""


def sample_texts(
    begin: Callable[[list[int]], tuple[Step, list[list[int]]]], lengths: Sequence[int], tokenizer, synthesis, seed: int
) -> list[str]:
    """One text per request, without prompt and newlines; requests with different compositions share batches.

    `begin(requests)` gives the step and the first tokens of a batch of request numbers; `lengths` [n] sort the requests
    into batches. Under several processes each samples its share and all get all texts.
    """
    where, state = device(), PartialState()
    batches = batches_by_length(lengths, synthesis.batch_size)[state.process_index :: state.num_processes]
    texts = []
    with inference(where):
        for requests in tqdm(batches, desc="texts", unit="batch", leave=False, disable=not sys.stderr.isatty()):
            step, prompts = begin(requests)
            noise = [np.random.default_rng(sub_seed(seed, "tokens", i)).random(synthesis.max_length) for i in requests]
            uniforms = torch.tensor(np.stack(noise), dtype=torch.float32, device=where)
            tokens = sample_tokens(step, prompts, uniforms, tokenizer.eos_token_id, synthesis)
            texts += zip(requests, tokenizer.batch_decode(tokens, skip_special_tokens=True), strict=True)
    by_request = dict(gather_object(texts))
    return [" ".join(by_request[i].split()) for i in range(len(lengths))]


@contextlib.contextmanager
def inference(where: torch.device) -> Iterator[None]:
    """Without gradients, and in bfloat16 where `loop.reduced` says so."""
    with torch.inference_mode(), torch.autocast(where.type, torch.bfloat16, enabled=reduced(where)):
        yield


def left_padded(prompts: Sequence[Sequence[int]], where: torch.device, fill: int = 0) -> tuple[Tensor, Tensor]:
    """The first tokens of a batch and where they are none.  # both [B, T]"""
    width = max(map(len, prompts))
    tokens = torch.tensor([[fill] * (width - len(ids)) + list(ids) for ids in prompts], device=where)
    return tokens, torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts], device=where)


def tokens_with(tokenizer, stop: str | None) -> Tensor:
    """Which tokens have that string in them, or, with None, no token.  # [vocabulary]"""
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    return torch.tensor([stop is not None and stop in text for text in texts])


def sample_tokens(
    step: Step,
    prompts: Sequence[Sequence[int]],
    uniforms: Tensor,
    eos: int,
    synthesis,
    ends: Tensor | None = None,
) -> list[list[int]]:
    """Continue the prompts until EOS, a token of `ends` [vocabulary] or `synthesis.max_length` tokens with prompt.

    `uniforms` [B, >= steps] are the random numbers of the rows, one per token. Returns the new tokens, without EOS.
    """
    where, (tokens, seen) = uniforms.device, left_padded(prompts, uniforms.device, eos)
    width = tokens.shape[1]
    room = torch.tensor([synthesis.max_length - len(ids) for ids in prompts], device=where)
    results: list[list[int]] = [[] for _ in prompts]
    alive = torch.arange(len(prompts), device=where)
    for at in range(int(room.max())):
        logits = step(tokens, seen, 1 if at else width)  # [B, vocabulary]
        if synthesis.no_repeat_ngram:
            ban_repeats(logits, tokens, seen, synthesis.no_repeat_ngram)
        chosen = choose(logits, uniforms[alive, at], synthesis)  # [B]
        tokens = torch.cat([tokens, chosen[:, None]], dim=1)
        seen = torch.cat([seen, torch.ones_like(chosen)[:, None]], dim=1)
        ended = (chosen == eos) | (room <= at + 1)
        if ends is not None:
            ended |= ends[chosen]
        if ended.any():
            for row, ids in zip(alive[ended].tolist(), tokens[ended, width:].tolist(), strict=True):
                results[row] = ids[:-1] if ids[-1] == eos else ids
            keep = (~ended).nonzero().squeeze(1)
            if not len(keep):
                break
            step.keep(keep)
            tokens, seen, room, alive = (t[keep] for t in (tokens, seen, room, alive))
    return results


def ban_repeats(logits: Tensor, tokens: Tensor, seen: Tensor, n: int) -> None:
    """Set to -inf, in place, every token that would complete an n-gram that the row (prompt included) already has."""
    if tokens.shape[1] < n:
        return
    ngrams = tokens.masked_fill(seen == 0, -1).unfold(1, n, 1)  # [B, windows, n]
    last = tokens[:, None, tokens.shape[1] - n + 1 :]  # [B, 1, n - 1]
    repeats = (ngrams[..., :-1] == last).all(dim=-1) & (ngrams >= 0).all(dim=-1)  # [B, windows]
    counts = torch.zeros_like(logits).scatter_add_(1, ngrams[..., -1].clamp(min=0), repeats.to(logits.dtype))
    logits.masked_fill_(counts > 0, -torch.inf)


def choose(logits: Tensor, uniform: Tensor, synthesis) -> Tensor:
    """Temperature, then top-k, then top-p, then one multinomial draw per row by inverting its distribution function.

    One uniform number per row ([B]) instead of a shared generator: a row's draws do not depend on its neighbours.
    `top_k` 1 is greedy decoding, 0 is no limit.
    """
    limit = min(synthesis.top_k or logits.shape[-1], logits.shape[-1])
    top, tokens = (logits.float() / synthesis.temperature).topk(limit, dim=-1)
    probabilities = top.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    probabilities = probabilities.masked_fill(before >= synthesis.top_p, 0.0)  # the most likely token always stays
    reached = probabilities.cumsum(dim=-1)
    drawn = (reached <= uniform[:, None] * reached[:, -1:]).sum(dim=-1)
    last = (probabilities > 0).sum(dim=-1) - 1  # rounding must not lead past the last possible token
    return tokens.gather(1, drawn.minimum(last)[:, None]).squeeze(1)
