"""A Transformer that reads a sentence and writes its logical form (Vaswani et al. 2017; cartography spec, section 4).

No pre-training, no scaling of embeddings, layer normalisation after each addition, sinusoidal positions; one embedding for the words of both
sides and an output layer of its own. Shapes: B rows, S source words, T target words, D `width`, H `heads`, V words of the vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from compaug.parsing.vocabulary import BEGIN, END, PAD

Memory = tuple[Tensor, Tensor]  # keys and values that can be attended to, [B, H, length, D / H] each


class Attention(nn.Module):
    """Of `heads` heads, softmax(q k / sqrt(D / H)) v."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def _by_head(self, states: Tensor) -> Tensor:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [B, H, length, D / H]

    def memory(self, states: Tensor) -> Memory:
        """What later words may read of `states` [B, length, D]."""
        return self._by_head(self.key(states)), self._by_head(self.value(states))

    def forward(self, states: Tensor, memory: Memory, seen: Tensor | None = None, causal: bool = False) -> Tensor:
        """`seen` [B, length] is False where the memory is padding; `causal`: a state reads no later one.  # [B, T, D]"""
        mask = None if seen is None else seen[:, None, None]
        dropout = self.dropout if self.training else 0.0
        found = functional.scaled_dot_product_attention(
            self._by_head(self.query(states)), *memory, attn_mask=mask, dropout_p=dropout, is_causal=causal
        )
        return self.out(found.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """Attention to its own side, of a decoder to the sentence too, and a feed-forward part."""

    def __init__(self, size, reads_source: bool) -> None:
        super().__init__()
        attentions = 2 if reads_source else 1
        self.attentions = nn.ModuleList(Attention(size.width, size.heads, size.dropout) for _ in range(attentions))
        self.feed = nn.Sequential(
            nn.Linear(size.width, size.inner),
            nn.ReLU(),
            nn.Dropout(size.dropout),
            nn.Linear(size.inner, size.width),
        )
        self.norms = nn.ModuleList(nn.LayerNorm(size.width) for _ in range(attentions + 1))
        self.dropout = nn.Dropout(size.dropout)

    def forward(self, states: Tensor, read: list[tuple[Memory, Tensor | None, bool]]) -> Tensor:
        """`read`: what each attention has before it, its mask and whether it is causal.  # [B, T, D]"""
        for attention, norm, before in zip(self.attentions, self.norms, read, strict=False):
            states = norm(states + self.dropout(attention(states, *before)))
        return self.norms[-1](states + self.dropout(self.feed(states)))


class Parser(nn.Module):
    """`size` is a `parameters.Size`, `words` the length of the vocabulary."""

    def __init__(self, size, words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, size.width)  # N(0, 1), as the unscaled embeddings of the paper
        self.dropout = nn.Dropout(size.dropout)
        self.encoder = nn.ModuleList(Layer(size, False) for _ in range(size.layers))
        self.decoder = nn.ModuleList(Layer(size, True) for _ in range(size.layers))
        self.output = nn.Linear(size.width, words)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and not name.startswith("embedding"):
                nn.init.xavier_uniform_(parameter)

    def _embedded(self, numbers: Tensor, start: int = 0) -> Tensor:
        """Words [B, length] and their positions, from `start`.  # [B, length, D]"""
        states = self.embedding(numbers)
        return self.dropout(states + positions(start, states.shape[1], states.shape[2]).to(states))

    def read(self, source: Tensor) -> list[Memory]:
        """What each layer of the decoder attends to in the sentences [B, S]."""
        states = self._embedded(source)
        for layer in self.encoder:
            states = layer(states, [(layer.attentions[0].memory(states), source != PAD, False)])
        return [layer.attentions[1].memory(states) for layer in self.decoder]

    def states(self, source: Tensor, written: Tensor) -> Tensor:
        """The last states of the decoder over the words [B, T] of logical forms, which begin with BEGIN.  # [B, T, D]"""
        states = self._embedded(written)
        for layer, sentence in zip(self.decoder, self.read(source), strict=True):
            own = layer.attentions[0].memory(states)  # padding is on the right: no word reads it
            states = layer(states, [(own, None, True), (sentence, source != PAD, False)])
        return states

    def logits(self, source: Tensor, written: Tensor) -> Tensor:
        """Of the word after each of `written` that is none of its padding nor END, row after row.  # [tokens, V]"""
        return self.output(self.states(source, written[:, :-1])[written[:, 1:] != PAD])

    def forward(self, source: Tensor, written: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Mean -log p of the `targets` [tokens], END being one of each row."""
        return {"loss": functional.cross_entropy(self.logits(source, written).float(), targets)}

    @torch.no_grad()
    def greedy(self, source: Tensor, limit: int) -> list[list[int]]:
        """The most likely word after those before it, until END or `limit` words; keys and values of earlier words are kept."""
        sentences = self.read(source)
        before: list[Memory | None] = [None] * len(self.decoder)
        written = source.new_full((len(source), 1), BEGIN)
        ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        while written.shape[1] <= limit and not ended.all():
            states = self._embedded(written[:, -1:], start=written.shape[1] - 1)
            for at, (layer, sentence) in enumerate(zip(self.decoder, sentences, strict=True)):
                own = layer.attentions[0].memory(states)
                if before[at] is not None:
                    own = tuple(torch.cat(parts, dim=2) for parts in zip(before[at], own, strict=True))
                before[at] = own
                states = layer(states, [(own, None, False), (sentence, source != PAD, False)])
            best = self.output(states[:, 0]).argmax(-1)
            ended |= best == END
            written = torch.cat([written, best[:, None]], dim=1)
        rows = written[:, 1:].tolist()
        return [row[: row.index(END)] if END in row else row for row in rows]


def positions(start: int, length: int, width: int) -> Tensor:
    """Sines and cosines of the positions from `start`, of wave lengths 2 pi to 10,000 * 2 pi.  # [length, width]"""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    angles = torch.arange(start, start + length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
