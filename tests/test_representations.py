"""What is said of label representations: the probe and the silhouette."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaug.evaluation.text_quality.representations import probe, silhouette

PAIRS = [0, 1, 0, 2, 1, 2]  # labels of the compositions 0+1, 0+2, 1+2
WITHIN = [0, 0, 1, 1, 2, 2]
AXES = np.eye(3)


def test_labels_that_look_the_same_everywhere_are_all_found_and_scrambled_ones_are_not():
    assert probe(AXES[PAIRS], PAIRS, WITHIN) == 1.0
    assert probe(AXES[[1, 0, 2, 0, 2, 1]], PAIRS, WITHIN) == 0.0  # each label looks like the other of its composition


def test_the_probe_of_a_hand_worked_case():
    """Label 0 of composition 0 looks like label 1: its own mean, from composition 1, is (1, 0, 0); that of label 1,
    from composition 2, is (0, 1, 0), which is nearer. All others are right: the mean of label 0 that they see leans to
    (1, 1, 0), never past theirs."""
    vectors = AXES[PAIRS].copy()
    vectors[0] = [0.1, 1.0, 0.0]
    assert probe(vectors, PAIRS, WITHIN) == pytest.approx(5 / 6, abs=1e-4)


@given(st.integers(0, 1000))
def test_noise_lowers_the_silhouette_of_labels_that_the_probe_tells_apart(seed):
    rng = np.random.default_rng(seed)
    labels = np.tile(np.arange(8), 40)
    within = np.repeat(np.arange(80), 4)
    # each label's own direction, and as much noise
    vectors = 4 * np.eye(8, 64)[labels] + rng.normal(0, 1, (len(labels), 64))
    assert probe(vectors, labels.tolist(), within.tolist()) > 0.9 and silhouette(vectors, labels.tolist()) < 0.3


def test_a_label_of_one_composition_alone_cannot_be_probed():
    assert probe(AXES[[0, 1]], [0, 1], [0, 0]) is None
    assert probe(AXES[[0, 0]], [0, 0], [0, 1]) is None  # no other label to be nearer
    vectors = AXES[[*PAIRS, 0]]
    assert probe(vectors, [*PAIRS, 0], [*WITHIN, 3]) == 1.0
