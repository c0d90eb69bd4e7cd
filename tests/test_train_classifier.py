"""What an epoch of a classifier has of each kind of text, and that none of them gives a held-out text away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tools.golden import runs
from toys import TASK, examples, synthesis

from compaug import classifiers, generators
from compaug.core.records import Example, InputError, Labels, sub_seed, text_key, write_jsonl
from compaug.evaluation import predictions
from compaug.stages import train_classifier
from compaug.training.batching import holdout

ROOT = Path(__file__).parents[1]
PARTS = ("train", "support", "synthetic")
TEN_EACH = {part: [Example(f"{part}-{n}", f"{part} {n}", (n % 2,), source=part) for n in range(10)] for part in PARTS}


def trained_on(
    parts: Mapping[str, Sequence[Example]], n_labels: int, monkeypatch: pytest.MonkeyPatch, *changes: str
) -> tuple[list[Example], list[Example], predictions.Predictions]:
    """The rows learned from, repeats included; those that are held out; what the predictions say of them."""
    seen = {}

    def train(rows, labels, settings, backbone, out, seed, title, validation):
        seen.update(rows=rows, validation=validation)
        return [{"epoch": 1, "train": {"loss": 1.0}, "trained_parameters": 1}]

    zeros = lambda _, texts: np.zeros((len(texts), n_labels))
    fake = SimpleNamespace(ROLES=("encoder",), train=train, predict=zeros)
    monkeypatch.setattr(classifiers, "load", lambda _: fake)
    names = tuple(f"label {n}" for n in range(n_labels))
    Labels(names, names).write("labels.json")
    for part, rows in parts.items():
        write_jsonl(f"{part}.jsonl", rows)
    sets = [word for change in changes for word in ("--set", change)]
    train_classifier.main(
        ["--params", str(ROOT / "params.yaml"), "--benchmark", "diagnostic", "--classifier", "bert", "--seed", "1"]
        + ["--labels", "labels.json", "--test-inputs", "train.jsonl", "--backbone", "."]
        + [word for part in PARTS for word in (f"--{part}", f"{part}.jsonl")]
        + ["--out", "out", "--predictions", "p.jsonl.gz", *sets]
    )
    return seen["rows"], seen["validation"], predictions.read("p.jsonl.gz", n_labels)


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ((), {"train": 1, "support": 1, "synthetic": 1}),
        (("classifiers.shared.synthetic_repeat=3",), {"train": 1, "support": 1, "synthetic": 3}),
        (
            ("classifiers.shared.synthetic_repeat=2", "classifiers.shared.support_repeat=4"),
            {"train": 1, "support": 4, "synthetic": 2},
        ),
    ],
)
def test_an_epoch_has_each_text_as_often_as_its_source_says(monkeypatch, in_a_temporary_folder, changes, times):
    rows, validation, written = trained_on(TEN_EACH, 2, monkeypatch, *changes)
    held = {example.id for example in validation}
    expected = {
        f"{source}-{n}": many for source, many in times.items() for n in range(10) if f"{source}-{n}" not in held
    }
    assert held and Counter(row.id for row in rows) == expected
    assert written.learned.total() == 20 + 10 * times["synthetic"]  # the prior of training, which decoding corrects


def test_texts_cannot_be_learned_from_less_than_once(monkeypatch, in_a_temporary_folder):
    with pytest.raises(InputError, match="synthetic_repeat"):
        trained_on(TEN_EACH, 2, monkeypatch, "classifiers.shared.synthetic_repeat=0")


# ---------------------------------------------------------------- texts that contain held-out ones

HALF = "classifiers.shared.validation=0.5"  # held out, so that many texts contain one of them
REPEATED = "classifiers.shared.synthetic_repeat=2"
COMPOSITIONS = sorted({example.labels for example in examples() if example.labels})
PIECES = [example.text for example in examples()] + ["so", "thank you", "all day", "it was so"]


def stands_in(held: str, text: str) -> bool:
    """Whether a text of four words or more stands in another one, at the boundaries of words."""
    return len(held.split()) >= 4 and f" {text_key(held)} " in f" {text_key(text)} "


def real_and(texts: Sequence[str], labels: Sequence[tuple[int, ...]]) -> dict[str, list[Example]]:
    """The toy rows by source, and such synthetic ones."""
    pairs = enumerate(zip(texts, labels, strict=True))
    written = [Example(f"text-{n}", text, label_set, "generator", label_set) for n, (text, label_set) in pairs]
    parts = {part: [example for example in examples() if example.source == part] for part in PARTS}
    return parts | {"synthetic": written}


def check_nothing_held_out_is_learned_from(parts, rows, validation, written) -> int:
    """How many synthetic texts contain a held-out text: neither the rows nor the counts have them.

    All others are there as often as HALF and REPEATED say, real ones that contain a held-out text among them.
    """
    held = [example.text for example in validation]
    keys, ids = set(map(text_key, held)), {example.id for example in validation}
    twins = [e for part in parts.values() for e in part if text_key(e.text) in keys]  # of which one is for validation
    there = Counter(row.id for row in rows)
    leaks = [e for e in parts["synthetic"] if e not in twins and any(stands_in(text, e.text) for text in held)]
    left_out = {e.id for e in [*twins, *leaks]}
    times = {"train": 1, "support": 1, "synthetic": 2}
    assert there == {e.id: times[part] for part in PARTS for e in parts[part] if e.id not in left_out}
    assert held and not ids & set(there)
    kept = [e for e in parts["synthetic"] if e not in leaks]
    counted = Counter(e.labels for e in [*parts["train"], *parts["support"], *kept, *kept])
    assert written.learned == counted and written.n_synthetic == len(kept)
    return len(leaks)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", runs.controls())
def test_no_text_of_a_generator_that_copies_is_learned_from_with_a_held_out_text_in_it(
    name, seed, monkeypatch, in_a_temporary_folder
):
    """Of every generator that opens no model."""
    generator = generators.load(name)
    generator.train(examples(), TASK, None, {}, Path("generator"), 13)
    requests = COMPOSITIONS * 4
    if generator.feasible:
        possible = generator.feasible(Path("generator"), requests, TASK)
        requests = [request for request, can_be in zip(requests, possible, strict=True) if can_be]
    drafts = list(generator.generate(Path("generator"), requests, TASK, synthesis(), {}, seed))
    parts = real_and([draft.text for draft in drafts], [draft.labels for draft in drafts])
    leaks = check_nothing_held_out_is_learned_from(parts, *trained_on(parts, 4, monkeypatch, HALF, REPEATED))
    assert leaks > 10 or name != "concat"  # joins them


@given(st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=30))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_model_copies_no_text_is_learned_from_with_a_held_out_text_in_it(
    monkeypatch, in_a_temporary_folder, texts
):
    """In the place of the generators that open a model, which may know real texts or parts of them by heart."""
    parts = real_and(texts, [(n % 4,) for n in range(len(texts))])
    check_nothing_held_out_is_learned_from(parts, *trained_on(parts, 4, monkeypatch, HALF, REPEATED))


def test_texts_that_are_left_out_are_counted_on_standard_error(monkeypatch, in_a_temporary_folder, capsys):
    everything = " ".join(example.text for example in examples())
    parts = real_and([f"{everything} {n}" for n in range(9)], [(0,)] * 9)
    *_, written = trained_on(parts, 4, monkeypatch, HALF)
    leaks = 9 - written.n_synthetic
    note = f"note: {leaks} of 9 synthetic texts contain a validation text and are not learned from"
    assert leaks and note in capsys.readouterr().err
    trained_on(TEN_EACH, 2, monkeypatch)
    assert "validation text" not in capsys.readouterr().err


@pytest.mark.parametrize("validation", [0.05, 0.3])
def test_where_nothing_is_contained_rows_and_counts_are_those_of_the_holdout(
    validation, monkeypatch, in_a_temporary_folder
):
    parts = real_and([f"text {n} joins no real one" for n in range(20)], [(n % 4,) for n in range(20)])
    rows, held, written = trained_on(parts, 4, monkeypatch, f"classifiers.shared.validation={validation}", REPEATED)
    everything = [example for part in PARTS for example in parts[part]]
    kept, validation_rows = holdout(everything, validation, sub_seed(1, "classifier"), lambda e: text_key(e.text))
    ids = [e.id for e in kept]
    assert [e.id for e in held] == [e.id for e in validation_rows]
    assert [e.id for e in rows] == ids + [e.id for e in parts["synthetic"] if e.id in ids]  # repeated once, at the end
    assert written.learned == Counter(e.labels for e in everything + parts["synthetic"])
    assert written.n_synthetic == 20
