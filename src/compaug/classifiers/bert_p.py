"""BERT+P (spec 10.2): a frozen BERT with learned keys and values before the tokens of every layer (P-tuning v2).

The prefix is peft's, embedded directly, without an MLP. Tokens keep the positions that they had in pre-training. Only prefix
and heads are trained; the encoder's own dropout stays off.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from compaug.classifiers import body
from compaug.pretrained import DynamicCache

ROLES = ("encoder",)


class BertPrefix(body.BertClassifier):
    def __init__(self, encoder: nn.Module, n_labels: int, prefix_length: int, dropout: float) -> None:
        from peft import PrefixEncoder, PrefixTuningConfig  # after `pretrained`

        super().__init__(encoder.requires_grad_(False), n_labels, 0, dropout)
        config = encoder.config
        self.prefix = PrefixEncoder(
            PrefixTuningConfig(
                num_virtual_tokens=prefix_length,
                token_dim=config.hidden_size,
                num_layers=config.num_hidden_layers,
                num_attention_heads=config.num_attention_heads,
                encoder_hidden_size=config.hidden_size,
            )
        )
        self.drop, self.length = nn.Dropout(dropout), prefix_length

    def train(self, mode: bool = True) -> BertPrefix:
        super().train(mode)
        self.backbone.eval()
        return self

    def states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Token states behind the prefix.  # [B, T, H]"""
        batch, time = input_ids.shape
        config = self.backbone.config
        heads = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        rows = self.drop(self.prefix(torch.arange(self.length, device=input_ids.device)))  # [P, layers * 2 * H]
        rows = rows.view(self.length, config.num_hidden_layers, 2, *heads).permute(1, 2, 3, 0, 4)
        rows = rows[:, :, None].expand(-1, -1, batch, -1, -1, -1)  # [layers, 2, B, heads, P, d]
        seen = torch.cat([attention_mask.new_ones(batch, self.length), attention_mask], dim=1)  # [B, P + T]
        mask = seen[:, None, None].expand(-1, -1, time, -1).bool()  # every token attends to prefix and text
        return self.backbone(
            input_ids=input_ids,
            attention_mask=mask,
            position_ids=torch.arange(time, device=input_ids.device)[None],
            past_key_values=DynamicCache((keys, values) for keys, values in rows),
        ).last_hidden_state


def build(encoder: nn.Module, facts: Mapping) -> BertPrefix:
    settings = facts["settings"]
    return BertPrefix(encoder, facts["n_labels"], settings["prefix_length"], settings["dropout"])


train = partial(body.train, "bert_p", build)
predict = partial(body.predict, build)
