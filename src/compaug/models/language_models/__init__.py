"""Language models that write what they are asked for: behind an endpoint, or a decoder on this machine.

A request is everything that its answer depends on:

    {"model", "temperature", "top_p", "top_k", "max_tokens", "seed", "prompt" or "messages", "stop"}

`prompt` is text to continue, `messages` a conversation (by the model's own template). `stop` is a string that ends
the answer, and is not in it. An endpoint takes messages, and no `top_k` and `stop`. Answers of both are kept
(`answers.py`).
"""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.core.files import InputError
from compaug.models.language_models import endpoint
from compaug.models.language_models.answers import is_kept, kept

SPENT: Counter = Counter()  # by this process, on answers that were not kept


def complete(
    requests: Sequence[Mapping], backend: str, params: Mapping, store: Path, decoder: Path | None = None
) -> list[dict]:
    """The answer to each request, from the store where it is kept, else from the back end.

    That is "endpoint", or "local", the folder `decoder`. Without a missing answer neither is opened. InputError when
    the back end does not give all of them; what it gave is kept.
    """
    if missing := [request for request in requests if not is_kept(store, request)]:
        start = time.perf_counter()
        if backend == "endpoint":
            endpoint.answer(missing, params, store)
        else:
            from compaug.models.language_models import local  # torch is slow to import

            local.answer(requests, decoder, store, params["concurrency"])
        SPENT["seconds"] += time.perf_counter() - start
        SPENT["at_a_time"] = params["concurrency"]
        for request in missing:
            usage = kept(store, request)["usage"]
            SPENT.update({"answers": 1, **{name: tokens or 0 for name, tokens in usage.items()}})
    return [kept(store, request) for request in requests]


def model_of(params, backbones: Mapping[str, Path], generator: str) -> str:
    """What requests call the model that is asked. InputError where an endpoint is to be asked and nothing names one."""
    if params.backend == "local":
        from compaug.models.language_models.local import name_of  # torch is slow to import

        return name_of(backbones["decoder"])
    if not (model := params.model or os.environ.get("OPENAI_MODEL")):
        where = f"generators.{generator}.model is null and OPENAI_MODEL is not set"
        raise InputError(f"{where}; name the model that is to be asked")
    return model


def spent() -> dict[str, float]:
    """For the costs of a stage: the answers that this process requested, how many at a time, their tokens and speed.

    {} where nothing was requested.
    """
    if not SPENT["answers"]:
        return {}
    rate = {"tokens_per_second": round(SPENT["completion_tokens"] / max(SPENT["seconds"], 1e-9), 1)}
    return {**SPENT, "seconds": round(SPENT["seconds"], 2), **rate}
