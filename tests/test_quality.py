"""Measures of generated texts against values counted by hand, and their memory."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toys import backbones

from compaug.core.records import Example, Labels
from compaug.evaluation.text_quality import quality
from compaug.models.loading import load_decoder

ROOT = Path(__file__).parents[1]
words = st.lists(st.sampled_from("abc"), max_size=14).map(" ".join)


def test_distinct_n_counts_different_ngrams():
    assert quality.distinct(["a b a b", "b A"], 1) == 2 / 6
    assert quality.distinct(["a b a b", "b A"], 2) == 2 / 4  # ab ba ab, ba
    assert quality.distinct(["a", ""], 2) is None


def test_coverage_counts_the_draws_of_compositions_that_have_a_text():
    labels = Labels(("a", "b", "c"), ("a", "b", "c"))
    kept = [Example("1", "x", (0, 1)), Example("2", "y", (0, 1)), Example("3", "z", (2,))]
    assert quality.coverage(kept, {"a+b": 6, "b+c": 3, "c": 1}, labels) == 70
    assert quality.coverage(kept, {}, labels) is None and quality.coverage([], {"a": 2}, labels) == 0


def test_self_bleu_is_100_for_copies_and_low_for_texts_without_common_words():
    assert quality.self_bleu(["the sun is out today"] * 3) == pytest.approx(100)
    assert quality.self_bleu(["a b c d", "e f g h", "i j k l"]) < 10
    assert quality.self_bleu(["one text"]) is None


def test_copies_and_the_longest_shared_run_by_hand():
    corpus = ["x one two three four five y", "a b c d e f g h i", "Same  TEXT here again"]
    texts = [
        "one two three four five z",
        "same text here again",
        "b c d e f g h i j",
        "nothing shared at all",
        "one two",
    ]
    copies = quality.copied(texts, corpus)
    assert copies["exact"] == 1 / 5
    assert copies["mean_run"] == (5 + 4 + 8 + 0 + 0) / 5  # runs of less than four words count as none
    assert copies["long_run"] == 1 / 5


@given(st.lists(words, min_size=1, max_size=4), st.lists(words, max_size=4))
def test_the_longest_run_equals_a_search_over_all_pairs(texts, corpus):
    def longest(text, other):
        a, b = text.split(), other.split()
        runs = [
            n
            for n in range(1, len(a) + 1)
            for i in range(len(a) - n + 1)
            for j in range(len(b) - n + 1)
            if a[i : i + n] == b[j : j + n]
        ]
        return max(runs, default=0)

    expected = [max((longest(text, real) for real in corpus), default=0) for text in texts]
    expected = [run if run >= quality.SEED_WORDS else 0 for run in expected]
    assert quality.copied(texts, corpus)["mean_run"] == pytest.approx(sum(expected) / len(texts))


def test_lengths_are_in_words():
    words = quality.lengths(["one", "one two three"])
    assert words["mean"] == 2 and words["p50"] == 2
    assert quality.lengths([])["mean"] is None


def test_perplexity_equals_the_likelihood_of_each_text_after_its_prompt_alone(tmp_path):
    folder = backbones(tmp_path)["decoder"]
    texts = ["the sun is out", "he broke my cup and it was so dark"]
    prompts = ["A message with joy :", "A message with anger, fear :"]
    tokenizer, model = load_decoder(folder)
    total, count = 0.0, 0
    for prompt, text in zip(prompts, texts, strict=True):
        head = tokenizer(prompt)["input_ids"]
        ids = torch.tensor([[*head, *tokenizer(f" {text}")["input_ids"], 0]])
        judged = ids.shape[1] - len(head)
        with torch.no_grad():
            log_p = model(ids).logits.log_softmax(-1)[0, len(head) - 1 : -1]
        total -= log_p.gather(1, ids[0, len(head) :, None]).sum().item()
        count += judged
    assert quality.perplexity(prompts, texts, folder) == pytest.approx(math.exp(total / count), rel=1e-4)
    assert quality.perplexity([], [], folder) is None


def test_what_the_filter_reads_is_averaged_over_the_kept_texts():
    rows = [Example(str(n), "t", (0,), filter_jacc=score) for n, score in enumerate((1.0, 0.5, 1.0, 0.0))]
    assert quality.agreement(rows) == {"jacc": 0.625, "exact": 0.5}
    assert quality.agreement([]) == {"jacc": None, "exact": None}


def test_the_sample_is_the_same_at_every_call_and_never_larger_than_asked():
    rows = [Example(str(n), f"text {n}", (0,)) for n in range(1200)]
    assert quality.draw(rows) == quality.draw(rows) and len(quality.draw(rows)) == quality.SAMPLE
    assert quality.draw(rows[:3]) == rows[:3]


MEASURE = """
import random, resource, sys
from pathlib import Path
import numpy as np
from compaug import selection
from compaug.evaluation.text_quality import quality
from compaug.core.records import Example, Labels
rng = random.Random(0)
vocabulary = [f"w{n}" for n in range(20000)]
text = lambda: " ".join(rng.choices(vocabulary, k=98))
labels = Labels(tuple("abcdefgh"), tuple("abcdefgh"))
rows = [Example(str(n), text(), (n % 8,), requested_labels=(n % 8,)) for n in range(48000)]
fates = selection.judge([row.text for row in rows], set(), False)
scores = np.random.default_rng(0).random(len(rows))
places = selection.select(rows, scores, 24000, "top_k", "global", 1)
selection.report(rows, scores, places, labels)
kept = [rows[place] for place in places]
made = quality.measure(kept, (text() for _ in range(108000)), Path(sys.argv[1]), lambda labels: f'of {labels} :')
assert made["n"] == 24000 and made["sample"] == quality.SAMPLE
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_texts_of_imdb_size_pass_selection_and_quality_in_bounded_memory(tmp_path):
    folder = backbones(tmp_path)["decoder"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder)],
        env={"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 < 2 * 2**30  # kilobytes on Linux
