"""What a text shows of itself when it is written again: words hidden in several ways (joint generation, §2.2).

Every function takes the tokens of the augmented language behind the marker and `draw(n)`, n uniform numbers in [0, 1),
and says which tokens are hidden.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from compaug.generators.joint.augmented_language import BAR, BEGIN, END

Draw = Callable[[int], Sequence[float]]
MARKS = (BEGIN, BAR, END)
SPAN = (0.1, 0.5)  # share of the tokens that one span hides
SPANS, TOGETHER = (2, 4), (0.3, 0.5)  # how many spans, and the share that they hide together


def words(tokens: Sequence[str], share: float, draw: Draw) -> list[bool]:
    """Each word with that probability."""
    return [u < share and token not in MARKS for token, u in zip(tokens, draw(len(tokens)), strict=True)]


def span(tokens: Sequence[str], share: float, draw: Draw) -> list[bool]:
    """One run of tokens, anywhere."""
    length, start = draw(2)
    hidden = _whole(_between(SPAN, length) * len(tokens), len(tokens))
    first = int(start * (len(tokens) - hidden + 1))
    return [first <= at < first + hidden for at in range(len(tokens))]


def multi_spans(tokens: Sequence[str], share: float, draw: Draw) -> list[bool]:
    """Several runs with at least one token between them; as many as the text has room for."""
    number, together, *cuts = draw(2 + 2 * (SPANS[1] + 1))
    hidden = _whole(_between(TOGETHER, together) * len(tokens), len(tokens))
    count = min(SPANS[0] + int(number * (SPANS[1] - SPANS[0] + 1)), hidden, len(tokens) - hidden + 1)
    taken = [1 + more for more in _shared(hidden - count, cuts[:count])]
    gaps = _shared(len(tokens) - hidden - (count - 1), cuts[-count - 1 :])  # before, between and behind
    shown = [gap + (0 < at < count) for at, gap in enumerate(gaps)]
    runs = [[False] * gap + [True] * run for gap, run in zip(shown, [*taken, 0], strict=True)]
    return [is_hidden for run in runs for is_hidden in run]


MODES: dict[str, Callable[[Sequence[str], float, Draw], list[bool]]] = {
    "words": words,
    "span": span,
    "multi_spans": multi_spans,
}


def masked(tokens: Sequence[str], hidden: Sequence[bool], masks: Sequence[str], mode: str) -> Iterator[str]:
    """The tokens with masks, in turn, for what is hidden: one for each word in the mode `words`, else one a run."""
    number = 0
    for is_hidden, run in groupby(zip(tokens, hidden, strict=True), key=lambda pair: pair[1]):
        run = [token for token, _ in run]
        if not is_hidden:
            yield from run
            continue
        for _ in run if mode == "words" else run[:1]:
            yield masks[number % len(masks)]
            number += 1


def _between(limits: tuple[float, float], u: float) -> float:
    return limits[0] + u * (limits[1] - limits[0])


def _whole(amount: float, most: int) -> int:
    return min(max(1, round(amount)), most)


def _shared(total: int, weights: Sequence[float]) -> list[int]:
    """A whole number shared out among that many random weights."""
    edges = [round(total * sum(weights[: at + 1]) / (sum(weights) or 1)) for at in range(len(weights) - 1)]
    return [high - low for low, high in zip([0, *edges], [*edges, total], strict=True)]
