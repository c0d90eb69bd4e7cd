"""Attention of one new token: torch's own numbers, for any number of heads with the same keys and any mask."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from compaug.models import loading, one_query
from compaug.models.loading import frozen, load_decoder


@given(
    batch=st.integers(1, 3),
    key_heads=st.integers(1, 3),
    groups=st.integers(1, 3),
    length=st.integers(1, 9),
    mask=st.sampled_from([None, "bool", "added"]),
    scaling=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 9),
)
def test_it_is_the_attention_of_torch(batch, key_heads, groups, length, mask, scaling, seed):
    rng = torch.Generator().manual_seed(seed)
    query = torch.randn(batch, key_heads * groups, 1, 4, generator=rng)
    key, value = torch.randn(2, batch, key_heads, length, 4, generator=rng)
    readable = torch.rand(batch, 1, 1, length, generator=rng) < 0.7
    readable[..., -1] = True  # a token reads itself
    masks = {None: None, "bool": readable, "added": torch.zeros(readable.shape).masked_fill(~readable, -torch.inf)}
    attended, _ = one_query.attention(None, query, key, value, masks[mask], scaling=scaling, dropout=0.0)
    # [B, H, 1, d]
    expected = scaled_dot_product_attention(query, key, value, attn_mask=masks[mask], scale=scaling, enable_gqa=True)
    torch.testing.assert_close(attended, expected.transpose(1, 2))


def test_several_queries_are_left_to_torch():
    query, key, value = torch.randn(3, 2, 4, 5, 8)
    attended, _ = one_query.attention(SimpleNamespace(is_causal=True), query, key, value, None)
    torch.testing.assert_close(
        attended, scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2)
    )


@pytest.mark.parametrize(("amx", "name"), [(False, one_query.NAME), (True, "sdpa")])
def test_a_decoder_in_bfloat16_has_it_where_the_cpu_has_no_amx(folders, monkeypatch, amx, name):
    monkeypatch.setattr(loading, "reduced", lambda where: where.type == "cpu")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    _, model = load_decoder(folders["decoder"])
    assert frozen(model).config._attn_implementation == name and model.dtype == torch.bfloat16
    assert frozen(model, backward=True).config._attn_implementation == "eager"


def test_in_float32_nothing_changes(folders):
    _, model = load_decoder(folders["decoder"])
    before = model.config._attn_implementation
    assert frozen(model).config._attn_implementation == before
