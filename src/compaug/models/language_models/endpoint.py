"""Language models behind an OpenAI-compatible endpoint."""

import contextlib
import os
import random
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from email.utils import parsedate_to_datetime
from pathlib import Path

from tqdm import tqdm

from compaug.core.files import InputError
from compaug.models.language_models.answers import is_kept, keep

OPENAI = "https://api.openai.com/v1"  # where a key alone leads
NO_COMPLETION = (IndexError, TypeError, AttributeError, ValueError)  # no choice, no JSON, no object
PASSING = (408, 409, 429)  # statuses of the client's side that are worth another try, as all of the server's are
LONGEST_PAUSE = 30.0  # seconds
LONGEST_REQUESTED = 60.0  # seconds, of a server's Retry-After
CONNECTIONS = 100  # of the hub's client; further requests would only wait for one


class NoAnswer(Exception):
    """Why a request stays without an answer."""


def answer(missing: Sequence[Mapping], params: Mapping, store: Path) -> None:
    """Ask for the answers to these requests, `concurrency` at a time, and keep each as it comes.

    A request is repeated after rate limits, server errors, time-outs, broken connections and replies that are no
    completion, as the server's Retry-After says or ever later. What still fails then stops the run with one line, after
    the answers under way have been kept.
    """
    from huggingface_hub import InferenceClient

    base_url = params.get("base_url") or os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY")
    if not (base_url or key):
        raise InputError(
            f"{len(missing)} answers are not in {store} and no endpoint is configured; set the generator's base_url or "
            "OPENAI_BASE_URL, and OPENAI_API_KEY where the endpoint wants one; or its backend: local"
        )
    base_url = (base_url or OPENAI).rstrip("/")
    if not base_url.startswith(("http://", "https://")):
        raise InputError(f"{base_url}: is no address of an endpoint; begin the generator's base_url with http://")
    # Local servers want no key, and without any the client would send that of the hub.
    client = InferenceClient(base_url=f"{base_url}/chat/completions", api_key=key or "none", timeout=params["timeout"])
    stop, failed = threading.Event(), None

    def fetch(request: Mapping) -> None:
        """Whoever fails stops the others before their next request."""
        if stop.is_set():
            return
        try:
            reply = _until_completed(client, request, params, stop)
        except BaseException:
            stop.set()
            raise
        keep(store, request, reply)

    with _not_the_hub(), ThreadPoolExecutor(min(params["concurrency"], CONNECTIONS)) as pool:
        futures = [pool.submit(fetch, request) for request in missing]
        done, shown = as_completed(futures), sys.stderr.isatty()
        try:
            for future in tqdm(done, "answers", len(missing), leave=False, unit="answer", disable=not shown):
                future.result()
        except NoAnswer as error:
            failed = error
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)
    if failed is not None:
        left = sum(not is_kept(store, request) for request in missing)
        raise InputError(
            f"{base_url}: {' '.join(str(failed).split())[:200]}; {len(missing) - left} of {len(missing)} answers "
            f"are safe in {store}; mend the endpoint and run again to ask for the other {left}"
        ) from failed


@contextlib.contextmanager
def _not_the_hub() -> Iterator[None]:
    """HF_HUB_OFFLINE is about the hub: the endpoint is asked all the same."""
    from huggingface_hub.utils import get_session

    session = get_session()
    hooks, session.event_hooks = session.event_hooks, {}
    try:
        yield
    finally:
        session.event_hooks = hooks


def _until_completed(client, request: Mapping, params: Mapping, stop: threading.Event) -> dict:
    """What is kept of the reply, after at most `max_retries` repetitions; NoAnswer, also once `stop` is set."""
    from huggingface_hub.errors import HTTPError

    repetition = 0
    while True:
        try:
            return _ask(client, request)
        except (HTTPError, *NO_COMPLETION) as error:
            last = repetition == params["max_retries"] or not _may_pass(error)
            if last or stop.wait(_pause(error, params["retry_seconds"] * 2**repetition)):
                raise NoAnswer(_reason(error)) from error
        repetition += 1


def _ask(client, request: Mapping) -> dict:
    """What is kept of the reply; one of NO_COMPLETION when it is none."""
    reply = client.chat_completion(**request)
    choice = reply.choices[0]
    usage = {name: getattr(reply.usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    refusal = getattr(choice.message, "refusal", None)
    message = {"content": choice.message.content, "refusal": refusal, "finish_reason": choice.finish_reason}
    return message | {"usage": usage}


# ---------------------------------------------------------------- failures


def _response(error: BaseException | None):
    """The server's response with a status that says no; None where there is none.

    The client stumbles over a body that is JSON and no object; then the error before its own has the response.
    """
    while error is not None and getattr(error, "response", None) is None:
        error = error.__context__
    return getattr(error, "response", None)


def _may_pass(error: Exception) -> bool:
    """Whether the same request may be answered later; a server can say so itself."""
    if (response := _response(error)) is None:
        return True
    status = response.status_code
    word = response.headers.get("x-should-retry")
    return {"true": True, "false": False}.get(word, status in PASSING or status >= 500)


def _pause(error: Exception, seconds: float) -> float:
    """Seconds until the next try: the server's Retry-After, else `seconds`, less a random part of up to a quarter."""
    response = _response(error)
    after = "" if response is None else response.headers.get("retry-after", "")
    try:
        requested = float(after) if after.replace(".", "").isdigit() else _until(after)
    except ValueError:
        requested = 0.0
    if 0 < requested <= LONGEST_REQUESTED:
        return requested
    return min(seconds, LONGEST_PAUSE) * random.Random().uniform(0.75, 1)


def _until(date: str) -> float:
    """Seconds until a date of HTTP. ValueError for anything else."""
    return parsedate_to_datetime(date).timestamp() - time.time()


def _reason(error: Exception) -> str:
    if (response := _response(error)) is not None:
        message = getattr(error, "server_message", None) or response.reason_phrase
        return f"status {response.status_code}: {message}"
    if isinstance(error, NO_COMPLETION):
        return f"the reply is not a chat completion ({error})"
    return f"{type(error).__name__}: {error}"
