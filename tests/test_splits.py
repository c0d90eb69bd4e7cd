"""Splits by composition: invariants of any split, the published one, a user's own, every error."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parameters import written

from compaug.core.files import InputError, write_json
from compaug.core.records import Example, Labels, read_jsonl, read_label_sets, text_key, write_jsonl
from compaug.data.splits import (
    Split,
    describe,
    draw_compositions,
    ids_of,
    split_corpus,
)
from compaug.stages import iid, split

ROOT = Path(__file__).parents[1]
LABELS = Labels(tuple("abcde"), tuple("abcde"))
PAIRS = list(itertools.combinations(range(5), 2))
# Five labels, each alone 20 times and in every pair 6 times: 100 + 60 examples.
COUNTS = {(label,): 20 for label in range(5)} | dict.fromkeys(PAIRS, 6)


def corpus(counts=COUNTS):
    rows = [composition for composition, count in counts.items() for _ in range(count)]
    return [Example(f"x{i:03d}", f"text {i}", labels) for i, labels in enumerate(rows)]


def options(**changes):
    values = {"mode": "generate", "compositions": 3, "support_size": 4, "seed": 7, "min_count": 6}
    return Split(**values | {"test_share": [0.05, 0.2]} | changes)


def published(examples, held=((0, 1), (2, 3)), support=3):
    """Ids of a split with two test compositions whose first and last rows are in the support set."""
    pool = [example.id for example in examples if example.labels in held]
    chosen = [pool[0], *pool[len(pool) - support + 1 :]]
    return {
        "train": [example.id for example in examples if example.labels not in held],
        "support": chosen,
        "test": [identifier for identifier in pool if identifier not in chosen],
    }


def compositions_of(examples, positions):
    return {examples[position].labels for position in positions}


@st.composite
def corpora(draw):
    """Every label alone ten times, some pairs and triples, a few texts that occur twice."""
    wider = draw(
        st.lists(
            st.sampled_from([c for size in (2, 3) for c in itertools.combinations(range(5), size)]),
            min_size=3,
            max_size=12,
            unique=True,
        )
    )
    counts = {(): 3} | {(label,): 10 for label in range(5)} | {c: draw(st.integers(4, 9)) for c in wider}
    examples = corpus(counts)
    where = st.integers(0, len(examples) - 1)
    for source, copy in draw(st.lists(st.tuples(where, where), max_size=5)):
        old = examples[copy]
        examples[copy] = Example(old.id, f" {examples[source].text.upper()}  ", old.labels)
    return examples


@given(corpora(), st.integers(1, 30), st.integers(0, 100))
@settings(max_examples=40)
def test_a_seen_test_set_leaves_its_compositions_in_training_and_takes_its_texts_along(examples, size, seed):
    split_options = options(seed=seed, min_count=3, test_share=[0.0, 0.9])
    try:
        whole = split_corpus(examples, LABELS, split_options)
    except InputError:
        return
    try:
        parts = split_corpus(examples, LABELS, options(seed=seed, min_count=3, test_share=[0.0, 0.9], seen_test=size))
    except InputError as error:
        assert f"split.seen_test is {size} but only" in str(error)
        return
    train, seen = parts.positions["train"], parts.positions["seen_test"]
    assert sorted(train + seen) == whole.positions["train"] and len(seen) == size
    assert compositions_of(examples, seen) <= compositions_of(examples, train)
    keys = lambda positions: {text_key(examples[p].text) for p in positions}
    assert not keys(train) & keys(seen)
    for part in ("support", "test", "iid_train", "iid_test"):  # nothing else moves
        assert parts.positions[part] == whole.positions[part]


@settings(max_examples=60)
@given(corpora(), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2**31 - 1))
def test_a_drawn_split_keeps_every_invariant(examples, compositions, support_size, seed):
    split_options = options(
        compositions=compositions, support_size=support_size, seed=seed, min_count=3, test_share=[0.0, 0.9]
    )
    parts = split_corpus(examples, LABELS, split_options)
    train, support, test = (parts.positions[part] for part in ("train", "support", "test"))
    counts = Counter(example.labels for example in examples)

    placed = [*train, *support, *test, *parts.repeats["train"], *parts.repeats["test"]]
    assert sorted(placed) == list(range(len(examples)))
    assert sorted(parts.positions["iid_train"] + parts.positions["iid_test"]) == list(range(len(examples)))
    assert len(parts.positions["iid_test"]) == len(test)
    assert len(support) == support_size

    assert len(set(parts.choice.compositions)) == compositions
    assert all(len(c) >= 2 and counts[c] >= 3 for c in parts.choice.compositions)
    assert not compositions_of(examples, train) & set(parts.choice.compositions)
    assert compositions_of(examples, support + test) <= set(parts.choice.compositions)
    assert {label for position in train for label in examples[position].labels} == set(range(5))

    texts = {part: {text_key(examples[i].text) for i in parts.positions[part]} for part in parts.positions}
    assert not texts["train"] & (texts["support"] | texts["test"])
    assert not texts["support"] & texts["test"]

    assert split_corpus(examples, LABELS, split_options) == parts
    larger = split_corpus(examples, LABELS, split_options.model_copy(update={"support_size": support_size + 1}))
    assert larger.positions["support"][:support_size] == support
    assert larger.positions["train"] == train
    assert set(larger.positions["test"]) <= set(test)


def test_another_seed_draws_another_split():
    examples = corpus()
    first, second = (split_corpus(examples, LABELS, options(seed=seed)) for seed in (1, 2))
    assert first.choice.compositions != second.choice.compositions


def test_a_draw_has_the_size_asked_for_and_leaves_every_label_its_floor():
    counts = Counter({(label,): 200 for label in range(5)} | {pair: 20 + 10 * i for i, pair in enumerate(PAIRS)})
    for seed in range(20):
        split_options = options(compositions=3, seed=seed, min_count=40, test_share=[0.1, 0.12])
        choice = draw_compositions(counts, counts, LABELS, split_options)
        assert not choice.relaxations
        assert 0.1 <= sum(counts[c] for c in choice.compositions) / counts.total() <= 0.12
        assert all(counts[c] >= 40 for c in choice.compositions)


def test_the_label_floor_is_halved_until_it_can_be_kept_and_the_relaxation_is_recorded():
    # a occurs 44 times (20 alone, 4 pairs of 6): two pairs may leave it 32, never the 50 of the floor.
    choice = draw_compositions(Counter(COUNTS), Counter(COUNTS), LABELS, options(compositions=4))
    assert choice.relaxations == ("labels keep at least 25 training examples instead of 50",)


def test_a_label_rarer_than_the_floor_stays_in_training_entirely():
    counts = Counter({(label,): 100 for label in range(4)} | {pair: 30 for pair in PAIRS if 4 not in pair})
    counts[0, 4] = counts[1, 4] = 10
    for seed in range(20):
        choice = draw_compositions(counts, counts, LABELS, options(seed=seed, test_share=[0.05, 0.3]))
        assert not any(4 in composition for composition in choice.compositions)
        assert choice.relaxations == ("e has 20 examples in all, fewer than 50: all of them stay in training",)


def test_a_corpus_of_one_text_has_no_split():
    examples = [Example(example.id, "the same words", example.labels) for example in corpus()]
    with pytest.raises(InputError, match=r"no row is left for the training set: .* has 1 different texts for \d+ rows"):
        split_corpus(examples, LABELS, options())


def test_a_training_text_that_is_tested_leaves_training_and_a_test_text_in_the_support_leaves_the_test():
    examples = corpus()
    plain = split_corpus(examples, LABELS, options())
    in_train, in_support = plain.positions["train"][0], plain.positions["support"][0]
    first, second = plain.positions["test"][:2]
    for position, source in ((in_train, first), (second, in_support)):
        old = examples[position]
        examples[position] = Example(old.id, examples[source].text.replace(" ", " \n").upper(), old.labels)
    parts = split_corpus(examples, LABELS, options())
    assert parts.repeats == {"train": [in_train], "test": [second]}
    assert describe(parts, examples, LABELS, options())["dropped_repeats"] == {"train": 1, "test": 1}


def test_the_description_counts_everything():
    examples = corpus()
    split_options = options()
    parts = split_corpus(examples, LABELS, split_options)
    facts = describe(parts, examples, LABELS, split_options)
    sizes = {"original": 160, "train": 142, "support": 4, "test": 14, "iid_train": 146, "iid_test": 14}
    assert facts["examples"] == sizes
    assert facts["compositions"] | {"support": 0} == {
        "original": 15, "train": 12, "support": 0, "test": 3, "shared": 0,
    }  # fmt: skip
    assert facts["test_share"] == 0.1125  # 18 of 160
    assert sum(row["test"] + row["support"] for row in facts["test_compositions"].values()) == 18


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compositions": 11}, "only 10 compositions have at least 2 labels and 6 examples"),
        ({"min_count": 7}, "only 0 compositions"),
        ({"test_share": [0.5, 0.6]}, "hold 11.2% to 11.2% of the corpus; split.test_share asks for 50.0% to 60.0%"),
        ({"support_size": 18}, "support_size is 18 but the 3 test compositions have 18 examples"),
    ],
)
def test_a_split_that_the_corpus_cannot_give_is_refused_with_the_numbers(changes, message):
    with pytest.raises(InputError, match=message):
        split_corpus(corpus(), LABELS, options(**changes))


def test_where_no_row_has_two_labels_the_reading_is_to_be_checked():
    with pytest.raises(InputError, match=r"no row has two labels or more.*options\.label_delimiter"):
        split_corpus(corpus({(label,): 9 for label in range(5)}), LABELS, options())


def test_draws_that_always_empty_a_label_are_refused():
    counts = {(0, 1): 9, (2, 3): 9, (1, 2): 9, (4,): 9}  # a and d occur in one composition each
    with pytest.raises(InputError, match="no draw of 2 out of 3 eligible compositions leaves every label in training"):
        split_corpus(corpus(counts), LABELS, options(compositions=2, test_share=[0.1, 0.9]))


def test_a_label_without_examples_is_refused():
    with pytest.raises(InputError, match="no example to train on has the label 'e'"):
        split_corpus(corpus({(0, 1): 9, (2, 3): 9}), LABELS, options())


# ---------------------------------------------------------------- published splits


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 5))
def test_an_own_split_gives_its_test_rows_to_the_test_and_its_other_rows_to_training(seed, compositions, support_size):
    examples = corpus()
    shuffled = np.random.default_rng(seed).permutation(len(examples))
    id_parts = {"train": shuffled[:70], "validation": shuffled[70:80], "test": shuffled[80:]}
    id_parts = {part: [examples[p].id for p in positions] for part, positions in id_parts.items()}
    split_options = options(
        compositions=compositions, support_size=support_size, seed=seed, min_count=1, test_share=[0.0, 0.6]
    )
    try:
        parts = split_corpus(examples, LABELS, split_options, own_split=id_parts)
    except InputError as error:  # a draw of few rows
        assert "support_size" in str(error) or "no row is left" in str(error)
        return
    ids = {part: set(ids_of(examples, where)) for part, where in parts.positions.items()}
    held = set(parts.choice.compositions)
    trained = {*id_parts["train"], *id_parts["validation"]}
    assert ids["train"] == {e.id for e in examples if e.id in trained and e.labels not in held}
    assert ids["support"] | ids["test"] == {e.id for e in examples if e.id in id_parts["test"] and e.labels in held}
    assert (ids["iid_train"], ids["iid_test"]) == (trained, set(id_parts["test"]))
    facts = describe(parts, examples, LABELS, split_options)
    assert sum(facts["unused_of_own_split"].values()) == len(examples) - len(
        ids["train"] | ids["support"] | ids["test"]
    )


def test_an_own_split_holds_out_only_what_its_test_rows_have_and_keeps_every_label_its_training_rows():
    examples = corpus()
    tested = [e.id for e in examples if e.labels == (0, 1)] + [f"x{i:03d}" for i in range(5)]
    id_parts = {"train": [e.id for e in examples if e.id not in tested], "test": tested}
    with pytest.raises(InputError, match="only 1 compositions have at least 2 labels and 6 examples"):
        split_corpus(examples, LABELS, options(compositions=2), own_split=id_parts)
    parts = split_corpus(
        examples, LABELS, options(compositions=1, test_share=[0.1, 0.99], support_size=2), own_split=id_parts
    )
    assert parts.choice.compositions == ((0, 1),) and len(parts.positions["test"]) == 4
    with pytest.raises(InputError, match="no example to train on has the label 'a'"):
        first = [e.id for e in examples if 0 in e.labels]
        rest = [e.id for e in examples if 0 not in e.labels]
        split_corpus(examples, LABELS, options(), own_split={"train": rest, "test": first})
    with pytest.raises(InputError, match="split.mode is reference, but the corpus brings a split of its own"):
        split_corpus(examples, LABELS, options(mode="reference"), published(examples), own_split=id_parts)


def test_a_published_split_is_taken_as_it_is():
    examples = corpus()
    reference = published(examples)
    examples[0] = Example(examples[0].id, examples[-1].text, examples[0].labels)  # repeated texts stay
    parts = split_corpus(examples, LABELS, options(mode="reference", support_size=3), reference)
    for part in ("train", "test"):
        assert ids_of(examples, parts.positions[part]) == reference[part]
    assert sorted(ids_of(examples, parts.positions["support"])) == reference["support"]
    assert parts.choice.compositions == ((0, 1), (2, 3))
    assert parts.choice.relaxations == ()
    assert parts.repeats == {"train": [], "test": []}


def test_other_support_sizes_extend_or_shorten_the_published_support_set():
    examples = corpus()
    reference = published(examples)
    supports = [
        split_corpus(examples, LABELS, options(mode="reference", support_size=size), reference) for size in (0, 2, 3, 6)
    ]
    ids = [ids_of(examples, parts.positions["support"]) for parts in supports]
    assert [len(support) for support in ids] == [0, 2, 3, 6]
    assert all(ids[-1][: len(support)] == support for support in ids)
    assert sorted(ids[2]) == reference["support"]
    assert "published support set has 3" in supports[3].choice.relaxations[0]


def _move(reference, identifier, source, target):
    reference[source].remove(identifier)
    reference[target].append(identifier)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: r["train"].append("nobody"), "its ids are not those of the corpus"),
        (lambda r: r["train"].remove("x000"), "its ids are not those of the corpus"),
        (lambda r: _move(r, r["test"][0], "test", "train"), r"the composition a\+b is in train and in test"),
        (lambda r: [_move(r, i, "test", "support") for i in r["test"][:5]], r"a\+b is in support but not in test"),
    ],
)
def test_an_inconsistent_published_split_is_refused(spoil, message):
    examples = corpus()
    reference = published(examples)
    spoil(reference)
    with pytest.raises(InputError, match=message):
        split_corpus(examples, LABELS, options(mode="reference", support_size=3), reference)


def test_reference_mode_without_a_published_split_is_refused():
    with pytest.raises(InputError, match="no published split"):
        split_corpus(corpus(), LABELS, options(mode="reference"))


def test_the_published_semeval_split_has_the_published_facts(mirror):
    from compaug.data.readers import READERS

    folder = mirror / "semeval2018_ec" / "restricted" / "ldvae_cg"
    raw = READERS["semeval"]({part: folder / f"{part}.txt.xz" for part in ("train", "support", "test")}, {})
    reference = {
        part: [identifier for identifier, where in raw.reference.items() if where == part]
        for part in ("train", "support", "test")
    }
    split_options = options(mode="reference", compositions=20, support_size=50)
    parts = split_corpus(raw.examples, raw.labels, split_options, reference)
    facts = describe(parts, raw.examples, raw.labels, split_options)
    assert {part: facts["examples"][part] for part in ("train", "support", "test")} == {
        "train": 9530,
        "support": 50,
        "test": 1403,
    }
    assert facts["compositions"] == {"original": 402, "train": 382, "support": 17, "test": 20, "shared": 0}
    assert facts["test_compositions"]["joy+love"]["test"] == 276
    assert facts["relaxations"] == []
    assert compositions_of(raw.examples, parts.positions["support"]) <= set(parts.choice.compositions)


# ---------------------------------------------------------------- the stage


def run_stage(tmp_path, name, reference=None, **changes):
    """Run the stage on the toy corpus with the repository's params, the split block of `diagnostic` replaced."""
    raw, out = tmp_path / "raw", tmp_path / name
    write_jsonl(raw / "examples.jsonl", corpus())
    LABELS.write(raw / "labels.json")
    if reference is not None:
        write_json(raw / "reference.json", reference)
    block = options(**changes).model_dump()
    size = {"diagnostic:sizes.support_size": block.pop("support_size")}
    written(tmp_path, size | {f"diagnostic:split.{key}": value for key, value in block.items()})
    arguments = ["--benchmark", "diagnostic", "--raw", str(raw), "--out", str(out)]
    split.main([*arguments, "--params", str(tmp_path / "params.yaml")])
    return {path.name: path.read_bytes() for path in out.iterdir()}


def test_the_stage_writes_the_same_bytes_again(tmp_path):
    first = run_stage(tmp_path, "one")
    assert len(first) == 12
    assert run_stage(tmp_path, "two") == first
    assert run_stage(tmp_path, "three", seed=8) != first


def test_the_stage_follows_the_published_ids_beside_the_corpus(tmp_path):
    reference = published(corpus())
    run_stage(tmp_path, "out", reference, mode="reference", support_size=3)
    for part in ("train", "test"):
        assert [example.id for example in read_jsonl(tmp_path / "out" / f"{part}.jsonl")] == reference[part]


def test_a_split_that_fails_leaves_no_folder(tmp_path):
    with pytest.raises(InputError):
        run_stage(tmp_path, "out", compositions=11)
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- the iid split for generators


def iid_split(folder: Path, train: list[Example], support: list[Example]) -> Path:
    (folder / "split").mkdir()
    LABELS.write(folder / "split/labels.json")
    write_jsonl(folder / "split/iid_train.jsonl", train)
    write_jsonl(folder / "split/iid_support.jsonl", support)
    return folder / "split"


def test_the_iid_split_asks_for_the_label_set_of_every_training_text(tmp_path):
    rows = [Example("a", "one", (1, 2)), Example("b", "two", ()), Example("c", "three", (0,))]
    iid.main(["--split", str(iid_split(tmp_path, rows, [])), "--out", str(tmp_path / "iid")])
    assert read_label_sets(tmp_path / "iid/requests.jsonl", 5) == [(1, 2), (0,)]
    assert read_jsonl(tmp_path / "iid/train.jsonl", 5) == rows
    assert read_jsonl(tmp_path / "iid/support.jsonl", 5) == []
    assert Labels.read(tmp_path / "iid/labels.json") == LABELS
