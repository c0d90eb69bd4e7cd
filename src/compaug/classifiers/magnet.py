"""BERT+MAGNET: a graph attention network over the labels gives the classifiers (Pal et al. 2020).

The nodes are the label phrases as the pre-trained encoder reads them; their graph is learned. The label graph is
computed once a step, whatever the batch.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from compaug.classifiers import body
from compaug.models.loading import mean_states

ROLES = ("encoder",)

PHRASE_TOKENS, PHRASES = 64, 64  # tokens of a phrase, phrases a batch


class GraphAttention(nn.Module):
    """One layer, K heads averaged.

    e_ij = LeakyReLU(a^T [W h_i ; W h_j]) A_ij, h'_i = tanh(mean_k sum_j softmax_j(e_ij) W h_j).
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, width, width))  # W^k
        self.left = nn.Parameter(torch.empty(heads, width))  # the half of a^k for h_i
        self.right = nn.Parameter(torch.empty(heads, width))  # and for h_j
        for parameter in (self.weight, self.left, self.right):
            nn.init.xavier_uniform_(parameter)

    def forward(self, nodes: Tensor, adjacency: Tensor, allowed: Tensor | None) -> Tensor:
        """nodes [Y, H], adjacency A [Y, Y], allowed pairs [Y, Y] or None for all: [Y, H]."""
        projected = torch.einsum("yh,khd->kyd", nodes, self.weight)  # [K, Y, H]
        left, right = (torch.einsum("kyd,kd->ky", projected, half) for half in (self.left, self.right))
        scores = nn.functional.leaky_relu(left[:, :, None] + right[:, None, :], 0.2) * adjacency  # [K, Y, Y]
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        return torch.tanh((scores.softmax(-1) @ projected).mean(0))


@contextmanager
def without_onednn() -> Iterator[None]:
    """torch's own kernels of an LSTM, which are as fast at this size; oneDNN's has other digits on other CPUs."""
    before, torch.backends.mkldnn.enabled = torch.backends.mkldnn.enabled, False
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


class BertMagnet(body.SigmoidClassifier):
    loss = staticmethod(nn.functional.binary_cross_entropy_with_logits)  # soft targets are allowed

    def __init__(self, encoder: nn.Module, facts: Mapping) -> None:
        super().__init__()
        settings, width, n_labels = facts["settings"], encoder.config.hidden_size, facts["n_labels"]
        self.backbone, self.masked = encoder, settings["adjacency_mask"]
        self.register_buffer("nodes", torch.zeros(n_labels, width))  # M
        self.adjacency = nn.Parameter(ADJACENCIES[settings["adjacency"]](facts))  # A
        self.layers = nn.ModuleList(GraphAttention(width, settings["gat_heads"]) for _ in range(settings["gat_layers"]))
        self.text = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(settings["dropout"])

    def read_labels(self, tokenizer, labels) -> None:
        """Fill the nodes with the encoder's mean states of the label phrases, before any of its weights has moved."""
        self.nodes.copy_(mean_states(self.backbone, tokenizer, labels.phrases, PHRASE_TOKENS, PHRASES, False))

    def label_vectors(self) -> Tensor:
        """H_gat.  # [Y, H]"""
        itself = torch.eye(len(self.nodes), dtype=torch.bool, device=self.nodes.device)
        # some re-implementations; A gets no gradient there
        allowed = (self.adjacency > 0) | itself if self.masked else None
        nodes = self.nodes
        for layer in self.layers:
            nodes = layer(nodes, self.adjacency, allowed)
        return nodes

    def logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state  # [B, T, H]
        lengths = attention_mask.sum(1).cpu()
        packed = pack_padded_sequence(states, lengths, batch_first=True, enforce_sorted=False)
        with without_onednn():
            _, (last, _) = self.text(packed)  # [2, B, H / 2]
        vectors = self.drop(last.transpose(0, 1).flatten(1))  # F [B, H]
        return (vectors @ self.label_vectors().T).float()


def _xavier(facts: Mapping) -> Tensor:
    return nn.init.xavier_uniform_(torch.empty(facts["n_labels"], facts["n_labels"]))


def _identity(facts: Mapping) -> Tensor:
    return torch.eye(facts["n_labels"])


def _co_occurrence(facts: Mapping) -> Tensor:
    """How often label j stands beside label i, divided by how often i stands at all."""
    pairs = torch.tensor(facts["pairs"])  # [Y, Y]
    return pairs / pairs.diagonal().clamp(min=1.0)[:, None]


ADJACENCIES = {"xavier": _xavier, "identity": _identity, "co_occurrence": _co_occurrence}


build = BertMagnet
train = partial(body.train, "magnet", build)
predict = partial(body.predict, build)
