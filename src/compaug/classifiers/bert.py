"""BERT with one two-way head per label (spec 10.1): the text's state goes to n_labels independent linear classifiers.

The n_labels heads are one matrix product. A two-way softmax head equals a sigmoid of the difference of its two scores; both
scores are kept because the paper trains both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from torch import nn

from compaug.classifiers import body

ROLES = ("encoder",)


def build(encoder: nn.Module, facts: Mapping) -> body.BertClassifier:
    settings = facts["settings"]
    middle = body.prediction_head(encoder.config) if settings.get("prediction_head") else ()
    return body.BertClassifier(
        encoder, facts["n_labels"], settings["head_hidden"], settings["dropout"], settings["pool"], middle
    )


train = partial(body.train, "bert", build)
predict = partial(body.predict, build)
