"""Distances between written and real texts against closed forms and scipy (joint generation, §2.4)."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from scipy.linalg import sqrtm

from compaug.core.files import InputError, read_json, write_rows
from compaug.core.records import Example, Labels
from compaug.evaluation.text_quality import distances
from compaug.stages import measure_distances as stage

LABELS = Labels(("joy", "anger"), ("joy", "anger"))


def gaussian(n, mean, scale, seed=0):
    """n rows whose sample mean and covariance are exactly `mean` and diag(scale^2)."""
    rows = np.random.default_rng(seed).normal(size=(n, len(mean)))
    rows -= rows.mean(0)
    rows = rows @ np.linalg.inv(np.linalg.cholesky(np.cov(rows.T))).T
    return rows * scale + mean


def test_fd_is_the_closed_form_of_two_gaussians():
    """Diagonal covariances commute: |m - m'|^2 + sum (s - s')^2."""
    real, synthetic = gaussian(40, [0.0, 1.0, 2.0], [1.0, 2.0, 0.5]), gaussian(60, [1.0, 1.0, 0.0], [3.0, 2.0, 1.0], 1)
    assert distances.frechet(real, synthetic) == pytest.approx((1 + 0 + 4) + (4 + 0 + 0.25))


@given(st.integers(0, 1000), st.integers(2, 12), st.integers(2, 12), st.integers(1, 6))
@settings(max_examples=30)
def test_fd_is_the_printed_formula_whatever_the_rank(seed, n, m, width):
    rng = np.random.default_rng(seed)
    real, synthetic = rng.normal(size=(n, width)), rng.normal(1, 2, size=(m, width))
    covariances = [np.atleast_2d(np.cov(rows.T)) for rows in (real, synthetic)]
    added = 1e-9 * np.eye(width)  # scipy's root of a singular matrix is not exact
    root = np.real(sqrtm((covariances[0] + added) @ (covariances[1] + added)))
    shift = real.mean(0) - synthetic.mean(0)
    printed = shift @ shift + np.trace(covariances[0] + covariances[1] - 2 * root)
    distance = distances.frechet(real, synthetic)
    assert distance == pytest.approx(printed, abs=2e-3)
    assert distance == pytest.approx(distances.frechet(synthetic, real)) and distance >= 0


def test_fd_of_a_set_and_itself_is_zero():
    rows = np.random.default_rng(0).normal(size=(20, 50))  # fewer texts than dimensions
    assert distances.frechet(rows, rows[::-1]) == pytest.approx(0, abs=1e-9)


def test_the_curve_is_counted_by_hand():
    alpha, beta = distances.precision_recall_curve(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    middle = distances.ANGLES // 2  # lambda = 1
    assert alpha[middle] == pytest.approx(0.5) and beta[middle] == pytest.approx(0.5)
    assert alpha[-1] == pytest.approx(1) and beta[0] == pytest.approx(0.5)  # all that is written is real; half of it
    assert distances.f_beta(np.array([1.0]), np.array([0.5]), 8) == pytest.approx(65 * 0.5 / 64.5)


def test_pr_of_equal_sets_is_whole_and_of_disjoint_ones_nothing():
    rng = np.random.default_rng(0)
    centres = 50 * rng.normal(size=(6, 4))
    real = np.repeat(centres, 20, axis=0) + rng.normal(size=(120, 4))
    assert distances.precision_recall((real, real[::-1])) == pytest.approx((100, 100))
    far = real + 1000
    assert max(distances.precision_recall((real, far))) < 1


def test_texts_of_half_of_the_kinds_are_precise_and_recall_half():
    rng = np.random.default_rng(1)
    real = np.repeat(50 * rng.normal(size=(4, 4)), 30, axis=0) + 0.1 * rng.normal(size=(120, 4))
    half = np.concatenate([real[:60], real[:60]])
    precision, recall = distances.precision_recall((real, half))
    assert precision > 95 and 45 < recall < 55
    back = distances.precision_recall((half, real))
    assert back == pytest.approx((recall, precision), abs=1.0)  # the sides change places


def test_pr_takes_few():
    same = np.zeros((4, 2))  # one cluster alone
    assert distances.precision_recall((same, same)) == pytest.approx((100, 100))


def test_bleu_is_of_each_text_against_all_real_ones():
    real = ["the sun is out today", "rain again"]
    assert distances.bleu(["the sun is out today"], real) == pytest.approx(100)
    assert distances.bleu(["the sun is out today", "x y z w"], real) == pytest.approx(50, abs=5)
    judge = BLEU(effective_order=True, lowercase=True)
    texts = ["The sun came out , and rain again", "rain", "today it is out"]
    assert distances.bleu(texts, real) == pytest.approx(np.mean([judge.sentence_score(t, real).score for t in texts]))


def test_the_labels_stand_before_the_text_in_what_fda_reads():
    rows = [Example("1", "a ( b", (0, 1)), Example("2", "c", ())]
    assert distances.augmented(rows, LABELS) == ["(( joy ; anger )) a ( b", "(( none )) c"]


def rows(n, word, label):
    return [Example(str(at), f"{word} {at}", (label,)) for at in range(n)]


def test_wrong_labels_are_seen_by_fda_and_not_by_fd():
    def read(texts):
        return np.array([[len(text), text.count("joy"), text.count("anger")] for text in texts], dtype=float)

    real, right, wrong = rows(30, "x", 0), rows(60, "x", 0)[:30], rows(30, "x", 1)
    same = distances.measure(real, right, LABELS, read)
    other = distances.measure(real, wrong, LABELS, read)
    assert same["n"] == 30 and same["fd"] == other["fd"] == pytest.approx(0, abs=1e-9)
    assert same["fda"] == pytest.approx(0, abs=1e-9) and other["fda"] > 1
    assert same["precision_a"] == pytest.approx(100) and other["precision_a"] < same["precision_a"]


def test_as_many_texts_of_both_count_and_too_few_give_none():
    seen = []

    def read(texts):
        seen.append(len(texts))
        return np.random.default_rng(0).normal(size=(len(texts), 3))

    scores = distances.measure(rows(10, "x", 0), rows(40, "y", 1), LABELS, read)
    assert scores["n"] == 10 and all(math.isfinite(value) for value in scores.values())
    assert scores == distances.measure(rows(10, "x", 0), rows(40, "y", 1), LABELS, read)
    few = distances.measure(rows(3, "x", 0), rows(40, "y", 1), LABELS, read)
    assert few["n"] == 3 and set(few.values()) == {3, None} and sorted(few) == sorted(scores)


# ---------------------------------------------------------------- the stage


@pytest.fixture
def desk(tmp_path, in_a_temporary_folder, folders):
    """Three files of kept rows in selected/, and the arguments that all runs share."""
    (tmp_path / "split").mkdir()
    LABELS.write(tmp_path / "split" / "labels.json")
    files = {"split/support": rows(8, "sun", 0), "split/train": rows(30, "rain", 1)}
    files |= {f"selected/{name}": rows(9 + at, name, at % 2) for at, name in enumerate(("sun", "snow", "wind"))}
    for name, of in files.items():
        write_rows(tmp_path / f"{name}.jsonl", map(asdict, of))
    return ["--split", "split", "--encoder", str(folders["encoder"])]


@pytest.mark.slow
def test_several_files_side_by_side_have_the_numbers_of_each_alone(desk, capsys):
    names = ("sun", "snow", "wind")
    for name in names:
        stage.main([*desk, "--selected", f"selected/{name}.jsonl", "--out", f"alone-{name}.json"])
    assert not capsys.readouterr().out
    stage.main([*desk, "--selected", *(f"selected/{name}.jsonl" for name in names), "--out", "together"])
    for name in names:
        scores = read_json(f"together/{name}.json")
        assert scores == read_json(f"alone-{name}.json") and scores["support"]["n"] == 8 < scores["train"]["n"]


@pytest.mark.parametrize(
    ("more", "words"),
    (
        (["selected/sun.jsonl", "--out", "made"], "--out made: this stage writes a .json file"),
        (["selected/sun.jsonl", "selected/snow.jsonl", "--out", "made.json"], "2 files are measured; give a folder"),
        (["selected/sun.jsonl", "selected/snow.jsonl", "--out", "selected"], "holds the kept rows"),
        (["selected/sun.jsonl", "split/../selected/sun.jsonl", "--out", "made"], "two files would be written to made"),
        (["selected/sun.jsonl", "selected/gone.jsonl", "--out", "made"], "selected/gone.jsonl"),
    ),
)
def test_what_cannot_be_written_or_read_is_said_before_a_model_is_opened(more, words, desk, monkeypatch, tmp_path):
    monkeypatch.setattr(distances, "reader", lambda *_: pytest.fail("a model was opened"))
    with pytest.raises(InputError, match=words):
        stage.main([*desk, "--selected", *more])
    assert not (tmp_path / "made").exists()


def test_the_same_texts_are_read_once(folders, monkeypatch):
    from compaug.models import loading

    calls, means = [], loading.mean_states
    monkeypatch.setattr(loading, "mean_states", lambda *args: calls.append(args[2]) or means(*args))
    read = distances.reader(folders["encoder"])
    assert (read(["a b", "c"]) == read(["a b", "c"])).all() and len(calls) == 1
    read(["c"])
    assert len(calls) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("what", "code", "words"), (("stop", 130, "interrupted"), ("kill", 2, "a process was killed")))
def test_a_stop_ends_every_process_and_a_killed_one_is_told(what, code, words, desk, tmp_path):
    write_rows(tmp_path / "split" / "train.jsonl", map(asdict, rows(20_000, "rain", 1)))  # so that it takes a while
    for name in ("sun", "snow"):
        write_rows(tmp_path / "selected" / f"{name}.jsonl", map(asdict, rows(20_000, name, 0)))
    command = [sys.executable, "-m", "compaug.stages.measure_distances", *desk, "--out", "made"]
    command += ["--selected", "selected/sun.jsonl", "selected/snow.jsonl"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        workers = wait_for(lambda: children_of(process.pid, "spawn_main"), 2)
        os.kill(*{"stop": (process.pid, signal.SIGTERM), "kill": (workers[0], signal.SIGKILL)}[what])
        message = process.communicate(timeout=60)[1]
    assert process.returncode == code and words in message and len(message.splitlines()) == 1, message
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def children_of(pid: int, word: str) -> list[int]:
    """Those that were started with this word."""
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in pids if word in Path(f"/proc/{child}/cmdline").read_text()]


def wait_for(look, n: int) -> list[int]:
    end = time.monotonic() + 60
    while len(pids := look()) < n:
        assert time.monotonic() < end, "the processes did not start"
        time.sleep(0.1)
    time.sleep(1)
    return pids
