"""Experiment trackers that Accelerate knows, by COMPAUG_TRACKERS=tensorboard,dvclive: losses and rates of every epoch.

Off by default. What they write is in .trackers, outside of DVC's outputs, in a folder for each training; a tracker
that has a server is set up by variables of its own. They only listen: no digit changes with them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import torch
from accelerate import Accelerator

from compaug.core.files import InputError

VARIABLE, FOLDER, PROJECT = "COMPAUG_TRACKERS", Path(".trackers"), "compaug"


def names() -> list[str]:
    """Those that the environment asks for. InputError for one that Accelerate does not know, or cannot import."""
    listed = list(filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))))
    if not listed:
        return []
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

    available = {str(name) for name in get_available_trackers()}
    for name in listed:
        if name not in LOGGER_TYPE_TO_CLASS:
            raise InputError(f"{VARIABLE}: {name!r} is no tracker; Accelerate knows {', '.join(LOGGER_TYPE_TO_CLASS)}")
        if name not in available:
            raise InputError(f"{VARIABLE}: {name} is not installed; install its package, or unset the variable")
    return listed


def options(run: str) -> dict:
    """Of an Accelerator whose trackers write to the folder of that run; empty without trackers."""
    return {"log_with": listed, "project_dir": FOLDER / run} if (listed := names()) else {}


def start(accelerator: Accelerator, run: str) -> None:
    """Open them. DVCLive makes no experiment and no dvc.yaml: both are the pipeline's."""
    if accelerator.log_with:
        FOLDER.joinpath(run).mkdir(parents=True, exist_ok=True)
        live = {"dir": str(FOLDER / run / "dvclive"), "save_dvc_exp": False, "dvcyaml": None}
        accelerator.init_trackers(
            PROJECT, init_kwargs={"dvclive": live, "wandb": {"name": run}, "trackio": {"name": run}}
        )


def log(accelerator: Accelerator, entry: Mapping, rates: Mapping[str, float]) -> None:
    """The losses of an epoch, an entry of the history, and the learning rates at its end."""
    if accelerator.trackers:
        losses = {f"{part}/{name}": value for part in ("train", "valid") for name, value in entry.get(part, {}).items()}
        with torch.random.fork_rng(devices=[]):
            accelerator.log(losses | rates, step=entry["epoch"])


def finish(accelerator: Accelerator) -> None:
    """Close them."""
    for tracker in accelerator.trackers:
        tracker.finish()
