"""Ablations: support sets that nest, heads of ranked lists, and a page whose numbers can be worked out by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from graph import ROOT

from compaug.records import Example, InputError, Labels, read_json, read_jsonl, write_json, write_jsonl, write_rows
from compaug.reports import ablations
from compaug.reports.paper import read_paper_values
from stages import ablation_tables, judge, parser, prefixes, supports

LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))
SEEDS = [13, 21, 42]
AXES = {"benchmarks": ["toy"], "generator": "ld_vae", "seeds": SEEDS, "support_sizes": [0, 3], "generators": ["ld_vae"]}
AXES |= {
    "synthetic_sizes": [2, 4],
    "options": ["kl_form=reference"],
    "selections": ["scope=per_composition"],
    "representations": ["flan_t5"],
}
AXES |= {"judged": ["ls_pt"]}


def rows(name: str, count: int) -> list[Example]:
    return [Example(f"{name}{i}", f"{name} text {i}", [(0,), (0, 1), (2,)][i % 3]) for i in range(count)]


def split(folder: Path, support: int) -> Path:
    LABELS.write(folder / "labels.json")
    pool = rows("s", 12)
    write_jsonl(folder / "train.jsonl", rows("t", 5))
    write_jsonl(folder / "support.jsonl", pool[:support])
    write_jsonl(folder / "test.jsonl", pool[support:])
    write_jsonl(folder / "test_inputs.jsonl", [Example(e.id, e.text, ()) for e in pool[support:]])
    return folder


def with_axes(folder: Path, **changes) -> str:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["ablations"] |= changes
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return str(folder / "params.yaml")


def run_supports(folder: Path, sizes: list[int]) -> Path:
    words = ["--split", str(folder / "large"), "--like", str(folder / "own"), "--out", str(folder / "supports")]
    supports.main([*words, "--params", with_axes(folder, support_sizes=sizes)])
    return folder / "supports"


def test_smaller_support_sets_are_heads_of_larger_ones_and_no_test_text_is_in_any(tmp_path):
    split(tmp_path / "own", 2), split(tmp_path / "large", 6)
    made = run_supports(tmp_path, [0, 3, 6])
    held = {size: [e.id for e in read_jsonl(made / str(size) / "support.jsonl")] for size in (0, 3, 6)}
    assert held[0] == [] and held[3] == held[6][:3] and len(held[6]) == 6
    assert [e.id for e in read_jsonl(made / "test_inputs.jsonl")] == [f"s{i}" for i in range(6, 12)]
    assert [e.id for e in read_jsonl(made / "test.jsonl")] == [f"s{i}" for i in range(2, 12)]
    assert not list(made.glob("*/test*"))  # nothing that a method reads has test labels
    assert (made / "0" / "train.jsonl").read_bytes() == (tmp_path / "own" / "train.jsonl").read_bytes()


def test_support_sets_that_do_not_nest_or_reach_are_refused(tmp_path):
    split(tmp_path / "own", 2), split(tmp_path / "large", 6)
    with pytest.raises(InputError, match="support_sizes has 7, but .* has 6 rows; lower it"):
        run_supports(tmp_path, [0, 7])
    write_jsonl(tmp_path / "large" / "support.jsonl", rows("s", 12)[6:])
    with pytest.raises(InputError, match="does not begin with that of"):
        run_supports(tmp_path, [0])
    write_jsonl(tmp_path / "large" / "train.jsonl", rows("t", 4))
    with pytest.raises(InputError, match="train.jsonl: not that of"):
        run_supports(tmp_path, [0])
    Labels(LABELS.names[::-1], LABELS.phrases[::-1]).write(tmp_path / "large" / "labels.json")
    with pytest.raises(InputError, match="labels.json: not that of .*own; they may differ in support_size alone"):
        run_supports(tmp_path, [0])


def test_a_smaller_number_of_texts_is_the_head_of_the_ranked_list(tmp_path):
    write_jsonl(tmp_path / "kept.jsonl", rows("y", 5))
    words = ["--selected", str(tmp_path / "kept.jsonl"), "--out", str(tmp_path / "heads"), "--params"]
    prefixes.main([*words, with_axes(tmp_path, synthetic_sizes=[2, 4])])
    assert [e.id for e in read_jsonl(tmp_path / "heads" / "4.jsonl")] == ["y0", "y1", "y2", "y3"]
    assert (tmp_path / "heads" / "4.jsonl").read_text().startswith((tmp_path / "heads" / "2.jsonl").read_text())
    with pytest.raises(InputError, match="synthetic_sizes has 6, but .*kept.jsonl has 5 texts"):
        prefixes.main([*words, with_axes(tmp_path, synthetic_sizes=[6])])


@pytest.fixture
def world(tmp_path):
    """Predictions that are right on the first n test rows; rows of the paper's grid."""
    split(tmp_path / "own", 2), split(tmp_path / "large", 6)
    run_supports(tmp_path, [0, 3]).rename(tmp_path / "toy")
    (tmp_path / "supports").mkdir()
    (tmp_path / "toy").rename(tmp_path / "supports" / "toy")
    test = read_jsonl(tmp_path / "supports" / "toy" / "test.jsonl")

    def predict(family: str, variant: str, right: int, some=test) -> None:
        for seed in SEEDS:
            values = [
                [float(label in e.labels) if i < right else 0.0 for label in range(3)] for i, e in enumerate(some)
            ]
            made = [{"id": e.id, "split": "test", "probabilities": v} for e, v in zip(some, values, strict=True)]
            name = "-".join(word for word in ("toy", variant, str(seed)) if word)
            write_rows(tmp_path / "models" / family / name / "predictions.jsonl", made)

    predict("paper", "ld_vae", 7)  # rows 4 to 6 are in the common test set, of six
    predict("paper", "none", 5)
    for module in ablations.MODULES:
        predict(module, "0", 3, test[4:])
        predict(module, "3", 6, test[4:])
    for size in (2, 4):
        predict("synthetic", f"ld_vae-{size}", size)
    predict("option", "kl_form=reference", 8)
    predict("selection", "scope=per_composition", 5)
    for generator, right in (("none", 1), ("ld_vae", 6), ("vae", 5)):
        for seed in SEEDS:
            metrics = {"jacc": 50.0, "acc": 10.0 * right, "corr": 50.0, "comp": 50.0}
            row = {"benchmark": "toy", "generator": generator, "seed": seed, "metrics": metrics, "n_aug": 9}
            write_json(tmp_path / "runs" / f"toy-{generator}-{seed}.json", row)
    for seed in SEEDS:
        view = {"silhouette": 0.25, "points": [[0.1, 0.2], [0.8, 0.9]]}
        row = {"generator": "flan_t5", "seed": seed, "labels": list(LABELS.names), "pair_labels": [0, 2]}
        row |= {"views": {"latent": view}}
        write_json(tmp_path / "out" / "representations" / f"toy-flan_t5-{seed}.json", row)
        judged = {"classifier": {"acc": 30.0, "corr": 50.0, "comp": 40.0}}
        reader = {"acc": 40.0, "corr": 50.0, "comp": 60.0, "n": 8}
        write_json(
            tmp_path / "out" / "judged" / f"toy-ls_pt-{seed}.json",
            {"generator": "ls_pt", "seed": seed, "judged": judged, "reader": reader},
        )
    return tmp_path


def test_the_page_has_every_table_and_its_numbers(world, monkeypatch):
    evaluation = SimpleNamespace(threshold=0.5, empty_both="one", decoding="threshold")
    monkeypatch.setattr(
        "compaug.params.load", lambda *a, **k: {"ablations": SimpleNamespace(**AXES), "evaluation": evaluation}
    )
    words = [
        "--models",
        str(world / "models"),
        "--supports",
        str(world / "supports"),
        "--paper-runs",
        str(world / "runs"),
    ]
    words += ["--paper-models", str(world / "models" / "paper"), "--splits", str(world / "splits")]
    write_json(world / "splits" / "toy.json", {"n_support": 1})
    words += ["--paper-values", str(ROOT / "reports/paper_values.yaml"), "--out", str(world / "out")]
    ablation_tables.main(["--axes", "ablations", *words])
    tree = read_json(world / "out" / "metrics.json")["toy"]
    assert tree["support"]["default"]["acc"]["mean"] == 50.0  # 3 of 6 common rows
    assert tree["support"]["classifier 3"]["acc"]["mean"] == 100.0
    assert tree["support"]["none"]["acc"]["mean"] == pytest.approx(100 / 6, abs=1e-3)
    assert tree["synthetic"]["ld_vae 2"]["acc"]["mean"] == 20.0 and tree["synthetic"]["none 0"]["acc"]["mean"] == 10.0
    shown = (world / "out" / "table.md").read_text()
    assert (
        "+50.00 [+50.00, +50.00]" in shown and "23.56" in shown
    )  # classifier 3 over the default; the paper's label generator at 0
    assert "| kl_form=reference " in shown and "+20.00 [+20.00, +20.00]" in shown
    assert "| label generator | 1 | 50.00 " in " ".join(shown.split()) and "Acc over 1 " in shown
    assert "| flan_t5   | 0.25 [0.25, 0.25] | " in shown
    assert "| ls_pt | 30.00 [30.00, 30.00] | 50.00" in " ".join(shown.split()) and "| 36.00 |" in " ".join(
        shown.split()
    )
    assert (world / "out" / "figures" / "representations-toy.png").stat().st_size > 5000
    assert "one test set of 6 texts" in shown and "(26.06)" in shown
    assert "add about 20 points of their own" in shown and "| no augmentation " in shown
    assert "itself right on 40.00 % of the real texts of these compositions" in shown
    assert (world / "out" / "figures" / "synthetic-size-toy.png").stat().st_size > 5000
    evaluation.decoding = "composition_prior"
    with pytest.raises(InputError, match="the ablations are decoded by threshold alone"):
        ablation_tables.main(["--axes", "ablations", *words])


@pytest.mark.parametrize("values", ["[0.1]", "0.9", "[5, 5, 5]", "null"])
def test_a_prediction_that_is_none_is_named(world, values):
    path = world / "models" / "paper" / "toy-ld_vae-13" / "predictions.jsonl"
    lines = path.read_text().splitlines()
    lines[2] = f'{{"id": "s4", "split": "test", "probabilities": {values}}}'
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="predictions.jsonl:3: "):
        ablations.scores(path, rows("s", 12)[2:], LABELS, SimpleNamespace(threshold=0.5, empty_both="one"))


def test_the_result_of_another_cell_is_refused(world):
    folder = world / "out" / "judged"
    (folder / "toy-ls_pt-21.json").write_bytes((folder / "toy-ls_pt-13.json").read_bytes())
    with pytest.raises(InputError, match="toy-ls_pt-21.json: not the 'judged' of generator 'ls_pt' with seed 21"):
        ablations.read_by_seed(folder, "toy", ["ls_pt"], SEEDS, "judged")


def test_a_missing_prediction_is_named(world):
    path = world / "models" / "paper" / "toy-ld_vae-13" / "predictions.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    evaluation = SimpleNamespace(threshold=0.5, empty_both="one")
    with pytest.raises(InputError, match="toy-ld_vae-13/predictions.jsonl: the test row 's11' has no prediction"):
        ablations.scores(path, rows("s", 12)[2:], LABELS, evaluation)


def test_the_curves_of_figure_4_begin_without_augmentation_and_end_with_all_texts():
    metrics = lambda acc: [dict.fromkeys(("jacc", "acc", "corr", "comp"), acc + seed) for seed in range(3)]
    synthetic = {"none 0": metrics(1), "ld_vae 2": metrics(2), "ld_vae 4": metrics(3), "ld_vae all": metrics(4)}
    (curve,) = ablations.curves(synthetic, SimpleNamespace(**AXES), 9).values()
    assert [(n, s.mean) for n, s in curve] == [(0, 2), (2, 3), (4, 4), (9, 5)]


def test_the_printed_values_of_the_ablations_are_the_papers():
    paper = read_paper_values(ROOT / "reports/paper_values.yaml")
    for size, modules in paper["tables"]["table_4"]["rows"].items():
        assert {m: v["acc"] for m, v in paper["tables"]["table_7"]["rows"][size].items()} == modules
    assert paper["tables"]["table_4"]["rows"]["0"]["label_generator"] == 23.56


def test_every_stage_takes_values_beside_the_file():
    made = parser("a stage").parse_args(["--set", "selection.k=3", "--params", "p.yaml"])
    assert str(made.params) == "p.yaml with --set selection.k=3"
    assert parser("a stage").parse_args(["--params", "p.yaml"]).params == Path("p.yaml")


def test_the_reader_of_texts_is_itself_read_on_real_texts_of_what_was_asked(tmp_path, monkeypatch):
    """Of four real texts two have a requested composition, and the classifier reads one of them rightly."""
    monkeypatch.setattr("stages.COSTS", tmp_path / "costs")
    LABELS.write(tmp_path / "labels.json")
    test = [Example(f"r{i}", f"real {i}", labels) for i, labels in enumerate([(0, 1), (0, 1), (2,), (0,)])]
    write_jsonl(tmp_path / "iid_test.jsonl", test)
    write_jsonl(tmp_path / "kept.jsonl", [Example("y0", "made", (0, 1), "ld_vae", (0, 1))])
    values = [[0.9, 0.9, 0.1], [0.9, 0.1, 0.1], [0.9, 0.9, 0.9], [0.1, 0.1, 0.1]]
    made = [{"id": e.id, "split": "test", "probabilities": v} for e, v in zip(test, values, strict=True)]
    write_rows(tmp_path / "model" / "predictions.jsonl", made)
    read = SimpleNamespace(predict=lambda *_: np.array([[0.9, 0.1, 0.1]]))
    monkeypatch.setattr("compaug.classifiers.load", lambda name: read)
    files = {"labels": "labels.json", "selected": "kept.jsonl", "model": "model", "test": "iid_test.jsonl"}
    words = [
        word for name, file in (files | {"out": "row.json"}).items() for word in (f"--{name}", str(tmp_path / file))
    ]
    judge.main([*words, "--benchmark", "own", "--generator", "ld_vae", "--seed", "13", "--classifier", "bert"])
    row = read_json(tmp_path / "row.json")
    assert row["judged"] == {"classifier": {"acc": 0.0, "corr": 100.0, "comp": 0.0}}
    assert row["reader"] == {"acc": 50.0, "corr": 100.0, "comp": 50.0, "n": 2}
    assert len(list((tmp_path / "costs").iterdir())) == 1
    write_jsonl(tmp_path / "kept.jsonl", [Example("y0", "made", (1,), "ld_vae", (1,))])
    judge.main([*words, "--benchmark", "own", "--generator", "ld_vae", "--seed", "13", "--classifier", "bert"])
    assert read_json(tmp_path / "row.json")["reader"] == {}
