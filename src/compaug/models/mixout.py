"""Mixout (Lee et al. 2020; paper "Joint Text and Label Generation for Spoken Language Understanding", §2.3).

Inverted dropout of the difference between the weights w and their values u before the training, in each step:

    Phi(w; u, M) = u + M (w - u) / mu        M ~ Bernoulli(mu), the printed formula in another form
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

WEIGHT = "weight"


class Mixout(nn.Module):
    """Phi of one weight matrix [out, in]; its value now is u.

    A mask of `entry` is drawn for each of its entries; one of `column` for each input and all outputs, as in the
    reference code. In evaluation mode, and with mu = 1, it is w itself.
    """

    def __init__(self, weight: Tensor, mu: float, mask: str) -> None:
        super().__init__()
        self.mu, self.mask = mu, mask
        self.register_buffer("before", weight.detach().clone(), persistent=False)  # u

    def forward(self, weight: Tensor) -> Tensor:
        if not self.training or self.mu == 1:
            return weight
        moved = weight - self.before
        if self.mask == "entry":
            return self.before + F.dropout(moved, 1 - self.mu)
        return self.before + moved * F.dropout(torch.ones_like(moved[:1]), 1 - self.mu)


def mix(model: nn.Module, mu: float, mask: str = "entry") -> None:
    """Mixout in every linear layer of the model that is trained, in place of its dropout.

    Biases, norms and embeddings are as they were. What is new in the model, its heads, has its initial value as u. It
    takes as much memory as these weights do, once more.
    """
    for module in list(model.modules()):
        if isinstance(module, nn.Linear) and module.weight.requires_grad:
            parametrize.register_parametrization(module, WEIGHT, Mixout(module.weight, mu, mask), unsafe=True)
        elif isinstance(module, nn.Dropout):
            module.p = 0.0
        for name in ("dropout", "attention_dropout"):  # of attention, which takes it as a number
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)


def unmix(model: nn.Module) -> None:
    """The layers as they were, with the weights w of now."""
    for module in model.modules():
        if parametrize.is_parametrized(module, WEIGHT):
            parametrize.remove_parametrizations(module, WEIGHT, leave_parametrized=False)
