"""LLM: a large language model is asked for one text per request, with examples of the composition (spec section 8, GPT3.5).

Any OpenAI-compatible endpoint. Every answer goes to a content-addressed store the moment it arrives, so that a run can be
interrupted, resumed, and replayed without a network byte for byte; failures are never stored. What a text is, is between
two marks: an answer without them (a refusal, a remark) is dropped and counted, never guessed at.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from statistics import median

import numpy as np
from tqdm import tqdm

from compaug import shapes
from compaug.records import (
    Draft,
    Example,
    InputError,
    atomic_dir,
    digest,
    read_json,
    read_jsonl,
    sub_seed,
    write_json,
    write_jsonl,
)

TEXT = re.compile(r"<text>(.*?)</text>", re.DOTALL)
NO_COMPLETION = (IndexError, TypeError, AttributeError, ValueError)  # no choice, no JSON, no object
FATES = ("parsed", "unparsable", "refused", "cut")


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
    """Keep D_cg for the examples in the prompts, and the name of the model: params, else the variable OPENAI_MODEL."""
    model = params.model or os.environ.get("OPENAI_MODEL")
    if not model:
        raise InputError("generators.llm.model is null and OPENAI_MODEL is not set; name the model that is to be asked")
    words = median(len(e.text.split()) for e in examples)
    with atomic_dir(out_dir) as folder:
        write_jsonl(folder / "examples.jsonl", [e for e in examples if e.labels])
        facts = {"generator": "llm", **task.facts(), "median_words": words}
        write_json(folder / "config.json", facts | {"params": params.model_dump() | {"model": model}})


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """One text per request, none where the answer holds none. InputError when an answer is missing and the endpoint does not
    give it: the answers so far stay in the store."""
    config = read_json(model_dir / "config.json", shapes.GeneratorFacts)
    asked = bodies(model_dir, config, requests, task, seed)
    store = Path(config["params"]["store"])
    missing = [request for request in asked if not (store / file_of(request)).exists()]
    if missing:
        fetch(missing, config["params"], store)
    for number, (label_set, request) in enumerate(zip(requests, asked, strict=True)):
        if text := parse(stored(store, request))[1]:
            yield Draft(number, text, tuple(label_set))


def account(model_dir: Path, requests: Sequence[Sequence[int]], task, seed: int) -> dict[str, object]:
    """For the side-car: the model, what became of its answers, the tokens they took as the endpoint counted them, and their
    price in USD."""
    config = read_json(model_dir / "config.json", shapes.GeneratorFacts)
    params = config["params"]
    store = Path(params["store"])
    asked = bodies(model_dir, config, requests, task, seed)
    answers = [stored(store, request) for request in asked]
    fates = Counter(parse(answer)[0] for answer in answers)
    tokens = {
        kind: sum(answer["usage"][f"{kind}_tokens"] or 0 for answer in answers) for kind in ("prompt", "completion")
    }
    return {
        "model": params["model"],
        "answers": {fate: fates[fate] for fate in FATES},
        "tokens": tokens,
        "usd": round(sum(tokens[kind] * params[f"price_{kind}"] for kind in tokens) / 1e6, 4),
    }


# ---------------------------------------------------------------- prompts


def bodies(model_dir: Path, config: Mapping, requests: Sequence[Sequence[int]], task, seed: int) -> list[dict]:
    """The body of every request. Each has a seed of its own, so that equal compositions get different answers."""
    params, task = config["params"], task.of_model(config, model_dir)
    by_composition: dict[tuple[int, ...], list[str]] = {}
    for example in read_jsonl(model_dir / "examples.jsonl", len(task.labels)):
        by_composition.setdefault(example.labels, []).append(example.text)
    return [
        {
            "model": params["model"],
            "messages": messages(
                task,
                label_set,
                shots(by_composition.get(tuple(label_set), []), params["few_shot_words"], seed, number),
                config["median_words"],
            ),
            "temperature": params["temperature"],
            "top_p": params["top_p"],
            "max_tokens": params["max_tokens"],
            "seed": sub_seed(seed, "llm", number) % 2**31,
        }
        for number, label_set in enumerate(requests)
    ]


def shots(texts: Sequence[str], most_words: int, seed: int, number: int) -> list[str]:
    """The real texts of a composition in random order, as many as `most_words` words hold."""
    order = np.random.default_rng(sub_seed(seed, "shots", number)).permutation(len(texts))
    chosen, words = [], 0
    for at in order:
        words += len(texts[at].split())
        if words > most_words:
            break
        chosen.append(texts[at])
    return chosen


def messages(task, label_set: Sequence[int], examples: Sequence[str], words: float) -> list[dict[str, str]]:
    """Task, labels wanted and unwanted, length, examples of the same composition, and the form of the answer."""
    phrases = task.labels.phrases
    wanted = ", ".join(f'"{phrases[label]}"' for label in label_set)
    others = ", ".join(f'"{phrase}"' for label, phrase in enumerate(phrases) if label not in set(label_set))
    lines = [
        "Write one text that could have been taken from a data set in which every text is described by a line such as:",
        task.source(label_set).rstrip(" :"),
        f"The text must express ALL of these labels: {wanted}.",
        f"It must express NONE of these labels: {others}." if others else "",
        f"Do not name the labels. Length: about {words:.0f} words, in the style of the data set.",
    ]
    if examples:
        lines += ["Texts of the data set with exactly these labels:", *(f"- {text}" for text in examples)]
    lines.append("Answer with the text alone, between <text> and </text>.")
    return [{"role": "user", "content": "\n".join(line for line in lines if line)}]


def parse(answer: Mapping) -> tuple[str, str]:
    """(fate, text) of a stored answer; fate is one of FATES and the text is "" unless it is `parsed`."""
    if answer["refusal"] or answer["finish_reason"] == "content_filter":
        return "refused", ""
    if answer["finish_reason"] == "length":
        return "cut", ""
    found = TEXT.findall(answer["content"] or "")
    if len(found) != 1 or not found[0].strip():
        return "unparsable", ""
    return "parsed", " ".join(found[0].split())


# ---------------------------------------------------------------- endpoint and store


def file_of(request: Mapping) -> str:
    """Where the answer to a request is kept: the hash of all that was asked, and of nothing else."""
    name = digest(json.dumps(request, sort_keys=True))
    return f"{name[:2]}/{name}.json"


def stored(store: Path, request: Mapping) -> dict:
    """The answer that is kept of a request. InputError where the file holds something else, or the answer to another request."""
    path = store / file_of(request)
    answer = read_json(path, shapes.Answer, "delete it: it is asked for again")
    if answer["request"] != request:
        raise InputError(f"{path}: answers another request than its name says; delete it: it is asked for again")
    return answer


def fetch(missing: Sequence[dict], params: Mapping, store: Path) -> None:
    """Ask for the missing answers, `concurrency` at a time, and store each as it comes. The client repeats a request after
    rate limits, server errors, time-outs and broken connections, as the server's Retry-After says or ever later; replies that are no
    completion are asked for again here. What still fails then stops the run with one line, after the answers under way have been stored."""
    import tenacity as retry
    from openai import OpenAI, OpenAIError

    if not (params["base_url"] or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY")):
        raise InputError(
            f"{len(missing)} answers are not in {store} and no endpoint is configured; set generators.llm.base_url or "
            "OPENAI_BASE_URL, and OPENAI_API_KEY where the endpoint wants one"
        )
    client = OpenAI(
        base_url=params["base_url"],
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

    def answer(request: dict) -> None:
        """Whoever fails stops the others before their next request."""
        if stop.is_set():
            return
        try:
            found = until_completed(ask, client, request)
        except BaseException:
            stop.set()
            raise
        path = store / file_of(request)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, found | {"request": request})  # atomic: an interrupted run leaves no half answer

    with ThreadPoolExecutor(params["concurrency"]) as pool:
        futures = [pool.submit(answer, request) for request in missing]
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
        left = sum(not (store / file_of(request)).exists() for request in missing)
        if isinstance(failed, retry.RetryError):
            reason = f"the reply is not a chat completion ({failed.last_attempt.exception()})"
        else:
            reason = f"{type(failed).__name__}: {failed}"
        raise InputError(
            f"{client.base_url}: {' '.join(reason.split())[:200]}; {len(missing) - left} of {len(missing)} answers "
            f"are safe in {store}; mend the endpoint and run again to ask for the other {left}"
        ) from failed


def ask(client, request: dict) -> dict:
    """What is kept of the reply; one of NO_COMPLETION when it is none."""
    reply = client.chat.completions.create(**request)
    choice = reply.choices[0]
    usage = {name: getattr(reply.usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    refusal = getattr(choice.message, "refusal", None)
    kept = {"content": choice.message.content, "refusal": refusal, "finish_reason": choice.finish_reason}
    return kept | {"usage": usage}
