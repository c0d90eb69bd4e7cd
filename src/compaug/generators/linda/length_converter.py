"""Two texts of different lengths become one sequence of states between them (LINDA, §3.2, Eq. 3).

The article states its mixing ratio both ways round. Here alpha is the weight of x^a, everywhere: alpha = 1 is x^a.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEAST_SIGMA = 1e-3  # a width below it is no other than this one in float32
ROUNDING = 1e-3  # positions: a mixed length that is a whole number but for rounding is that number


def mixed_lengths(alpha: Tensor, lengths_a: Tensor, lengths_b: Tensor) -> Tensor:
    """L~ = ceil(alpha L^a + (1 - alpha) L^b), at least 1.  # [B] from [B] each"""
    a, b = lengths_a.double(), lengths_b.double()
    mixed = alpha.double() * a + (1 - alpha.double()) * b
    return (mixed - ROUNDING).ceil().clamp(min=1).long()


def mask_of(lengths: Tensor, width: int) -> Tensor:
    """1 on the first positions of each row, 0 on padding.  # [B, width]"""
    return (torch.arange(width, device=lengths.device) < lengths[:, None]).long()


class LengthConverter(nn.Module):
    """Location attention: h~_j = sum_k w_k^j h_k with w^j = softmax_k(-(k - j L / L~)^2 / (2 sigma^2)), k and j from 1.

    sigma is one trained number, kept above 0 by a softplus.
    """

    def __init__(self, sigma: float) -> None:
        super().__init__()
        self.width = nn.Parameter(torch.tensor(math.log(math.expm1(sigma - LEAST_SIGMA))))

    @property
    def sigma(self) -> Tensor:
        return F.softplus(self.width) + LEAST_SIGMA

    def weights(self, lengths: Tensor, width: int, to: Tensor, to_width: int) -> Tensor:
        """w_k^j, in float32 whatever the states have; 0 where k is padding.  # [B, to_width, width]"""
        with torch.autocast(lengths.device.type, enabled=False):
            k = torch.arange(1, width + 1, device=lengths.device, dtype=torch.float32)
            j = torch.arange(1, to_width + 1, device=lengths.device, dtype=torch.float32)
            centres = j * (lengths / to)[:, None]  # [B, L~]
            scores = -((k - centres[..., None]) ** 2) / (2 * self.sigma.float() ** 2)  # [B, L~, L]
            return scores.masked_fill(k > lengths[:, None, None], -torch.inf).softmax(-1)

    def forward(self, states: Tensor, lengths: Tensor, to: Tensor, to_width: int) -> Tensor:
        """The first `lengths` [B] of the states [B, L, H] as `to` [B] positions of `to_width`; the others are 0.
        # [B, to_width, H]"""
        converted = self.weights(lengths, states.shape[1], to, to_width).to(states.dtype) @ states
        return converted * mask_of(to, to_width)[..., None]


def mix(
    converter: LengthConverter, states_a: Tensor, lengths_a: Tensor, states_b: Tensor, lengths_b: Tensor, alpha: Tensor
) -> tuple[Tensor, Tensor]:
    """(h~, mask): h~_i = alpha h~_i^a + (1 - alpha) h~_i^b.  # [B, longest L~, H], [B, longest L~]

    states [B, L, H], lengths [B], alpha [B] in [0, 1]. Swapping the texts and taking 1 - alpha gives the same.
    """
    to = mixed_lengths(alpha, lengths_a, lengths_b)
    width = int(to.max())
    a, b = converter(states_a, lengths_a, to, width), converter(states_b, lengths_b, to, width)
    weight = alpha[:, None, None].to(a.dtype)  # [B, 1, 1]
    return weight * a + (1 - weight) * b, mask_of(to, width)
