"""The first stage of a run: what there is not is refused in one line, before DVC misses a file or a key."""

from __future__ import annotations

import json

import pytest
from parameters import ROOT, written

from compaug.core.files import InputError
from compaug.stages import check


def checked(tmp_path, benchmark: str, scale: str, params=ROOT / "params.yaml") -> dict:
    out = tmp_path / "checked.json"
    check.main(["--params", str(params), "--benchmark", benchmark, "--scale", scale, "--out", str(out)])
    return json.loads(out.read_text())


def test_it_writes_which_corpus_it_is(tmp_path):
    assert checked(tmp_path, "semeval", "paper") == {"benchmark": "semeval"}


@pytest.mark.parametrize(
    ("benchmark", "scale", "line"),
    [
        ("Plain", "tiny", "unknown benchmark 'Plain'.*choose from aapd, arxiv"),
        ("quick", "Tiny", "quick.yaml: scales: there is no scale 'Tiny'; there is tiny"),
    ],
)
def test_what_there_is_not_is_refused_with_the_choices(tmp_path, benchmark, scale, line):
    with pytest.raises(InputError, match=line):
        checked(tmp_path, benchmark, scale)


def test_a_wrong_value_of_any_block_is_refused_before_anything_is_read(tmp_path):
    path = written(tmp_path, {"evaluation.threshold": 2.0})
    with pytest.raises(InputError, match=r"params\.yaml: evaluation\.threshold"):
        checked(tmp_path, "quick", "tiny", path)
