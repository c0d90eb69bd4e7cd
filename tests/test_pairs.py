"""Which texts LINDA mixes for a requested composition: union, chain, superset, none (docs/spec/linda.md, 7)."""

from __future__ import annotations

import time
import tracemalloc
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.generators.linda.pairs import KINDS, RANDOM, Pairs, random_pairs

COMPOSITIONS = st.lists(st.sets(st.integers(0, 5), min_size=0, max_size=4).map(lambda s: tuple(sorted(s))), max_size=12)
WANTED = st.sets(st.integers(0, 5), min_size=1, max_size=5).map(lambda s: tuple(sorted(s)))


def labels_of(compositions, sources):
    return [set(compositions[row]) for row in sources.rows]


@given(COMPOSITIONS, WANTED, st.integers(1, 30), st.sampled_from(["union", "same"]), st.integers(0, 9))
def test_two_texts_that_make_up_the_composition_are_taken_whenever_there_are_two(rows, label_set, times, prefer, seed):
    drawn = Pairs(rows, prefer).draw(label_set, times, seed)
    exact = [
        pair for pair in combinations(range(len(rows)), 2) if set(rows[pair[0]]) | set(rows[pair[1]]) == set(label_set)
    ]
    exact = [pair for pair in exact if rows[pair[0]] and rows[pair[1]]]
    assert len(drawn) in (0, times)
    for sources in drawn:
        labels = labels_of(rows, sources)
        assert len(set(sources.rows)) == len(sources.rows) and all(labels)
        if exact:
            assert sources.kind in ("union", "same") and set.union(*labels) == set(label_set)
        if sources.kind != "superset":
            assert set.union(*labels) == set(label_set)
        assert set.union(*labels) >= set(label_set)
    if exact:
        assert drawn
        strict = [pair for pair in exact if all(set(rows[row]) < set(label_set) for row in pair)]
        if strict and prefer == "union":
            assert all(set(rows[row]) < set(label_set) for sources in drawn for row in sources.rows)
        if strict and prefer == "union" and times <= len(strict):
            assert len({frozenset(sources.rows) for sources in drawn}) == times  # none twice before all were there


@given(COMPOSITIONS, WANTED)
def test_a_composition_without_texts_that_hold_its_labels_has_none(rows, label_set):
    kind, tiers = Pairs(rows).groups(label_set)
    label_rows = [set(row) for row in rows if row]
    covered = any(
        set(label_set) <= a | b and a & set(label_set) and b & set(label_set) for a, b in combinations(label_rows, 2)
    )
    assert bool(kind) == bool(tiers)
    if covered:
        assert kind in KINDS
    if not set(label_set) <= set().union(*label_rows):
        assert kind == ""


def test_labels_that_stand_alone_come_first_and_common_labels_next():
    rows = [(0,), (1, 2), (0, 1), (0, 2), (1,)]
    drawn = Pairs(rows).draw((0, 1, 2), 4, 1)
    assert [sum(len(rows[row]) for row in s.rows) for s in drawn] == [3, 3, 4, 4]  # {1} with {0,2}; {0} with {1,2}; ...
    assert {s.kind for s in drawn} == {"union"}


def test_pairs_of_two_labels_that_share_one_make_up_three_as_in_aapd():
    (sources,) = Pairs([(0, 1), (1, 2), (2, 3)]).draw((0, 1, 2), 1, 1)
    assert sorted(sources.rows) == [0, 1] and sources.kind == "union"


def test_the_composition_itself_serves_where_no_two_parts_do():
    assert [s.rows for s in Pairs([(0, 1), (0,)]).draw((0, 1), 1, 1)] == [(0, 1)]
    drawn = Pairs([(0, 1)] * 3).draw((0, 1), 4, 1)
    assert {s.kind for s in drawn} == {"same"} and len({s.rows for s in drawn[:3]}) == 3
    assert Pairs([(0, 1)]).draw((0, 1), 3, 1) == []  # one text alone


def test_same_takes_texts_of_exactly_the_composition_first():
    rows = [(0,), (1,), (0, 1), (0, 1)]
    assert [s.rows for s in Pairs(rows, "same").draw((0, 1), 1, 1)] == [(2, 3)]
    assert [s.rows for s in Pairs(rows, "union").draw((0, 1), 1, 1)] == [(0, 1)]


def test_three_texts_are_chained_where_two_are_too_few():
    (sources,) = Pairs([(0, 1), (2,), (3,), (5,)]).draw((0, 1, 2, 3), 1, 1)
    assert sources.kind == "chain" and sorted(sources.rows) == [0, 1, 2]


def test_a_superset_has_the_largest_overlap_and_the_fewest_other_labels():
    rows = [(0, 1, 4), (0, 1, 4, 5), (2, 5), (2, 4, 5), (3,)]
    (sources,) = Pairs(rows).draw((0, 1, 2), 1, 1)
    assert sources.kind == "superset" and sorted(sources.rows) == [0, 2]


def test_every_pair_comes_once_before_any_comes_again_and_the_seed_decides_the_order():
    rows = [(0,)] * 4 + [(1,)] * 5
    pairs = Pairs(rows)
    drawn = [s.rows for s in pairs.draw((0, 1), 50, 3)]
    assert set(drawn[:20]) == set(product(range(4), range(4, 9)))
    assert set(drawn[20:]) <= set(drawn[:20])
    assert drawn == [s.rows for s in Pairs(rows).draw((0, 1), 50, 3)] != [s.rows for s in pairs.draw((0, 1), 50, 4)]


def test_requests_of_a_composition_get_the_draws_in_their_order():
    rows = [(0,), (1,), (2,), (0,), (1,)]
    requests = [(0, 1), (1, 2), (1, 0), (4, 5), (0, 1)]
    drawn = Pairs(rows).for_requests(requests, 3)
    assert drawn[3] is None
    assert [drawn[0], drawn[2], drawn[4]] == Pairs(rows).draw((0, 1), 3, 3)
    with_others = Pairs(rows).for_requests([(0, 1)], 3)
    assert set(with_others[0].rows) & {0, 3} and set(with_others[0].rows) & {1, 4}


@given(st.integers(2, 40), st.integers(0, 100), st.integers(0, 9))
def test_random_pairs_are_of_two_texts_and_every_text_comes_first_once_before_any_again(n, times, seed):
    drawn = random_pairs(n, times, seed)
    assert len(drawn) == times and {sources.kind for sources in drawn} <= {RANDOM}
    assert all(a != b and {a, b} <= set(range(n)) for a, b in (sources.rows for sources in drawn))
    uses = Counter(sources.rows[0] for sources in drawn)
    assert all(uses[row] in (times // n, -(-times // n)) for row in range(n))
    assert drawn == random_pairs(n, times, seed)


def test_draws_are_even_over_pairs():
    rows = [(0,)] * 30 + [(1,)] * 30 + [(0, 1)]
    counts = Counter(s.rows for seed in range(60) for s in Pairs(rows).draw((0, 1), 45, seed))
    assert len(counts) > 800 and max(counts.values()) < 14  # 900 pairs, 3 draws of each on average


@pytest.mark.slow
def test_a_corpus_of_aapds_size_takes_little_time_and_memory():
    """50,000 texts of 54 labels in some 1,500 compositions, 10,000 requests: the bound is a minute and 1 GiB."""
    rng = np.random.default_rng(0)
    compositions = sorted({tuple(sorted(set(rng.choice(54, rng.integers(2, 6)).tolist()))) for _ in range(1600)})
    weights = 1 / np.arange(1, len(compositions) + 1)
    rows = [compositions[at] for at in rng.choice(len(compositions), 50_000, p=weights / weights.sum())]
    unseen = sorted({tuple(sorted(set(rng.choice(54, rng.integers(2, 6)).tolist()))) for _ in range(400)})
    requests = [unseen[at] for at in rng.integers(len(unseen), size=10_000)]
    tracemalloc.start()
    start = time.perf_counter()
    drawn = Pairs(rows).for_requests(requests, 1)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sources is not None for sources in drawn) > 9000
    assert seconds < 60 and peak < 2**30, (seconds, peak)
    print(f"{seconds:.1f} s, {peak / 2**20:.0f} MiB, {Counter(s.kind for s in drawn if s)}")
