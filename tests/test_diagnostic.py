"""The diagnostic corpus: its bank, its oracle, its likelihood, and the ceilings it was calibrated for."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaug.core.files import InputError
from compaug.core.records import text_key
from compaug.data.readers import diagnostic as grammar
from compaug.data.readers.diagnostic import bank

JOY, LOVE, OPTIMISM = (grammar.LABELS.index(name) for name in ("joy", "love", "optimism"))
LABEL_SETS = [
    labels
    for size in range(1, grammar.MAX_LABELS + 1)
    for labels in itertools.combinations(range(len(grammar.LABELS)), size)
]
a_label_set = st.sampled_from(LABEL_SETS)


@pytest.fixture(scope="module")
def corpus():
    return grammar.read({"size": 4_000}, seed=7)[0]


# ---------------------------------------------------------------- bank


def test_every_label_has_twenty_five_explicit_phrasings_in_several_frames():
    assert len(grammar.LABELS) >= 8
    for label, name in enumerate(grammar.LABELS.names):
        assert len(set(grammar.CUES[label])) >= 25, name
        assert len(bank.clauses[name]) >= 10, name
    assert len(bank.adjective_frames + bank.noun_frames) >= 4


def test_every_group_is_shared_by_two_or_three_labels_and_has_six_phrasings():
    assert set(bank.groups) == set(bank.ambiguous_clauses)
    for group, members in bank.groups.items():
        assert 2 <= len(set(members) & set(bank.labels)) == len(members) <= 3, group
        assert len(set(grammar.CUES[group])) >= 6, group
    assert all(len(groups) >= 2 for groups in grammar.GROUPS_OF)


def test_no_phrase_contains_another():
    phrases = [*itertools.chain(*grammar.CUES.values()), *itertools.chain(*grammar.TOPICS.values())]
    padded = [f" {' '.join(grammar.words(phrase))} " for phrase in phrases]
    assert len(set(padded)) == len(padded)
    assert not [(inner, other) for inner, other in itertools.permutations(padded, 2) if inner in other]


def test_joiners_never_start_a_phrase_so_that_no_phrase_is_read_across_a_seam():
    first_words = {
        grammar.words(phrase)[0] for phrases in (*grammar.CUES.values(), *grammar.TOPICS.values()) for phrase in phrases
    }
    joiners = [grammar.words(joiner) for joiner in bank.joiners]
    assert not {joiner[0] for joiner in joiners if joiner} & (first_words - {"at"})


def test_phrases_are_plain_words_that_survive_tokenisers():
    for phrase in itertools.chain(*grammar.CUES.values(), *grammar.TOPICS.values()):
        assert " ".join(grammar.words(phrase)) == phrase.lower()


# ---------------------------------------------------------------- corpus


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another_one():
    once, again = (grammar.read({"size": 300}, seed=3)[0] for _ in range(2))
    assert once == again
    assert once != grammar.read({"size": 300}, seed=4)[0]


def test_texts_are_distinct_and_ids_are_numbered(corpus):
    assert len({text_key(example.text) for example in corpus}) == len(corpus) == 4_000
    assert [corpus[0].id, corpus[-1].id] == ["d000001", "d004000"]
    assert {example.source for example in corpus} == {"train"}


def test_compositions_come_in_the_proportions_of_the_prior(corpus):
    counts = Counter(example.labels for example in corpus)
    assert all(abs(counts[y] - 4_000 * share) < 1 for y, share in grammar.PRIOR.items())
    assert sum(len(y) >= 2 and count >= 30 for y, count in counts.items()) >= 24
    per_label = Counter(label for example in corpus for label in example.labels)
    assert min(per_label[label] for label in range(len(grammar.LABELS))) >= 400


def test_texts_are_short_messages(corpus):
    lengths = sorted(len(example.text.split()) for example in corpus)
    assert 8 <= lengths[0] and lengths[-1] <= 50
    assert 10 <= lengths[len(lengths) // 2] <= 30
    assert all(example.text[0].isupper() and example.text.endswith(".") for example in corpus)


@pytest.mark.parametrize(
    "options", [{"size": 0}, {"size": 2.5}, {"size": True}, {"ambiguity": 1.5}, {"ambiguity": "high"}, {"colour": 1}]
)
def test_an_impossible_option_is_one_clear_line(options):
    with pytest.raises(InputError, match="^options\\."):
        grammar.read(options, seed=1)


# ---------------------------------------------------------------- oracle


def test_the_gold_label_set_is_always_a_reading(corpus):
    assert all(grammar.fidelity(example.text, example.labels) for example in corpus)


@given(a_label_set, st.integers(0, 2**31 - 1), st.floats(0, 1))
@settings(max_examples=200)
def test_every_composition_is_a_reading_of_its_texts_at_every_ambiguity(labels, seed, ambiguity):
    assert labels in grammar.oracle(grammar.compose(labels, ambiguity, random.Random(seed)))


def test_an_explicit_text_has_one_reading_and_a_shared_cue_has_those_of_its_group():
    assert grammar.oracle("I could not stop smiling.") == {(JOY,)}
    glow = {(JOY,), (LOVE,), (OPTIMISM,), (JOY, LOVE), (JOY, OPTIMISM), (LOVE, OPTIMISM), (JOY, LOVE, OPTIMISM)}
    assert grammar.oracle("My heart was full.") == glow
    both = grammar.oracle("I could not stop smiling and my heart was full.")
    assert both == {(JOY, LOVE), (JOY, OPTIMISM), (JOY, LOVE, OPTIMISM)}


def test_fidelity_means_all_requested_labels_and_no_other():
    text = "I could not stop smiling. Then I kissed her on the forehead."
    assert grammar.fidelity(text, (LOVE, JOY))
    assert not grammar.fidelity(text, (JOY,))
    assert not grammar.fidelity(text, (JOY, LOVE, OPTIMISM))


def test_case_white_space_and_punctuation_do_not_change_a_reading(corpus):
    for example in corpus[:300]:
        mangled = example.text.upper().replace(",", " ,").replace(".", " . ").replace(" ", "  \n")
        assert grammar.oracle(mangled) == grammar.oracle(example.text)
        assert grammar.oracle(example.text.replace(",", "").replace(".", "")) == grammar.oracle(example.text)


def test_unknown_words_void_a_text():
    text = "I could not stop smiling at the purple elephant"
    assert grammar.cues(text).unknown == ("at", "the", "purple", "elephant")
    assert grammar.oracle(text) == frozenset()
    assert not grammar.fidelity(text, (JOY,))


def test_a_cut_off_phrase_counts_as_unknown_words():
    cues = grammar.cues("I laughed until my sides hurt and I could not stop")
    assert cues.explicit == {JOY} and cues.unknown == ("i", "could", "not", "stop")


@pytest.mark.parametrize("text", ["", "  \n", "...", "It rained without a break.", "é 12 ☃"])
def test_a_text_without_a_cue_expresses_nothing(text):
    assert grammar.oracle(text) == frozenset()
    assert not grammar.fidelity(text, ())


# ---------------------------------------------------------------- likelihood and Bayes classifier


@pytest.mark.parametrize("ambiguity", [0.0, 0.3, grammar.AMBIGUITY, 1.0])
def test_the_likelihood_of_every_label_set_sums_to_one(ambiguity):
    for labels in LABEL_SETS:
        assert sum(grammar.likelihood(labels, ambiguity).values()) == pytest.approx(1, abs=1e-12)


def test_sampled_texts_follow_the_likelihood():
    labels, n, rng = (JOY, LOVE), 20_000, random.Random(5)
    seen = Counter(grammar.cues(grammar.compose(labels, 0.6, rng)).outcome for _ in range(n))
    for outcome, probability in grammar.likelihood(labels, 0.6).items():
        assert seen[outcome] / n == pytest.approx(probability, abs=5 * (probability / n) ** 0.5)


def test_bayes_on_a_shared_cue_by_hand():
    """joy is in three groups and optimism in two, so that P(glow | joy) = p/3 < P(glow | optimism) = p/2."""
    shares = [len(grammar.GROUPS_OF[label]) for label in (JOY, OPTIMISM)]
    assert shares == [3, 2]
    text, explicit = "My heart was full.", "I could not stop smiling."
    assert grammar.bayes_predictions([text], {(JOY,): 0.5, (OPTIMISM,): 0.5}) == [(OPTIMISM,)]
    assert grammar.bayes_predictions([text], {(JOY,): 0.61, (OPTIMISM,): 0.39}) == [(JOY,)]  # odds 1.56 > 1.5
    assert grammar.bayes_predictions([text], {(JOY,): 0.59, (OPTIMISM,): 0.41}) == [(OPTIMISM,)]  # 1.44 < 1.5
    assert grammar.bayes_predictions([explicit], {(JOY,): 0.01, (OPTIMISM,): 0.99}) == [(JOY,)]


def test_a_text_that_the_prior_cannot_explain_gets_the_most_probable_composition():
    prior = {(JOY,): 0.3, (OPTIMISM,): 0.7}
    assert grammar.bayes_predictions(["I kissed her on the forehead.", ""], prior) == [(OPTIMISM,)] * 2


def bayes_accuracy(target: dict, prior: dict) -> float:
    """Expected Acc (0 to 1) of the Bayes classifier under `prior` on texts whose compositions follow `target`."""
    rule = grammar.decision_rule(prior)
    correct = sum(
        share * probability
        for composition, share in target.items()
        for outcome, probability in grammar.likelihood(composition).items()
        if rule.get(outcome) == composition
    )
    return correct / sum(target.values())


def test_expected_bayes_accuracy_agrees_with_predictions_on_texts(corpus):
    predicted = grammar.bayes_predictions([example.text for example in corpus], grammar.PRIOR)
    accuracy = sum(y == example.labels for y, example in zip(predicted, corpus, strict=True)) / len(corpus)
    assert accuracy == pytest.approx(bayes_accuracy(grammar.PRIOR, grammar.PRIOR), abs=0.03)


# ---------------------------------------------------------------- what the corpus was calibrated for

N_TEST, SUPPORT, SIZE = 12, 50, 4_000


def _random_split(seed: int) -> tuple[dict, dict]:
    """P(y) as counts of D_cg and of D_test for twelve of the compositions that the split module can draw."""
    rng = random.Random(seed)
    counts = grammar.quotas(SIZE)
    eligible = [y for y, count in counts.items() if len(y) >= 2 and count >= 30]
    while True:
        held = rng.sample(eligible, N_TEST)
        if 0.07 <= sum(counts[y] for y in held) / SIZE <= 0.14:
            break
    support = Counter(rng.sample(held, SUPPORT, counts=[counts[y] for y in held]))
    return {**counts, **dict.fromkeys(held, 0), **support}, {y: counts[y] - support[y] for y in held}


def test_the_training_prior_hides_unseen_compositions_that_the_right_prior_finds():
    """Exact ceilings: iid and CG under the target prior are high, CG under the prior of D_cg is about half of that."""
    splits = [_random_split(seed) for seed in range(10)]
    under_training = [bayes_accuracy(test, cg) for cg, test in splits]
    under_target = [bayes_accuracy(test, test) for _, test in splits]
    assert bayes_accuracy(grammar.PRIOR, grammar.PRIOR) >= 0.8
    assert sum(under_training) / 10 <= 0.5 and max(under_training) <= 0.55
    assert sum(under_target) / 10 >= 0.8 and min(under_target) >= 0.72


def test_synthetic_texts_with_the_right_compositions_would_close_most_of_the_gap():
    for cg, test in map(_random_split, range(5)):
        augmented = Counter(cg) + Counter({y: 600 * count / sum(test.values()) for y, count in test.items()})
        assert bayes_accuracy(test, augmented) >= bayes_accuracy(test, cg) + 0.3
