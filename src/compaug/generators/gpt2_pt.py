"""GPT2-PT: ordinary prefix tuning (spec section 8): one prefix for all texts, so that only the prompt P(y) names the labels.

The prefix encoder is peft's, embedding and MLP; its rows have the layout of `prefix.prefix_cache`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from peft import PrefixEncoder, PrefixTuningConfig
from torch import Tensor, nn

from compaug.generators import prefix
from compaug.pretrained import load_decoder
from compaug.records import Example, Labels

ROLES = ("decoder",)
ONE_PART = (0,)  # what every composition's prefix is made of


class SharedPrefix(nn.Module):
    """The same L prefix rows for every text."""

    def __init__(self, prefix_length: int, mid_dim: int, decoder) -> None:
        super().__init__()
        config = PrefixTuningConfig(
            num_virtual_tokens=prefix_length,
            token_dim=decoder.n_embd,
            num_layers=decoder.n_layer,
            num_attention_heads=decoder.n_head,
            encoder_hidden_size=mid_dim,
            prefix_projection=True,
        )
        self.encoder = PrefixEncoder(config)

    def forward(self, part: Tensor) -> Tensor:
        """Prefix rows [N, L, n_layer * 2 * n_embd]; computed once, whatever N is."""
        places = torch.arange(self.encoder.embedding.num_embeddings, device=part.device)
        return self.encoder(places).expand(len(part), -1, -1)


def train(
    examples: Sequence[Example],
    labels: Labels,
    params,
    prompt: prefix.Prompt,
    backbones: Mapping[str, Path],
    out_dir: Path,
    seed: int,
) -> None:
    """Train the shared prefix on D_cg in front of the frozen decoder."""

    def network(decoder) -> SharedPrefix:
        return SharedPrefix(params.prefix_length, params.mid_dim, decoder)

    prefix.train_prefix(
        "gpt2_pt", network, lambda _: ONE_PART, examples, labels, params, prompt, backbones, out_dir, seed
    )


def generate(
    model_dir: Path,
    label_sets: Sequence[Sequence[int]],
    labels: Labels,
    synthesis,
    backbones: Mapping[str, Path],
    seed: int,
) -> list[str]:
    """One text per label set."""
    params, prompt, tensors = prefix.load(model_dir, labels)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    network = SharedPrefix(params["prefix_length"], params["mid_dim"], decoder.config)
    prefix.load_into(network, tensors, model_dir)
    return prefix.decode(
        decoder,
        tokenizer,
        lambda requests, index: network(index["pair_label"]),
        [ONE_PART] * len(label_sets),
        [prompt.of(labels, label_set) for label_set in label_sets],
        params["prefix_length"],
        synthesis,
        seed,
    )
