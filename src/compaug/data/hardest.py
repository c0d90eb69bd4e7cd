"""How well a classifier of single labels reads each combination before it has seen it.

Where the meaning of a label depends on its company, such a classifier fails and texts have something to teach.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from compaug.core.records import Example, sub_seed

Composition = tuple[int, ...]
FOLDS = 5  # groups of combinations, each of which is left out once


def reading(
    examples: Sequence[Example], rows: Sequence[int], compositions: Sequence[Composition], seed: int
) -> Mapping[Composition, float]:
    """Share of the rows of each combination whose labels are the most probable ones, no label of another kind between.

    TF-IDF and a logistic regression for each label, in cross-validation over combinations: none was trained on a text
    of the combination that it reads. Only `rows`, positions in `examples`, are read; a constant on the scores of unseen
    combinations would change nothing. Combinations without such a row are left out.
    """
    from sklearn.preprocessing import MultiLabelBinarizer

    words, classifier = linear_classifier()
    features = words.fit_transform([example.text for example in examples])
    n_labels = 1 + max(label for example in examples for label in example.labels)
    targets = MultiLabelBinarizer(classes=range(n_labels)).fit_transform([example.labels for example in examples])
    order = np.random.default_rng(sub_seed(seed, "hardest")).permutation(len(compositions))
    fold_of = {compositions[index]: place % FOLDS for place, index in enumerate(order)}
    folds = np.array([fold_of.get(example.labels, -1) for example in examples])
    is_read = np.zeros(len(examples), dtype=bool)
    is_read[list(rows)] = True
    right: dict[Composition, list[bool]] = {}
    for fold in range(FOLDS):
        read = np.flatnonzero((folds == fold) & is_read)
        if not len(read):  # a small corpus
            continue
        learned = folds != fold
        probabilities = classifier.fit(features[learned], targets[learned]).predict_proba(features[read])
        for row, scores in zip(read.tolist(), probabilities, strict=True):
            labels = examples[row].labels
            right.setdefault(labels, []).append(set(np.argsort(-scores)[: len(labels)].tolist()) == set(labels))
    return {composition: float(np.mean(marks)) for composition, marks in right.items()}


def linear_classifier() -> tuple:
    """TF-IDF of words, and a logistic regression for each label."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    regression = LogisticRegression(C=10, max_iter=300, solver="liblinear")
    return TfidfVectorizer(sublinear_tf=True, min_df=2), OneVsRestClassifier(regression)
