"""The cost table: what a stage records, and how it is printed."""

from __future__ import annotations

import ast
import importlib
import subprocess
from pathlib import Path

import pytest

from compaug.records import InputError, read_json, write_json
from stages import cost_file, cost_of, costs, provenance


def test_a_stage_records_seconds_device_and_what_it_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with cost_of(tmp_path.relative_to(tmp_path) / "models" / "generator") as facts:
        epochs = [{"epoch": n, "trained_parameters": 1234} for n in (1, 2)]
        write_json("models/generator/history.json", {"epochs": epochs})
        facts["n_train"] = 7
    (file,) = (tmp_path / ".costs").iterdir()
    made = read_json(file)
    assert (made["trained_parameters"], made["epochs"], made["n_train"]) == (1234, 2, 7)
    assert made["seconds"] >= 0 and made["device"] and made["cores"] >= 1


def test_the_dearest_output_comes_first_and_the_sum_last(tmp_path, capsys):
    common = {"device": "cpu", "cores": 2, "machine": "x86_64", "versions": {"torch": "2"}}
    write_json(tmp_path / "models-a.json", common | {"seconds": 1.5})
    write_json(tmp_path / "models-b.json", common | {"seconds": 1200.0, "epochs": 6, "trained_parameters": 9849344})
    costs.main(["--costs", str(tmp_path)])
    _, _, first, second, last = capsys.readouterr().out.splitlines()
    assert "models-b" in first and "1,200.0" in first and "9,849,344" in first
    assert "models-a" in second and "–" in second
    assert "1,201.5" in last


def test_without_recorded_costs_the_remedy_is_named(tmp_path):
    with pytest.raises(InputError, match="no costs are recorded here; run `dvc repro` first"):
        costs.main(["--costs", str(tmp_path)])


def test_provenance_adds_up_the_outputs_of_a_grids_locks_and_names_the_commit_of_its_numbers(tmp_path, capsys):
    grid = tmp_path / "reports" / "paper"
    (grid / "texts").mkdir(parents=True)
    (grid / "dvc.lock").write_text("stages:\n  a: {outs: [{path: models/a}]}\n  b: {outs: [{path: models/b}]}\n")
    (grid / "texts" / "dvc.lock").write_text(
        "stages:\n  c: {outs: [{path: data/c.jsonl}, {path: data/c.json}]}\n  d: {outs: [{path: data/d}]}\n"
    )
    write_json(grid / "metrics.json", {"acc": 1})
    common = {"device": "cpu", "cores": 2, "machine": "x86_64", "versions": {"torch": "2"}}
    for out, seconds in {"models/a": 10.0, "data/c.json": 5.0, "data/d": 1.0, "models/other": 99.0}.items():
        write_json(tmp_path / "costs" / cost_file(out), common | {"seconds": seconds})
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "reports"], ["commit", "-qm", "numbers"]):
        subprocess.run([*git, *command], check=True)
    arguments = ["--reports", str(tmp_path / "reports"), "--costs", str(tmp_path / "costs"), "--out"]
    out = tmp_path / "provenance.json"
    provenance.main([*arguments, str(out)])
    made = read_json(out)["paper"]
    assert (made["timed"], made["stages"], made["seconds"]) == (3, 4, 16)  # data/c was timed once, models/b never
    assert made["hardware"] == ["2 cores (x86_64), cpu, torch 2"] and len(made["commit"]) >= 7

    write_json(grid / "metrics.json", {"acc": 2})  # not committed yet: no commit has these numbers
    (tmp_path / "costs").rename(tmp_path / "elsewhere")  # and nothing has run here: the seconds stay
    provenance.main([*arguments, str(out)])
    later = read_json(out)["paper"]
    assert later["commit"] == "" and later["seconds"] == 16 and later["digest"] != made["digest"]


def test_provenance_without_any_cost_names_the_remedy(tmp_path):
    with pytest.raises(InputError, match="no stage of a grid below .* has run here; `dvc repro` one first"):
        provenance.main(["--reports", str(tmp_path), "--costs", str(tmp_path), "--out", str(tmp_path / "p.json")])


def test_a_broken_lock_is_named(tmp_path):
    write_json(tmp_path / "paper" / "metrics.json", {})
    (tmp_path / "paper" / "dvc.lock").write_text("stages: [")
    with pytest.raises(InputError, match="paper/dvc.lock: not a lock file of DVC; restore it"):
        provenance.main(["--reports", str(tmp_path), "--costs", str(tmp_path), "--out", str(tmp_path / "p.json")])


@pytest.mark.parametrize("cost", [{}, [], {"seconds": 3, "cores": 2}])
def test_a_cost_file_that_no_stage_wrote_is_named(tmp_path, cost):
    write_json(tmp_path / "models-a.json", cost)
    with pytest.raises(InputError, match="models-a.json: not what a stage records; remove it"):
        provenance.cost_of_outputs([("models/a",)], tmp_path)
    with pytest.raises(InputError, match="models-a.json: not what a stage records; remove it"):
        costs.main(["--costs", str(tmp_path)])


def test_outputs_whose_names_have_dots_keep_their_own_costs():
    names = ["models/option/a-free_bits=0.5-13", "models/option/a-free_bits=0.25-13", "data/a.json", "data/a.jsonl"]
    found = [
        "models-option-a-free_bits=0.5-13.json",
        "models-option-a-free_bits=0.25-13.json",
        "data-a.json",
        "data-a.json",
    ]
    assert list(map(cost_file, names)) == found


def test_an_output_elsewhere_on_the_disk_has_its_cost_among_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with cost_of(tmp_path / "elsewhere" / "model"):
        pass
    (file,) = (tmp_path / ".costs").iterdir()
    assert file.name.endswith("-elsewhere-model.json")


@pytest.mark.parametrize(
    "script",
    [
        "backbones",
        "train_filter",
        "label_generator",
        "train_generator",
        "synthesize",
        "select",
        "folds",
        "train_classifier",
        "quality",
        "judge",
        "representations",
    ],
)
def test_every_heavy_stage_records_what_it_costs_to_write_its_output(script):
    source = Path(importlib.import_module(f"stages.{script}").__file__).read_text(encoding="utf-8")
    timed = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.With) and ast.unparse(node.items[0].context_expr) == "cost_of(args.out)"
    ]
    assert len(timed) == 1
