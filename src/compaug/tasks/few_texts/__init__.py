"""A single-label task of 100, 200 or 500 training texts and a test set, drawn from any corpus (CoDa)."""

from collections.abc import Sequence

import numpy as np

from compaug.core.files import InputError
from compaug.core.records import Example, sub_seed, text_key


def draw(examples: Sequence[Example], texts: int, tested: int, seed: int) -> tuple[list[Example], list[Example]]:
    """(training rows, test rows) among the rows with exactly one label.

    A text counts once, and not at all where it stands under several labels. The test rows depend on `tested` alone. The
    training rows are nested: those of a smaller number are the head of those of a larger one, and begin with a row of
    every label. InputError where the corpus has too few.
    """
    rows: dict[str, Example] = {}
    labels_of: dict[str, set] = {}
    for example in examples:
        rows.setdefault(text_key(example.text), example)
        labels_of.setdefault(text_key(example.text), set()).add(example.labels)
    single = [row for key, row in rows.items() if len(row.labels) == 1 and len(labels_of[key]) == 1]
    if len(single) < texts + tested:
        raise InputError(
            f"{len(single)} different texts have exactly one label, fewer than {texts} to train on and {tested} to "
            "test on; ask for fewer"
        )
    order = np.random.default_rng(sub_seed(0, "low resource", "test")).permutation(len(single))
    left = sorted(order[tested:].tolist())
    shuffled = [single[left[at]] for at in np.random.default_rng(sub_seed(seed, "low resource")).permutation(len(left))]
    first = list({row.labels: row for row in reversed(shuffled)}.values())[::-1]  # of every label the first
    first_ids = {row.id for row in first}
    chosen = [*first, *(row for row in shuffled if row.id not in first_ids)][:texts]
    return chosen, [single[at] for at in order[:tested]]


def accuracy(probabilities: np.ndarray, gold: Sequence[Example]) -> float:
    """Percent of the rows whose most probable label is theirs; probabilities [n, n_labels]."""
    right = probabilities.argmax(1) == np.array([row.labels[0] for row in gold])
    return round(100 * float(right.mean()), 4)
