"""The cost table: what a stage records, and how it is printed."""

from __future__ import annotations

import ast
import importlib
import subprocess
from pathlib import Path

import longtables
import pytest
from graph import ROOT
from tools import costs, provenance

from compaug.core.files import InputError, read_json, write_json
from compaug.engine import built
from compaug.experiments import cells as experiments
from compaug.experiments import steps
from compaug.stages import cost_file, cost_of


def test_a_stage_records_seconds_device_and_what_it_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with cost_of(tmp_path.relative_to(tmp_path) / "models" / "generator") as facts:
        epochs = [{"epoch": n, "trained_parameters": 1234, "train": {}} for n in (1, 2)]
        write_json("models/generator/history.json", {"epochs": epochs})
        facts["n_train"] = 7
    (file,) = (tmp_path / ".costs").iterdir()
    record = read_json(file)
    assert (record["trained_parameters"], record["epochs"], record["n_train"]) == (1234, 2, 7)
    assert record["seconds"] >= 0 and record["device"] and record["cores"] >= 1
    assert 0 <= record["cpu_seconds"] and 20 < record["peak_mib"] < 50_000


def test_the_dearest_output_comes_first_and_the_sum_last(tmp_path, capsys):
    common = {"device": "cpu", "cores": 2, "machine": "x86_64", "versions": {"torch": "2"}}
    write_json(tmp_path / "models-a.json", common | {"seconds": 1.5})
    more = {"epochs": 6, "trained_parameters": 9849344, "cpu_seconds": 1100.25, "peak_mib": 2345}
    write_json(tmp_path / "models-b.json", common | {"seconds": 1200.0} | more)
    costs.main(["--costs", str(tmp_path)])
    _, _, first, second, last = capsys.readouterr().out.splitlines()
    assert "models-b" in first and "9,849,344" in first
    assert "1,200.0" in first and "1,100.2" in first and "2,345" in first
    assert "models-a" in second and "–" in second
    assert "1,201.5" in last


def test_without_recorded_costs_the_remedy_is_named(tmp_path):
    with pytest.raises(InputError, match="no costs are recorded here; run `dvc repro` first"):
        costs.main(["--costs", str(tmp_path)])


def provenance_of(folder) -> dict:
    """What the stage writes of results, locks and costs below `folder`, with the repository's own experiments."""
    words = [f"{name}={folder / name}" for name in ("reports", "grid", "costs")]
    files = [f"--experiments={ROOT / 'configs/experiments.yaml'}", f"--params={ROOT / 'params.yaml'}"]
    provenance.main([*files, *(f"--{word}" for word in words), "--out", str(folder / "provenance.json")])
    return read_json(folder / "provenance.json")


@pytest.mark.slow
def test_provenance_adds_up_an_experiments_stages_and_names_the_commit_of_its_numbers(tmp_path):
    rows = longtables.lines("acc", (1.0, 2.0, 3.0), experiment="small")
    longtables.reports(tmp_path / "reports", rows)
    outputs = {
        "experiments/classifier/dvc.yaml:train_classifier@quick+seen_test=1000-none-bert-42": "models/a",
        "experiments/classifier/dvc.yaml:train_classifier@other": "models/other",
        "experiments/backbones/dvc.yaml:backbones@quick+seen_test=1000-encoder": "models/b",
        "experiments/backbones/dvc.yaml:backbones@quick+seen_test=1000-decoder": "models/c",
    }
    small = experiments.read(ROOT / experiments.FILE)["small"]
    ends = steps.targets(small)
    entries = {address: {"cmd": "x", "outs": []} for address in ends}
    for address, out in outputs.items():
        entries[address] = {"cmd": "x", "outs": [{"path": out}, {"path": f"{out}.json"}]}
    (tmp_path / "grid").mkdir()
    built.write(tmp_path / "grid", entries)
    common = {"device": "cpu", "cores": 2, "machine": "x86_64", "versions": {"torch": "2"}}
    for out, seconds in {"models/a": 10.0, "models/b": 6.0, "models/other": 99.0}.items():
        write_json(tmp_path / "costs" / cost_file(out), common | {"seconds": seconds})
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "reports"], ["commit", "-qm", "numbers"]):
        subprocess.run([*git, *command], check=True)
    summary = provenance_of(tmp_path)["small"]
    # classifiers as the one that was timed, the decoder as the encoder; of the other kinds none was ever timed
    n, of_its_sort = len(small.cells), sum(cell.generator == "none" for cell in small.cells)
    assert (summary["stages"], summary["timed"]) == (n + 2, of_its_sort + 1)
    assert summary["seconds"] == n * 10 + 2 * 6
    head, _, *printed = (tmp_path / "costs.md").read_text().splitlines()
    assert "core-hours" in head
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in printed]
    assert cells == [[name, str(n + 2), str(of_its_sort + 1), "0.3"] for name in ("small", "all of them")]
    assert summary["hardware"] == ["2 cores (x86_64), cpu, torch 2"] and len(summary["commit"]) >= 7

    mine = longtables.lines("acc", (1.0, 2.0, 3.0), experiment="mine")  # not committed yet, and in no experiment's file
    longtables.reports(tmp_path / "reports", [*rows, *mine])
    (tmp_path / "costs").rename(tmp_path / "elsewhere")  # nothing has run here: the seconds stay
    later = provenance_of(tmp_path)
    assert later["small"] == summary and later["mine"]["commit"] == "" and "seconds" not in later["mine"]
    longtables.reports(tmp_path / "reports", [row | {"value": 9.0} for row in rows])
    changed = provenance_of(tmp_path)["small"]
    for command in (["add", "reports"], ["commit", "-qm", "other numbers"]):
        subprocess.run([*git, *command], check=True)
    assert provenance_of(tmp_path)["small"]["commit"] not in ("", summary["commit"])
    more = longtables.lines("acc", (1.0, 2.0, 3.0), experiment="paper")  # some of its cells are those of small
    longtables.reports(tmp_path / "reports", [*rows, *more])
    assert set(provenance_of(tmp_path)) == {"small"}
    assert changed["commit"] == "" and changed["digest"] != summary["digest"]


def test_a_sort_of_stage_is_timed_over_its_seeds_and_stands_in_for_the_sort_most_like_it():
    names = [f"train_classifier@diagnostic-none-{classifier}" for classifier in ("bert", "t5_clp")]
    assert {provenance.sort_of(f"{names[0]}-{end}") for end in ("42", "43", "43-a")} == {names[0]}
    alike = provenance.most_alike
    assert alike(names[0], names) == names[0]
    assert (
        alike("train_classifier@diagnostic-oversample-t5_clp", [*names, "train_classifier@diagnostic-oversample-bert"])
        == names[1]
    )
    generators = [f"train_generator@diagnostic-{name}" for name in ("ld_vae", "ls_pt")]
    assert alike("train_generator@diagnostic-ld_vae+kl_form=reference", generators) == generators[0]


def test_times_of_other_sessions_are_kept_and_replaced_by_those_of_here(tmp_path):
    common = {"device": "cpu", "cores": 2, "machine": "x86_64", "versions": {"torch": "2"}}
    outputs = {f"train_filter@diagnostic-{seed}": (f"models/{seed}",) for seed in (42, 43, 44)}
    for seed, seconds in {42: 30.0, 43: 50.0}.items():
        write_json(tmp_path / cost_file(f"models/{seed}"), common | {"seconds": seconds})
    (sort,) = (timings := provenance.timed(outputs, tmp_path)).values()
    assert (sort["timed"], sort["seconds"]) == (2, 40.0)
    cost = provenance.cost_of_stages([*outputs, "split@diagnostic"], timings)
    assert (cost["stages"], cost["timed"], cost["seconds"]) == (3, 3, 120)
    assert provenance.cost_of_stages(["split@diagnostic"], timings) == {}


def test_core_hours_are_of_the_cpu_where_it_was_measured():
    cost = {"device": "cpu", "seconds": 90.0}
    assert provenance.core_seconds(cost) == 90.0
    assert provenance.core_seconds(cost | {"cpu_seconds": 60.0}) == 60.0
    # it waits for the card
    assert provenance.core_seconds(cost | {"cpu_seconds": 60.0, "device": "NVIDIA H100"}) == 90.0


def test_provenance_without_any_result_names_the_remedy(tmp_path):
    longtables.reports(tmp_path / "reports", [])
    with pytest.raises(InputError, match="results.csv.gz: no result; `make grid EXPERIMENT=small` makes the first"):
        provenance_of(tmp_path)


def test_outputs_whose_names_have_dots_keep_their_own_costs():
    names = ["models/option/a-free_bits=0.5-13", "models/option/a-free_bits=0.25-13", "data/a.json", "data/a.jsonl"]
    files = [
        "models-option-a-free_bits=0.5-13.json",
        "models-option-a-free_bits=0.25-13.json",
        "data-a.json",
        "data-a.json",
    ]
    assert list(map(cost_file, names)) == files


def test_an_output_elsewhere_on_the_disk_has_its_cost_among_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with cost_of(tmp_path / "elsewhere" / "model"):
        pass
    (file,) = (tmp_path / ".costs").iterdir()
    assert file.name.endswith("-elsewhere-model.json")


@pytest.mark.parametrize(
    "script",
    [
        "prepare_backbone",
        "train_filter",
        "sample_label_sets",
        "train_generator",
        "synthesize",
        "select",
        "folds",
        "train_classifier",
        "measure_quality",
        "judge",
        "measure_representations",
        "map_classifier",
        "map_generator",
        "subset",
        "measure_interpolation",
        "measure_distances",
    ],
)
def test_every_heavy_stage_records_what_it_costs_to_write_its_output(script):
    source = Path(importlib.import_module(f"compaug.stages.{script}").__file__).read_text(encoding="utf-8")
    timed = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.With)
        and ast.unparse(node.items[0].context_expr) in ("cost_of(args.out)", "cost_of(out)")
    ]
    assert len(timed) == 1
