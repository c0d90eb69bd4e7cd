"""Which texts to write between, so that what lies between them has a requested composition (docs/spec/linda.md, 7).

Pairs are sought among compositions, which are few, and counted; a pair of texts is found from its number.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from compaug.core.records import Composition, sub_seed

KINDS = ("union", "same", "chain", "superset")  # of pairs, in the order in which they are tried; see `FINDERS`
RANDOM = "random"  # whatever the composition: plain augmentation
LEAST_CHAINED = 3  # labels of a composition that three texts may make up

Group = tuple[Composition, ...]  # the compositions that the texts to be mixed have: two, or three for a chain


@dataclass(frozen=True)
class Sources:
    """The rows whose texts are to be mixed, two or, one after the other, three."""

    rows: tuple[int, ...]
    kind: str


def random_pairs(n: int, times: int, seed: int) -> list[Sources]:
    """So many pairs of different rows of n; every row is the first of a pair before any is again."""
    rng = np.random.default_rng(sub_seed(seed, "random pairs"))
    first = np.array([row for _ in range(-(-times // n)) for row in rng.permutation(n)], dtype=int)[:times]
    second = (first + rng.integers(1, n, size=times)) % n
    return [Sources(rows, RANDOM) for rows in zip(first.tolist(), second.tolist(), strict=True)]


class Pairs:
    """What can be mixed to a requested composition, from the compositions of the texts, row by row.

    `prefer` "union": texts that make it up together first; "same": two texts that have exactly it.
    """

    def __init__(self, compositions: Sequence[Composition], prefer: str = "union") -> None:
        self.rows: dict[Composition, list[int]] = {}
        for row, composition in enumerate(compositions):
            if composition:
                self.rows.setdefault(tuple(sorted(composition)), []).append(row)
        self.bits = {composition: _bits(composition) for composition in self.rows}
        self.order = KINDS if prefer == "union" else (prefer, *(kind for kind in KINDS if kind != prefer))
        self._groups: dict[Composition, tuple[str, list[list[Group]]]] = {}

    def groups(self, composition: Composition) -> tuple[str, list[list[Group]]]:
        """The kind of pairs that a composition has, "" where it has none, and its groups in tiers, the best first."""
        if composition not in self._groups:
            tiers_by_kind = ((kind, FINDERS[kind](self, composition)) for kind in self.order)
            self._groups[composition] = next(((kind, tiers) for kind, tiers in tiers_by_kind if tiers), ("", []))
        return self._groups[composition]

    def sizes(self, tier: Sequence[Group]) -> list[int]:
        """How many choices of texts each group has: of the same composition, pairs of different texts."""
        counts = ([len(self.rows[composition]) for composition in group] for group in tier)
        return [
            math.comb(count[0], 2) if _same_composition(group) else math.prod(count)
            for group, count in zip(tier, counts, strict=True)
        ]

    def choice(self, group: Group, number: int) -> tuple[int, ...]:
        """The rows of that choice, from 0 to the group's size - 1."""
        choices = [self.rows[composition] for composition in group]
        if _same_composition(group):
            places = _pair(number)
            choices = [choices[0]] * 2
        else:
            places = np.unravel_index(number, [len(rows) for rows in choices], order="F")
        return tuple(rows[at] for rows, at in zip(choices, places, strict=True))

    def draw(self, composition: Composition, times: int, seed: int) -> list[Sources]:
        """So many choices for a composition, in a seeded order; none where it has no pair.

        Every one once, those of a better tier before the others, then any again.
        """
        kind, tiers = self.groups(composition)
        rng = np.random.default_rng(sub_seed(seed, "pairs", *composition))
        drawn: list[tuple[Group, int]] = []
        for tier in tiers:
            total = sum(self.sizes(tier))
            numbers = rng.choice(total, min(total, times - len(drawn)), replace=False, shuffle=True)
            drawn += self._located(tier, numbers.tolist())
        if tiers and len(drawn) < times:
            every = [group for tier in tiers for group in tier]
            numbers = rng.integers(sum(self.sizes(every)), size=times - len(drawn))
            drawn += self._located(every, numbers.tolist())
        return [Sources(self.choice(group, number), kind) for group, number in drawn]

    def _located(self, groups: Sequence[Group], numbers: Sequence[int]) -> Iterator[tuple[Group, int]]:
        """From numbers among all choices of the groups to a group and the number in it."""
        ends = np.cumsum(self.sizes(groups))
        for number, at in zip(numbers, np.searchsorted(ends, numbers, side="right").tolist(), strict=True):
            yield groups[at], number - (int(ends[at - 1]) if at else 0)

    def for_requests(self, requests: Sequence[Sequence[int]], seed: int) -> list[Sources | None]:
        """One choice for every request, None without any."""
        compositions = [tuple(sorted(request)) for request in requests]
        drawn = {composition: iter(self.draw(composition, n, seed)) for composition, n in Counter(compositions).items()}
        return [next(drawn[composition], None) for composition in compositions]


def _same_composition(group: Group) -> bool:
    return len(set(group)) == 1


def _pair(number: int) -> tuple[int, int]:
    """Pair `number` of (0, 1), (0, 2), (1, 2), (0, 3), ...: k (k - 1) / 2 of them stand before (0, k)."""
    second = (1 + math.isqrt(1 + 8 * number)) // 2
    return number - math.comb(second, 2), second


def _bits(composition: Composition) -> int:
    return sum(1 << label for label in composition)


# ---------------------------------------------------------------- kinds


def _union(pairs: Pairs, target: Composition) -> list[list[Group]]:
    """Two strict parts of the composition that make it up, those with the fewest common labels first.

    Single labels, or {1,2} and {2,3} for {1,2,3}; without any, the composition itself and a part of it.
    """
    goal, parts = _bits(target), _parts(pairs, target)
    strict = [part for part in parts if part != target]
    groups = [(a, b) for a, b in combinations(strict, 2) if pairs.bits[a] | pairs.bits[b] == goal]
    if not groups and target in parts:
        groups = [(target, part) for part in strict]
    return _tiers(groups, lambda pair: sum(map(len, pair)))


def _same(pairs: Pairs, target: Composition) -> list[list[Group]]:
    """Two texts that have exactly this composition."""
    return [[(target, target)]] if len(pairs.rows.get(target, [])) > 1 else []


def _chain(pairs: Pairs, target: Composition) -> list[list[Group]]:
    """Three parts that make it up: a text between two of them, then one between that and the third.

    Only those with the fewest common labels.
    """
    if len(target) < LEAST_CHAINED:
        return []
    goal, parts = _bits(target), _parts(pairs, target)
    least, groups = math.inf, []
    for a, b in combinations(parts, 2):
        missing = goal & ~(pairs.bits[a] | pairs.bits[b])
        for c in parts:
            size = len(a) + len(b) + len(c)
            if size <= least and not missing & ~pairs.bits[c]:
                least, groups = size, [*(groups if size == least else []), (a, b, c)]
    return [groups] if groups else []


def _superset(pairs: Pairs, target: Composition) -> list[list[Group]]:
    """A text with as many of the labels as any that has a partner with all those missing.

    Of such pairs the ones with the fewest other labels.
    """
    goal = _bits(target)
    by_overlap: dict[int, list[Composition]] = {}
    for composition, bits in pairs.bits.items():
        if bits & goal:
            by_overlap.setdefault(bits & goal, []).append(composition)
    others = {composition: (bits & ~goal).bit_count() for composition, bits in pairs.bits.items()}
    cost = lambda group: sum(others[composition] for composition in group)
    for most in range(len(target), 0, -1):
        groups: set[Group] = set()
        for overlap in (overlap for overlap in by_overlap if overlap.bit_count() == most):
            least = min(others[a] for a in by_overlap[overlap])
            first = [a for a in by_overlap[overlap] if others[a] == least]
            second = [b for other in by_overlap if not goal & ~overlap & ~other for b in by_overlap[other]]
            second.sort(key=others.__getitem__)
            for a in first:
                if (b := next((b for b in second if pairs.sizes([(a, b)]) != [0]), None)) is not None:
                    equal = (c for c in second if others[c] == others[b] and pairs.sizes([(a, c)]) != [0])
                    groups |= {tuple(sorted((a, c))) for c in equal}
        if groups:
            return _tiers(sorted(groups), cost)[:1]
    return []


def _parts(pairs: Pairs, target: Composition) -> list[Composition]:
    """The compositions of texts all of whose labels are in `target`."""
    goal = _bits(target)
    return sorted(c for c, bits in pairs.bits.items() if not bits & ~goal)


def _tiers(groups: Sequence[Group], cost: Callable[[Group], int]) -> list[list[Group]]:
    """Groups of equal cost, the cheapest first."""
    by_cost: dict[int, list[Group]] = {}
    for group in groups:
        by_cost.setdefault(cost(group), []).append(group)
    return [by_cost[key] for key in sorted(by_cost)]


FINDERS: Mapping[str, Callable[[Pairs, Composition], list[list[Group]]]] = {
    "union": _union,
    "same": _same,
    "chain": _chain,
    "superset": _superset,
}
