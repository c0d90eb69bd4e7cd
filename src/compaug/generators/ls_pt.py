"""LS-PT: label-specific prefix tuning of a frozen GPT-2 (paper, "Label Specific Prefix-Tuning"; spec section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from compaug.generators import prefix
from compaug.pretrained import load_decoder
from compaug.records import Example, Labels

ROLES = ("decoder",)


class LabelPrefix(nn.Module):
    """Free parameters z_y in R^{L x H} for every label y and the position-wise MLP that turns them into keys and values."""

    def __init__(self, n_labels: int, prefix_length: int, mid_dim: int, decoder) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(n_labels, prefix_length, decoder.n_embd))
        self.mlp = prefix.prefix_mlp(decoder.n_embd, mid_dim, decoder)

    def forward(self, pair_label: Tensor) -> Tensor:
        """Prefix rows [N, L, n_layer * 2 * n_embd] of the labels [N]."""
        return self.mlp(self.table[pair_label])


def train(
    examples: Sequence[Example],
    labels: Labels,
    params,
    prompt: prefix.Prompt,
    backbones: Mapping[str, Path],
    out_dir: Path,
    seed: int,
) -> None:
    """Train the table and the MLP on D_cg; the prefix of a composition is that of its labels, one after the other."""

    def network(decoder) -> LabelPrefix:
        return LabelPrefix(len(labels), params.prefix_length, params.mid_dim, decoder)

    prefix.train_prefix("ls_pt", network, tuple, examples, labels, params, prompt, backbones, out_dir, seed)


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
    network = LabelPrefix(len(labels), params["prefix_length"], params["mid_dim"], decoder.config)
    prefix.load_into(network, tensors, model_dir)
    return prefix.decode(
        decoder,
        tokenizer,
        lambda requests, index: network(index["pair_label"]),
        label_sets,
        [prompt.of(labels, label_set) for label_set in label_sets],
        params["prefix_length"],
        synthesis,
        seed,
    )
