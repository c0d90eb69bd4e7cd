"""Data maps, subsets and curricula against numbers worked by hand, and what holds for all (cartography, §2 and §3)."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameters import written
from pydantic import ValidationError

from compaug.cartography import maps as cartography
from compaug.cartography.maps import DataMap, choose, in_order, needs, ranked, subset
from compaug.core.files import InputError, read_json
from compaug.core.records import Example, Labels, read_jsonl, write_jsonl
from compaug.core.schema import Paced
from compaug.stages import subset as subset_stage
from compaug.stages import train_filter
from compaug.training import curricula

# P(label | text) of two texts and two labels after three epochs; the first text has the first label, the second has
# none.
DYNAMICS = np.array(
    [
        [[0.5, 0.5], [0.6, 0.2]],
        [[0.8, 0.4], [0.4, 0.4]],
        [[0.8, 0.2], [0.2, 0.2]],
    ]
)
GOLD = [(0,), ()]
# p of what each label is: text 1: (.5 .5), (.8 .6), (.8 .8); text 2: (.4 .8), (.6 .6), (.8 .8)
BY_HAND = {
    "mean_label": ([0.5, 0.7, 0.8], [0.6, 0.6, 0.8]),
    "geo_label": ([0.5, math.sqrt(0.48), 0.8], [math.sqrt(0.32), 0.6, 0.8]),
    "exact": ([0.25, 0.48, 0.64], [0.32, 0.36, 0.64]),
    "positives": ([0.5, 0.8, 0.8], [0.6, 0.6, 0.8]),  # a text without labels: mean over all
    "jaccard": ([0.0, 1.0, 1.0], [0.0, 1.0, 1.0]),  # 0.5 is not above 0.5: nothing said, and one was to be said
}


def mean_and_deviation(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def a_map(confidence, variability=None) -> DataMap:
    n = len(confidence)
    return DataMap(
        [f"r{i}" for i in range(n)],
        np.array(confidence, dtype=float),
        np.zeros(n) if variability is None else np.array(variability, dtype=float),
        np.zeros(n),
    )


# ---------------------------------------------------------------- measures


@pytest.mark.parametrize("measure", BY_HAND)
def test_a_map_of_three_epochs_has_the_values_worked_by_hand(measure):
    data_map = cartography.classifier_maps(DYNAMICS, ["a", "b"], GOLD, slice(0, 3))[measure]
    expected = [mean_and_deviation(values) for values in BY_HAND[measure]]
    assert data_map.confidence == pytest.approx([mean for mean, _ in expected])
    assert data_map.variability == pytest.approx([deviation for _, deviation in expected])  # not its square
    assert data_map.correctness == pytest.approx([2 / 3, 2 / 3])


def test_every_measure_of_classifiers_is_worked_by_hand():
    assert set(BY_HAND) == set(cartography.MEASURES)


def test_the_measures_of_a_generator_have_the_values_worked_by_hand():
    probabilities = np.array([0.5, 0.25, 1.0])
    assert cartography.chia(probabilities) == pytest.approx(1.75 / 3)
    assert cartography.inverse_perplexity(probabilities) == pytest.approx((0.5 * 0.25) ** (1 / 3))
    # 5 of 5 words, 3 of 4 pairs, 2 of 3 triples, 1 of 2 quadruples: another order of two words at the end
    assert cartography.bleu("a b c d f", "a b c d e") == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    # no quadruple fits: half a count in its place; 5 words against 6: brevity exp(1 - 6/5)
    value = (5 / 5 * 3 / 4 * 1 / 3 * (1 / 2) / 2) ** 0.25 * math.exp(1 - 6 / 5)
    assert cartography.bleu("a b c e f", "a b c d e f") == pytest.approx(value)


def test_bleu_knows_which_text_is_the_reference_and_counts_short_texts_whole():
    assert cartography.bleu("a b", "a b") == 1.0
    assert cartography.bleu("a b c d", "a b c d e f g h") == pytest.approx(math.exp(1 - 8 / 4))  # too short
    assert cartography.bleu("", "a b") == 0.0 and cartography.bleu(" ", "a") == 0.0
    assert cartography.bleu("a b c d", "a b c d e f g h") != cartography.bleu("a b c d e f g h", "a b c d")


def test_a_map_of_a_generator_has_the_values_worked_by_hand_and_bleu_of_the_decoded_rows_alone():
    nothing = float("nan")
    dynamics = np.array(
        [
            [[0.2, 0.1, 0.5, 0.0], [0.4, 0.3, nothing, 0.0]],
            [[0.4, 0.3, 1.0, 1.0], [0.4, 0.3, nothing, 0.0]],
        ]
    )
    maps = cartography.generator_maps(dynamics, ["a", "b"], slice(0, 2))
    assert maps["chia"].confidence == pytest.approx([0.3, 0.4]) and maps["chia"].variability == pytest.approx([0.1, 0])
    assert maps["inverse_perplexity"].confidence == pytest.approx([0.2, 0.3])
    assert maps["bleu"].ids == ["a"] and maps["bleu"].confidence == pytest.approx([0.75])
    assert maps["chia"].correctness.tolist() == [0.5, 0.0]
    undecoded = dynamics.copy()
    undecoded[..., 2] = nothing
    assert set(cartography.generator_maps(undecoded, ["a", "b"], slice(0, 2))) == {"chia", "inverse_perplexity"}


def test_only_the_epochs_of_the_window_count():
    data_map = cartography.classifier_maps(DYNAMICS, ["a", "b"], GOLD, cartography.window(3, min_epoch=1))["mean_label"]
    assert data_map.confidence == pytest.approx([0.75, 0.7]) and data_map.correctness.tolist() == [1.0, 1.0]
    assert cartography.window(20, 3, 10) == slice(3, 9)  # epochs 4 to 9, counted from 1
    assert cartography.window(6, 3, 10) == slice(3, 6)


@pytest.mark.parametrize(("epochs", "after", "before"), [(1, 0, None), (5, 4, None), (20, 3, 5), (3, 7, None)])
def test_fewer_than_two_epochs_make_no_map(epochs, after, before):
    with pytest.raises(InputError, match="two or more"):
        cartography.window(epochs, after, before)


@given(st.floats(0, 1), st.integers(2, 7))
def test_a_score_that_never_moves_has_no_variability(value, epochs):
    mean, deviation = cartography.moments(np.full((epochs, 3), value))
    assert deviation.tolist() == [0.0] * 3 and mean.tolist() == [value] * 3


def test_a_probability_of_nought_keeps_the_logarithm_finite():
    assert cartography.geo_label(np.array([[1.0, 0.5]]), np.array([[False, True]])) == pytest.approx(
        [math.sqrt(0.5e-12)]
    )
    assert cartography.inverse_perplexity(np.array([0.0])) == pytest.approx(1e-12)


@given(st.integers(1, 40), st.integers(1, 7), st.integers(0, 99))
def test_a_map_does_not_depend_on_how_many_rows_are_read_at_a_time(n, at_a_time, seed):
    rng = np.random.default_rng(seed)
    dynamics, ids = rng.random((3, n, 4)).astype(np.float32), [str(i) for i in range(n)]
    gold = [tuple(np.flatnonzero(rng.random(4) < 0.4)) for _ in range(n)]
    whole = cartography.classifier_maps(dynamics, ids, gold, slice(0, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cartography, "ROWS", at_a_time)
        parts = cartography.classifier_maps(dynamics, ids, gold, slice(0, 3))
    for name, data_map in whole.items():
        assert np.array_equal(data_map.confidence, parts[name].confidence)
        assert np.array_equal(data_map.variability, parts[name].variability)


@pytest.mark.parametrize("wrong", [float("nan"), 1.5, -0.1])
def test_a_probability_that_is_none_names_its_row(wrong):
    dynamics = DYNAMICS.copy()
    dynamics[1, 1, 0] = wrong
    with pytest.raises(InputError, match="'b' has a probability"):
        cartography.classifier_maps(dynamics, ["a", "b"], GOLD, slice(0, 3))


# ---------------------------------------------------------------- files


def test_a_map_file_holds_ids_and_numbers_and_is_read_back(tmp_path):
    data_map = DataMap(["a,1", "b"], np.array([0.25, 1 / 3]), np.array([0.0, 0.125]), np.array([1.0, 0.5]))
    cartography.write_map(tmp_path / "map.csv", data_map)
    lines = (tmp_path / "map.csv").read_text().splitlines()
    assert lines == ["id,confidence,variability,correctness", '"a,1",0.25,0.0,1.0', "b,0.333333,0.125,0.5"]
    read = cartography.read_map(tmp_path / "map.csv")
    assert read.ids == ["a,1", "b"] and read.confidence.tolist() == [0.25, 0.333333]


HEAD = "id,confidence,variability,correctness\n"


@pytest.mark.parametrize("text", ["id,confidence\na,1\n", HEAD + "b,0.1,0.2\n", HEAD + "a,0.1,x,0.3\n", "\xff"])
def test_a_file_that_is_no_map_is_named(tmp_path, text):
    path = tmp_path / "map.csv"
    path.write_text(HEAD + text if text == "\xff" else text, encoding="latin-1")
    with pytest.raises(InputError, match="no data map .* make it again") as raised:
        cartography.read_map(path)
    assert str(path) in str(raised.value)


def test_a_map_of_other_rows_is_refused():
    with pytest.raises(InputError, match="no row 'r9'"):
        a_map([0.1, 0.2]).of(["r1", "r9"])
    assert a_map([0.1, 0.2, 0.3]).of(["r2", "r0"]).confidence.tolist() == [0.3, 0.1]


# ---------------------------------------------------------------- regions


def test_regions_are_ranks_of_confidence_and_variability():
    data_map = a_map([0.2, 0.9, 0.5], [0.1, 0.0, 0.3])
    assert ranked(data_map, "hard", 1) == [0, 2, 1]
    assert ranked(data_map, "easy", 1) == [1, 2, 0]
    assert ranked(data_map, "ambiguous", 1) == [2, 0, 1]


@pytest.mark.parametrize("region", [*cartography.REGIONS, "random"])
def test_ties_are_in_an_order_of_the_seed(region):
    same = a_map([0.5] * 30)
    assert ranked(same, region, 1) == ranked(same, region, 1) != ranked(same, region, 2)
    assert sorted(ranked(same, region, 1)) == list(range(30))


# ---------------------------------------------------------------- subsets


def test_the_repair_removes_from_the_least_informative_end():
    """One notebook of the reference removes from the most informative end: here it would take row 0 and keep row 3."""
    words = [{"a"}, {"a", "b"}, {"b"}, {"a"}, {"c"}]
    choice = choose([0, 1, 2, 3, 4], 4, words, needs(words, 1))
    assert choice.rows == [0, 1, 2, 4] and (choice.added, choice.removed) == (1, 1)


def test_the_repair_adds_the_row_that_has_the_word():
    """The reference's notebooks look the added rows up by the wrong numbers, that of the place in the ranking in place
    of the row."""
    words = [{"x"}, {"a"}, {"a"}, {"b"}, {"a"}]
    choice = choose([4, 2, 1, 0, 3], 2, words, needs(words, 1))  # ranks 3 and 4 are rows 0 and 3
    assert set(choice.rows) >= {0, 3} and 1 not in choice.rows
    assert choice.rows == [4, 0, 3]  # of two rows that only have "a" one can go


def test_a_row_goes_only_if_all_its_words_stand_in_another_row_too():
    words = [["a", "a"], ["b"], ["c"]]  # twice in one row is not in two rows
    choice = choose([0, 1, 2], 2, words, needs(words, 1))
    assert choice.rows == [0, 1, 2] and (choice.added, choice.removed) == (1, 0)  # the larger subset stays


rows_of_words = st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=4), min_size=1, max_size=40)


@given(rows_of_words, st.floats(0.05, 1), st.integers(1, 20), st.integers(0, 9), st.sampled_from(["hard", "random"]))
def test_no_item_falls_short_and_no_row_is_there_twice(words, ratio, keep, seed, region):
    data_map = a_map(np.random.default_rng(seed).random(len(words)))
    if int(ratio * len(words)) < 1:
        return
    choice = subset(data_map, region, ratio, words, keep, seed)
    assert len(set(choice.rows)) == len(choice.rows) >= int(ratio * len(words))
    have, there = Counter(w for row in choice.rows for w in words[row]), Counter(w for items in words for w in items)
    assert all(have[word] >= min(keep, there[word]) for word in there)
    assert len(choice.rows) == int(ratio * len(words)) + choice.added - choice.removed


@given(st.integers(40, 200), st.sampled_from([0.33, 0.5]), st.integers(0, 9))
def test_without_rare_words_sizes_are_exact_and_those_of_random_subsets_too(n, ratio, seed):
    data_map, words = a_map(np.random.default_rng(seed).random(n)), [{"a"}] * n
    assert len(subset(data_map, "hard", ratio, words, 1, seed).rows) == int(ratio * n)
    assert len(subset(data_map, "random", ratio, words, 1, seed).rows) == int(ratio * n)
    assert subset(data_map, "hard", ratio, words, 1, seed).rows == ranked(data_map, "hard", seed)[: int(ratio * n)]


def test_every_label_keeps_twenty_texts_or_all_that_there_are():
    labels = [{0}] * 100 + [{1}] * 30 + [{2}] * 5
    data_map = a_map([0.1] * 100 + [0.9] * 35)
    kept = Counter(next(iter(labels[row])) for row in subset(data_map, "hard", 0.5, labels, 20, 1).rows)
    assert kept[1] == 20 and kept[2] == 5 and kept.total() == int(0.5 * 135)


def test_a_combination_is_a_third_of_one_region_and_the_rest_of_the_other():
    n = 200
    data_map = a_map(np.linspace(0, 1, n), np.linspace(1, 0, n))  # hard and easy are the two ends
    rows = subset(data_map, "hard_easy", 0.5, [()] * n, 0, 1).rows
    assert rows == [*range(66), *range(199, 165, -1)] and len(rows) == 100  # 33 % and 17 %


@given(rows_of_words, st.integers(1, 5), st.integers(0, 9), st.sampled_from([*cartography.COMBINED]))
def test_a_combination_loses_no_item_either(words, keep, seed, region):
    rng = np.random.default_rng(seed)
    data_map, n = a_map(rng.random(len(words)), rng.random(len(words))), len(words)
    rows = subset(data_map, region, 0.5, words, keep, seed).rows if n > 1 else [0]
    have, there = Counter(w for row in rows for w in words[row]), Counter(w for items in words for w in items)
    assert all(have[word] >= min(keep, there[word]) for word in there) and len(set(rows)) == len(rows) >= int(0.5 * n)


def test_a_combination_of_the_same_rows_is_filled_at_random_to_its_size():
    n = 200
    data_map = a_map(np.linspace(0, 1, n), np.linspace(1, 0, n))  # the hard rows are the ambiguous ones
    rows = subset(data_map, "hard_ambiguous", 0.5, [()] * n, 0, 1).rows
    assert rows[:66] == list(range(66)) and len(set(rows)) == len(rows) == 100
    assert set(rows[66:]) - set(range(66, 100)) and rows != subset(data_map, "hard_ambiguous", 0.5, [()] * n, 0, 2).rows


def test_a_subset_without_rows_and_a_combination_without_a_second_part_are_refused():
    with pytest.raises(InputError, match="ratio: 0.3 of 3 rows"):
        subset(a_map([1, 2, 3]), "hard", 0.3, [()] * 3, 0, 1)
    with pytest.raises(InputError, match="needs more"):
        subset(a_map(range(100)), "hard_easy", 0.33, [()] * 100, 0, 1)


def test_statistics_of_regions_are_worked_by_hand():
    rows = [Example("r0", "a a", (0,)), Example("r1", "a b", (0, 1), requested_labels=(0, 1)), Example("r2", "a", (0,))]
    regions = cartography.statistics(rows, a_map([0.1, 0.9, 0.5]), seed=1, share=0.4)
    rarity = {"a": -math.log(4 / 5), "b": -math.log(1 / 5)}
    hard, easy, every = regions["hard"], regions["easy"], regions["all"]
    assert (hard["rows"], hard["length"], hard["labels"], hard["composition_frequency"]) == (1, 2, 1, 2)
    assert hard["rarity"] == pytest.approx(rarity["a"], abs=1e-4) and hard["synthetic"] == 0
    assert easy["rarity"] == pytest.approx((rarity["a"] + rarity["b"]) / 2, abs=1e-4) and easy["synthetic"] == 1
    assert every["rows"] == 3 and every["synthetic"] == pytest.approx(1 / 3, abs=1e-4)


# ---------------------------------------------------------------- curricula


def test_exponential_pacing_unlocks_4_to_100_percent_in_seven_equal_stages():
    steps = 700
    shares = [curricula.exponential(step, steps) for step in range(steps)]
    stages = [round(100 * shares[at], 1) for at in range(0, steps, 100)]
    assert stages == [4.0, 7.6, 14.4, 27.4, 52.1, 99.0, 100.0]
    assert all(len(set(shares[at : at + 100])) == 1 for at in range(0, steps, 100))


def test_linear_pacing_unlocks_ten_bins_by_half_of_the_training():
    shares = [curricula.linear(step, 1000) for step in range(1000)]
    assert shares[::50][:12] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0]
    assert shares[0] == 0.1 and shares[499] == 1.0 and sorted(shares) == shares


lengths_of = st.lists(st.integers(1, 40), min_size=1, max_size=120)


@given(lengths_of, st.integers(1, 9), st.integers(1, 5), st.integers(0, 99), st.sampled_from([*curricula.PACINGS]))
def test_a_curriculum_takes_as_many_steps_and_sees_unlocked_rows_alone(lengths, batch_size, epochs, seed, pacing):
    order = curricula.batches(pacing, lengths, batch_size, epochs)
    per_epoch = math.ceil(len(lengths) / batch_size)
    for epoch in range(epochs):
        batches = order(epoch, seed)
        assert batches == order(epoch, seed) and len(batches) == per_epoch  # a pure function
        for step, batch in enumerate(batches, start=epoch * per_epoch):
            unlocked = max(1, round(curricula.PACINGS[pacing](step, epochs * per_epoch) * len(lengths)))
            assert batch and len(batch) <= batch_size and len(set(batch)) == len(batch) and max(batch) < unlocked


def test_linear_pacing_goes_through_the_unlocked_rows_sorted_by_length_in_shuffled_batches():
    lengths = list(np.random.default_rng(0).permutation(1000))
    last = curricula.batches("linear", lengths, 10, 2)(1, 7)  # all is unlocked
    spans = [[lengths[row] for row in batch] for batch in last]
    assert all(span == list(range(span[0], span[0] + 10)) for span in spans)
    assert spans != sorted(spans) and sorted(row for batch in last for row in batch) == list(range(1000))


def test_without_pacing_every_epoch_sees_every_row_once():
    order = curricula.batches("all", [3] * 25, 4, 3)
    assert all(sorted(row for batch in order(epoch, 1) for row in batch) == list(range(25)) for epoch in range(3))
    assert order(0, 1) != order(0, 2)


# ---------------------------------------------------------------- stages


LABELS_OF = Labels(("joy", "fear"), ("joy", "fear"))


@pytest.fixture
def split(tmp_path, own_costs):
    """Ten texts of D_train, of which the first are the least sure, two support texts, and a map of all twelve."""
    train = [Example(f"t{at}", f"word {at}", (at % 2,)) for at in range(10)]
    support = [Example(f"s{at}", f"say {at}", (0, 1), "support") for at in range(2)]
    LABELS_OF.write(tmp_path / "split" / "labels.json")
    write_jsonl(tmp_path / "split" / "train.jsonl", train)
    write_jsonl(tmp_path / "split" / "support.jsonl", support)
    ids = [example.id for example in train + support]
    numbers = np.linspace(0.1, 0.9, 12)
    for measure, confidence in (("mean_label", numbers), ("jaccard", numbers[::-1])):
        data_map = DataMap(ids, confidence, numbers, numbers)
        (tmp_path / "map").mkdir(exist_ok=True)
        cartography.write_map(tmp_path / "map" / f"{measure}.csv", data_map)
    written(tmp_path)
    return tmp_path


def kept(split, *more: str) -> list[str]:
    paths = {"split": "split", "map": "map", "out": "out", "params": "params.yaml"}
    words = [word for name, path in paths.items() for word in (f"--{name}", str(split / path))]
    subset_stage.main([*words, "--seed", "13", *more])
    return [example.id for example in read_jsonl(split / "out" / "train.jsonl", 2)]


def test_the_stage_keeps_the_region_and_all_support_texts(split):
    # hard, half, in the order of D_train
    assert kept(split, "--set", "subset.coverage=none") == ["t0", "t1", "t2", "t3", "t4"]
    assert [e.id for e in read_jsonl(split / "out" / "support.jsonl", 2)] == ["s0", "s1"]
    assert read_json(split / "out" / "subset.json")["rows"] == 5
    assert Labels.read(split / "out" / "labels.json") == LABELS_OF
    easy = "subset.region=easy,ratio=0.33,coverage=none"
    assert kept(split, "--set", easy) == ["t7", "t8", "t9"]
    assert kept(split, "--set", f"{easy},measure=jaccard") == ["t0", "t1", "t2"]


def test_the_stage_keeps_what_a_label_needs_and_says_so(split, capsys):
    assert len(kept(split, "--set", "subset.ratio=0.5")) == 10  # 20 of each label, so all
    assert "10 texts are kept" in capsys.readouterr().out


def test_a_map_by_another_measure_or_of_other_rows_is_refused(split):
    with pytest.raises(InputError, match="no map by chia; there is jaccard, mean_label"):
        kept(split, "--set", "subset.measure=chia")
    cartography.write_map(split / "map" / "mean_label.csv", a_map([0.1, 0.2]))
    with pytest.raises(InputError, match="no row 't0'"):
        kept(split)


def test_a_curriculum_puts_the_examples_in_the_order_of_the_map(split):
    rows = read_jsonl(split / "split" / "train.jsonl", 2)
    assert [e.id for e in in_order(rows, paced("exponential", "hard"), split / "map", 1)] == [
        f"t{at}" for at in range(10)
    ]
    backwards = in_order(rows, paced("linear", "easy"), split / "map", 1)
    assert [e.id for e in backwards] == [f"t{at}" for at in range(9, -1, -1)]
    twice = in_order(rows[:2] * 2, paced("linear", "hard"), split / "map", 1)  # support texts that are repeated
    assert sorted(e.id for e in twice) == ["t0", "t0", "t1", "t1"]
    assert in_order(rows, paced(None, None), None, 1) == in_order(rows, paced("all", None), None, 1) == rows


def paced(pacing, first) -> Paced:
    return Paced(pacing=pacing, first=first)


def test_the_filter_has_no_curriculum(split):
    options = "--benchmark diagnostic --scale tiny --classifier bert --encoder none --seed 1"
    paced_filter = "--set classifiers.bert.pacing=linear,first=hard"
    with pytest.raises(InputError, match="the filter has no data map"):
        train_filter.main(
            f"{options} --params {split}/params.yaml --split {split}/split --out {split}/out {paced_filter}".split()
        )


def test_a_curriculum_and_its_map_go_together(split):
    rows = read_jsonl(split / "split" / "train.jsonl", 2)
    for settings, folder in ((paced("linear", "hard"), None), (paced(None, None), split / "map")):
        with pytest.raises(InputError, match="go together"):
            in_order(rows, settings, folder, 1)
    for pacing, first in (("linear", None), (None, "hard"), ("all", "hard")):
        with pytest.raises(ValidationError, match="begins with"):
            paced(pacing, first)
