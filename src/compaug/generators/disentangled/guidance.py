"""Guidance: texts that say more of their labels, held against other labels while they are written.

Ours, after the classifier-free guidance of Ho and Salimans (2022). A generator that saw few texts knows the corpus's
style long before it knows its labels: most of log P(x | y) does not depend on y. What does is its difference to
log P(x | y'), for other labels y'; with weight w it counts w + 1 times:

    log P(x_t | x_<t, y) + w (log P(x_t | x_<t, y) - log P(x_t | x_<t, y'))    up to a constant

w = 0 is the paper's decoding. y' has labels that y has not, as many where there are so many. A token that y finds far
less likely than its best is no candidate, however much less likely y' finds it (Li et al. 2023, contrastive decoding).
Both sides are the same model, so a step takes twice the time.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from compaug.core.records import sub_seed
from compaug.models.sampling import Step, left_padded

PLAUSIBLE = 0.1  # of the probability of y's best token, Li et al.'s alpha
FAR = 1e4  # below all candidates, and not -inf: where these would repeat themselves the next best is taken
LabelSet = Sequence[int]


def others(requests: Sequence[LabelSet], n_labels: int, seed: int) -> list[tuple[int, ...]]:
    """y' of every request, by its number, its labels and the seed alone; y itself where y has all labels."""
    opposed = []
    for number, label_set in enumerate(requests):
        rest = [label for label in range(n_labels) if label not in label_set]
        order = np.random.default_rng(sub_seed(seed, "guidance", number)).permutation(rest).tolist()
        opposed.append(tuple(sorted(order[: len(label_set)])) if rest else tuple(label_set))
    return opposed


class Guided:
    """The steps of y and of y' as one `sampling.Step`.

    `prompts` are the first tokens of y'; what is written after them is the same.
    """

    def __init__(self, step: Step, other: Step, prompts: Sequence[Sequence[int]], weight: float) -> None:
        self.step, self.other, self.prompts, self.weight = step, other, prompts, weight
        self.tokens: Tensor | None = None  # of y', [B, T']; `seen` is 0 on their padding

    def __call__(self, tokens: Tensor, seen: Tensor, new: int) -> Tensor:
        log_p = self.step(tokens, seen, new).float().log_softmax(-1)  # [B, vocabulary]
        if self.tokens is None:
            self.tokens, self.seen = left_padded(self.prompts, tokens.device)
            new = self.tokens.shape[1]
        else:
            self.tokens = torch.cat([self.tokens, tokens[:, -new:]], dim=1)
            self.seen = torch.cat([self.seen, seen[:, -new:]], dim=1)
        other = self.other(self.tokens, self.seen, new).float().log_softmax(-1)
        plausible = log_p >= log_p.amax(dim=-1, keepdim=True) + math.log(PLAUSIBLE)
        return torch.where(plausible, log_p + self.weight * (log_p - other), log_p - FAR)

    def keep(self, rows: Tensor) -> None:
        self.step.keep(rows)
        self.other.keep(rows)
        self.tokens, self.seen = self.tokens[rows], self.seen[rows]
