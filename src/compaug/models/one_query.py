"""Attention of one new token to all before it, as two matrix products, for CPUs that compute in bfloat16 without AMX.

Torch's own kernel packs keys and values anew at every call there, which behind a long prompt takes longer than all the
rest of a step. Where a CPU has AMX torch's kernel is kept, and so are the texts that were written with it.
"""

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "sdpa_one_query"  # of the attention function


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **more,
) -> tuple[Tensor, None]:
    """softmax(scaling q k^T) v; torch's kernel for several queries.  # [B, 1, H, d]

    query [B, H, 1, d], keys and values [B, H / groups, T, d], the mask False, or -inf, where nothing is to be read.
    """
    batch, heads, queries, width = query.shape
    if queries > 1 or more.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **more)
    grouped = query.reshape(batch, key.shape[1], -1, width)  # [B, H / groups, groups, d]: neighbours have the same keys
    scores = (grouped @ key.transpose(-1, -2)).float() * (width**-0.5 if scaling is None else scaling)
    if attention_mask is not None:
        if attention_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attention_mask, -torch.inf)
        else:
            scores = scores + attention_mask
    attended = scores.softmax(dim=-1).to(value.dtype) @ value
    return attended.reshape(batch, 1, heads, width), None


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


def implementation() -> str:
    """The name of the attention function for this CPU."""
    return "sdpa" if torch.cpu._is_amx_tile_supported() else NAME
