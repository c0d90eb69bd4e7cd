"""Fixtures shared by the tests."""

from __future__ import annotations

import importlib.util
import os
import socket
from pathlib import Path

import pytest
from hypothesis import settings

import compaug  # noqa: F401  it fixes the arithmetic before a test loads numpy or torch

settings.register_profile("any machine", deadline=None)  # how long an example takes says nothing of the code
settings.load_profile("any machine")

EXTRAS = {"coda": ["spacy", "simplemma"]}  # modules of what `make install` leaves out


@pytest.fixture
def mirror() -> Path:
    """Folder of the real corpora, in the layout of the `mirror` paths of params.yaml."""
    if not os.environ.get("COMPAUG_MIRROR"):
        pytest.skip("COMPAUG_MIRROR is not set: the real corpora are not in the repository")
    return Path(os.environ["COMPAUG_MIRROR"])


@pytest.fixture
def in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints and relative paths go there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def own_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the stages cost that a test calls goes there; `make costs` in this working tree does not list it."""
    monkeypatch.setattr("compaug.stages.COSTS", tmp_path / "costs")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The backbones of the toys by role; nobody writes to them."""
    from toys import backbones  # torch and transformers take seconds

    return backbones(tmp_path_factory.mktemp("backbones"))


@pytest.fixture(scope="session")
def llama(folders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder of the other family, with the toys' tokens."""
    from toys import llama

    return llama(tmp_path_factory.mktemp("llama") / "decoder", folders["decoder"])


@pytest.fixture
def tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    """spaCy's model is the one that stages of this repository fetch, once, and not one of each temporary folder."""
    monkeypatch.setattr("compaug.models.packages.DOWNLOADS", Path(__file__).parents[1] / "data/downloads")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection leaves the test."""

    def refuse(*_: object) -> None:
        raise OSError("this test may not use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without the packages of its extra (pyproject.toml) a test is skipped."""
    for mark in item.iter_markers("extra"):
        for module in EXTRAS[mark.args[0]]:
            if importlib.util.find_spec(module) is None:
                pytest.skip(f"{module} is not installed; `make install-all`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, whole: several workers take a file each, and none should begin the longest one at
    the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
