"""LS-PT: label-specific prefix tuning of a frozen GPT-2 (paper, Eqs. 5 and 6)."""

from functools import partial

import torch
from torch import Tensor, nn

from compaug.core.records import Labels
from compaug.generators.disentangled import prefix_tuning

ROLES = ("decoder",)
GUIDED = True


class LabelPrefix(nn.Module):
    """Free parameters z_y in R^{L x H} for every label y and the position-wise MLP from them to keys and values."""

    def __init__(self, n_labels: int, prefix_length: int, mid_dim: int, decoder) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(n_labels, prefix_length, decoder.hidden_size))
        self.mlp = prefix_tuning.prefix_mlp(decoder.hidden_size, mid_dim, decoder)

    def forward(self, pair_label: Tensor) -> Tensor:
        """Prefix rows [N, L, prefix_decoder.Shape.row] of the labels [N]."""
        return self.mlp(self.table[pair_label])


def network(params, labels: Labels, decoder) -> LabelPrefix:
    return LabelPrefix(len(labels), params.prefix_length, params.mid_dim, decoder)


# the prefix of a composition is that of its labels, one after the other
train = partial(prefix_tuning.train_prefix, "ls_pt", network, tuple)
generate = partial(prefix_tuning.generate_prefix, network, tuple)
