"""Support sets that nest, values given beside the parameter file, and the reader of generated texts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from graph import ROOT

from compaug.core.files import InputError, read_json
from compaug.core.records import Example, Labels, read_jsonl, write_jsonl
from compaug.reports.paper import read_paper_values
from compaug.stages import judge, parser, supports

LABELS = Labels(("joy", "love", "fear"), ("joy", "love", "fear"))


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


def run_supports(folder: Path, sizes: list[int]) -> Path:
    words = ["--split", str(folder / "large"), "--like", str(folder / "own"), "--out", str(folder / "supports")]
    supports.main([*words, "--sizes", *map(str, sizes)])
    return folder / "supports"


def test_smaller_support_sets_are_heads_of_larger_ones_and_no_test_text_is_in_any(tmp_path):
    split(tmp_path / "own", 2), split(tmp_path / "large", 6)
    folder = run_supports(tmp_path, [0, 3, 6])
    held = {size: [e.id for e in read_jsonl(folder / str(size) / "support.jsonl")] for size in (0, 3, 6)}
    assert held[0] == [] and held[3] == held[6][:3] and len(held[6]) == 6
    assert [e.id for e in read_jsonl(folder / "test_inputs.jsonl")] == [f"s{i}" for i in range(6, 12)]
    assert [e.id for e in read_jsonl(folder / "test.jsonl")] == [f"s{i}" for i in range(2, 12)]
    assert not list(folder.glob("*/test*"))  # nothing that a method reads has test labels
    assert (folder / "0" / "train.jsonl").read_bytes() == (tmp_path / "own" / "train.jsonl").read_bytes()


def test_support_sets_that_do_not_nest_or_reach_are_refused(tmp_path):
    split(tmp_path / "own", 2), split(tmp_path / "large", 6)
    with pytest.raises(InputError, match="--sizes: 7, but .* has 6 rows; lower it"):
        run_supports(tmp_path, [0, 7])
    write_jsonl(tmp_path / "large" / "support.jsonl", rows("s", 12)[6:])
    with pytest.raises(InputError, match="not a split as .*own; they may differ in support_size alone"):
        run_supports(tmp_path, [0])
    write_jsonl(tmp_path / "large" / "train.jsonl", rows("t", 4))
    write_jsonl(tmp_path / "large" / "support.jsonl", rows("s", 12)[:6])
    with pytest.raises(InputError, match="not a split as .*own; they may differ in support_size alone"):
        run_supports(tmp_path, [0])


def test_the_printed_values_of_the_ablations_are_the_papers():
    paper = read_paper_values(ROOT / "reports/paper_values.yaml")
    for size, modules in paper["tables"]["table_4"]["rows"].items():
        assert {m: v["acc"] for m, v in paper["tables"]["table_7"]["rows"][size].items()} == modules
    assert paper["tables"]["table_4"]["rows"]["0"]["label_generator"] == 23.56


def test_every_stage_takes_values_beside_the_file():
    args = parser("a stage").parse_args(["--set", "selection.k=3", "--params", "p.yaml"])
    assert str(args.params) == "p.yaml with --set selection.k=3"
    assert parser("a stage").parse_args(["--params", "p.yaml"]).params == Path("p.yaml")


def test_the_reader_of_texts_says_what_it_finds_against_what_was_requested(tmp_path, monkeypatch, own_costs):
    LABELS.write(tmp_path / "labels.json")
    write_jsonl(tmp_path / "kept.jsonl", [Example("y0", "made", (0, 1), "ld_vae", (0, 1))])
    read = SimpleNamespace(predict=lambda *_: np.array([[0.9, 0.1, 0.1]]))
    monkeypatch.setattr("compaug.classifiers.load", lambda name: read)
    files = {"labels": "labels.json", "selected": "kept.jsonl", "model": "model", "out": "row.json"}
    words = [word for name, file in files.items() for word in (f"--{name}", str(tmp_path / file))]
    judge.main([*words, "--benchmark", "own", "--generator", "ld_vae", "--seed", "13", "--classifier", "bert"])
    judged = {"classifier": {"acc": 0.0, "corr": 100.0, "comp": 0.0}}
    assert read_json(tmp_path / "row.json") == {"generator": "ld_vae", "seed": 13, "n": 1, "judged": judged}
    assert len(list((tmp_path / "costs").iterdir())) == 1
