"""Where fingerprints are computed: the stages' scripts, run in this process in a temporary folder with the toys."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

from compaug.core.extras import extra_of
from compaug.core.files import InputError, read_yaml
from compaug.experiments.params import parse
from compaug.models import packages
from tools.golden import fingerprints, runs

OUTSIDE = ("ACCELERATE_", "HF_", "OPENAI_")  # settings of the caller that could change a number


def computed(
    names: Sequence[str], params: Path, first: bool = False
) -> Iterator[tuple[str, fingerprints.Fingerprint | None]]:
    """Each fingerprint, of its first variant alone with `first`; a variant that its stage refuses is an error.

    None where the stage needs an extra that is not installed.
    """
    with prepared(params) as toys:
        for name in names:
            fingerprint: fingerprints.Fingerprint | None = {}
            for variant, steps in itertools.islice(runs.variants(name, toys).items(), 1 if first else None):
                try:
                    for step in steps:
                        run_step(step)
                except (InputError, ModuleNotFoundError) as error:
                    if _lacks_an_extra(error):
                        fingerprint = None
                        break
                    raise InputError(f"{name}, {variant}: {error}") from error
                fingerprint[variant] = fingerprints.summary(Path("out"))
                shutil.rmtree("out")
            yield name, fingerprint


def _lacks_an_extra(error: Exception) -> bool:
    cause = error if isinstance(error, ModuleNotFoundError) else error.__context__
    return isinstance(cause, ModuleNotFoundError) and extra_of(cause.name or "") is not None


@contextlib.contextmanager
def prepared(params: Path) -> Iterator[runs.Toys]:
    """A temporary folder with the toys as the current one; nothing of the caller's environment, no GPU, no network."""
    for name in list(os.environ):
        if name.startswith(OUTSIDE):
            del os.environ[name]
    os.environ |= {"CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    from tools.golden import toys  # torch is slow to import

    repository = read_yaml(params)
    downloads = patch("compaug.models.packages.DOWNLOADS", packages.DOWNLOADS.absolute())  # those of this repository
    with downloads, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), toys.endpoint():
        further = toys.parameters(repository, Path())
        toys.write(Path("toys"))
        yield runs.Toys(parse(Path("params.yaml")), read_yaml("params.yaml"), further)


def run_step(step: runs.Step) -> None:
    """Run a stage's script in this process, from the same state of all random numbers."""
    import numpy as np
    import torch

    if Path(step.out).exists():
        return
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    with contextlib.redirect_stderr(io.StringIO()):  # notes on toys; what is wrong is raised
        importlib.import_module(f"compaug.stages.{step.stage}").main([*step.argv, "--out", step.out])
