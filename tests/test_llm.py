"""The generator `llm` against a real HTTP server on loopback that speaks the protocol and misbehaves."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
from toys import TASK, examples, synthesis, texts

from compaug.core.files import InputError, read_json
from compaug.generators.baselines import llm
from compaug.generators.parameters import Llm
from compaug.models.language_models.endpoint import _pause

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

REQUESTS = [(0, 1), (0, 1), (2,), (1, 3), (0, 1, 2, 3), (2, 3)]
SECRET = "sk-never-in-a-file"


class Endpoint:
    """Chat completions at `url`; `script(body, number)` gives what happens to the n-th try of a request: None is a good
    answer."""

    def __init__(self, script) -> None:
        self.script, self.tries, self.bodies, self.headers, self.paths = script, Counter(), [], [], set()
        self.under_way, self.most = 0, 0
        lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    key = json.dumps(body, sort_keys=True)
                    endpoint.tries[key] += 1
                    number = endpoint.tries[key]
                    endpoint.bodies.append(body)
                    endpoint.paths.add(self.path)
                    endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                    endpoint.under_way += 1
                    endpoint.most = max(endpoint.most, endpoint.under_way)
                try:
                    endpoint.reply(self, body, endpoint.script(body, number))
                finally:
                    with lock:
                        endpoint.under_way -= 1

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reply(self, handler, body, fault):
        status, headers, payload = 200, {}, completion(f"<text>answer {body['seed']}</text>")
        if fault == "slow":
            time.sleep(0.6)
        elif fault == "closed":
            handler.close_connection = True
            handler.connection.shutdown(2)
            return
        elif fault == "truncated":
            payload = payload[: len(payload) // 2]
        elif fault == "not json":
            payload = b"<html>hello</html>"
        elif fault == "no choice":
            payload = completion(None, choices=[])
        elif isinstance(fault, tuple):
            status, headers, *body = fault
            payload = json.dumps(*body or [{"error": {"message": f"status {status}"}}]).encode()
        elif isinstance(fault, dict):
            payload = completion(**fault)
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": len(payload)}.items():
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(payload)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def completion(content=None, finish="stop", refusal=None, choices=None):
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "toy", "choices": [choice]}
    body["usage"] = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return json.dumps(body | ({} if choices is None else {"choices": choices})).encode()


@pytest.fixture
def endpoint(monkeypatch):
    """A function that starts an endpoint; all are stopped at the end."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    for name in (
        "OPENAI_BASE_URL",
        "OPENAI_MODEL",
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    started = []

    def start(script=lambda body, number: None):
        started.append(Endpoint(script))
        return started[-1]

    yield start
    for server in started:
        server.close()


def params(url, **changes) -> Llm:
    values = dict.fromkeys(Llm.model_fields) | {
        "base_url": url,
        "top_k": 50,
        "model": "toy",
        "temperature": 1.0,
        "top_p": 0.95,
        "max_tokens": 100,
        "few_shot_words": 50,
    }
    values |= {"concurrency": 3, "timeout": 5.0, "max_retries": 3, "retry_seconds": 0.01, "store": "answers"}
    values |= {"price_prompt": 0.0, "price_completion": 0.0}
    return Llm(**(values | changes))


def train(tmp_path, url, **changes):
    llm.train(examples(), TASK, params(url, **changes), {}, tmp_path / "m", 13)
    return tmp_path / "m"


def generate(model, requests=REQUESTS, seed=3):
    return texts(llm.generate(model, requests, TASK, synthesis(), {}, seed), requests)


def files(tmp_path):
    return sorted((tmp_path / "answers").glob("*/*.json"))


# ---------------------------------------------------------------- good answers, replay


def test_every_request_gets_its_own_answer_and_a_second_run_asks_nothing(tmp_path, endpoint):
    server = endpoint()
    model = train(tmp_path, server.url)
    replies = generate(model)
    assert len(replies) == len(REQUESTS) == len(set(replies)) and all(text.startswith("answer ") for text in replies)
    server.close()
    assert generate(model) == replies  # byte for byte, without the server
    assert len(server.bodies) == len(REQUESTS)


def test_a_replay_needs_no_endpoint_and_no_key(tmp_path, endpoint, monkeypatch):
    replies = generate(train(tmp_path, endpoint().url))
    monkeypatch.delenv("OPENAI_API_KEY")
    assert generate(tmp_path / "m") == replies
    with pytest.raises(InputError, match="6 answers are not in answers"):
        llm.train(examples(), TASK, params(None), {}, tmp_path / "m", 13)
        generate(tmp_path / "m", seed=4)


def test_no_more_than_the_allowed_number_of_requests_is_under_way(tmp_path, endpoint):
    server = endpoint(lambda body, number: "slow")
    generate(train(tmp_path, server.url, concurrency=2), REQUESTS)
    assert server.most == 2


def test_the_key_is_sent_and_never_written(tmp_path, endpoint):
    server = endpoint()
    generate(train(tmp_path, server.url))
    assert all(headers["authorization"] == f"Bearer {SECRET}" for headers in server.headers)
    assert all(SECRET not in file.read_text() for file in tmp_path.rglob("*") if file.is_file())


def test_the_account_counts_answers_and_tokens(tmp_path, endpoint):
    model = train(tmp_path, endpoint().url, price_prompt=1000.0, price_completion=2000.0)
    generate(model)
    account = llm.account(model, REQUESTS, TASK, 3)
    assert account["tokens"] == {"prompt": 120, "completion": 30}
    assert account["usd"] == round((120 * 1000 + 30 * 2000) / 1e6, 4)
    assert account["answers"] == {"parsed": 6, "unparsable": 0, "refused": 0, "cut": 0}


# ---------------------------------------------------------------- what the endpoint does wrong

FAULTS = [(429, {"Retry-After": "0"}), (500, {}), (503, {}), "closed", "truncated", "not json", "no choice"]


DAMAGED = {
    "a number as content": ({"content": 5}, "content: Input should be a valid string"),
    "words as tokens": ({"usage": {"prompt_tokens": "ten"}}, "usage.prompt_tokens: Input should be a valid "),
    "half a surrogate pair": ("\\ud800", "half a surrogate pair"),
    "a list": ("[]", "the file: Input should be a valid dictionary"),
    "a half": ('{"content": "<te', "not valid JSON"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_answer_is_one_line_and_asked_for_again_when_it_is_deleted(tmp_path, endpoint, case):
    server, (change, message) = endpoint(), DAMAGED[case]
    model = train(tmp_path, server.url)
    replies = generate(model)
    victim = files(tmp_path)[0]
    whole = victim.read_text(encoding="utf-8")
    if isinstance(change, dict):
        victim.write_text(json.dumps(json.loads(whole) | change))
    else:
        victim.write_text(whole.replace("answer", change, 1) if case.startswith("half") else change)
    with pytest.raises(InputError, match=message) as refused:
        generate(model)
    assert str(refused.value).startswith(f"answers/{victim.parent.name}/{victim.name}: ")
    assert "delete it: it is asked for again" in str(refused.value)
    victim.unlink()
    assert generate(model) == replies


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_that_passes_costs_a_repetition_and_nothing_else(tmp_path, endpoint, fault):
    server = endpoint(lambda body, number: fault if number == 1 else None)
    replies = generate(train(tmp_path, server.url))
    assert all(replies) and len(files(tmp_path)) == len(REQUESTS)
    assert set(server.tries.values()) == {2}


def test_the_server_says_how_long_to_wait(tmp_path, endpoint):
    server = endpoint(lambda body, number: (429, {"Retry-After": "1"}) if number == 1 else None)
    start = time.monotonic()
    assert generate(train(tmp_path, server.url), REQUESTS[:1]) != [""]
    assert time.monotonic() - start >= 1


def test_an_answer_that_takes_too_long_is_asked_for_again(tmp_path, endpoint):
    server = endpoint(lambda body, number: "slow" if number == 1 else None)
    assert all(generate(train(tmp_path, server.url, timeout=0.2), REQUESTS[:2]))


@pytest.mark.parametrize("fault", [(500, {}), "closed", "no choice", "truncated", (401, {})], ids=str)
def test_an_endpoint_that_stays_dead_is_one_line_and_no_answer_is_lost(tmp_path, endpoint, fault):
    lost = []

    def script(body, number):
        if len(lost) < 1 and number == 1 and body["messages"][0]["content"].count("joy, fear, anger, trust"):
            lost.append(body["seed"])
        return fault if body["seed"] in lost else None

    server = endpoint(script)
    model = train(tmp_path, server.url, max_retries=1, concurrency=1)
    with pytest.raises(InputError, match=r"answers are safe in answers; mend the endpoint and run again") as error:
        generate(model)
    assert "\n" not in str(error.value)
    before = files(tmp_path)
    assert len(before) == 4  # those before the dead one
    assert all(read_json(file)["content"] for file in before)  # failures are never stored
    lost[:] = [0]  # the endpoint recovers
    n_before = len(server.bodies)
    assert all(generate(model))
    assert len(server.bodies) == n_before + 2  # the two that were missing


def test_an_endpoint_that_is_not_there_is_one_line(tmp_path, endpoint):
    server = endpoint()
    server.close()
    with pytest.raises(InputError, match=r"127\.0\.0\.1.*0 of 6 answers are safe"):
        generate(train(tmp_path, server.url, max_retries=0))


REFUSALS = {
    (401, ()): "status 401: {'message': 'status 401'}",
    (401, (), "who are you"): "status 401: Unauthorized",  # JSON, and no object
    (429, (("x-should-retry", "false"),)): "status 429: ",
}


@pytest.mark.parametrize(("fault", "message"), REFUSALS.items(), ids=str)
def test_what_will_not_pass_is_not_repeated_and_its_status_is_named(tmp_path, endpoint, fault, message):
    status, headers, *body = fault
    server = endpoint(lambda *_: (status, dict(headers), *body))
    with pytest.raises(InputError, match=re.escape(f"{server.url}: {message}")):
        generate(train(tmp_path, server.url), REQUESTS[:1])
    assert set(server.tries.values()) == {1}


@pytest.mark.parametrize(
    ("headers", "pauses"),
    [
        ({}, (0.75, 1)),
        ({"retry-after": "7"}, (7, 7)),
        ({"retry-after": "600"}, (0.75, 1)),
        ({"retry-after": "x"}, (0.75, 1)),
    ],
    ids=str,
)
def test_a_pause_is_the_servers_up_to_a_minute_else_ours(headers, pauses):
    error = SimpleNamespace(response=SimpleNamespace(headers=headers))
    assert pauses[0] <= _pause(error, 1.0) <= pauses[1]


def test_a_server_may_name_the_moment_of_the_next_try():
    date = formatdate(time.time() + 20, usegmt=True)
    assert 15 < _pause(SimpleNamespace(response=SimpleNamespace(headers={"retry-after": date})), 1.0) <= 20


# ---------------------------------------------------------------- another client than the hub's own


def test_the_endpoint_is_asked_where_the_hub_may_not_be_and_never_gets_the_hubs_token(tmp_path, endpoint, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    for key in (None, ""):
        monkeypatch.setenv("OPENAI_API_KEY", key) if key is not None else monkeypatch.delenv("OPENAI_API_KEY")
        server = endpoint()
        assert all(generate(train(tmp_path, server.url), seed=4 + (key is None)))
        assert {headers["authorization"] for headers in server.headers} == {"Bearer none"}


@pytest.mark.parametrize("folder", ["/v1", "/v1/", "/v1beta/openai/", ""])
def test_what_is_asked_lies_right_below_the_base_url(tmp_path, endpoint, folder):
    server = endpoint()
    base_url = server.url.removesuffix("/v1") + folder
    generate(train(tmp_path, base_url))
    assert server.paths == {f"{folder.rstrip('/')}/chat/completions"}


def test_an_address_without_a_scheme_is_one_line(tmp_path, endpoint):
    endpoint()
    with pytest.raises(InputError, match="localhost:8000/v1: is no address of an endpoint; begin .* with http://"):
        generate(train(tmp_path, "localhost:8000/v1"))


WRONG = {
    "unparsable": {"content": "Sure! Here is a text: I am happy."},
    "two texts": {"content": "<text>one</text> <text>two</text>"},
    "blank": {"content": "<text>  </text>"},
    "nothing": {"content": None},
    "refused": {"content": None, "refusal": "I cannot help with that."},
    "refused in words": {"content": "I'm sorry, but I can't write that."},
    "filtered": {"content": "<text>half</text>", "finish": "content_filter"},
    "cut": {"content": "<text>half of", "finish": "length"},
}


@pytest.mark.parametrize(
    ("name", "fate"), zip(WRONG, [*["unparsable"] * 4, "refused", "unparsable", "refused", "cut"], strict=True)
)
def test_an_answer_that_does_not_parse_is_dropped_and_counted_never_guessed(tmp_path, endpoint, name, fate):
    first = []

    def script(body, number):
        first.append(body["seed"])
        return WRONG[name] if body["seed"] == first[0] else None

    model = train(tmp_path, endpoint(script).url, concurrency=1)
    replies = generate(model)
    assert replies[0] == "" and all(replies[1:])
    answers = llm.account(model, REQUESTS, TASK, 3)["answers"]
    assert answers == dict.fromkeys(llm.FATES, 0) | {"parsed": 5, fate: 1}


# ---------------------------------------------------------------- prompts


def test_the_prompt_names_all_labels_forbids_the_others_and_shows_the_same_composition_only(tmp_path, endpoint):
    server = endpoint()
    generate(train(tmp_path, server.url), [(0, 1), (0, 3)])
    first, second = sorted(
        (body["messages"][0]["content"] for body in server.bodies), key=lambda c: '"trust"' in c.split("NONE")[0]
    )
    assert 'ALL of these labels: "joy", "fear"' in first and 'NONE of these labels: "anger", "trust"' in first
    assert {line[2:] for line in first.splitlines() if line.startswith("- ")} == {
        e.text for e in examples() if e.labels == (0, 1)
    }
    assert "<text>" in first and "words" in first
    assert 'ALL of these labels: "joy", "trust"' in second


def test_examples_are_in_random_order_and_end_at_the_word_limit():
    texts = [f"text number {n}" for n in range(10)]
    chosen = llm._shuffled(texts, 12, np.random.default_rng(0))
    assert len(chosen) == 4 and set(chosen) < set(texts)
    assert chosen != llm._shuffled(texts, 12, np.random.default_rng(1))
    assert llm._shuffled([], 12, np.random.default_rng(0)) == []


def test_without_a_model_name_the_variable_or_the_key_is_named(tmp_path, endpoint, monkeypatch):
    with pytest.raises(InputError, match=r"generators.llm.model is null and OPENAI_MODEL is not set"):
        train(tmp_path, endpoint().url, model=None)
    monkeypatch.setenv("OPENAI_MODEL", "from-the-variable")
    model = train(tmp_path, endpoint().url, model=None)
    assert read_json(model / "config.json")["params"]["model"] == "from-the-variable"
