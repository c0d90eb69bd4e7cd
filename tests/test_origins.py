"""`compaug settings`: what a run would use, and which file said it."""

from __future__ import annotations

from parameters import ROOT, written
from typer.testing import CliRunner

from compaug import cli
from compaug.experiments.origins import origins

PARAMS = ROOT / "params.yaml"


def test_the_layer_that_wins_is_the_file_that_is_named(tmp_path):
    path = written(tmp_path, {"sizes.k": 7})
    by_key = {key: (value, file) for key, value, file in origins(path, "diagnostic", "tiny")}
    assert by_key["sizes.k"] == (7, str(path))
    assert by_key["sizes.support_size"] == (50, str(path.parent / "configs/benchmarks/diagnostic.yaml"))
    assert by_key["backbones.encoder.hidden"] == (128, str(path.parent / "configs/scales.yaml"))


def test_of_methods_only_those_of_the_run_are_listed_and_options_that_are_off_are_not():
    keys = [key for key, _, _ in origins(PARAMS)]
    assert "generators.ld_vae.alpha" in keys and "classifiers.bert.lr" in keys
    assert not [key for key in keys if key.startswith(("generators.coda", "classifiers.sgm"))]
    assert "synthesis.guidance" not in keys


def test_the_command_prints_a_line_for_each_key():
    answer = CliRunner().invoke(cli.app, ["settings", "--params", str(PARAMS), "--benchmark", "diagnostic"])
    assert answer.exit_code == 0
    line = next(line for line in answer.output.splitlines() if line.startswith("sizes.k "))
    assert line.split()[1:] == ["2400", str(ROOT / "configs/benchmarks/diagnostic.yaml")]
