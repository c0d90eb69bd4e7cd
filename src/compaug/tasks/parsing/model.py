"""A Transformer that reads a sentence and writes its logical form (Vaswani et al. 2017; cartography spec, section 4).

No pre-training, no scaling of embeddings, layer normalisation after each addition, sinusoidal positions; one embedding
for the words of both sides and an output layer of its own. Shapes: B rows, S source words, T target words, D `width`, H
`heads`, V words of the vocabulary.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from compaug.tasks.parsing.vocabulary import BEGIN, END, PAD

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
        """States [B, T, D]. `seen` [B, length] is False at padding of the memory; `causal`: none reads a later one."""
        mask = None if seen is None else seen[:, None, None]
        dropout = self.dropout if self.training else 0.0
        attended = functional.scaled_dot_product_attention(
            self._by_head(self.query(states)), *memory, attn_mask=mask, dropout_p=dropout, is_causal=causal
        )
        return self.out(attended.transpose(1, 2).flatten(2))


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
        """States [B, T, D]. `read`: what each attention has before it, its mask and whether it is causal."""
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
        """States [B, length, D] of words [B, length] and their positions, from `start`."""
        states = self.embedding(numbers)
        return self.dropout(states + positions(start, states.shape[1], states.shape[2]).to(states))

    def read(self, source: Tensor) -> list[Memory]:
        """What each layer of the decoder attends to in the sentences [B, S]."""
        states = self._embedded(source)
        for layer in self.encoder:
            states = layer(states, [(layer.attentions[0].memory(states), source != PAD, False)])
        return [layer.attentions[1].memory(states) for layer in self.decoder]

    def states(self, source: Tensor, written: Tensor) -> Tensor:
        """The last states of the decoder [B, T, D] over the words [B, T] of logical forms, which begin with BEGIN."""
        states = self._embedded(written)
        for layer, sentence in zip(self.decoder, self.read(source), strict=True):
            past = layer.attentions[0].memory(states)  # padding is on the right: no word reads it
            states = layer(states, [(past, None, True), (sentence, source != PAD, False)])
        return states

    def logits(self, source: Tensor, written: Tensor) -> Tensor:
        """Of the word after each of `written` that is none of its padding nor END, row after row: [tokens, V]."""
        return self.output(self.states(source, written[:, :-1])[written[:, 1:] != PAD])

    def forward(self, source: Tensor, written: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Mean -log p of the `targets` [tokens], END being one of each row."""
        return {"loss": functional.cross_entropy(self.logits(source, written).float(), targets)}

    @torch.no_grad()
    def greedy(self, source: Tensor, limits: Sequence[int]) -> list[list[int]]:
        """The most likely word after those before it, until END or the row's own number of words.

        Keys and values of earlier words are kept in place; rows that have ended leave the batch once they are a quarter
        of it.
        """
        sentences, seen = self.read(source), source != PAD
        limit, most = torch.tensor(limits, device=source.device), max(limits)
        before = [tuple(part.new_empty(*part.shape[:2], most, part.shape[3]) for part in both) for both in sentences]
        words = source.new_full((len(source), most), END)
        rows = torch.arange(len(source), device=source.device)  # of `words`, that are still written
        last = source.new_full((len(source), 1), BEGIN)
        ended = limit < 1
        for at in range(most):
            states = self._embedded(last, start=at)
            for layer, kept, sentence in zip(self.decoder, before, sentences, strict=True):
                for part, new in zip(kept, layer.attentions[0].memory(states), strict=True):
                    part[:, :, at] = new[:, :, 0]
                past = tuple(part[:, :, : at + 1] for part in kept)
                states = layer(states, [(past, None, False), (sentence, seen, False)])
            last = self.output(states).argmax(-1)  # [B, 1]
            words[rows, at] = last[:, 0].masked_fill(ended, END)
            ended |= (last[:, 0] == END) | (limit[rows] <= at + 1)
            if 4 * (count := int(ended.sum())) >= len(rows):
                if count == len(rows):
                    break
                on = ~ended
                rows, seen, last, ended = rows[on], seen[on], last[on], ended[on]
                before, sentences = (
                    [tuple(part[on] for part in both) for both in every] for every in (before, sentences)
                )
        return [row[: row.index(END)] if END in row else row for row in words.tolist()]


def positions(start: int, length: int, width: int) -> Tensor:
    """Sines and cosines [length, width] of the positions from `start`, of wave lengths 2 pi to 10,000 * 2 pi."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    angles = torch.arange(start, start + length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
