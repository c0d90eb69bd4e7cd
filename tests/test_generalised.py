"""The generalised protocol on a toy world: folds, halves of the test set, and results on seen and unseen
compositions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import worlds
from test_results import metrics, run, table
from worlds import PARTS, UNSEEN, rows

from compaug.core.files import InputError
from compaug.core.records import Example, read_jsonl, write_jsonl
from compaug.evaluation import predictions
from compaug.evaluation.decoding.composition_prior import Fold, choose, prior_of, target_of
from compaug.evaluation.decoding.decodings import cross_calibrated
from compaug.experiments import cells as experiments
from compaug.experiments.cells import Cell
from compaug.experiments.params import parse
from compaug.stages import folds, matched

ROOT = Path(__file__).parents[1]
DECODINGS = (
    "threshold",
    "joint",
    "composition_prior",
    "uncalibrated",
    "stacking",
    "crm",
    "logit_adjustment",
    "em",
    "map_em",
)
CHOSEN = {name: {"weight", "strength", "held_out"} for name in ("composition_prior", "uncalibrated", "em", "map_em")}
CHOSEN |= {"stacking": {"constant"}, "crm": {"weight"}, "logit_adjustment": {"strength"}}
TOY = """
prior:
  title: A toy
  axes: {benchmark: diagnostic, split_options: seen_test=400, seed: [13, 21]}
  decodings: [threshold, joint, composition_prior, uncalibrated, stacking, crm, logit_adjustment, em, map_em]
  cells:
  - {generator: [none, ld_vae], half: ["", a, b]}
  - {generator: ld_vae, selection: score=posterior}
  - {generator: real_texts, half: [a, b]}
"""
HALVES = {name: [e for i, e in enumerate(PARTS["support"]) if (i // 2) % 2 == at] for at, name in enumerate("ab")}
VALIDATION = [(e, "train") for e in PARTS["train"][:16]] + [(Example("y0", "a new text", (0,)), "ld_vae")]
SYNTHETIC = rows("y", UNSEEN, 6)


def cell(generator: str, seed: int, **more) -> Cell:
    return Cell("diagnostic", seed, split_options="seen_test=400", generator=generator, **more)


@pytest.fixture
def world(tmp_path):
    """Every cell of a toy experiment leans to what co-occurs in training; texts with joy or love alone cure half of
    it."""
    (tmp_path / "toy.yaml").write_text(TOY)
    worlds.write_gold(tmp_path, "diagnostic+seen_test=400")
    both = [*PARTS["test"], *PARTS["seen_test"]]
    for seed in (13, 21):
        for generator in ("none", "ld_vae"):
            inputs = {"validation": VALIDATION, "synthetic": SYNTHETIC if generator == "ld_vae" else []}
            answers = worlds.beliefs(both, seed)
            if generator == "ld_vae":
                answers |= {e.id: worlds.sure(e.labels) for e in PARTS["test"][: 14 + 8 * (seed == 21)]}
            worlds.write_cell(tmp_path, cell(generator, seed), answers, **inputs)
            if generator == "ld_vae":
                worlds.write_cell(tmp_path, cell(generator, seed, selection="score=posterior"), answers, **inputs)
            for half, held in HALVES.items():
                support = HALVES["ba"["ab".index(half)]]
                inputs["support"] = support
                worlds.write_cell(tmp_path, cell(generator, seed, half=half), worlds.beliefs(held), **inputs)
        for at, half in enumerate("ab"):
            held = [*PARTS["test"][at::2], *PARTS["seen_test"]]
            learned = PARTS["test"][1 - at :: 2]
            held_out = [*VALIDATION[:16], *((example, "synthetic") for example in learned[:6])]
            answers = worlds.beliefs(held, seed) | {e.id: worlds.sure(e.labels) for e in PARTS["test"][at::2][:9]}
            more = {"validation": held_out, "synthetic": learned}
            worlds.write_cell(tmp_path, cell("real_texts", seed, half=half), answers, **more)
    return tmp_path


# ---------------------------------------------------------------- folds and halves


@pytest.fixture
def split(tmp_path, own_costs):
    worlds.LABELS.write(tmp_path / "split" / "labels.json")
    for name, examples in PARTS.items():
        write_jsonl(tmp_path / "split" / f"{name}.jsonl", examples)
    return tmp_path


def ids(path: Path) -> set[str]:
    return {e.id for e in read_jsonl(path)}


def test_every_support_row_is_held_out_once_and_its_text_is_in_no_training_file_of_that_fold(split):
    synthetic = [
        Example("y0", "a new text", (0,), "ld_vae", (0,)),
        Example("y1", " S text 3", (1,), "oversample", (1,)),  # the text of a support row
    ]
    write_jsonl(split / "synthetic.jsonl", synthetic)
    words = ["--split", str(split / "split"), "--synthetic", str(split / "synthetic.jsonl"), "--seed", "13"]
    folds.main([*words, "--out", str(split / "folds")])
    held = {name: ids(split / "folds" / name / "held.jsonl") for name in "ab"}
    assert held["a"] | held["b"] == {e.id for e in PARTS["support"]} and not held["a"] & held["b"]
    for name, other in zip("ab", "ba", strict=True):
        assert ids(split / "folds" / name / "support.jsonl") == held[other]
        inputs = read_jsonl(split / "folds" / name / "held_inputs.jsonl")
        assert {e.id for e in inputs} == held[name] and not any(e.labels for e in inputs)
    kept = {name: ids(split / "folds" / name / "synthetic.jsonl") for name in "ab"}
    (without,) = (name for name in "ab" if "s3" in held[name])
    assert kept.pop(without) == {"y0"} and list(kept.values()) == [{"y0", "y1"}]


def test_one_support_row_makes_no_folds(split):
    write_jsonl(split / "split" / "support.jsonl", rows("s", UNSEEN, 1))
    write_jsonl(split / "synthetic.jsonl", [])
    words = ["--split", str(split / "split"), "--synthetic", str(split / "synthetic.jsonl"), "--seed", "1"]
    with pytest.raises(InputError, match="two folds need two rows"):
        folds.main([*words, "--out", str(split / "folds")])


@pytest.mark.parametrize("seen", [PARTS["seen_test"], []], ids=["with", "without"])
def test_each_half_of_the_test_set_is_given_to_one_classifier_and_predicted_by_the_other(split, seen):
    if not seen:
        (split / "split" / "seen_test.jsonl").unlink()
    matched.main(["--split", str(split / "split"), "--out", str(split / "matched")])
    synthetic = {name: read_jsonl(split / "matched" / name / "synthetic.jsonl") for name in "ab"}
    held = {name: read_jsonl(split / "matched" / name / "held.jsonl") for name in "ab"}
    for name in "ab":
        inputs = read_jsonl(split / "matched" / name / "inputs.jsonl")
        assert [(e.id, e.labels) for e in inputs] == [(e.id, ()) for e in [*held[name], *seen]]
        assert all(e.source == "synthetic" and e.requested_labels == e.labels for e in synthetic[name])
        assert {e.text for e in synthetic[name]} | {e.text for e in held[name]} == {e.text for e in PARTS["test"]}
        assert not {e.text for e in synthetic[name]} & {e.text for e in held[name]}
    assert {e.text for e in held["a"]} == {e.text for e in synthetic["b"]}


# ---------------------------------------------------------------- results


def of(world: Path, decoding: str, generator: str = "none", split: str = "unseen", **more: object) -> dict[str, float]:
    return metrics(
        world, **({"selection": "top_k", "seed": 13} | more), generator=generator, decoding=decoding, split=split
    )


def test_every_decoding_is_scored_on_seen_and_on_unseen_compositions(world):
    run(world)
    scores = {
        (decoding, split): of(world, decoding, split=split) for decoding in DECODINGS for split in ("seen", "unseen")
    }
    for decoding in DECODINGS:
        seen, unseen = scores[decoding, "seen"], scores[decoding, "unseen"]
        both = seen["acc"] + unseen["acc"]
        expected = 2 * seen["acc"] * unseen["acc"] / both if both else 0
        assert unseen["harmonic"] == pytest.approx(expected, abs=1e-3) and 0 <= unseen["ausuc"] <= 100
        assert unseen["told"] <= 100
        assert (seen["n"], unseen["n"]) == (40, 30) and not {"harmonic", "ausuc", "told", "weight"} & set(seen)
        assert {"weight", "strength", "held_out", "constant"} & set(unseen) == CHOSEN.get(decoding, set())
    assert scores["threshold", "seen"]["acc"] > 80 and scores["threshold", "unseen"]["acc"] < 20
    corrected = scores["composition_prior", "unseen"]
    assert corrected["harmonic"] > scores["threshold", "unseen"]["harmonic"] + 20 and corrected["held_out"] > 50
    assert of(world, "any")["known"] == 100


def test_the_test_labels_decide_no_weight(world):
    """No path from D_test to weight, strength or P_t: other gold labels, the same decisions."""
    run(world)
    before = {d: {name: of(world, d)[name] for name in names} for d, names in CHOSEN.items()}
    seen = of(world, "threshold", split="seen")["acc"]
    other = {name: [Example(e.id, e.text, (2,)) for e in PARTS[name]] for name in ("test", "seen_test")}
    worlds.write_gold(world, "diagnostic+seen_test=400", PARTS | other)
    run(world)
    assert {d: {name: of(world, d)[name] for name in names} for d, names in CHOSEN.items()} == before
    assert of(world, "threshold", split="seen")["acc"] != seen


def test_another_selection_takes_the_weights_of_the_generators_own_folds(world):
    run(world)
    top_k, other = (of(world, "composition_prior", "ld_vae", selection=s) for s in ("top_k", "score=posterior"))
    assert other == top_k  # its texts and predictions are the same here, and no fold was trained for it


def held_out_rows(world: Path, seed: int, half: str) -> Fold:
    """What a classifier of the matched arm held out for validation, as the toy's files have it."""
    learner = predictions.read(worlds.file_of(world, cell("real_texts", seed, half=half)), 3)
    probabilities = cross_calibrated(learner.validation, learner.validation_gold)
    real = np.arange(len(probabilities)) < 16  # the first of them are of D_train
    target = target_of(learner.support, {}, "support")
    prior = prior_of(learner.learned, target, 3, learner.support, learner.train)
    gold = learner.validation_gold
    return Fold(prior, probabilities[real], gold[real], probabilities[~real], gold[~real])


def test_the_matched_arm_averages_both_halves_with_weights_from_the_rows_that_it_held_out(world):
    run(world)
    matched = of(world, "composition_prior", "real_texts")
    chosen = [choose([held_out_rows(world, 13, half)]) for half in "ab"]  # each on its own
    assert matched["weight"] == pytest.approx(np.mean([weights.weight for weights in chosen]))
    assert matched["strength"] == pytest.approx(np.mean([weights.strength for weights in chosen]))
    assert (matched["n"], of(world, "threshold", "real_texts", "seen")["n"]) == (30, 40)
    none = of(world, "composition_prior")
    assert (matched["weight"], matched["strength"]) != (none["weight"], none["strength"])
    assert not {row["generator"] for row in table(world / "results.csv.gz")} - {"none", "ld_vae", "real_texts"}
    for half in "ab":  # other folds of none: the matched arm has no part in them
        held = {e.id: worlds.sure(e.labels) for e in HALVES[half]}
        more = {"validation": VALIDATION, "support": HALVES["ba"["ab".index(half)]]}
        worlds.write_cell(world, cell("none", 13, half=half), held, **more)
    run(world)
    assert of(world, "composition_prior", "real_texts") == matched
    assert of(world, "composition_prior") != none


def test_the_matched_arm_takes_part_in_the_comparisons_on_the_same_rows(world):
    """Each of its two classifiers has the first nine of its fifteen unseen rows right."""
    run(world)
    for over in ("none", "threshold"):
        decoding = "threshold" if over == "none" else "composition_prior"
        where = {"generator": "real_texts", "decoding": decoding, "over": over, "metric": "acc"}
        (gain,) = table(world / "gains.csv", **where)
        other = ("threshold", "none") if over == "none" else ("threshold", "real_texts")
        apart = [of(world, decoding, "real_texts", seed=s)["acc"] - of(world, *other, seed=s)["acc"] for s in (13, 21)]
        assert float(gain["mean"]) == pytest.approx(np.mean(apart), abs=1e-3)
        assert gain["seeds"] == "2" and gain["low_rows"] and gain["p_rows"]
    over_it = table(world / "gains.csv", over="real_texts", metric="acc", decoding="threshold")
    assert {(row["generator"], row["selection"]) for row in over_it} == {
        ("ld_vae", "top_k"),
        ("ld_vae", "score=posterior"),
    }
    harmonic = {"generator": "real_texts", "decoding": "stacking", "over": "none", "metric": "harmonic"}
    (gain,) = table(world / "gains.csv", **harmonic)
    apart = [
        of(world, "stacking", "real_texts", seed=s)["harmonic"] - of(world, "stacking", seed=s)["harmonic"]
        for s in (13, 21)
    ]
    assert float(gain["mean"]) == pytest.approx(np.mean(apart), abs=1e-3)  # as the tables show it


def test_gains_are_also_in_the_harmonic_mean_and_over_the_uncorrected_decoding(world):
    run(world)
    where = {"generator": "none", "decoding": "composition_prior", "over": "threshold", "metric": "harmonic"}
    (gain,) = table(world / "gains.csv", **where)
    apart = [
        of(world, "composition_prior", seed=s)["harmonic"] - of(world, "threshold", seed=s)["harmonic"]
        for s in (13, 21)
    ]
    assert float(gain["mean"]) == pytest.approx(np.mean(apart), abs=1e-3)
    assert float(gain["low_rows"]) < float(gain["mean"]) < float(gain["high_rows"]) and gain["p_rows"] == ""
    overs = {
        (r["generator"], r["selection"], r["decoding"], r["over"])
        for r in table(world / "gains.csv", metric="harmonic")
    }
    assert {("ld_vae", "top_k", d, "none") for d in DECODINGS} <= overs
    assert ("ld_vae", "score=posterior", "threshold", "top_k") in overs
    assert not [row for row in overs if row[0] == "none" and row[3] != "threshold"]


def test_a_cell_whose_folds_are_missing_is_left_out_and_the_fold_is_named(world, capsys):
    worlds.remove_cell(world, cell("ld_vae", 21, half="b"))
    run(world, "--partial")
    assert "diagnostic+seen_test=400-ld_vae-bert-21-b" in capsys.readouterr().err
    cells = table(world / "results.csv.gz", generator="ld_vae", metric="acc", decoding="threshold", split="seen")
    assert {row["seed"] for row in cells} == {"13"}


def test_predictions_of_one_test_set_alone_are_refused(world):
    worlds.write_cell(world, cell("none", 13), worlds.beliefs(PARTS["test"]))
    with pytest.raises(InputError, match="40 of 70 gold ids have no prediction"):
        run(world)


# ---------------------------------------------------------------- what the repository asks for


def test_the_benchmarks_of_the_prior_hold_a_seen_test_set_out():
    cells = experiments.read(ROOT / "configs" / "experiments.yaml")["prior"].cells
    assert {cell.corpus for cell in cells} == {"diagnostic+seen_test=1600"}
    assert parse(ROOT / "params.yaml").composition_prior.weight is None  # chosen on held-out rows


def test_choosing_prefers_no_correction_where_none_is_needed():
    probabilities = np.array([[0.9, 0.1, 0.1], [0.1, 0.9, 0.1]])
    gold = probabilities > 0.5
    fold_prior = prior_of([(0,), (1,)] * 20, {(0,): 1.0, (1,): 1.0}, 3)
    chosen = choose([Fold(fold_prior, probabilities, gold, probabilities, gold)])
    assert chosen.strength == 0 and chosen.harmonic == 1
