"""BERT with one two-way head per label (paper, "MLTC Models"): n_labels linear classifiers of the text's state.

The n_labels heads are one matrix product. A two-way softmax head equals a sigmoid of the difference of its two scores;
both scores are kept because the paper trains both.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from compaug.classifiers import body

ROLES = ("encoder",)


def build(encoder: nn.Module, facts: Mapping) -> body.BertClassifier:
    settings = facts["settings"]
    middle = body.prediction_head(encoder.config) if settings.get("prediction_head") else ()
    kind = Mixed if settings.get("mixup") else body.BertClassifier
    return kind(encoder, facts["n_labels"], settings["head_hidden"], settings["dropout"], settings["pool"], middle)


class Mixed(body.BertClassifier):
    """Sentence-embedding mixup (LINDA, §6.3, a baseline).

    In training, the state of every text is mixed with that of another one of its batch, with alpha ~ U(0, 1), and their
    labels alike.
    """

    def forward(self, input_ids: Tensor, attention_mask: Tensor, targets: Tensor) -> dict[str, Tensor]:
        if not self.training:
            return super().forward(input_ids, attention_mask, targets)
        states = self.text_state(input_ids, attention_mask)  # [B, H]
        alpha = torch.rand(len(states), 1, device=states.device)
        other = torch.randperm(len(states), device=states.device)
        scores = self.scores_of(mixed(states, states[other], alpha))
        return {"loss": body.two_way_loss(scores, mixed(targets, targets[other], alpha))["loss"]}


def mixed(first: Tensor, second: Tensor, alpha: Tensor) -> Tensor:
    """alpha first + (1 - alpha) second."""
    return alpha * first + (1 - alpha) * second


train = partial(body.train, "bert", build)
predict = partial(body.predict, build)
