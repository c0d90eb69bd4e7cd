"""GPT2-PT: ordinary prefix tuning: one prefix for all texts, so that only the prompt P(y) names the labels.

The prefix encoder is peft's, embedding and MLP; its rows have the layout of `prefix_decoder.prefix_cache`.
"""

from functools import partial

import torch
from torch import Tensor, nn

from compaug.core.records import Labels
from compaug.generators.disentangled import prefix_tuning
from compaug.models import prefix_decoder

ROLES = ("decoder",)
GUIDED = True


class SharedPrefix(nn.Module):
    """The same L prefix rows for every text."""

    def __init__(self, prefix_length: int, mid_dim: int, decoder) -> None:
        from peft import PrefixEncoder, PrefixTuningConfig  # after `pretrained`

        super().__init__()
        shape = prefix_decoder.shape(decoder)
        config = PrefixTuningConfig(
            num_virtual_tokens=prefix_length,
            token_dim=shape.heads * shape.head,
            num_layers=shape.layers,
            num_attention_heads=shape.heads,
            encoder_hidden_size=mid_dim,
            prefix_projection=True,
        )
        self.encoder = PrefixEncoder(config)

    def forward(self, part: Tensor) -> Tensor:
        """Prefix rows [N, L, prefix_decoder.Shape.row]; computed once, whatever N is."""
        places = torch.arange(self.encoder.embedding.num_embeddings, device=part.device)
        return self.encoder(places).expand(len(part), -1, -1)


def network(params, labels: Labels, decoder) -> SharedPrefix:
    return SharedPrefix(params.prefix_length, params.mid_dim, decoder)


def one_part(label_set) -> tuple[int]:
    """What every composition's prefix is made of."""
    return (0,)


train = partial(prefix_tuning.train_prefix, "gpt2_pt", network, one_part)
generate = partial(prefix_tuning.generate_prefix, network, one_part)
