"""Classifiers (paper, "MLTC Models"; spec section 10).

A classifier is one file of this folder, whose name is the classifier's, one block of `classifiers` in params.yaml with its
type in params.py, and two functions:

    train(examples, labels, settings, backbone, out_dir, seed, description, validation) -> history    writes a model folder
    predict(model_dir, texts, batch_size) -> probabilities                                             # [n, n_labels]

A label is predicted where its probability is above 0.5. `body` is what classifiers on a BERT-shaped encoder share.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from compaug.records import InputError


def load(name: str) -> ModuleType:
    """The classifier of that name. InputError when there is no such file, or the file is no classifier."""
    if not name.isidentifier() or not (Path(__file__).parent / f"{name}.py").is_file():
        raise InputError(f"unknown classifier {name!r}; a classifier is a file of src/compaug/classifiers")
    module = importlib.import_module(f"{__name__}.{name}")
    if name == "body" or not hasattr(module, "train") or not hasattr(module, "predict"):
        raise InputError(f"src/compaug/classifiers/{name}.py is no classifier; it lacks `train` or `predict`")
    return module
