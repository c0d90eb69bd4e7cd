"""The generalised protocol on a toy world: folds, chosen weights, decodings on seen and unseen rows, page and figure."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from compaug.evaluation.generalised import Trained

from compaug.evaluation.composition_prior import Fold, choose
from compaug.params import CompositionPrior, parse
from compaug.records import (
    Example,
    InputError,
    Labels,
    read_json,
    read_jsonl,
    write_jsonl,
    write_rows,
)
from compaug.reports import generalised
from stages import ceiling, evaluate_ceiling, evaluate_prior, folds

ROOT = Path(__file__).parents[1]
LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
OPTIONS = CompositionPrior(target="support", calibrate=True, back_off=True, weight=None, strength=None)
SEEN, UNSEEN = [(0, 1), (0, 1), (2,), (0, 1, 2)], [(0,), (1,)]  # the classifier never saw joy or love alone


def rows(name: str, compositions, count: int) -> list[Example]:
    return [Example(f"{name}{i}", f"{name} text {i}", compositions[i % len(compositions)]) for i in range(count)]


def belief(example: Example, rng) -> list[float]:
    """A classifier that leans to "joy, love" whenever it reads one of them."""
    p = np.array([0.9 if label in example.labels else 0.1 for label in range(3)])
    if example.labels in UNSEEN:
        p[:2] = np.where([0 in example.labels, 1 in example.labels], 0.85, 0.7)
    return np.clip(p + rng.normal(0, 0.03, 3), 0.01, 0.99).round(6).tolist()


def predict(path: Path, validation, test) -> None:
    rng = np.random.default_rng(0)
    write_rows(
        path,
        [
            {"id": e.id, "split": split, "probabilities": belief(e, rng)}
            for split, some in (("validation", validation), ("test", test))
            for e in some
        ],
    )


@pytest.fixture(autouse=True)
def costs_in_tmp(tmp_path, monkeypatch):
    monkeypatch.setattr("stages.COSTS", tmp_path / "costs")


@pytest.fixture
def world(tmp_path):
    """A split with a seen test set, synthetic rows, folds, and the predictions of a final and of two fold classifiers."""
    split = tmp_path / "split"
    parts = {"train": rows("t", SEEN, 80), "support": rows("s", UNSEEN, 20), "test": rows("u", UNSEEN, 30)}
    parts["seen_test"] = rows("k", SEEN, 40)
    LABELS.write(split / "labels.json")
    for name, some in parts.items():
        write_jsonl(split / f"{name}.jsonl", some)
    synthetic = [
        Example("y0", "a new text", (0,), "ld_vae", (0,)),
        Example("y1", " S text 3", (1,), "oversample", (1,)),  # the text of a support row
    ]
    write_jsonl(tmp_path / "synthetic.jsonl", synthetic)
    write_rows(tmp_path / "compositions.jsonl", [{"requested_labels": [0]}, {"requested_labels": [0, 2]}])
    arguments = ["--split", str(split), "--synthetic", str(tmp_path / "synthetic.jsonl"), "--seed", "13"]
    folds.main([*arguments, "--out", str(tmp_path / "folds")])
    for name in "ab":
        held = read_jsonl(tmp_path / "folds" / name / "held.jsonl")
        predict(tmp_path / f"{name}.jsonl", [*parts["train"][:16], *held[:0], synthetic[0]], held)
    predict(
        tmp_path / "final.jsonl", [*parts["train"][:16], parts["support"][0]], [*parts["test"], *parts["seen_test"]]
    )
    return tmp_path


def run_stage(folder: Path, out: str, params_file: Path = ROOT / "params.yaml") -> dict:
    values = {
        "benchmark": "diagnostic_seen",
        "generator": "ld_vae",
        "classifier": "bert",
        "seed": "13",
        "split": "split",
        "folds": "folds",
    }
    values |= {
        "predictions": "final.jsonl",
        "synthetic": "synthetic.jsonl",
        "compositions": "compositions.jsonl",
        "out": out,
    }
    words = []
    for name, value in values.items():
        is_path = name not in ("benchmark", "generator", "classifier", "seed")
        words += [f"--{name}", str(folder / value) if is_path else value]
    words += ["--fold-predictions", str(folder / "a.jsonl"), str(folder / "b.jsonl"), "--params", str(params_file)]
    evaluate_prior.main(words)
    return read_json(folder / out)


# ---------------------------------------------------------------- folds


def test_every_support_row_is_held_out_once_and_its_text_is_in_no_training_file_of_that_fold(world):
    held = {name: read_jsonl(world / "folds" / name / "held.jsonl") for name in "ab"}
    kept = {name: read_jsonl(world / "folds" / name / "support.jsonl") for name in "ab"}
    ids = lambda some: {e.id for e in some}
    assert ids(held["a"]) | ids(held["b"]) == ids(rows("s", UNSEEN, 20)) and not ids(held["a"]) & ids(held["b"])
    for name in "ab":
        assert ids(kept[name]) == ids(held["ba"["ab".index(name)]])
        inputs = read_jsonl(world / "folds" / name / "held_inputs.jsonl")
        assert [(e.id, e.labels) for e in inputs] == [(e.id, ()) for e in held[name]]
    synthetic = {name: ids(read_jsonl(world / "folds" / name / "synthetic.jsonl")) for name in "ab"}
    (without,) = (name for name in "ab" if "s3" in ids(held[name]))
    assert synthetic.pop(without) == {"y0"} and list(synthetic.values()) == [{"y0", "y1"}]


def test_one_support_row_makes_no_folds(tmp_path):
    LABELS.write(tmp_path / "labels.json")
    write_jsonl(tmp_path / "support.jsonl", rows("s", UNSEEN, 1))
    write_jsonl(tmp_path / "synthetic.jsonl", [])
    with pytest.raises(InputError, match="two folds need two rows"):
        folds.main(
            ["--split", str(tmp_path), "--synthetic", str(tmp_path / "synthetic.jsonl"), "--seed", "1", "--out", "f"]
        )


# ---------------------------------------------------------------- decodings


def test_the_correction_helps_where_only_the_prior_was_wrong(world):
    row = run_stage(world, "row.json")
    found = row["decodings"]
    assert set(found) == set(prior.DECODINGS) and row["known"] == 100
    assert found["threshold"]["seen"] > 80 and found["threshold"]["unseen"] < 20
    assert found["composition_prior"]["harmonic"] > found["threshold"]["harmonic"] + 20
    assert found["composition_prior"]["held_out"] > 50
    for result in found.values():
        right = result["correct"]
        assert len(right["seen"]) == 40 and len(right["unseen"]) == 30
        assert 100 * right["seen"].count("1") / 40 == pytest.approx(result["seen"], abs=1e-3)
        assert 0 <= result["ausuc"] <= 100


def test_the_test_labels_decide_no_weight(world):
    """No path from D_test to weight, strength or P_t: other gold labels, the same decisions."""
    before = run_stage(world, "one.json")["decodings"]
    for name in ("test", "seen_test"):
        path = world / "split" / f"{name}.jsonl"
        shuffled = [Example(e.id, e.text, (2,)) for e in read_jsonl(path)]
        write_jsonl(path, shuffled)
    after = run_stage(world, "two.json")["decodings"]
    for name in ("composition_prior", "uncalibrated", "em"):
        assert [before[name][k] for k in ("weight", "strength", "held_out")] == [
            after[name][k] for k in ("weight", "strength", "held_out")
        ]
    assert before["threshold"]["seen"] != after["threshold"]["seen"]


@pytest.mark.parametrize("line", ['{"labels": [0]}', '{"requested_labels": [7]}', '{"requested_labels": null}'])
def test_a_broken_line_of_the_label_generator_is_named(world, line):
    (world / "compositions.jsonl").write_text(f'{{"requested_labels": [0]}}\n{line}\n')
    with pytest.raises(InputError, match=r"compositions.jsonl:2: `requested_labels` is no list of label ids"):
        run_stage(world, "row.json")


def test_an_empty_seen_test_set_is_refused(world):
    write_jsonl(world / "split" / "seen_test.jsonl", [])
    with pytest.raises(InputError, match="the seen test set has no row; set split.seen_test"):
        run_stage(world, "row.json")


def test_a_support_row_among_the_validation_rows_is_no_held_out_seen_row(world):
    train, support = read_jsonl(world / "split" / "train.jsonl"), read_jsonl(world / "split" / "support.jsonl")
    held = [e for name in ("test", "seen_test") for e in read_jsonl(world / "split" / f"{name}.jsonl")]
    fold = generalised.fold_of(Trained(world / "final.jsonl", train, support), held, support, False, LABELS)
    assert len(fold.seen) == 16  # of 17 validation rows


def test_weights_that_params_set_are_not_searched(world, tmp_path):
    text = (ROOT / "params.yaml").read_text()
    text = text.replace("  weight: null              # of P_t", "  weight: 0.3  # of P_t").replace(
        "  strength: null            # of the correction", "  strength: 0.4  # of the correction"
    )
    (tmp_path / "fixed.yaml").write_text(text)
    found = run_stage(world, "row.json", tmp_path / "fixed.yaml")["decodings"]["composition_prior"]
    assert (found["weight"], found["strength"]) == (0.3, 0.4)


def test_a_cell_without_folds_takes_weight_and_strength_from_the_parameters(world):
    """The root cell: the same decoding as the grid's with those weights; without support rows nothing is corrected."""
    parts = {name: read_jsonl(world / "split" / f"{name}.jsonl") for name in ("train", "support", "test", "seen_test")}
    trained = Trained(world / "final.jsonl", parts["train"], parts["support"])
    rows = [*parts["test"], *parts["seen_test"]]
    p = generalised.read_predictions(world / "final.jsonl", [e.id for e in rows], len(LABELS))
    gold = generalised.label_matrix([e.labels for e in rows], len(LABELS))
    right = {}
    for strength in (0.0, 1.0):
        options = OPTIONS.model_copy(update={"weight": 0.5, "strength": strength, "target": "both"})
        found = generalised.corrected(p, trained, parts["support"], [(0,)], options, LABELS)
        right[strength] = (found == gold).all(1)[: len(parts["test"])].mean()
    assert right[1.0] > right[0.0] + 0.3
    iid = Trained(world / "final.jsonl", [*parts["train"], *parts["support"]], [])
    options = OPTIONS.model_copy(update={"weight": 0.5, "calibrate": False})
    sets = [generalised.corrected(p, iid, [], [], options.model_copy(update={"strength": s}), LABELS) for s in (0, 1)]
    assert (sets[0] == sets[1]).mean() > 0.99  # P_t is P_train up to its smoothing


# ---------------------------------------------------------------- ceilings


def test_each_half_of_the_test_set_is_trained_on_by_one_classifier_and_scored_by_the_other(world):
    ceiling.main(["--split", str(world / "split"), "--out", str(world / "ceiling")])
    given = {name: read_jsonl(world / "ceiling" / name / "synthetic.jsonl") for name in "ab"}
    held = {name: read_jsonl(world / "ceiling" / name / "held.jsonl") for name in "ab"}
    test, train, seen = (read_jsonl(world / "split" / f"{name}.jsonl") for name in ("test", "train", "seen_test"))
    for name in "ab":
        inputs = read_jsonl(world / "ceiling" / name / "inputs.jsonl")
        assert [(e.id, e.labels) for e in inputs] == [(e.id, ()) for e in [*held[name], *seen]]
        assert all(e.source == "synthetic" and e.requested_labels == e.labels for e in given[name])
        assert {e.text for e in given[name]} | {e.text for e in held[name]} == {e.text for e in test}
        assert not {e.text for e in given[name]} & {e.text for e in held[name]}
        predict(world / f"ceiling-{name}.jsonl", [*train[:16], given[name][0]], [*held[name], *seen])
    assert {e.text for e in held["a"]} == {e.text for e in given["b"]}
    files = {
        "split": "split",
        "ceiling": "ceiling",
        "compositions": "compositions.jsonl",
        "folds": "folds",
        "out": "c.json",
    }
    words = [word for name, file in files.items() for word in (f"--{name}", str(world / file))]
    words += ["--predictions", *(str(world / f"ceiling-{name}.jsonl") for name in "ab")]
    words += ["--fold-predictions", str(world / "a.jsonl"), str(world / "b.jsonl")]
    evaluate_ceiling.main(["--benchmark", "own", "--seed", "13", "--params", str(ROOT / "params.yaml"), *words])
    ceilings = read_json(world / "c.json")["ceilings"]
    assert set(ceilings) == {"real_texts"}
    by_threshold, corrected = (ceilings["real_texts"][name] for name in ("threshold", "composition_prior"))
    assert by_threshold["seen"] > 80 and by_threshold["unseen"] < 20 < corrected["unseen"]


def test_the_bayes_ceiling_takes_the_weight_that_does_best_on_the_test_sets():
    """It answers with the most probable composition; at weight 0.5 alone it reads the text."""
    priors = []

    def answers(texts, prior):
        priors.append(prior)
        reads = prior[(0, 1)] == 0.5
        return [((0, 1) if "u text" in text else (0,)) if reads else max(prior, key=prior.get) for text in texts]

    grammar = SimpleNamespace(bayes_predictions=answers)
    learned = rows("t", [(0,), (0,), (0,), (1,)], 4)
    parts = {"unseen": rows("u", [(0, 1)], 2), "seen": rows("k", [(0,)], 2)}
    found = generalised.bayes(grammar, learned, parts)
    assert found["threshold"] == {"unseen": 0.0, "seen": 100.0, "harmonic": 0.0}
    assert found["composition_prior"] == {"unseen": 100.0, "seen": 100.0, "harmonic": 100.0}
    assert {(0,): 0.375, (1,): 0.125, (0, 1): 0.5} in priors and priors[-1] == {(0,): 0.75, (1,): 0.25, (0, 1): 0.0}


# ---------------------------------------------------------------- page


def test_a_calibrated_row_had_no_part_in_its_calibration():
    rng = np.random.default_rng(0)
    probabilities, gold = rng.random((40, 3)), rng.random((40, 3)) > 0.5
    before = generalised.cross_calibrated(probabilities, gold)
    gold[7] = ~gold[7]
    after = generalised.cross_calibrated(probabilities, gold)
    assert (before[7] == after[7]).all() and (before[8] != after[8]).any()
    assert generalised.cross_calibrated(probabilities[:0], gold[:0]).shape == (0, 3)


def test_the_benchmarks_of_the_grid_hold_a_seen_test_set_out():
    params = parse(ROOT / "params.yaml")
    assert all(params.benchmarks[name].split.seen_test for name in params.prior.benchmarks)
    assert params.composition_prior.weight is None  # chosen on held-out rows


def test_choosing_prefers_no_correction_where_none_is_needed():
    probabilities = np.array([[0.9, 0.1, 0.1], [0.1, 0.9, 0.1]])
    gold = probabilities > 0.5
    found = generalised.prior_of([(0,), (1,)] * 20, {(0,): 1.0, (1,): 1.0}, 3)
    chosen = choose([Fold(found, probabilities, gold, probabilities, gold)])
    assert chosen.strength == 0 and chosen.harmonic == 1
