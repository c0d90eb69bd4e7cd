"""A classifier from its folder, wherever that is: one that was trained here, or its export for plain transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from compaug.core.files import InputError
from compaug.project.names import facts_of, is_exported

BATCH = 256  # texts
THRESHOLD = 0.5  # a label is answered where its probability is above this

Decode = Callable[[np.ndarray], np.ndarray]  # from probabilities to label sets, both [n, n_labels]


class Classifier:
    """Of a folder that training wrote, such as models/run/augmented."""

    def __init__(self, folder: Path) -> None:
        facts = facts_of(folder)
        self.folder, self.name = folder, facts["classifier"]
        self.labels = list(facts.get("names", facts["phrases"]))
        self.max_length = int(facts["settings"]["max_length"])

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Probability of every label for every text; the model is opened at each call.  # [n, labels]"""
        from compaug import classifiers

        return classifiers.load(self.name).predict(self.folder, _listed(texts))

    def predict(
        self,
        texts: Sequence[str],
        threshold: float | Mapping[str, float] | None = None,
        combinations: Path | str | None = None,
    ) -> list[list[str]]:
        """Names of the labels that each text is given; `decoding` says how they are chosen."""
        decode = decoding(self.labels, threshold, combinations)
        chosen = decode(self.predict_proba(texts))
        return [[name for name, is_in in zip(self.labels, row, strict=True) if is_in] for row in chosen]


class Exported(Classifier):
    """Of a folder that `compaug export` wrote: the same probabilities, by plain transformers."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoConfig, AutoTokenizer

        names = AutoConfig.from_pretrained(folder, local_files_only=True).id2label
        self.folder, self.name = folder, "transformers"
        self.labels = [names[label] for label in range(len(names))]
        self.max_length = int(AutoTokenizer.from_pretrained(folder, local_files_only=True).model_max_length)

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """Probability of every label for every text.  # [n, labels]"""
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        from compaug.models.loading import quiet
        from compaug.training.batching import batches_by_length

        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
            model = AutoModelForSequenceClassification.from_pretrained(
                self.folder, local_files_only=True, use_safetensors=True
            ).eval()
        texts = _listed(texts)
        probabilities = np.zeros((len(texts), len(self.labels)), dtype=np.float32)
        lengths = [len(ids) for ids in tokenizer(texts, truncation=True)["input_ids"]] if texts else []
        with torch.inference_mode():
            for rows in batches_by_length(lengths, BATCH):
                batch = tokenizer([texts[row] for row in rows], truncation=True, padding=True, return_tensors="pt")
                probabilities[rows] = model(**batch).logits.sigmoid().numpy()
        return probabilities


def load(folder: Path | str) -> Classifier:
    """The classifier of a folder. InputError where it is none."""
    folder = Path(folder)
    return Exported(folder) if is_exported(folder) else Classifier(folder)


def decoding(
    names: Sequence[str],
    threshold: float | Mapping[str, float] | None = None,
    combinations: Path | str | None = None,
) -> Decode:
    """How labels are chosen: those above the threshold, or the best combination of a list.

    Args:
        names: of the labels.
        threshold: one for all, or one for each name; None: 0.5.
        combinations: the file combinations.json of an export.

    InputError where both are given, and for thresholds of other labels.
    """
    if combinations is not None:
        if threshold is not None:
            raise InputError("combinations: a combination is chosen whole; leave thresholds out")
        from compaug.project.combinations import read

        return read(Path(combinations), names).label_sets
    if isinstance(threshold, Mapping):
        if {*threshold} != {*names}:
            raise InputError("thresholds: not those of the classifier's labels; give one for each of its names")
        least = np.array([float(threshold[name]) for name in names])
    else:
        least = np.array(THRESHOLD if threshold is None else threshold)
    return lambda probabilities: probabilities > least


def _listed(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise InputError("texts: give a list of strings")
    return list(texts)
