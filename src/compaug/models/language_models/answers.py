"""Answers of language models, kept by what was asked.

A request is a mapping of everything that its answer depends on: model, prompt or messages, decoding, seed. The answer
goes to a content-addressed store the moment it is there, so a run can be interrupted, resumed, and replayed byte for
byte without any model. `endpoint` and `local` are the two that answer.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from compaug.core.files import digest, read_json, write_json


class Usage(TypedDict):
    prompt_tokens: int | None
    completion_tokens: int | None


class Answer(TypedDict):
    request: dict[str, Any]
    content: str | None
    refusal: str | None
    finish_reason: str | None
    usage: Usage


def file_of(request: Mapping) -> str:
    """Where the answer to a request is kept: the hash of all that was asked."""
    name = digest(json.dumps(request, sort_keys=True))
    return f"{name[:2]}/{name}.json"


def is_kept(store: Path, request: Mapping) -> bool:
    return (store / file_of(request)).exists()


def kept(store: Path, request: Mapping) -> dict:
    """The answer that is kept of a request."""
    return read_json(store / file_of(request), Answer, "delete it: it is asked for again")


def keep(store: Path, request: Mapping, answer: Mapping) -> None:
    """Write the answer to a request, an `Answer` without the request; an interrupted run leaves no half of it."""
    path = store / file_of(request)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {**answer, "request": request})
