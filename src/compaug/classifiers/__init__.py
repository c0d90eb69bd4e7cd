"""Classifiers (paper, "MLTC Models").

A classifier is one file of this folder, named after it, one block of `classifiers` in params.yaml with its schema in
parameters.py, and

    ROLES: the backbones that it opens, of "encoder" and "seq2seq"; the first is the one that `train` gets
    train(examples, labels, settings, backbone, out_dir, seed, description, validation) -> history    and a model folder
    predict(model_dir, texts, batch_size) -> probabilities                                            # [n, n_labels]

A label is predicted where its probability is above 0.5. A classifier that writes its answer as text has as well

    answers(model_dir, texts, batch_size) -> (probabilities, unparsed)

with `unparsed` [n], how many pieces of each answer are no label. `body` is what classifiers on a BERT-shaped encoder
share.
"""

import sys
from types import ModuleType

from compaug.core import registry


def roles_of(name: str) -> tuple[str, ...]:
    return registry.roles_of(sys.modules[__name__], name)


def load(name: str) -> ModuleType:
    """The classifier of that name. InputError when there is no such file, or the file is no classifier."""
    return registry.load(sys.modules[__name__], name, ("train", "predict", "ROLES"))
