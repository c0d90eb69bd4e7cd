"""Quality control: what is kept, in which order, and what the report says of the rest."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parameters import written

from compaug import classifiers
from compaug.cartography import maps
from compaug.core.files import InputError, read_json, write_json
from compaug.core.records import Example, Labels, read_jsonl, write_jsonl
from compaug.evaluation.metrics import label_matrix
from compaug.selection import log_probability, quotas, report, select
from compaug.stages import select as select_stage

LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
A, B, C = (0,), (0, 1), (1, 2)


def synthetic(*requested) -> list[Example]:
    return [Example(f"s{i}", f"text {i}", labels, "synthetic", labels) for i, labels in enumerate(requested)]


rows = st.lists(st.tuples(st.sampled_from([A, B, C]), st.sampled_from([0.0, 1 / 3, 0.5, 1.0])), max_size=30)
scored = rows.map(lambda pairs: (synthetic(*[p[0] for p in pairs]), np.array([p[1] for p in pairs])))


@given(st.data(), scored, st.integers(0, 2**31 - 1))
def test_the_kept_rows_are_exactly_the_top_k_by_jaccard(data, given_rows, seed):
    """Paper, "Quality Control"."""
    examples, scores = given_rows
    k = data.draw(st.integers(0, len(examples)))
    positions = select(examples, scores, k, "top_k", "global", seed)
    assert scores[positions].tolist() == sorted(scores.tolist(), reverse=True)[:k]
    assert len(set(positions)) == k


@given(st.data(), scored, st.sampled_from(["top_k", "random"]), st.integers(0, 2**31 - 1))
def test_quotas_keep_the_histogram_of_compositions(data, given_rows, mode, seed):
    examples, scores = given_rows
    k = data.draw(st.integers(0, len(examples)))
    positions = select(examples, scores, k, mode, "per_composition", seed)
    before = Counter(e.requested_labels for e in examples)
    after = Counter(examples[at].requested_labels for at in positions)
    assert len(positions) == k
    for composition, count in before.items():
        exact = k * count / len(examples)
        assert int(exact) <= after[composition] <= min(int(exact) + 1, count)
        if mode == "top_k":
            ranked = sorted(
                (scores[i] for i, e in enumerate(examples) if e.requested_labels == composition), reverse=True
            )
            chosen = [scores[at] for at in positions if examples[at].requested_labels == composition]
            assert chosen == ranked[: after[composition]]


@given(scored, st.sampled_from(["top_k", "random"]), st.sampled_from(["global", "per_composition"]), st.integers(0, 99))
def test_the_same_seed_selects_the_same_rows(given_rows, mode, scope, seed):
    examples, scores = given_rows
    k = len(examples) // 2
    assert select(examples, scores, k, mode, scope, seed) == select(examples, scores.copy(), k, mode, scope, seed)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=20), st.integers(0, 99))
def test_ties_do_not_depend_on_the_scores_around_them(scores, seed):
    """The seeded order is drawn before the scores are looked at: adding a constant changes nothing."""
    examples, scores = synthetic(*[A] * len(scores)), np.array(scores)
    assert select(examples, scores, len(scores), "top_k", "global", seed) == select(
        examples, scores * 0.5, len(scores), "top_k", "global", seed
    )


def test_ties_are_broken_differently_by_another_seed():
    examples, scores = synthetic(*[A] * 40), np.full(40, 0.5)
    orders = {tuple(select(examples, scores, 5, "top_k", "global", seed)) for seed in range(4)}
    assert len(orders) == 4


def test_random_selection_has_the_same_size_and_ignores_the_scores():
    examples, scores = synthetic(*[A, B] * 100), np.linspace(0, 1, 200)
    positions = select(examples, scores, 50, "random", "global", 13)
    assert len(positions) == len(set(positions)) == 50
    assert positions == select(examples, scores[::-1], 50, "random", "global", 13)
    best = select(examples, scores, 50, "top_k", "global", 13)
    assert 0.35 < scores[positions].mean() < 0.65 < scores[best[-1]]


@pytest.mark.parametrize("mode", ["top_k", "random"])
@pytest.mark.parametrize("scope", ["global", "per_composition"])
def test_asking_for_more_rows_than_there_are_is_refused(mode, scope):
    with pytest.raises(
        InputError,
        match="sizes.k, or selection.k of a cell, is 3 but only 2 synthetic texts are left .* "
        "lower it or raise sizes.requested",
    ):
        select(synthetic(A, B), np.ones(2), 3, mode, scope, 13)


def test_quotas_are_shared_by_largest_remainders():
    assert quotas(Counter({A: 5, B: 3, C: 2}), 5) == {A: 3, B: 1, C: 1}  # exactly 2.5, 1.5 and 1; the tie goes to A
    assert quotas(Counter({A: 6, B: 3, C: 1}), 5) == {A: 3, B: 2, C: 0}  # 3, 1.5, 0.5
    assert quotas(Counter(), 0) == {}


def test_the_report_of_hand_worked_scores():
    examples = synthetic(A, A, B, B, B, C)
    scores = np.array([1.0, 0.95, 0.3, 1.0, 2 / 3, 0.0])
    summary = report(examples, scores, [0, 3, 1], LABELS)
    assert summary["kept"] == 3
    assert summary["mean_filter_jacc"] == 0.9833
    assert summary["mean_filter_jacc_before"] == 0.6528
    assert summary["share_jacc_1"] == 0.6667
    # before: joy 2/6, joy+love 3/6, love+fear 1/6; kept: 2/3, 1/3, 0; half of 1/3 + 1/6 + 1/6
    assert summary["total_variation"] == 0.3333
    zeros = {f"{tenth / 10:.1f}": 0 for tenth in range(11)}
    assert summary["histogram"] == {
        "before": zeros | {"0.0": 1, "0.3": 1, "0.6": 1, "0.9": 1, "1.0": 2},
        "kept": zeros | {"0.9": 1, "1.0": 2},
    }
    assert summary["per_composition"] == {
        "joy": {"produced": 2, "kept": 2, "mean_filter_jacc": 0.975},
        "joy+love": {"produced": 3, "kept": 1, "mean_filter_jacc": 0.6556},
        "love+fear": {"produced": 1, "kept": 0, "mean_filter_jacc": 0.0},
    }


def test_the_report_of_nothing_kept_has_no_means():
    summary = report(synthetic(A), np.array([0.5]), [], LABELS)
    assert (summary["kept"], summary["mean_filter_jacc"], summary["share_jacc_1"], summary["total_variation"]) == (
        0,
        None,
        None,
        None,
    )
    assert report([], np.zeros(0), [], LABELS)["per_composition"] == {}


@pytest.fixture
def kept(tmp_path, monkeypatch, own_costs):
    """The one row that the stage keeps, given requests, the filter's probabilities and the files that it learned
    from."""
    LABELS.write(tmp_path / "labels.json")
    written(tmp_path, {"sizes.k": 1})
    write_jsonl(tmp_path / "train.jsonl", [Example(f"t{i}", f"word {i}", (0, 1, 2), "train") for i in range(9)])
    write_jsonl(tmp_path / "support.jsonl", [Example(f"u{i}", f"say {i}", (A, B)[i % 2], "support") for i in range(4)])

    def run(requests, read, seed: int, *more: str, learned=("train.jsonl",)) -> Example:
        write_jsonl(tmp_path / "rows.jsonl", synthetic(*requests))
        write_json(tmp_path / "rows.json", {"requested": len(requests)})
        monkeypatch.setattr(
            classifiers, "load", lambda name: SimpleNamespace(predict=lambda _, texts: np.array(read)[: len(texts)])
        )
        files = {"synthetic": "rows.jsonl", "filter": "filter", "labels": "labels.json"}
        files |= {"out": "kept.jsonl", "params": "params.yaml"}
        words = [word for name, file in files.items() for word in (f"--{name}", str(tmp_path / file))]
        words += ["--train", *(str(tmp_path / file) for file in learned)]
        select_stage.main([*words, "--benchmark", "own", "--classifier", "bert", "--seed", str(seed), *more])
        (example,) = read_jsonl(tmp_path / "kept.jsonl", len(LABELS))
        return example

    return run


JACCARD, POSTERIOR = (
    ("--set", "selection.score=jaccard,scope=global"),
    ("--set", "selection.score=posterior,scope=global"),
)


def test_the_stage_ranks_by_the_requested_sets_probability_the_jaccard_index_or_the_posterior(tmp_path, kept):
    """A filter that knows one composition reads it everywhere; where it doubts that most, the requested one is most
    probable."""
    case = (B, B, B), [[0.9, 0.9, 0.9], [0.9, 0.9, 0.6], [0.1, 0.1, 0.9]]
    assert {kept(*case, seed, *JACCARD).id for seed in range(6)} == {"s0", "s1"}  # a tie
    for ranked in ((), POSTERIOR):  # 0.9 0.9 0.4 is the most probable reading of B = joy, love
        assert {kept(*case, seed, *ranked).id for seed in range(6)} == {"s1"}
    assert kept(*case, 1, *POSTERIOR).filter_jacc == pytest.approx(2 / 3, abs=1e-6)
    assert read_json(tmp_path / "kept.json")["selection"]["score"] == "posterior"


def test_a_share_of_the_texts_is_kept_in_the_place_of_k(tmp_path, kept, capsys):
    """Of three texts a half is two, all of which the filter may choose from, whatever sizes.k is."""
    case = (B, B, B), [[0.6, 0.6, 0.4], [0.7, 0.7, 0.3], [0.9, 0.9, 0.1]]
    with pytest.raises(ValueError, match="too many values"):  # the fixture wants one
        kept(*case, 0, "--share", "0.5")
    assert {e.id for e in read_jsonl(tmp_path / "kept.jsonl", len(LABELS))} == {"s1", "s2"}
    assert kept(*case, 0, "--share", "0.1").id == "s2"  # at least one
    for wrong in ("0", "1.5", "half"):
        with pytest.raises(SystemExit):
            kept(*case, 0, "--share", wrong)
        assert "is not a number above 0 and at most 1" in capsys.readouterr().err


def test_the_filter_chooses_among_the_first_texts_that_it_is_given(kept):
    case = (B, B, B), [[0.6, 0.6, 0.4], [0.7, 0.7, 0.3], [0.9, 0.9, 0.1]]
    for overgenerate, best in ((1, "s0"), (1.5, "s1"), (2, "s1"), (3, "s2"), (9, "s2"), ("null", "s2")):
        assert kept(*case, 0, "--set", f"selection.overgenerate={overgenerate}").id == best


def test_the_joint_probability_of_a_requested_set_of_hand_worked_numbers():
    probabilities = np.array([[0.9, 0.8, 0.1], [0.9, 0.8, 0.1], [1.0, 0.0, 1.0]], dtype=np.float32)
    logs = log_probability(probabilities, label_matrix([(0, 1), (0,), (0, 2)], 3))
    assert np.exp(logs) == pytest.approx([0.9 * 0.8 * 0.9, 0.9 * 0.2 * 0.9, 1.0], abs=1e-5)
    # a label that the filter excludes does not make all texts equally hopeless
    worst = log_probability(np.zeros((1, 3)), label_matrix([(0, 1, 2)], 3))
    assert np.isfinite(worst).all() and worst < log_probability(np.zeros((1, 3)), label_matrix([(0, 1)], 3))


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=8))
def test_the_joint_probabilities_of_all_label_sets_of_a_text_add_up_to_one(rows):
    every = [tuple(label for label in range(3) if bits >> label & 1) for bits in range(8)]
    for row in rows:
        assert np.exp(log_probability(np.array([row] * 8), label_matrix(every, 3))).sum() == pytest.approx(1, abs=1e-4)


def test_the_posterior_counts_the_support_rows_that_the_filter_learned_from(kept):
    """A and B are as frequent in the support set, so the text that says its request a little more clearly is kept; to
    D_train alone both are impossible, A the more so, and the size of the correction would decide."""
    case = (A, B), [[0.9, 0.45, 0.1], [0.9, 0.7, 0.1]]
    both = ("train.jsonl", "support.jsonl")
    assert {kept(*case, seed, *POSTERIOR, learned=both).id for seed in range(3)} == {"s1"}
    assert {kept(*case, seed, *POSTERIOR).id for seed in range(3)} == {"s0"}


def test_a_data_map_ranks_in_the_place_of_the_filter(tmp_path, kept):
    case = (B, B, B), [[0.9, 0.9, 0.1], [0.1, 0.1, 0.1], [0.1, 0.1, 0.1]]  # the filter would keep the first
    data_map = maps.DataMap(["s0", "s1", "s2"], np.array([0.5, 0.1, 0.9]), np.array([0.3, 0.1, 0.2]), np.zeros(3))
    (tmp_path / "map").mkdir()
    maps.write_map(tmp_path / "map" / "mean_label.csv", data_map)
    map_option = ("--map", str(tmp_path / "map"))
    for region, best in {"hard": "s1", "easy": "s2", "ambiguous": "s0"}.items():
        row = kept(*case, 0, "--set", f"selection.score={region}", *map_option)
        assert row.id == best and row.filter_jacc == (1.0 if best == "s0" else 0.0)  # what the filter thinks stays told
    assert "measure" not in read_json(tmp_path / "kept.json")["selection"]
    for wrong in (("--set", "selection.score=hard"), map_option):
        with pytest.raises(InputError, match="selection.score: .* need --map"):
            kept(*case, 0, *wrong)
