"""The two bodies of LINDA: what reads a text into states, what writes one from mixed states (LINDA, §3.2 and §4).

A body is a module with

    sources(texts, max_length) -> ids and word numbers of each text; targets(texts, max_length) -> ids of each
    encode(input_ids, mask) -> states of a text's tokens                                      # [B, L, H] from [B, L]
    nll(mixed, mask, labels) -> -log p of the target tokens behind mixed states, 0 on padding  # [n B, T]
    begin(mixed, mask) -> a `sampling.Step` on mixed states and the first tokens of a text
    save(folder) -> None, what was trained of the models that it was made of
    pad_id, mask_id; `tokenizer`, that of what it writes; `room`, how many tokens it can write

The rows of `nll` are n targets of each row in turn. `EncoderDecoder` is the article's: any encoder-decoder of
transformers, BART or T5, all of whose weights are trained. The others are ours, around a frozen decoder of any kind,
which writes behind a prefix. `PrefixBody`: a frozen encoder reads, and a small network turns mixed states into the
prefix. `ReadingBody`: the decoder reads the mixed text itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from compaug.generators.shared.tokens import cut, token_ids
from compaug.models import prefix_decoder
from compaug.models.loading import IGNORED, BaseModelOutput, DynamicCache, PreTrainedModel, save

# of each text its token ids and, for each of them, the number of its word; -1 for a mark
Sources = list[tuple[list[int], list[int]]]
ASKED, AGAIN = "Repeat this text.\nText:", "\nText:"  # before a text that a decoder is to repeat, and behind it
FIRST_SENTINEL = "<extra_id_0>"  # with which T5 was trained to stand for words


def sources(tokenizer, texts: Sequence[str], max_length: int, end: int | None = None, marks: bool = True) -> Sources:
    """Texts as an encoder reads them, with its marks, cut at `max_length` tokens; `end` is appended where missing."""
    encoded = tokenizer(list(texts), truncation=True, max_length=max_length, add_special_tokens=marks)
    rows = []
    for at, ids in enumerate(encoded["input_ids"]):
        words = [-1 if word is None else word for word in encoded.word_ids(at)]
        if end is not None and ids[-1:] != [end]:
            ids, words = [*ids[: max_length - 1], end], [*words[: max_length - 1], -1]
        rows.append((list(ids), words))
    return rows


def mask_token(tokenizer) -> int | None:
    """The token of a masked word: <mask>, T5's first sentinel, or that of an unknown word; None without any."""
    sentinel = tokenizer.get_vocab().get(FIRST_SENTINEL)
    candidates = (tokenizer.mask_token_id, sentinel, tokenizer.unk_token_id)
    return next((token for token in candidates if token is not None), None)


class EncoderDecoder(nn.Module):
    """BART, T5 and their relatives: the decoder's cross-attention reads the mixed states."""

    def __init__(self, tokenizer, model: PreTrainedModel) -> None:
        super().__init__()
        self.tokenizer, self.model = tokenizer, model
        self.pad_id, self.mask_id, self.width = tokenizer.pad_token_id, mask_token(tokenizer), model.config.hidden_size
        self.room = getattr(model.config, "max_position_embeddings", None) or math.inf

    def sources(self, texts: Sequence[str], max_length: int) -> Sources:
        return sources(self.tokenizer, texts, min(max_length, self.room), self.tokenizer.eos_token_id)

    def targets(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        """With the marks that the model's family puts around a text; one that is cut has no end."""
        end = self.tokenizer.eos_token_id
        ids = self.tokenizer(list(texts))["input_ids"]
        return cut([row if row[-1:] == [end] else [*row, end] for row in ids], max_length)

    def save(self, folder: Path) -> None:
        """As a model folder: all of its weights were trained."""
        save(folder, self.tokenizer, self.model)

    def encode(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        return self.model.get_encoder()(input_ids=input_ids, attention_mask=mask).last_hidden_state

    def nll(self, mixed: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        times = len(labels) // len(mixed)
        logits = self.model(
            encoder_outputs=BaseModelOutput(mixed.repeat(times, 1, 1)),
            attention_mask=mask.repeat(times, 1),
            decoder_input_ids=self.model.prepare_decoder_input_ids_from_labels(labels=labels),
            use_cache=False,
        ).logits  # [n B, T, V]
        flat = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED, reduction="none")
        return flat.view_as(labels)

    def begin(self, mixed: Tensor, mask: Tensor) -> tuple[prefix_decoder.Seq2SeqStep, list[int]]:
        return prefix_decoder.Seq2SeqStep(self.model, mixed, mask), [self.model.config.decoder_start_token_id]


class DecoderBody(nn.Module):
    """A frozen decoder that writes behind a prefix of mixed states and the token `start`.

    `prefix(mixed, mask)` gives the prefix rows [B, P, prefix_decoder.Shape.row] and their mask [B, P].
    """

    def __init__(self, tokenizer, decoder) -> None:
        super().__init__()
        self.tokenizer, self.decoder = tokenizer, prefix_decoder.PrefixDecoder(decoder)
        self.start = tokenizer.eos_token_id  # as in a stream of documents

    def targets(self, texts: Sequence[str], max_length: int) -> list[list[int]]:
        ids = token_ids(self.tokenizer, [f" {text}" for text in texts])
        return cut([[*row, self.tokenizer.eos_token_id] for row in ids], max_length)

    def save(self, folder: Path) -> None:
        """Nothing: encoder and decoder are the backbones."""

    def nll(self, mixed: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        times, counted = len(labels) // len(mixed), labels != IGNORED
        start = labels.new_full((len(labels), 1), self.start)
        rows, mask = self.prefix(mixed, mask)
        flat = self.decoder.token_nll(
            rows.repeat(times, 1, 1),
            input_ids=torch.cat([start, labels[:, :-1].masked_fill(~counted[:, :-1], 0)], dim=1),
            token_mask=counted.long(),
            prefix_mask=mask.repeat(times, 1),
            predicts=counted.flatten().nonzero().squeeze(1),
            targets=labels[counted],
        )
        return torch.zeros(labels.shape, device=labels.device).masked_scatter(counted, flat)

    def begin(self, mixed: Tensor, mask: Tensor) -> tuple[prefix_decoder.Step, list[int]]:
        model, (rows, mask) = self.decoder.model, self.prefix(mixed, mask)
        return prefix_decoder.Step(model, prefix_decoder.prefix_cache(rows, model), mask), [self.start]


class PrefixBody(DecoderBody):
    """A frozen encoder, a frozen decoder, and between them prefix row j = W2 tanh(W1 h~_j + p_j + b) + c.

    W1 stands before the mixing: the states h are W1 times those of the frozen encoder. p is the place in the mixed
    sequence, which a decoder cannot tell from a prefix row.
    """

    def __init__(self, encoder_tokenizer, encoder, tokenizer, decoder, mid_dim: int, longest: int) -> None:
        super().__init__(tokenizer, decoder)
        self.encoder_tokenizer = encoder_tokenizer
        self.encoder = encoder.requires_grad_(False).eval()
        self.pad_id, self.mask_id = encoder_tokenizer.pad_token_id, mask_token(encoder_tokenizer)
        self.longest = min(longest, encoder.config.max_position_embeddings)  # tokens of a source, so rows of a prefix
        self.room = prefix_decoder.shape(decoder.config).positions - self.longest
        self.width = mid_dim
        self.inner = nn.Linear(encoder.config.hidden_size, mid_dim)
        self.places = nn.Embedding(self.longest, mid_dim)
        self.outer = nn.Linear(mid_dim, prefix_decoder.shape(decoder.config).row)

    def train(self, mode: bool = True) -> PrefixBody:
        super().train(mode)
        self.encoder.eval()
        return self

    def sources(self, texts: Sequence[str], max_length: int) -> Sources:
        return sources(self.encoder_tokenizer, texts, min(max_length, self.longest))

    def encode(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        with torch.no_grad():
            states = self.encoder(input_ids=input_ids, attention_mask=mask).last_hidden_state
        return self.inner(states)

    def prefix(self, mixed: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return self.outer(torch.tanh(mixed + self.places.weight[: mixed.shape[1]])), mask


class ReadingBody(DecoderBody):
    """A frozen decoder that reads the mixed text itself, in a prompt to repeat it.

    The text's tokens are h = A e of embeddings e. A, which begins as the identity, and the embeddings of the words
    around the text are all that is trained.
    """

    def __init__(self, tokenizer, decoder, longest: int) -> None:
        super().__init__(tokenizer, decoder)
        before, behind = (tokenizer(words, add_special_tokens=False)["input_ids"] for words in (ASKED, AGAIN))
        *behind, self.start = behind
        of, around = prefix_decoder.shape(decoder.config), len(before) + len(behind)
        self.pad_id, self.mask_id = tokenizer.eos_token_id, mask_token(tokenizer)
        self.longest, self.width = min(longest, of.positions - around), of.width
        self.room = of.positions - self.longest - around
        self.inner = nn.Linear(of.width, of.width)
        nn.init.eye_(self.inner.weight)
        nn.init.zeros_(self.inner.bias)
        embeddings = decoder.get_input_embeddings().weight.detach().float()
        self.before, self.behind = (nn.Parameter(embeddings[ids].clone()) for ids in (before, behind))  # [n, H] each

    def sources(self, texts: Sequence[str], max_length: int) -> Sources:
        return sources(self.tokenizer, [f" {text}" for text in texts], min(max_length, self.longest), marks=False)

    def encode(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        return self.inner(self.decoder.model.get_input_embeddings()(input_ids).float())

    def prefix(self, mixed: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        model, read = self.decoder.model, DynamicCache()
        before, behind = (words.expand(len(mixed), -1, -1) for words in (self.before, self.behind))
        mask = torch.cat([mask.new_ones(before.shape[:2]), mask, mask.new_ones(behind.shape[:2])], dim=1)
        model.base_model(
            inputs_embeds=torch.cat([before, mixed, behind], dim=1).to(model.dtype),
            attention_mask=mask,
            position_ids=prefix_decoder.positions(mask),
            past_key_values=read,
            use_cache=True,
        )
        return prefix_decoder.rows_of(read), mask
