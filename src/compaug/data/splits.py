"""Compositional splits: no composition of D'_test = D_s + D_test occurs in D_train (paper, "Problem Setting").

A corpus may hold a text twice, even under two compositions. In a split made here, rows of D_train whose text is in
D'_test leave, and so do rows of D_test whose text is in D_s (compared by `text_key`). Published parts are kept as
they are.

A corpus may come with an ordinary split of its own: train, validation, test. Then only its test rows can be D'_test,
only its training and validation rows D_train, and it is the iid split itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from compaug.core.files import InputError, digest
from compaug.core.records import Composition, Example, Labels, sub_seed, text_key
from compaug.core.schema import Block, Count, Positive, Seed, Share
from compaug.data import hardest


class Split(Block):
    mode: Literal["reference", "generate"]
    compositions: Positive
    support_size: Count
    seed: Seed
    min_count: Positive | None = None
    test_share: Annotated[list[Share], Field(min_length=2, max_length=2)] | None = None
    seen_test: Positive | None = None
    rule: Literal["hardest"] | None = None  # of the compositions: those that are read worst unseen; None: at random

    @model_validator(mode="after")
    def _consistent(self) -> Split:
        for key in ("min_count", "test_share"):
            if self.mode == "generate" and getattr(self, key) is None:
                raise ValueError(f"mode {self.mode} needs `{key}`")
        if self.test_share is not None and self.test_share[0] >= self.test_share[1]:
            raise ValueError("test_share must be [lowest, highest]")
        return self


PARTS = ("train", "support", "test")
LABEL_FLOOR, LABEL_FLOOR_SHARE = 50, 0.005  # training instances that every label keeps (docs/spec/ld-vae.md, 2)
DRAWS = 5_000  # draws of M compositions before the label floor is halved
READ = 3  # by the rule `hardest` one row in so many chooses the compositions, and is not tested on


@dataclass(frozen=True)
class Choice:
    """The test compositions, and what had to be relaxed for them."""

    compositions: tuple[Composition, ...]
    relaxations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parts:
    """Positions in D_ori of every part, ascending; `support` alone is in its nested order.

    `repeats` holds the positions that left `train` or `test` because a part above them has the same text; `unused`
    those that an own split leaves in neither, its training rows of held-out compositions, its test rows of others, and
    rows that chose the compositions. `read` has all that chose them: no test set has one.
    """

    choice: Choice
    positions: dict[str, list[int]]
    repeats: dict[str, list[int]]
    unused: dict[str, list[int]] = field(default_factory=dict)
    read: frozenset[int] = frozenset()


def split_corpus(
    examples: Sequence[Example],
    labels: Labels,
    options: Split,
    reference: Mapping[str, Sequence[str]] | None = None,
    own_split: Mapping[str, Sequence[str]] | None = None,
) -> Parts:
    """Split D_ori by `options.mode`.

    `reference` maps "train", "support" and "test" to published ids, `own_split` "train", "validation" and "test" to
    those of an ordinary split, which only the mode `generate` uses. D_s is the head of one seeded order of D'_test, so
    that for one seed S_50 is within S_100 within S_250. The iid split is a seeded shuffle of D_ori with a test part of
    the size of D_test. InputError when the corpus or the published parts cannot give what is asked.
    """
    if own_split is not None and options.mode != "generate":
        raise InputError(
            f"split.mode is {options.mode}, but the corpus brings a split of its own; set split.mode to generate"
        )
    unused: dict[str, list[int]] = {}
    read: frozenset[int] = frozenset()
    if options.mode == "reference":
        published = reference_positions(examples, labels, reference)
        train, groups = published["train"], [published["support"], published["test"]]
        held = {examples[position].labels for group in groups for position in group}
        choice = Choice(tuple(sorted(held)), _other_support(options, len(published["support"])))
    else:
        may_train, may_test = own_positions(examples, own_split)
        to_train, to_test = (Counter(examples[p].labels for p in positions) for positions in (may_train, may_test))
        read = _read_rows(examples, may_test, options)
        choice = draw_compositions(to_train, to_test, labels, options, _readings(examples, read, to_test, options))
        held = set(choice.compositions)
        train, left_of_train = _parted(examples, may_train, lambda example: example.labels not in held)
        in_pool, left_of_test = _parted(examples, may_test, lambda example: example.labels in held)
        groups = [[row for row in in_pool if row in read], [row for row in in_pool if row not in read]]
        if own_split is not None:
            unused = {"train": left_of_train, "test": left_of_test}

    order = nested_order(groups, options.seed)
    if options.support_size >= len(order):
        raise InputError(
            f"sizes.support_size is {options.support_size} but the {len(held)} test compositions have "
            f"{len(order)} examples in all; lower it or raise split.test_share"
        )
    support, test = order[: options.support_size], sorted(order[options.support_size :])
    if read:
        unused["test"] = unused.get("test", []) + [position for position in test if position in read]
        test = [position for position in test if position not in read]
    repeats: dict[str, list[int]] = {"train": [], "test": []}
    if options.mode != "reference":
        test, repeats["test"] = _without_texts(examples, test, support)
        train, repeats["train"] = _without_texts(examples, train, order)
    for name, left, above in (("training", train, "support and test"), ("test", test, "support")):
        if not left:
            raise InputError(
                f"no row is left for the {name} set: the texts of all its rows are in the {above} set too, and the "
                f"corpus has {len({text_key(example.text) for example in examples})} different texts for "
                f"{len(examples)} rows; one text belongs in one row"
            )
    if own_split is None:
        iid_train, iid_test = iid_positions(len(examples), len(test), options.seed)
    else:
        iid_train, iid_test = own_positions(examples, own_split)
    positions = {"train": train, "support": support, "test": test, "iid_train": iid_train, "iid_test": iid_test}
    if options.seen_test:
        positions["train"], seen = hold_out_seen(examples, train, options.seen_test, options.seed, read)
        if len(seen) < options.seen_test:
            raise InputError(
                f"split.seen_test is {options.seen_test} but only {len(seen)} training rows can leave: "
                "each composition keeps one, and a repeated text stays; lower it"
            )
        positions["seen_test"] = seen
    return Parts(choice, positions, repeats, unused, read)


def own_positions(
    examples: Sequence[Example], own_split: Mapping[str, Sequence[str]] | None
) -> tuple[Sequence[int], Sequence[int]]:
    """Positions of the rows that can be trained on, and of those that can be tested on.

    With the split that a corpus came with these are its training and validation rows, and its test rows; all rows both
    times without one.
    """
    if own_split is None:
        return (range(len(examples)),) * 2
    test = set(own_split["test"])
    return _parted(examples, range(len(examples)), lambda example: example.id not in test)


def _read_rows(examples: Sequence[Example], positions: Sequence[int], options: Split) -> frozenset[int]:
    """Positions of the rows that choose the compositions by the rule `hardest`; none of them is tested on."""
    if options.rule is None:
        return frozenset()
    return frozenset(p for p in positions if sub_seed(options.seed, "read", examples[p].id) % READ == 0)


def _readings(
    examples: Sequence[Example], read: frozenset[int], candidates: Counter[Composition], options: Split
) -> Mapping[Composition, float] | None:
    if options.rule is None:
        return None
    eligible = sorted(c for c, count in candidates.items() if len(c) >= 2 and count >= options.min_count)
    return hardest.reading(examples, sorted(read), eligible, options.seed)


def nested_order(groups: Sequence[Sequence[int]], seed: int) -> list[int]:
    """One order of D'_test, group after group, each shuffled; the support sets of a seed are its heads."""
    rng = np.random.default_rng(sub_seed(seed, "support"))
    return [int(position) for group in groups for position in rng.permutation(np.array(group, dtype=int))]


def iid_positions(size: int, test_size: int, seed: int) -> tuple[list[int], list[int]]:
    """Positions of the training and the test part of the ordinary split."""
    order = np.random.default_rng(sub_seed(seed, "iid")).permutation(size)
    return np.sort(order[test_size:]).tolist(), np.sort(order[:test_size]).tolist()


def with_seen(parts: Parts, examples: Sequence[Example], seed: int) -> Parts:
    """The same with a seen test set of the size of the unseen one.

    It has at most a tenth of D_train, and no more rows than can leave.
    """
    train = parts.positions["train"]
    size = min(len(parts.positions["test"]), len(train) // 10)
    left, held = hold_out_seen(examples, train, size, seed, parts.read)
    return replace(parts, positions=parts.positions | {"train": left, "seen_test": held}) if held else parts


def hold_out_seen(
    examples: Sequence[Example], train: Sequence[int], size: int, seed: int, read: Collection[int] = ()
) -> tuple[list[int], list[int]]:
    """D_train without at most `size` rows, and these rows: the seen test set of the generalised protocol.

    They are drawn at random, from rows that are not `read`. Each of their compositions stays in D_train, and none of
    their texts does.
    """
    left, keys = Counter(examples[p].labels for p in train), Counter(text_key(examples[p].text) for p in train)
    held: set[int] = set()
    for position in np.random.default_rng(sub_seed(seed, "seen test")).permutation(np.array(train, dtype=int)).tolist():
        example = examples[position]
        can_leave = left[example.labels] > 1 and keys[text_key(example.text)] == 1 and position not in read
        if len(held) < size and can_leave:
            held.add(position)
            left[example.labels] -= 1
    return [p for p in train if p not in held], sorted(held)


def _without_texts(
    examples: Sequence[Example], positions: Sequence[int], others: Sequence[int]
) -> tuple[list[int], list[int]]:
    """`positions` whose text none of `others` has, and the rest."""
    taken = {text_key(examples[position].text) for position in others}
    return _parted(examples, positions, lambda example: text_key(example.text) not in taken)


def _parted(
    examples: Sequence[Example], positions: Sequence[int], keeps: Callable[[Example], bool]
) -> tuple[list[int], list[int]]:
    """The positions whose example the rule keeps, and the rest."""
    parts: dict[bool, list[int]] = {True: [], False: []}
    for position in positions:
        parts[keeps(examples[position])].append(position)
    return parts[True], parts[False]


def _other_support(options: Split, published: int) -> tuple[str, ...]:
    if options.support_size == published:
        return ()
    note = (
        f"support_size is {options.support_size}, the published support set has {published}: D_s is the head of "
        "the published support set followed by the published test set, both shuffled"
    )
    return (note,)


# ---------------------------------------------------------------- published parts


def reference_positions(
    examples: Sequence[Example], labels: Labels, reference: Mapping[str, Sequence[str]] | None
) -> dict[str, list[int]]:
    """Published parts as positions, ascending; InputError unless they obey the protocol."""
    if reference is None:
        raise InputError("split.mode is reference but the benchmark has no published split; set it to generate")
    part_of = {identifier: part for part in PARTS for identifier in reference.get(part, ())}
    if part_of.keys() != {example.id for example in examples}:
        raise InputError("reference split: its ids are not those of the corpus; run the raw stage again")
    parts: dict[str, list[int]] = {part: [] for part in PARTS}
    for position, example in enumerate(examples):
        parts[part_of[example.id]].append(position)
    held_by = {part: {examples[position].labels for position in positions} for part, positions in parts.items()}
    if shared := held_by["train"] & (held_by["test"] | held_by["support"]):
        raise InputError(
            f"reference split: the composition {labels.key(min(shared))} is in train and in test or support; "
            "set split.mode to generate"
        )
    if alone := held_by["support"] - held_by["test"]:
        raise InputError(
            f"reference split: the composition {labels.key(min(alone))} is in support but not in test; "
            "set split.mode to generate"
        )
    return parts


# ---------------------------------------------------------------- drawn compositions


def draw_compositions(
    counts: Counter[Composition],
    candidates: Counter[Composition],
    labels: Labels,
    options: Split,
    readings: Mapping[Composition, float] | None = None,
) -> Choice:
    """M compositions, drawn uniformly until D'_test and what remains of every label have a fair size.

    With `readings` they are drawn from the M that are read worst, then from M + 1, and so on (`hardest.reading`).

    `counts` are those of the rows that can be trained on, `candidates` of those that can be tested on.

    Eligible are compositions of at least two labels and `min_count` candidates. A draw is accepted when |D'_test|
    is within `test_share` of the candidates and every label keeps max(50, 0.5 %) training instances; a label with
    fewer in the whole corpus keeps them all. When `DRAWS` draws fail the floor is halved and that is recorded.
    Repeated texts leave later, so a label may end a few rows below its floor. InputError when no draw will do.
    """
    size = candidates.total()
    lowest, highest = (share * size for share in options.test_share)
    of_label = label_counts(counts, len(labels))
    if not of_label.all():
        name = labels.names[int(of_label.argmin())]
        raise InputError(f"no example to train on has the label {name!r}; take it out of the label inventory")
    if all(len(composition) < 2 for composition in candidates):
        raise InputError(
            "no row has two labels or more, so that there is no combination to hold out; check how labels were read: "
            "options.label_delimiter and what the stage raw printed"
        )
    eligible = sorted(c for c, count in candidates.items() if len(c) >= 2 and count >= options.min_count)
    _check_enough(sorted(candidates[composition] for composition in eligible), size, options)

    first = floor = max(LABEL_FLOOR, math.ceil(LABEL_FLOOR_SHARE * counts.total()))
    while floor:
        floors = np.minimum(floor, of_label)
        pool = [c for c in eligible if all(of_label[label] - counts[c] >= floors[label] for label in c)]
        if readings is not None:
            pool = sorted((c for c in pool if c in readings), key=lambda c: (readings[c], c))
        members = np.array([[label in c for label in range(len(labels))] for c in pool], dtype=int)  # [pool, labels]
        sizes, leaving = (np.array([rows[c] for c in pool], dtype=int) for rows in (candidates, counts))
        rng = np.random.default_rng(sub_seed(options.seed, "compositions"))
        spare = len(pool) - options.compositions
        for draw in range(DRAWS if spare >= 0 else 0):
            choosable = len(pool) if readings is None else options.compositions + draw * (spare + 1) // DRAWS
            drawn = rng.choice(choosable, options.compositions, replace=False)
            fair = lowest <= sizes[drawn].sum() <= highest
            if fair and (of_label - leaving[drawn] @ members[drawn] >= floors).all():
                chosen = tuple(sorted(pool[index] for index in drawn))
                return Choice(chosen, _relaxations(first, floor, of_label, labels))
        floor //= 2
    raise InputError(
        f"no draw of {options.compositions} out of {len(eligible)} eligible compositions leaves every label in "
        f"training and puts {options.test_share[0]:.1%} to {options.test_share[1]:.1%} of {size} examples into "
        "the test; widen split.test_share or change split.compositions"
    )


def label_counts(counts: Mapping[Composition, int], n_labels: int) -> np.ndarray:
    """Instances of each label, [n_labels]."""
    of_label = np.zeros(n_labels, dtype=int)
    for composition, count in counts.items():
        of_label[list(composition)] += count
    return of_label


def _check_enough(sizes: Sequence[int], size: int, options: Split) -> None:
    """InputError when no draw whatsoever can have the size asked for; `sizes` ascend."""
    n_drawn, (low, high) = options.compositions, options.test_share
    if len(sizes) < n_drawn:
        raise InputError(
            f"only {len(sizes)} compositions have at least 2 labels and {options.min_count} examples; "
            f"split.compositions asks for {n_drawn}: lower it or split.min_count"
        )
    smallest, largest = sum(sizes[:n_drawn]) / size, sum(sizes[-n_drawn:]) / size
    if largest < low or smallest > high:
        raise InputError(
            f"any {n_drawn} of the {len(sizes)} eligible compositions hold {smallest:.1%} to {largest:.1%} of the "
            f"corpus; split.test_share asks for {low:.1%} to {high:.1%}: change it or split.compositions"
        )


def _relaxations(first: int, floor: int, of_label: np.ndarray, labels: Labels) -> tuple[str, ...]:
    lowered = [f"labels keep at least {floor} training examples instead of {first}"] if floor < first else []
    rare = [
        f"{name} has {count} examples in all, fewer than {floor}: all of them stay in training"
        for name, count in zip(labels.names, of_label.tolist(), strict=True)
        if count < floor
    ]
    return (*lowered, *rare)


# ---------------------------------------------------------------- what was done


def describe(parts: Parts, examples: Sequence[Example], labels: Labels, options: Split) -> dict:
    """split.json: the choice, the size of everything, and a hash of each part's ids in file order."""
    held = {part: Counter(examples[position].labels for position in parts.positions[part]) for part in PARTS}
    size = len(examples)
    in_pool = sum(example.labels in set(parts.choice.compositions) for example in examples)
    unused = {part: len(where) for part, where in parts.unused.items()}
    return ({"unused_of_own_split": unused} if unused else {}) | {
        "mode": options.mode,
        "seed": options.seed,
        "examples": {"original": size} | {part: len(where) for part, where in parts.positions.items()},
        "dropped_repeats": {part: len(where) for part, where in parts.repeats.items()},
        "compositions": {
            "original": len({example.labels for example in examples}),
            **{part: len(counter) for part, counter in held.items()},
            "shared": len(set(held["train"]) & (set(held["support"]) | set(held["test"]))),
        },
        "test_compositions": {
            labels.key(composition): {part: held[part][composition] for part in ("support", "test")}
            for composition in parts.choice.compositions
        },
        "test_share": round(in_pool / size, 6),
        "relaxations": list(parts.choice.relaxations),
        "reconstruction": {},  # no split has one; files of earlier ones keep their bytes
        "ids": {part: digest(ids_of(examples, where)) for part, where in parts.positions.items()},
    }


def ids_of(examples: Sequence[Example], positions: Sequence[int]) -> list[str]:
    return [examples[position].id for position in positions]
