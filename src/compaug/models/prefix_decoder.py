"""A frozen causal decoder behind a prefix of keys and values (paper, Eq. 6), and an encoder-decoder's on states.

A prefix has no position of its own: its keys are used as they are, and the tokens count from where the prefix ends, as
in GPT-2's prefix tuning.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from compaug.models.loading import BaseModelOutput, DynamicCache, EncoderDecoderCache, PreTrainedModel, frozen


@dataclass(frozen=True)
class Shape:
    """What a decoder's prefix has to fit."""

    layers: int
    heads: int  # those with keys and values; with grouped queries fewer than the model's heads
    head: int  # width of one
    width: int  # of the embeddings, H
    positions: int

    @property
    def row(self) -> int:
        """Numbers of one prefix position: keys and values of all layers."""
        return self.layers * 2 * self.heads * self.head


def shape(config) -> Shape:
    """Of a model's configuration, in the names that all families understand."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return Shape(config.num_hidden_layers, heads, head, config.hidden_size, config.max_position_embeddings)


def prefix_cache(prefix: Tensor, model: PreTrainedModel) -> DynamicCache:
    """Keys and values of every layer from a prefix [B, P, Shape.row], in bfloat16 if the model is."""
    batch, width, _ = prefix.shape
    of = shape(model.config)
    prefix = prefix.to(model.dtype) if model.dtype == torch.bfloat16 else prefix
    keys_values = prefix.view(batch, width, of.layers, 2, of.heads, of.head).permute(2, 3, 0, 4, 1, 5)
    return DynamicCache((keys, values) for keys, values in keys_values)  # each [B, heads, P, head]


def rows_of(cache: DynamicCache) -> Tensor:
    """The prefix [B, P, Shape.row] whose `prefix_cache` has these keys and values: what a decoder has read."""
    keys_values = torch.stack([torch.stack([layer.keys, layer.values]) for layer in cache.layers])
    return keys_values.permute(2, 4, 0, 1, 3, 5).flatten(2)  # from [layers, 2, B, heads, P, head]


def positions(mask: Tensor) -> Tensor:
    """Position ids that count the unmasked positions only.  # [B, T]"""
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


class PrefixDecoder(nn.Module):
    """A frozen decoder that reads a prefix: no parameter of it is ever trained and its dropout stays off."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = frozen(model, backward=True)

    def train(self, mode: bool = True) -> PrefixDecoder:
        return super().train(False)

    def token_nll(
        self,
        prefix: Tensor,
        *,
        input_ids: Tensor,
        token_mask: Tensor,
        prefix_mask: Tensor,
        predicts: Tensor,
        targets: Tensor,
    ) -> Tensor:
        """-log P(x_t | x_<t, prefix) of the tokens that count, [n]; only their logits are computed."""
        logits = self.logits(prefix, input_ids, token_mask, prefix_mask, predicts)
        return F.cross_entropy(logits, targets, reduction="none")

    def logits(
        self, prefix: Tensor, input_ids: Tensor, token_mask: Tensor, prefix_mask: Tensor, predicts: Tensor
    ) -> Tensor:
        """Of the token after each of the positions `predicts`.  # [n, vocabulary], float32"""
        mask = torch.cat([prefix_mask, token_mask], dim=1)  # [B, P + T]
        states = self.model.base_model(
            input_ids,
            attention_mask=mask,
            position_ids=positions(mask)[:, prefix_mask.shape[1] :],
            past_key_values=prefix_cache(prefix, self.model),
            use_cache=True,
        ).last_hidden_state  # [B, T, H]
        return self.model.get_output_embeddings()(states.flatten(0, 1)[predicts]).float()


class Step:
    """The decoder behind what it has read, keys and values of B rows and their mask [B, P], as a `sampling.Step`."""

    def __init__(self, decoder: PreTrainedModel, read: DynamicCache, mask: Tensor) -> None:
        self.decoder, self.read, self.mask = decoder, read, mask

    def __call__(self, tokens: Tensor, seen: Tensor, new: int) -> Tensor:
        mask = torch.cat([self.mask, seen], dim=1)  # [B, P + T]
        states = self.decoder.base_model(
            tokens[:, -new:],
            attention_mask=mask,
            position_ids=positions(mask)[:, -new:],
            past_key_values=self.read,
            use_cache=True,
        ).last_hidden_state
        # [B, H], without gaps: of a slice [B, 1, H] with gaps torch multiplies row by row, for which it may copy the
        # vocabulary's matrix.
        return self.decoder.get_output_embeddings()(states[:, -1])

    def keep(self, rows: Tensor) -> None:
        self.read.batch_select_indices(rows)
        self.mask = self.mask[rows]


class Seq2SeqStep:
    """The decoder of an encoder-decoder on states [B, S, H] and their mask [B, S], as a `sampling.Step`."""

    def __init__(self, model: PreTrainedModel, states: Tensor, mask: Tensor) -> None:
        self.model, self.states, self.mask = model, states, mask
        self.cache = EncoderDecoderCache(DynamicCache(), DynamicCache())

    def __call__(self, tokens: Tensor, seen: Tensor, new: int) -> Tensor:
        return self.model(
            encoder_outputs=BaseModelOutput(self.states),
            attention_mask=self.mask,
            decoder_input_ids=tokens[:, -new:],
            past_key_values=self.cache,
            use_cache=True,
        ).logits[:, -1]

    def keep(self, rows: Tensor) -> None:
        self.states, self.mask = self.states[rows], self.mask[rows]
        self.cache.batch_select_indices(rows)
