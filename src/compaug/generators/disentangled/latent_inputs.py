"""What LD-VAE's posteriors read: token states of the texts, the clusters of their contents, and batches of both."""

import sys
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from compaug.core.records import Example
from compaug.generators.disentangled import prefix_tuning
from compaug.generators.disentangled.posterior import slots
from compaug.models.loading import pad, read_texts

ENCODER_BATCH = 64  # rows per pass of the frozen encoder
TEXTS_PER_CLUSTER = 5  # fewer clusters when the data is tiny


def content_clusters(means: Tensor, params) -> tuple[Tensor, list[int]]:
    """Centroids [k, H] of the texts' mean states [n, H] by k-means, and each text's cluster; none for `standard`."""
    from sklearn.cluster import KMeans  # generation needs none, and it takes a second to import

    if params.prior == "standard":
        return torch.zeros(0, means.shape[1]), [0] * len(means)
    vectors = means.numpy()
    k = max(1, min(params.clusters, len(vectors) // TEXTS_PER_CLUSTER))
    if k < params.clusters:
        print(
            f"note: clusters: {k} instead of {params.clusters}, one for {TEXTS_PER_CLUSTER} of {len(vectors)} texts",
            file=sys.stderr,
        )
    with threadpool_limits(1, user_api="openmp"):  # threads add up their parts in any order: not the same bytes twice
        means = KMeans(k, n_init="auto", random_state=0).fit(vectors)
    return torch.from_numpy(means.cluster_centers_.astype(np.float32)), means.labels_.tolist()


def add_encoder_inputs(
    rows: list[dict], examples: Sequence[Example], params, tokenizer, encoder
) -> tuple[bool, Tensor]:
    """Give every row its token states V_x if all of them fit in `cache_gib` (True), else its token ids (False).

    With it the mean states of the texts [n, H], from the same reading.
    """
    texts = [e.text for e in examples]
    limit = min(params.max_length, encoder.config.max_position_embeddings)
    ids = tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
    size = sum(map(len, ids)) * encoder.config.hidden_size * 4  # bytes, float32
    cached = size <= params.cache_gib * 2**30
    means, states = read_texts(encoder, tokenizer, texts, params.max_length, ENCODER_BATCH, keep_states=cached)
    for row, values in zip(rows, states if cached else ids, strict=True):
        row["states" if cached else "encoder_ids"] = values
    return cached, means


def collate(
    rows: Sequence[Mapping], n_encoders: int, prefix_length: int, pad_id: int, encoder_pad_id: int
) -> dict[str, Tensor]:
    """Batch for `NegativeElbo.forward`: the decoder's part, the encoders' slots, texts' states or encoder tokens."""
    batch = prefix_tuning.collate(rows, prefix_length, pad_id)
    batch |= slots([row.get("encoders", row["labels"]) for row in rows], n_encoders)
    batch["clusters"] = torch.tensor([row["cluster"] for row in rows])
    if "states" in rows[0]:
        batch["lengths"] = torch.tensor([len(row["states"]) for row in rows])
        batch["states"] = nn.utils.rnn.pad_sequence([row["states"] for row in rows], batch_first=True)
    else:
        batch["lengths"] = torch.tensor([len(row["encoder_ids"]) for row in rows])
        batch["encoder_ids"], batch["encoder_mask"] = pad([row["encoder_ids"] for row in rows], encoder_pad_id)
    return batch
