"""BERT+DBloss: distribution-balanced focal loss (Wu et al. 2020), one sigmoid output per label.

Rare labels of an instance weigh more (re-balanced weighting), frequent ones have to score higher (logit bias), and easy
negatives count less (negative-tolerant scaling, focal term).
"""

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from compaug.classifiers import body

ROLES = ("encoder",)


class BalancedLoss(nn.Module):
    """Distribution-balanced loss (Wu et al. 2020), from the positives n_i [n_labels] among N training rows."""

    def __init__(self, positives: Sequence[float], rows: int, settings: Mapping) -> None:
        super().__init__()
        counts = torch.tensor(positives).clamp(min=1.0)  # n_i
        share = (counts / rows).clamp(1 / rows, 1 - 1 / rows) if rows > 1 else torch.full_like(counts, 0.5)  # p_i
        self.register_buffer("inverse", 1 / counts, persistent=False)
        self.register_buffer("bias", settings["bias_scale"] * (1 / share - 1).log(), persistent=False)  # v_i
        self.gamma, self.negative_scale = settings["gamma"], settings["negative_scale"]
        self.offset, self.slope = settings["weight_offset"], settings["weight_slope"]
        self.centre = settings["weight_centre"]

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Mean over labels and batch; logits z and targets y in [0, 1]: [B, n_labels]."""
        repeated = (targets * self.inverse).sum(1, keepdim=True)  # sum over the instance's labels of 1 / n_j
        ratio = self.inverse / repeated.clamp(min=torch.finfo(logits.dtype).tiny)  # r_i
        weight = self.offset + torch.sigmoid(self.slope * (ratio - self.centre))
        weight = torch.where(repeated > 0, weight, self.offset + 1.0)  # an empty set: all labels are rare in it
        shifted = logits - self.bias  # u_i
        log_q, scale = logsigmoid(shifted), self.negative_scale
        log_rest, log_taken = logsigmoid(-scale * shifted), logsigmoid(scale * shifted)  # of negatives: 1 - q, q
        positive = (1 - log_q.exp()).pow(self.gamma) * -log_q
        negative = log_taken.exp().pow(self.gamma) * -log_rest / scale
        return (weight * 0.5 * (targets * positive + (1 - targets) * negative)).mean()


class BertBalanced(body.SigmoidClassifier):
    def __init__(self, encoder: nn.Module, n_labels: int, loss: BalancedLoss, dropout: float, pool: str) -> None:
        super().__init__()
        self.backbone, self.loss, self.pool = encoder, loss, pool
        self.heads = nn.Sequential(nn.Dropout(dropout), nn.Linear(encoder.config.hidden_size, n_labels))

    def logits(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states = self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state  # [B, T, H]
        return self.heads(body.POOLS[self.pool](states, attention_mask)).float()


def build(encoder: nn.Module, facts: Mapping) -> BertBalanced:
    settings = facts["settings"]
    loss = BalancedLoss(facts["positives"], facts["rows"], settings)
    return BertBalanced(encoder, facts["n_labels"], loss, settings["dropout"], settings["pool"])


train = partial(body.train, "dbloss", build)
predict = partial(body.predict, build)
