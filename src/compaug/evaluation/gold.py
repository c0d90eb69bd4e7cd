"""reports/gold/<benchmark>: the label sets of a split's rows; nothing after the predictions needs their texts.

<benchmark>.jsonl.gz has a line for every row of every part: `id`, `part` (train, support, test, seen_test, iid_train,
iid_test), `labels`.

<benchmark>.json has what was counted or computed from the texts: `labels` (names), `counts` (the paper's Table 6) and,
where the grammar of the corpus is known, `bayes` (`compaug.evaluation.text_quality.grammar.bayes`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compaug.core.files import InputError, read_json, write_json
from compaug.core.records import Composition, Example, Labels, label_ids
from compaug.evaluation.metrics import DECIMALS, label_matrix
from compaug.evaluation.predictions import read_lines, refused, write_lines

PARTS = ("train", "support", "test", "seen_test", "iid_train", "iid_test")
REMEDY = "take it from Git again or run the gold stage"


@dataclass(frozen=True, eq=False)
class Gold:
    """parts: {part: {id: label set}}, in the order of the split's files."""

    labels: Labels
    parts: Mapping[str, Mapping[str, Composition]]
    facts: Mapping

    def matrix(self, part: str, ids: Iterable[str] | None = None) -> np.ndarray:
        """Label sets of the part, or of these of its rows.  # bool [n, n_labels]"""
        rows = self.parts[part]
        return label_matrix([rows[i] for i in (rows if ids is None else ids)], len(self.labels))

    def compositions(self, part: str) -> Counter[str]:
        """Rows of the part by the key of their composition."""
        return Counter(self.labels.key(label_set) for label_set in self.parts[part].values())


def write(path: Path, labels: Labels, parts: Mapping[str, Sequence[Example]], facts: Mapping) -> None:
    """`path` ends in .jsonl.gz; the facts stand beside it."""
    rows = ({"id": e.id, "part": part, "labels": list(e.labels)} for part, examples in parts.items() for e in examples)
    write_lines(path, rows)
    write_json(facts_path(path), {"labels": list(labels.names), **facts})


def read(path: Path) -> Gold:
    """InputError names the line that is no gold row of the labels in the file beside it."""
    facts = read_json(facts_path(path), remedy=REMEDY)
    with refused(facts_path(path), "the facts of a split", REMEDY):
        labels = Labels(tuple(facts["labels"]), tuple(facts["labels"]))
    parts: dict[str, dict[str, Composition]] = {}
    for number, row in read_lines(path, REMEDY):
        with refused(f"{path}:{number}", "a row with id, part and labels", REMEDY):
            parts.setdefault(row["part"], {})[row["id"]] = label_ids(row["labels"], len(labels))
    if "test" not in parts:
        raise InputError(f"{path}: the test set has no row; {REMEDY}")
    return Gold(labels, parts, facts)


def facts_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".jsonl.gz") + ".json")


def counts(parts: Mapping[str, Sequence[Example]], labels: Labels) -> dict[str, float]:
    """The split as the paper's Table 6 counts it.

    Words and labels are averages over training, support and test texts.
    """
    every = [example for name in ("train", "test", "support") for example in parts[name]]
    sizes = [len(example.labels) for example in every]
    return {f"n_{name}": len(parts[name]) for name in ("train", "test", "support")} | {
        "avg_words": round(sum(len(example.text.split()) for example in every) / len(every), DECIMALS),
        "n_labels": len(labels),
        "avg_labels": round(sum(sizes) / len(every), DECIMALS),
        "min_labels": min(sizes),
        "max_labels": max(sizes),
        "n_test_compositions": len({example.labels for example in parts["test"]}),
    }
