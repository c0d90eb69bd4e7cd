"""Trackers see every epoch and change nothing; a name that cannot be followed is one line."""

from __future__ import annotations

import random
from types import SimpleNamespace

import accelerate.tracking
import numpy as np
import pytest
import torch
from accelerate.tracking import GeneralTracker
from accelerate.utils import LoggerType
from test_training import OPTIONS, fitted, rows_of, weights

from compaug.core.files import InputError
from compaug.training import trackers

RUNS: list[dict] = []


class Noisy(GeneralTracker):
    """Keeps what it is sent, and draws random numbers wherever it can."""

    name, requires_logging_directory, tracker = "tensorboard", True, None

    def __init__(self, run_name: str, logging_dir: str, **_) -> None:
        super().__init__()
        self.run = {"name": run_name, "folder": str(logging_dir), "logs": [], "finished": 0}
        RUNS.append(self.run)

    def start(self) -> None:
        torch.rand(3), np.random.rand(3), random.random()

    def log(self, values: dict, step: int | None = None, **_) -> None:
        self.start()
        self.run["logs"].append((step, values))

    def finish(self) -> None:
        self.run["finished"] += 1


@pytest.fixture
def noisy(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    RUNS.clear()
    monkeypatch.setenv(trackers.VARIABLE, " tensorboard,")
    monkeypatch.setattr(accelerate.tracking, "get_available_trackers", lambda: [LoggerType.TENSORBOARD])
    monkeypatch.setitem(accelerate.tracking.LOGGER_TYPE_TO_CLASS, "tensorboard", Noisy)
    return SimpleNamespace(runs=RUNS, folder=tmp_path)


def test_a_tracker_sees_losses_and_rates_of_every_epoch_and_moves_no_digit(noisy, monkeypatch):
    valid = rows_of(8, seed=1)
    model, history = fitted(noisy.folder / "work-1", valid=valid)
    after = torch.rand(2)
    (run,) = noisy.runs
    assert run["finished"] == 1 and run["folder"].endswith(".trackers/work-1")
    assert [step for step, _ in run["logs"]] == [entry["epoch"] for entry in history] == [1, 2, 3, 4]
    for (_, values), entry in zip(run["logs"], history, strict=True):
        assert values["train/loss"] == entry["train"]["loss"] and values["valid/largest"] == entry["valid"]["largest"]
    rates = [values["lr"] for _, values in run["logs"]]
    assert rates == sorted(rates, reverse=True) and rates[-1] == 0.0 < rates[0] < OPTIONS.lr
    monkeypatch.delenv(trackers.VARIABLE)
    plain, plain_history = fitted(noisy.folder / "work-2", valid=valid)
    assert len(noisy.runs) == 1 and history == plain_history and weights(model) == weights(plain)
    assert torch.equal(after, torch.rand(2))


def test_two_learning_rates_are_two_curves(noisy):
    fitted(noisy.folder / "work", lr_of=lambda name: 0.1 if name.startswith("head") else 0.01)
    assert {"lr", "lr_1"} <= noisy.runs[0]["logs"][0][1].keys()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("tensorbord", "COMPAUG_TRACKERS: 'tensorbord' is no tracker; Accelerate knows .*tensorboard"),
        ("tensorboard,aim", "COMPAUG_TRACKERS: aim is not installed; install its package, or unset the variable"),
    ],
)
def test_a_tracker_that_is_not_there_is_one_line(noisy, monkeypatch, names, message):
    monkeypatch.setenv(trackers.VARIABLE, names)
    with pytest.raises(InputError, match=message) as caught:
        fitted(noisy.folder / "work")
    assert "\n" not in str(caught.value) and not (noisy.folder / trackers.FOLDER).exists()
