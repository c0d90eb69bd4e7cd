"""The long table and the gains on a toy experiment whose numbers are worked out by hand."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import worlds
from graph import ROOT
from pyarrow import parquet
from worlds import PARTS, UNSEEN, rows, sure

from compaug.core.files import InputError
from compaug.core.records import Example
from compaug.evaluation import gains, results
from compaug.experiments.cells import Cell
from compaug.stages import write_results as stage

TOY = """
toy:
  title: A toy
  axes: {benchmark: diagnostic, seed: [13, 21]}
  cells:
  - generator: [none, oversample, ld_vae]
  - {generator: ld_vae, texts: 2}
  - {split: iid}
other:
  title: Nobody has run it yet
  axes: {benchmark: semeval, seed: 13}
  cells: [{}]
"""
TEST = rows("u", UNSEEN, 4)
RIGHT = {  # generator -> seed -> test rows that are right; the others are read as joy and love
    "none": {13: "0", 21: "01"},
    "oversample": {13: "01", 21: "01"},
    "ld_vae": {13: "012", 21: "012"},
}
DROPPED = {"blank": 1, "copied": 0, "duplicate": 0, "no marker": 2, "other labels": 3}  # of twelve
SYNTHETIC = [Example(f"y{i}", "made up", (0,), "ld_vae", (0,)) for i in range(3)]


def cell(generator: str, seed: int, **more) -> Cell:
    return Cell("diagnostic", seed, generator=generator, **more)


def answers(right: str, test=TEST) -> dict[str, list[float]]:
    return {e.id: sure(e.labels if str(at) in right else (0, 1)) for at, e in enumerate(test)}


@pytest.fixture
def world(tmp_path):
    (tmp_path / "toy.yaml").write_text(TOY)
    parts = PARTS | {"test": TEST}
    parts.pop("seen_test")
    worlds.write_gold(tmp_path, "diagnostic", parts)
    for generator, by_seed in RIGHT.items():
        for seed, right in by_seed.items():
            added = SYNTHETIC if generator == "ld_vae" else []
            worlds.write_cell(tmp_path, cell(generator, seed), answers(right), synthetic=added)
    for seed in (13, 21):
        worlds.write_cell(tmp_path, cell("ld_vae", seed, texts=2), answers("0123"), synthetic=SYNTHETIC[:2])
        iid = {e.id: sure(e.labels) for e in PARTS["iid_test"]}
        worlds.write_cell(tmp_path, cell("none", seed, split="iid"), iid, support=())
        sample = {"text": "x", "requested": "joy", "faithful": True, "readings": ["joy"]}
        quality = {"copied": {"exact": 0.25}, "self_bleu": 40.5, "perplexity": None, "n": 3, "samples": [sample]}
        quality |= {"fidelity": {"raw": 10.0, "kept": 20.0, "n_raw": 9, "n_kept": 3}}
        worlds.write_measure(
            tmp_path,
            "quality",
            f"diagnostic-ld_vae-{seed}",
            quality
            | {
                "selection": {
                    "requested": 12,
                    "produced": 6,
                    "kept": 3,
                    "dropped": DROPPED,
                    "per_composition": {"joy": {"kept": 3}},
                }
            },
        )
    judged = {"judged": {"oracle": {"acc": 50.0}}}
    worlds.write_measure(tmp_path, "judged", "diagnostic-ld_vae-13", judged)
    views = {"latent": {"silhouette": 0.5, "points": []}, "state": {"silhouette": None, "points": []}}
    worlds.write_measure(tmp_path, "representations", "diagnostic-ld_vae-13", {"views": views})
    between = {
        "spearman": {"precision_a": 1.0},
        "between": {"precision": 0.25},
        "alphas": {"0.5": {"copies": 0.125, "perplexity": None}},
    }
    worlds.write_measure(tmp_path, "interpolation", "diagnostic-ld_vae-13", between)
    distances = {of: {"fd": 0.5, "bleu": None, "n": 3} for of in ("support", "train")}
    worlds.write_measure(tmp_path, "distances", "diagnostic-ld_vae-13", distances)
    return tmp_path


def run(folder: Path, *options: str, **files: str) -> None:
    paths = {
        "reports": "",
        "out": "results.csv.gz",
        "gains": "gains.csv",
        "confusions": "confusions.csv.gz",
        "experiments": "toy.yaml",
    }
    words = [word for name, path in (paths | files).items() for word in (f"--{name}", str(folder / path))]
    stage.main([*words, *options, "--params", str(ROOT / "params.yaml")])


def table(path: Path, **where: object) -> list[dict[str, str]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    return [row for row in lines if all(row[name] == str(value) for name, value in where.items())]


def metrics(folder: Path, **where: object) -> dict[str, float]:
    lines = table(folder / "results.csv.gz", **where)
    values = {row["metric"]: float(row["value"]) for row in lines}
    assert len(values) == len(lines), "the query is of more than one cell"
    return values


def test_every_number_of_a_cell_stands_in_a_line_of_its_own(world):
    run(world)
    with gzip.open(world / "results.csv.gz", "rt") as stream:
        assert next(stream).strip() == ",".join(results.COLUMNS)
    where = {"experiment": "toy", "generator": "none", "seed": 13, "decoding": "threshold", "split": "unseen"}
    scores = metrics(world, **where)
    expected = {"acc": 25, "jacc": 62.5, "corr": 25, "comp": 100, "n": 4, "strict_superset": 75, "empty_rate": 0}
    expected |= {"kind_exact": 25, "kind_superset": 75, "kind_empty": 0, "acc_size_1": 25, "n_size_1": 4}
    expected |= {"acc_in_support": 25, "n_in_support": 4, "n_not_in_support": 0, "hamming": 25}
    assert {name: scores[name] for name in expected} == expected
    assert not {"acc_not_in_support", "harmonic", "ausuc", "per_composition"} & set(scores)
    row = table(world / "results.csv.gz", **where, metric="acc")[0]
    assert (row["scale"], row["selection"], row["classifier"]) == ("tiny", "top_k", "bert")
    assert metrics(world, experiment="toy", split="iid", seed=13, decoding="threshold")["acc"] == 100
    assert {row["split"] for row in table(world / "results.csv.gz", generator="none")} == {"unseen", "iid"}


def test_facts_of_a_cell_stand_under_any_decoding(world):
    run(world)
    where = {"generator": "ld_vae", "selection": "top_k", "decoding": "any", "split": "unseen"}
    whole, plain = metrics(world, **where, seed=13), metrics(world, **where, seed=21)
    assert plain == {
        "n_train": 100,
        "n_aug": 3,
        "n_requested": 12,
        "n_produced": 6,
        "written_readable": 75,
        "written_other": 25,
        "n_kept": 3,
        "fidelity_raw": 10,
        "fidelity_kept": 20,
        "quality_copied_exact": 0.25,
        "quality_self_bleu": 40.5,
        "quality_n": 3,
    }
    more = {"judged_oracle_acc": 50, "silhouette_latent": 0.5}
    more |= {"between_spearman_precision_a": 1, "between_pair_precision": 0.25, "between_copies_0.5": 0.125}
    more |= {f"distance_{of}_{name}": value for of in ("support", "train") for name, value in (("fd", 0.5), ("n", 3))}
    assert whole == plain | more
    # what was measured of all kept texts does not hold for the first two of them
    assert metrics(world, **(where | {"selection": "top_k+texts=2"}), seed=13) == {"n_train": 100, "n_aug": 2}
    assert metrics(world, split="iid", decoding="any", seed=13) == {"n_train": 80, "n_aug": 0}


def test_real_texts_are_read_as_the_kept_ones_are_and_weighted_alike(world):
    """Kept: 6 of joy, 2 of love, 1 of joy and love, which D_train has, and 1 of love and fear, which no real text
    has."""
    real = [Example(f"r{i}", "x", labels) for i, labels in enumerate([(0,), (0,), (0,), (1,), (0, 1), (0, 1)])]
    worlds.write_gold(world, "diagnostic", PARTS | {"test": TEST, "iid_test": real, "seen_test": []})
    read = [(0,), (0, 1), (0, 1), (1,), (0, 1), (0, 1)]
    probabilities = {e.id: sure(labels) for e, labels in zip(real, read, strict=True)}
    worlds.write_cell(world, cell("none", 13, split="iid"), probabilities, support=())
    worlds.write_cell(world, cell("none", 21, split="iid"), probabilities, support=())
    kept = {"joy": {"kept": 6}, "love": {"kept": 2}, "joy+love": {"kept": 1}, "love+fear": {"kept": 1}, "fear": {}}
    selection = {"requested": 20, "kept": 10, "per_composition": kept}
    for seed in (13, 21):
        worlds.write_measure(world, "quality", f"diagnostic-ld_vae-{seed}", {"selection": selection})
    judged = {"judged": {"classifier": {"acc": 30.0}}}
    worlds.write_measure(world, "judged", "diagnostic-ld_vae-13", judged)
    run(world)
    where = {"generator": "ld_vae", "selection": "top_k", "decoding": "any", "split": "unseen"}
    facts = metrics(world, **where, seed=13)
    # (6 / 3 + 2) / 8; unweighted it would be 2 of 4, with the combination of D_train 4 of 6
    assert {name: value for name, value in facts.items() if name.startswith(("reader", "judged"))} == {
        "judged_classifier_acc": 30,
        "reader_acc": 50,
        "reader_corr": 50,
        "reader_comp": 100,
        "reader_n": 4,
        "reader_covered": 80,
    }
    assert not any(name.startswith("reader") for name in metrics(world, **where, seed=21))  # nobody read its texts
    worlds.remove_cell(world, cell("none", 13, split="iid"))
    run(world, "--partial")
    assert not any(name.startswith("reader") for name in metrics(world, **where, seed=13))


def test_gains_are_paired_by_seed_and_by_row(world):
    run(world)
    (gain,) = table(world / "gains.csv", generator="ld_vae", selection="top_k", over="none")
    assert list(gain) == list(gains.COLUMNS)
    assert (gain["metric"], gain["split"], gain["seeds"]) == ("acc", "unseen", "2")
    numbers = {name: float(gain[name]) for name in ("mean", "std", "ci95", "low_rows", "high_rows")}
    assert numbers["mean"] == 37.5 and numbers["std"] == 17.6777 and numbers["ci95"] == 158.8276
    assert numbers["low_rows"] == 0 and numbers["high_rows"] == 75  # rows gained 0, 50, 100 and 0 points over the seeds
    overs = {(row["generator"], row["selection"], row["over"]) for row in table(world / "gains.csv")}
    assert overs == {
        ("ld_vae", "top_k", "none"),
        ("ld_vae", "top_k", "oversample"),
        ("ld_vae", "top_k+texts=2", "none"),
        ("ld_vae", "top_k+texts=2", "oversample"),
        ("ld_vae", "top_k+texts=2", "top_k"),
        ("oversample", "top_k", "none"),
    }


def test_p_values_are_those_of_each_comparison_alone(world):
    run(world)
    family = {(row["generator"], row["selection"]): row for row in table(world / "gains.csv", over="none")}
    assert set(family) == {("ld_vae", "top_k"), ("ld_vae", "top_k+texts=2"), ("oversample", "top_k")}
    # with 1 degree of freedom t = 5, 3 and 1
    keys = [("ld_vae", "top_k+texts=2"), ("ld_vae", "top_k"), ("oversample", "top_k")]
    for key, p in zip(keys, (0.1257, 0.2048, 0.5), strict=True):
        assert float(family[key]["p_seeds"]) == pytest.approx(p, abs=2e-4)
    # of the four rows 3, 2 and 1 differ: 2 of 8, 2 of 4 and both patterns of signs are as far from zero
    assert [float(family[key]["p_rows"]) for key in keys[1:]] == [0.5, 1]
    assert float(family["ld_vae", "top_k+texts=2"]["p_rows"]) == pytest.approx(0.25)
    (alone,) = table(world / "gains.csv", over="top_k")
    assert (float(alone["mean"]), float(alone["std"]), alone["p_seeds"]) == (25, 0, "")  # 25 points with both seeds


def test_confusions_are_counted_over_the_seeds(world):
    run(world)
    lines = table(world / "confusions.csv.gz", generator="none", split="unseen")
    assert [(r["composition"], r["predicted"], r["rows"]) for r in lines] == [
        ("joy", "joy+love", "2"),
        ("love", "joy+love", "3"),
    ]


# ---------------------------------------------------------------- what is missing or wrong


def test_a_cell_that_is_missing_is_named_and_an_experiment_that_nobody_ran_is_left_out(world, capsys):
    gone = "diagnostic-ld_vae-bert-21"
    worlds.remove_cell(world, cell("ld_vae", 21))
    run(world)
    printed = capsys.readouterr().err
    assert "toy: 9 of 10 cells" in printed and "other: 0 of 1 cells" in printed
    assert f"toy: missing {gone}; diagnostic left out until they are there" in printed
    assert table(world / "results.csv.gz") == []
    run(world, "--partial")
    assert f"toy: missing {gone}\n" in capsys.readouterr().err
    assert {row["experiment"] for row in table(world / "results.csv.gz")} == {"toy"}
    assert [
        row["seed"] for row in table(world / "results.csv.gz", generator="ld_vae", selection="top_k", metric="acc")
    ] == ["13"]
    (gain,) = table(world / "gains.csv", generator="ld_vae", selection="top_k", over="none")
    assert (gain["seeds"], gain["mean"], gain["std"], gain["p_seeds"]) == ("1", "50", "", "")


def test_predictions_of_other_rows_are_refused(world):
    worlds.write_cell(world, cell("none", 13), answers("0", [*TEST[:3], Example("u9", "x", (0,))]))
    with pytest.raises(InputError, match="1 of 4 gold ids have no prediction, first 'u3'") as error:
        run(world)
    assert "diagnostic-controls-13.parquet/diagnostic-none-bert-13: " in str(error.value)


def test_gold_of_another_benchmark_is_refused(world):
    worlds.write_gold(world, "diagnostic", PARTS | {"test": rows("z", UNSEEN, 4)})
    with pytest.raises(InputError, match="have no prediction, first"):
        run(world)
    (world / "gold" / "diagnostic.json").unlink()
    with pytest.raises(InputError, match="diagnostic.json: no such file"):
        run(world)


# ---------------------------------------------------------------- bytes


def test_the_same_predictions_give_the_same_bytes_in_any_order_and_process(world):
    run(world)
    tables = ("results.csv.gz", "gains.csv", "confusions.csv.gz")
    before = [(world / name).read_bytes() for name in tables]
    for path in sorted((world / "predictions").iterdir(), reverse=True):  # made again in another order
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
    words = ["--reports", ".", "--experiments", "toy.yaml"]
    words += ["--out", "results.csv.gz", "--gains", "gains.csv", "--confusions", "confusions.csv.gz"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-m", "compaug.stages.write_results", *words, "--params", str(ROOT / "params.yaml")]
    subprocess.run(command, cwd=world, env=environment, check=True, capture_output=True)
    assert [(world / name).read_bytes() for name in tables] == before


def test_numbers_are_written_one_way():
    shown = [results.shown(value) for value in (13.0, 13.015, -0.00001, 0.5, 1e-9, 100, None, "a")]
    assert shown == ["13", "13.015", "0", "0.5", "0", "100", "", "a"]


def strings(path: Path) -> Iterator[str]:
    """Every string that stands in a file of results, keys included."""

    def walk(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            yield from value
            value = list(value.values())
        if isinstance(value, list):
            for part in value:
                yield from walk(part)
        elif isinstance(value, str):
            yield value

    if path.suffix == ".parquet":
        columns = [field.name for field in parquet.read_schema(path) if re.search("string|binary", str(field.type))]
        for row in parquet.read_table(path, columns=columns).to_pylist():
            documents = [row.pop(name) for name in ("learned", "train", "support", "drawn", "ids")]
            yield from walk([row, *(json.loads(text) for text in documents if text)])
        return
    content = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    if ".csv" in path.suffixes:
        yield from (cell for row in csv.reader(content.splitlines()) for cell in row)
    else:
        for value in [json.loads(content)] if path.suffix == ".json" else map(json.loads, content.splitlines()):
            if value.get("name", "").startswith("diagnostic"):  # its own corpus may be shown
                value.pop("samples", None)
                value.get("points", {}).pop("texts", None)
            yield from walk(value)


def texts_in(folder: Path) -> list[tuple[Path, str]]:
    """Strings of at least five words in what is in Git of results, names of labels apart: no other name has so many."""
    patterns = ("predictions/*", "gold/*", "*.jsonl.gz", "*.csv*")
    files = [path for pattern in patterns for path in folder.glob(pattern)]
    names = {name for path in folder.glob("gold/*.json") for name in json.loads(path.read_text())["labels"]}
    several = sorted((name for name in names if " " in name), key=len, reverse=True)

    def words(text: str) -> int:
        if len(text.split()) < 5:
            return 0
        for name in several:
            text = text.replace(name, "")
        return len(text.split())

    return [(path, text) for path in files for text in strings(path) if words(text) >= 5]


def test_no_text_of_a_corpus_is_in_any_result(world):
    run(world)
    assert texts_in(world) == [] and len(list(world.rglob("*.parquet"))) == 4
    worlds.write_measure(world, "quality", "semeval-ld_vae-13", {"samples": [{"text": "what a lovely day it is"}]})
    assert [text for _, text in texts_in(world)] == ["what a lovely day it is"]
    assert (ROOT / "reports" / "quality.jsonl.gz").exists() and texts_in(ROOT / "reports") == []


def test_guided_texts_are_compared_with_the_controls_and_with_the_same_generator_without(world):
    cells = "[{generator: [none, ld_vae]}, {generator: ld_vae, sampling: guidance=2}]"
    (world / "toy.yaml").write_text(
        f"toy: {{title: T, axes: {{benchmark: diagnostic, seed: [13, 21]}}, cells: {cells}}}"
    )
    for seed in (13, 21):
        worlds.write_cell(world, cell("ld_vae", seed, sampling="guidance=2"), answers("1", TEST))
    run(world)
    gained = table(world / "gains.csv", generator="ld_vae+guidance=2", decoding="threshold")
    assert {row["over"] for row in gained} == {"none", "ld_vae"}


def test_repeated_texts_are_compared_with_no_texts_with_repeats_alike_and_with_the_same_shown_once(world):
    cells = "[{generator: [none, oversample, ld_vae]}, {generator: [oversample, ld_vae], training: synthetic_repeat=4}]"
    (world / "toy.yaml").write_text(f"toy: {{title: T, axes: {{benchmark: diagnostic, seed: 13}}, cells: {cells}}}")
    for generator, right in (("oversample", "0"), ("ld_vae", "0123")):
        worlds.write_cell(world, cell(generator, 13, training="synthetic_repeat=4"), answers(right))
    run(world)
    gained = table(world / "gains.csv", classifier="bert+synthetic_repeat=4", generator="ld_vae")
    assert {row["over"]: float(row["mean"]) for row in gained} == {"none": 75, "oversample": 75, "bert": 25}


def test_seen_combinations_are_those_of_training_rows_that_were_held_out(world):
    """Of four such rows the made-up classifier has three right; the support row beside them is of an unseen one."""
    seen = [Example(f"v{at}", "text", labels) for at, labels in enumerate([(0, 1), (0, 1), (2,), (1,)])]
    validation = [*((example, "train") for example in seen), (Example("v4", "text", (0,)), "support")]
    worlds.write_cell(world, cell("none", 13), answers("0"), validation)
    run(world)
    facts = metrics(world, generator="none", seed=13, split="unseen", decoding="any")
    assert facts["held_out_train_acc"] == 75
    assert "held_out_train_acc" not in metrics(world, generator="none", seed=21, split="unseen", decoding="any")


# ---------------------------------------------------------------- test rows in common


def test_cells_with_other_support_sets_are_compared_on_the_texts_that_none_has_seen(world):
    cells = "[{generator: [none, ld_vae]}, {generator: ld_vae, label_support: 100}, {support: 250, generator: ld_vae}]"
    (world / "toy.yaml").write_text(
        f"toy: {{title: T, axes: {{benchmark: diagnostic, seed: [13, 21]}}, cells: {cells}}}"
    )
    for seed in (13, 21):
        for more in ({"label_support": 100}, {"support": 250}):
            worlds.write_cell(world, cell("ld_vae", seed, **more), answers("1", TEST[1:3]))  # u2 is right, u1 is not
    run(world)
    differences = {
        (row["generator"], row["classifier"]): float(row["value"])
        for row in table(world / "results.csv.gz", metric="acc", seed=21, split="unseen")
    }
    assert differences == {
        ("none", "bert"): 50,
        ("ld_vae", "bert"): 100,
        ("ld_vae+label_support=100", "bert"): 50,
        ("ld_vae", "bert+support=250"): 50,
    }
    assert {row["value"] for row in table(world / "results.csv.gz", metric="n")} == {"2"}
    overs = {(row["generator"], row["classifier"], row["over"]) for row in table(world / "gains.csv")}
    assert {("ld_vae+label_support=100", "bert", "ld_vae"), ("ld_vae", "bert+support=250", "bert")} <= overs
    assert ("ld_vae", "bert+support=250", "none") not in overs  # that twin was not trained
    other = answers("1", rows("z", UNSEEN, 2))
    worlds.write_cell(world, cell("ld_vae", 13, support=250), other)
    with pytest.raises(InputError, match="predict other rows; predict them again"):
        run(world)


def test_answers_that_do_not_parse_are_counted(world):
    (world / "toy.yaml").write_text(
        "toy: {title: T, axes: {benchmark: diagnostic, seed: 13, classifier: t5_clp}, cells: [{}]}"
    )
    pieces = dict(zip((e.id for e in TEST), (0, 2, 1, 0), strict=True))
    worlds.write_cell(world, cell("none", 13, classifier="t5_clp"), answers("0"), unparsed=pieces)
    run(world)
    scores = metrics(world, classifier="t5_clp", decoding="any")
    assert (scores["unparsed_rows"], scores["unparsed_pieces"]) == (2, 3)


def test_the_ceilings_of_a_known_grammar_have_no_seed(world):
    bayes = {"iid": {"training_prior": {"acc": 90.5, "n": 20}}, "unseen": {"target_prior": {"acc": 80.0, "n": 4}}}
    parts = PARTS | {"test": TEST}
    parts.pop("seen_test")
    worlds.write_gold(world, "diagnostic", parts, bayes=bayes)
    run(world)
    (ceiling,) = table(world / "results.csv.gz", generator="bayes", metric="acc", split="unseen")
    assert (ceiling["decoding"], ceiling["seed"], ceiling["value"], ceiling["classifier"]) == (
        "target_prior",
        "0",
        "80",
        "bayes",
    )
    assert not table(world / "gains.csv", generator="bayes")
