"""Answers of language models, kept by what was asked.

A request is a mapping of everything that its answer depends on: model, prompt or messages, decoding, seed. The answer
goes to a content-addressed store the moment it is there, so a run can be interrupted, resumed, and replayed byte for
byte without any model. `endpoint` and `local` are the two that answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from compaug.core import shapes
from compaug.core.records import digest, read_json, write_json


def file_of(request: Mapping) -> str:
    """Where the answer to a request is kept: the hash of all that was asked."""
    name = digest(json.dumps(request, sort_keys=True))
    return f"{name[:2]}/{name}.json"


def is_kept(store: Path, request: Mapping) -> bool:
    return (store / file_of(request)).exists()


def kept(store: Path, request: Mapping) -> dict:
    """The answer that is kept of a request."""
    return read_json(store / file_of(request), shapes.Answer, "delete it: it is asked for again")


def keep(store: Path, request: Mapping, answer: Mapping) -> None:
    """Write the answer to a request, a `shapes.Answer` without the request; an interrupted run leaves no half of it."""
    path = store / file_of(request)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {**answer, "request": request})
