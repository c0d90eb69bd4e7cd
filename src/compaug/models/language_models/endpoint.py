"""Language models behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tqdm import tqdm

from compaug.core.records import InputError
from compaug.models.language_models.answers import is_kept, keep

NO_COMPLETION = (IndexError, TypeError, AttributeError, ValueError)  # no choice, no JSON, no object


def answer(missing: Sequence[Mapping], params: Mapping, store: Path) -> None:
    """Ask for the answers to these requests, `concurrency` at a time, and keep each as it comes.

    The client repeats a request after rate limits, server errors, time-outs and broken connections, as the server's
    Retry-After says or ever later; replies that are no completion are asked for again here. What still fails then stops
    the run with one line, after the answers under way have been kept.
    """
    import tenacity as retry
    from openai import OpenAI, OpenAIError

    if not (params.get("base_url") or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY")):
        raise InputError(
            f"{len(missing)} answers are not in {store} and no endpoint is configured; set the generator's base_url or "
            "OPENAI_BASE_URL, and OPENAI_API_KEY where the endpoint wants one; or its backend: local"
        )
    client = OpenAI(
        base_url=params.get("base_url"),
        api_key=os.environ.get("OPENAI_API_KEY", "none"),  # local servers want none
        timeout=params["timeout"],
        max_retries=params["max_retries"],
    )
    stop, failed = threading.Event(), None
    until_completed = retry.Retrying(
        retry=retry.retry_if_exception_type(NO_COMPLETION),
        wait=retry.wait_exponential(params["retry_seconds"], max=30),
        stop=retry.stop_after_attempt(params["max_retries"] + 1) | retry.stop_when_event_set(stop),
        sleep=retry.sleep_using_event(stop),
    )

    def fetch(request: Mapping) -> None:
        """Whoever fails stops the others before their next request."""
        if stop.is_set():
            return
        try:
            reply = until_completed(_ask, client, request)
        except BaseException:
            stop.set()
            raise
        keep(store, request, reply)

    with ThreadPoolExecutor(params["concurrency"]) as pool:
        futures = [pool.submit(fetch, request) for request in missing]
        done, shown = as_completed(futures), sys.stderr.isatty()
        try:
            for future in tqdm(done, "answers", len(missing), leave=False, unit="answer", disable=not shown):
                future.result()
        except (OpenAIError, retry.RetryError) as error:
            failed = error
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    if failed is not None:
        left = sum(not is_kept(store, request) for request in missing)
        if isinstance(failed, retry.RetryError):
            reason = f"the reply is not a chat completion ({failed.last_attempt.exception()})"
        else:
            reason = f"{type(failed).__name__}: {failed}"
        raise InputError(
            f"{client.base_url}: {' '.join(reason.split())[:200]}; {len(missing) - left} of {len(missing)} answers "
            f"are safe in {store}; mend the endpoint and run again to ask for the other {left}"
        ) from failed


def _ask(client, request: Mapping) -> dict:
    """What is kept of the reply; one of NO_COMPLETION when it is none."""
    reply = client.chat.completions.create(**request)
    choice = reply.choices[0]
    usage = {name: getattr(reply.usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    refusal = getattr(choice.message, "refusal", None)
    message = {"content": choice.message.content, "refusal": refusal, "finish_reason": choice.finish_reason}
    return message | {"usage": usage}
