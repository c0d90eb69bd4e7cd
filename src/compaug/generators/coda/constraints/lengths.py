"""How many words a text is to have (CoDa, "Length Constraints"). A word is what stands between white space."""

from collections.abc import Sequence

import numpy as np


def n_words(text: str) -> int:
    return len(text.split())


def spread(texts: Sequence[str]) -> float:
    """Standard deviation of the lengths."""
    return float(np.std([n_words(text) for text in texts])) if texts else 0.0


def paper(n: float, sd: float) -> tuple[int, int]:
    """[max(1, n - sd), n + sd], rounded."""
    return max(1, round(n - sd)), max(1, round(n + sd))


def reference(n: float, sd: float) -> tuple[int, int]:
    """[max(n, 5), max(1.5 n, 10)], rounded; what the released code asks for."""
    return round(max(n, 5)), round(max(1.5 * n, 10))


MODES = {"paper": paper, "reference": reference}
