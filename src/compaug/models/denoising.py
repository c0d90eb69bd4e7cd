"""What encoder-decoders learn from texts alone: to restore them (T5, Raffel et al. 2020; BART, Lewis et al. 2020)."""

from collections.abc import Sequence

import torch

MASKED = 0.15  # share of tokens to restore
SPAN = 3  # mean tokens of a span


def corrupt(ids: Sequence[int], marks: Sequence[int]) -> tuple[list[int], list[int]]:
    """(source, target) of T5's objective for the tokens of a text, at least two.

    Every span is one mark in the source, and the target is the marks with their spans. Draws from torch's generator.
    """
    hidden = min(max(1, round(MASKED * len(ids))), len(ids) - 1)
    spans = min(max(1, round(hidden / SPAN)), hidden, len(ids) - hidden, len(marks))
    source, target, at = [], [], 0
    for mark, shown, taken in zip(marks, _parts(len(ids) - hidden, spans), _parts(hidden, spans), strict=False):
        source += [*ids[at : at + shown], mark]
        target += [mark, *ids[at + shown : at + shown + taken]]
        at += shown + taken
    return source, target


def infilled(ids: Sequence[int], mask: int) -> tuple[list[int], list[int]]:
    """(source, target) of BART's text infilling: each span, however long, is one mask; the target is the whole text."""
    source, _ = corrupt(ids, [mask] * len(ids))
    return source, list(ids)


def _parts(total: int, count: int) -> list[int]:
    """`total` cut into `count` random positive parts."""
    cuts = (torch.randperm(total - 1)[: count - 1] + 1).sort().values.tolist()
    return [high - low for low, high in zip([0, *cuts], [*cuts, total], strict=True)]
