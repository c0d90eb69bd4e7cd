"""BERT+P: a frozen BERT with learned keys and values before the tokens of every layer (P-tuning v2).

The prefix is peft's, embedded directly, without an MLP. Tokens keep the positions that they had in pre-training. Only
prefix and heads are trained; the encoder's own dropout stays off. The prefix enters where transformers calls its
attention function: the encoders of today take no past keys. One that has its own attention, such as MPNet, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from compaug.classifiers import body
from compaug.core.files import InputError
from compaug.models.loading import quiet

ROLES = ("encoder",)
BEHIND_PREFIX = "sdpa_behind_prefix"  # name of the attention function


def attention_behind_prefix(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    prefix_rows: Tensor | None = None,
    **more,
) -> tuple[Tensor, None]:
    """Attention in which every token sees the prefix too.

    `prefix_rows` [layers, 2, heads, P, d] are its keys and values; None: there is no prefix.
    """
    if prefix_rows is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **more)
    keys, values = (rows.expand(len(key), -1, -1, -1) for rows in prefix_rows[module.layer_idx])  # [B, heads, P, d]
    if attention_mask is not None:
        sees = attention_mask.new_ones(1) if attention_mask.dtype == torch.bool else attention_mask.new_zeros(1)
        shown = sees.expand(*attention_mask.shape[:-1], keys.shape[2])
        attention_mask = torch.cat([shown, attention_mask], dim=-1)  # [B, 1, T, P + T]
    key, value = torch.cat([keys, key], dim=2), torch.cat([values, value], dim=2)
    return sdpa_attention_forward(module, query, key, value, attention_mask, **more)


AttentionInterface.register(BEHIND_PREFIX, attention_behind_prefix)
AttentionMaskInterface.register(BEHIND_PREFIX, sdpa_mask)


class BertPrefix(body.BertClassifier):
    def __init__(self, encoder: nn.Module, n_labels: int, prefix_length: int, dropout: float, pool: str) -> None:
        from peft import PrefixEncoder, PrefixTuningConfig  # after `pretrained`

        super().__init__(encoder.requires_grad_(False), n_labels, 0, dropout, pool)
        config = encoder.config
        with quiet():
            encoder.set_attn_implementation(BEHIND_PREFIX)
        if config._attn_implementation != BEHIND_PREFIX:
            raise InputError(
                f"classifiers.bert_p: the encoder is a {config.model_type}, whose attention takes no prefix; take one "
                "such as BERT or ModernBERT, or another classifier"
            )
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
        config = self.backbone.config
        heads = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        rows = self.drop(self.prefix(torch.arange(self.length, device=input_ids.device)))  # [P, layers * 2 * H]
        rows = rows.view(self.length, config.num_hidden_layers, 2, *heads)
        rows = rows.permute(1, 2, 3, 0, 4)  # [layers, 2, heads, P, d]
        return self.backbone(input_ids=input_ids, attention_mask=attention_mask, prefix_rows=rows).last_hidden_state


def build(encoder: nn.Module, facts: Mapping) -> BertPrefix:
    settings = facts["settings"]
    return BertPrefix(encoder, facts["n_labels"], settings["prefix_length"], settings["dropout"], settings["pool"])


train = partial(body.train, "bert_p", build)
predict = partial(body.predict, build)
