"""The cost table: what a stage records, and how it is printed."""

from __future__ import annotations

import pytest

from compaug.records import InputError, read_json, write_json
from stages import cost_of, costs


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
    common = {"device": "cpu", "cores": 2}
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
