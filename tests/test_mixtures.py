"""Texts of the known grammar of which a share says what was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parameters import written

from compaug.core.files import InputError, read_json, write_rows
from compaug.core.records import read_jsonl, text_key, write_jsonl
from compaug.data.readers import oracle_for
from compaug.data.readers.diagnostic import LABELS
from compaug.evaluation.text_quality.mixtures import mixture
from compaug.stages import mixture as stage

GRAMMAR = oracle_for("diagnostic", {"seed": 7})
REQUESTS = [(0,), (0, 3), (1, 4), (2, 3, 5)] * 10


def mixed_rows(right: float, requests=REQUESTS, excluded=(), seed: int = 3) -> list:
    return list(mixture(GRAMMAR, requests, len(LABELS), right, excluded, seed))


@settings(max_examples=15)
@given(st.integers(0, 40), st.integers(0, 5))
def test_exactly_the_share_is_right_and_every_text_is_new_and_of_the_grammar(n_right, seed):
    rows = mixed_rows(n_right / 40, seed=seed)
    assert sum(GRAMMAR.fidelity(row.text, row.labels) for row in rows) == n_right
    assert len({text_key(row.text) for row in rows}) == 40
    assert all(GRAMMAR.oracle(row.text) for row in rows)  # a wrong text is fluent all the same
    assert [row.labels for row in rows] == REQUESTS and all(row.requested_labels == row.labels for row in rows)


def test_a_larger_share_keeps_every_right_text_and_replaces_wrong_ones_alone():
    few, many = (mixed_rows(share) for share in (0.25, 0.75))
    for row, more in zip(few, many, strict=True):
        if GRAMMAR.fidelity(row.text, row.labels):
            assert row == more
    assert sum(row != more for row, more in zip(few, many, strict=True)) == 20
    assert mixed_rows(0.5) == mixed_rows(0.5) != mixed_rows(0.5, seed=4)


def test_no_known_text_comes_again():
    keys = {text_key(row.text) for row in mixed_rows(1.0)}
    assert not keys & {text_key(row.text) for row in mixed_rows(1.0, excluded=keys)}


def test_a_grammar_that_has_no_further_text_is_one_line(monkeypatch):
    monkeypatch.setattr("compaug.evaluation.text_quality.mixtures.MAX_DRAWS", 50)
    narrow = type(GRAMMAR)(compose=lambda labels, rng: "I am happy.", fidelity=lambda text, labels: True)
    with pytest.raises(InputError, match="no further text for the labels .*lower sizes.k"):
        list(mixture(narrow, [(0,), (0,)], 8, 1.0, (), 1))


def test_the_stage_writes_k_texts_in_the_proportions_of_the_requests(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "split").mkdir()
    LABELS.write(tmp_path / "split" / "labels.json")
    write_jsonl(tmp_path / "split" / "train.jsonl", mixed_rows(1.0))
    write_rows(tmp_path / "asked.jsonl", [{"requested_labels": list(labels)} for labels in [(0,)] * 6 + [(1, 4)] * 2])
    path = written(tmp_path, {"sizes.k": 12})
    arguments = [
        "--params",
        str(path),
        "--benchmark",
        "diagnostic",
        "--split",
        "split",
        "--compositions",
        "asked.jsonl",
    ]
    stage.main([*arguments, "--seed", "3", "--right", "0.5", "--out", "made.jsonl"])
    rows, side_car = read_jsonl(tmp_path / "made.jsonl", len(LABELS)), read_json(tmp_path / "made.json")
    assert sorted(row.labels for row in rows) == [(0,)] * 9 + [(1, 4)] * 3
    assert [row.labels for row in rows] != sorted(row.labels for row in rows)  # a head is a sample of all
    assert sum(GRAMMAR.fidelity(row.text, row.labels) for row in rows) == 6
    assert not {text_key(row.text) for row in rows} & {text_key(row.text) for row in mixed_rows(1.0)}
    assert side_car["kept"] == side_car["requested"] == 12 and side_car["right"] == 0.5
    with pytest.raises(InputError, match="no grammar of its texts is known"):
        stage.main([*arguments[:3], "goemotions", *arguments[4:], "--seed", "3", "--out", "other.jsonl"])
