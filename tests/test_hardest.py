"""The rule `hardest`: combinations that single labels do not read, chosen on rows that are not tested on."""

from __future__ import annotations

import random

import pytest

from compaug.core.records import Example, Labels, sub_seed
from compaug.data import hardest, splits

NAMES = ("a", "b", "c", "d", "e", "f")
LABELS = Labels(NAMES, NAMES)
IDIOM = (0, 1)  # its texts say neither a nor b in their usual words


def corpus() -> list[Example]:
    """Every label has words of its own, whatever stands beside it; the combination a, b alone has others."""
    rng = random.Random(0)
    examples = []
    for labels in [(i,) for i in range(6)] + [(i, j) for i in range(6) for j in range(i)]:
        labels = tuple(sorted(labels))
        for _ in range(60):
            spoken = (4, 5) if labels == IDIOM else labels
            words = [f"{NAMES[label]}{rng.randrange(4)}" for label in spoken] + [f"filler{rng.randrange(40)}"]
            rng.shuffle(words)
            words.append(f"row{len(examples)}")
            examples.append(Example(str(len(examples)), " ".join(words), labels))
    return examples


def options(**more) -> splits.Split:
    facts = {"mode": "generate", "compositions": 2, "support_size": 10, "seed": 3, "min_count": 10}
    return splits.Split(**facts | {"test_share": [0.01, 0.5]} | more)


def test_a_combination_with_words_of_its_own_is_read_worst():
    examples = corpus()
    pairs = sorted({example.labels for example in examples if len(example.labels) == 2})
    readings = hardest.reading(examples, range(len(examples)), pairs, seed=0)
    assert readings[IDIOM] < 0.2
    assert all(share > 0.8 for labels, share in readings.items() if labels not in (IDIOM, (4, 5)))


@pytest.mark.parametrize("seed", range(4))
def test_the_worst_read_are_held_out_and_no_row_that_chose_them_is_tested_on(seed):
    examples = corpus()
    parts = splits.split_corpus(examples, LABELS, options(rule="hardest", seed=seed))
    assert IDIOM in parts.choice.compositions
    read = [at for at, example in enumerate(examples) if sub_seed(seed, "read", example.id) % splits.READ == 0]
    assert not set(read) & set(parts.positions["test"])
    with_seen = splits.with_seen(parts, examples, seed)
    with_forty = splits.split_corpus(examples, LABELS, options(rule="hardest", seed=seed, seen_test=40))
    for both in (with_seen, with_forty):
        assert both.positions["seen_test"] and not set(read) & set(both.positions["seen_test"])
    assert set(parts.positions["support"]) <= set(read)
    held = [at for at, example in enumerate(examples) if example.labels in parts.choice.compositions]
    assert sorted(parts.positions["support"] + parts.positions["test"] + parts.unused["test"]) == held


def test_a_fold_without_rows_to_read_is_left_out():
    """A small corpus may have none of a fold's combinations among the rows that choose."""
    examples = corpus()
    pairs = sorted({example.labels for example in examples if len(example.labels) == 2})
    rows = [at for at, example in enumerate(examples) if example.labels == pairs[0]]
    assert hardest.reading(examples, rows, pairs, seed=0).keys() == {pairs[0]}


def test_without_the_rule_nothing_is_left_out():
    parts = splits.split_corpus(corpus(), LABELS, options())
    assert parts.unused == {}
