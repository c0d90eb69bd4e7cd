"""A decoder that lies here as a language model: against plain decoding, in any batch, interrupted, replayed; and `llm`
on it."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
from toys import TASK, examples, synthesis, texts

from compaug.core.files import InputError, read_json
from compaug.generators.baselines import llm
from compaug.generators.parameters import Llm
from compaug.models import language_models
from compaug.models.language_models import complete, local
from compaug.models.loading import load_decoder
from compaug.stages import cost_of

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder", "offline")

PROMPTS = [
    "A message with joy :",
    "A message with joy, fear :",
    "A message with joy :",
    "A message with anger :\n-",
    "he",
]


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def decoder(request, folders, llama):
    return llama if request.param == "llama" else folders["decoder"]


def requests(decoder, prompts=PROMPTS, **changes):
    decoding = {"temperature": 1.0, "top_p": 0.95, "top_k": 50, "max_tokens": 30, "stop": "\n"} | changes
    model = local.name_of(decoder)
    return [{"model": model, "prompt": prompt, "seed": at, **decoding} for at, prompt in enumerate(prompts)]


def ask(decoder, bodies, store, batch_size=8):
    return complete(bodies, "local", {"concurrency": batch_size}, store, decoder)


def greedy(decoder, prompt, stop, max_tokens):
    """The whole sequence again for every token, no padding, no cache.  # text, tokens of it, why it ended"""
    tokenizer, model = load_decoder(decoder)
    ids = tokenizer(prompt)["input_ids"]
    start = len(ids)
    while len(ids) - start < max_tokens and (stop is None or stop not in tokenizer.decode(ids[start:])):
        with torch.no_grad():
            token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
        if token == tokenizer.eos_token_id:
            break
        ids.append(token)
    text, stopped, _ = tokenizer.decode(ids[start:], skip_special_tokens=True).partition(stop or "\0")
    return text.strip(), len(ids) - start, "length" if len(ids) - start == max_tokens and not stopped else "stop"


@pytest.mark.parametrize("stop", [None, "e"])
def test_without_a_temperature_it_is_plain_greedy_decoding_up_to_the_stop(decoder, tmp_path, stop):
    answers = ask(decoder, requests(decoder, temperature=0.0, stop=stop), tmp_path)
    expected = [greedy(decoder, prompt, stop, 30) for prompt in PROMPTS]
    assert [
        (answer["content"], answer["usage"]["completion_tokens"], answer["finish_reason"]) for answer in answers
    ] == expected
    assert len({text for text, *_ in expected}) > 1
    tokenizer, _ = load_decoder(decoder)
    assert [answer["usage"]["prompt_tokens"] for answer in answers] == [len(tokenizer(p)["input_ids"]) for p in PROMPTS]


def test_an_answer_depends_on_its_request_alone(decoder, tmp_path):
    bodies = requests(decoder, PROMPTS * 3)
    together, alone = (ask(decoder, bodies, tmp_path / str(size), size) for size in (32, 1))
    backwards = ask(decoder, bodies[::-1], tmp_path / "b", 4)[::-1]
    assert together == alone == backwards
    assert len({answer["content"] for answer in together}) > len(set(PROMPTS))  # equal prompts have seeds of their own


def test_requests_that_are_decoded_differently_are_answered_together(decoder, tmp_path):
    bodies = [*requests(decoder), *requests(decoder, temperature=0.3, stop=None), *requests(decoder, max_tokens=3)]
    answers = ask(decoder, bodies, tmp_path / "a")
    for part, store in ((slice(5), "b"), (slice(5, 10), "c"), (slice(10, 15), "d")):
        assert answers[part] == ask(decoder, bodies[part], tmp_path / store)
    assert all(answer["usage"]["completion_tokens"] <= 3 for answer in answers[10:])


def test_an_interrupted_run_goes_on_with_the_same_bytes_and_asks_for_nothing_twice(decoder, tmp_path, monkeypatch):
    bodies, store = requests(decoder, PROMPTS * 2), tmp_path / "store"
    answers = ask(decoder, bodies, store, 2)
    whole = {path: path.read_bytes() for path in store.rglob("*.json")}
    for path in sorted(whole)[::3]:
        path.unlink()
    missing, written = len(bodies) - len(list(store.rglob("*.json"))), []
    kept = local.keep
    monkeypatch.setattr(local, "keep", lambda *arguments: (written.append(arguments), kept(*arguments)))
    assert ask(decoder, bodies, store, 2) == answers
    assert {path: path.read_bytes() for path in store.rglob("*.json")} == whole
    assert missing <= len(written) < len(bodies)  # batches without a hole are not made again


def test_a_replay_needs_no_model(decoder, tmp_path):
    copy = shutil.copytree(decoder, tmp_path / "decoder")
    bodies = requests(decoder)
    answers = ask(copy, bodies, tmp_path / "store")
    shutil.rmtree(copy)
    assert ask(copy, bodies, tmp_path / "store") == answers


def test_what_answers_cost_is_counted_once_and_a_replay_costs_nothing(decoder, tmp_path, monkeypatch):
    monkeypatch.setattr(language_models, "SPENT", Counter())
    assert language_models.spent() == {}
    answers = ask(decoder, requests(decoder), tmp_path / "store", 2)
    spent = language_models.spent()
    tokens = sum(answer["usage"]["completion_tokens"] for answer in answers)
    assert (spent["answers"], spent["at_a_time"], spent["completion_tokens"]) == (len(PROMPTS), 2, tokens)
    assert spent["seconds"] > 0 and spent["tokens_per_second"] > 0
    ask(decoder, requests(decoder), tmp_path / "store", 2)
    assert language_models.spent() == spent
    monkeypatch.chdir(tmp_path)
    with cost_of(Path("texts.jsonl")):
        pass
    assert read_json(".costs/texts.json")["language_model"] == spent


def test_messages_go_through_the_models_own_template(decoder, tmp_path):
    tokenizer, model = load_decoder(decoder)
    tokenizer.chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}assistant:"
    tokenizer.save_pretrained(tmp_path / "chat")
    model.save_pretrained(tmp_path / "chat")
    plain, *_ = requests(tmp_path / "chat", ["user: say joy assistant:"])
    chat = {key: value for key, value in plain.items() if key != "prompt"}
    chat["messages"] = [{"role": "user", "content": "say joy"}]
    first, second = (ask(tmp_path / "chat", [body], tmp_path / "store")[0]["content"] for body in (plain, chat))
    if tokenizer.bos_token_id == tokenizer.eos_token_id:  # no mark in front, which a template writes itself
        assert first == second
    without = {"model": local.name_of(decoder)} | {key: value for key, value in chat.items() if key != "model"}
    with pytest.raises(InputError, match="has no chat template, so it takes no messages"):
        ask(decoder, [without], tmp_path / "store")


def test_what_cannot_be_answered_is_one_line(decoder, folders, tmp_path):
    with pytest.raises(
        InputError, match=r"a prompt of \d+ tokens and an answer of 127 exceed its 128 positions; lower few_shot"
    ):
        ask(decoder, requests(decoder, max_tokens=127), tmp_path)
    with pytest.raises(InputError, match=r"is sha256:\w+, but sha256:0 was to be asked; train the generator again"):
        ask(decoder, [requests(decoder)[0] | {"model": "sha256:0"}], tmp_path)
    with pytest.raises(InputError, match="an empty prompt"):
        ask(folders["decoder"], requests(folders["decoder"], [""]), tmp_path)


# ---------------------------------------------------------------- llm

REQUESTS = [(0, 1), (0, 1), (2,), (0, 1), (1, 3), (0, 1, 2, 3), (0, 1)]


def params(**changes) -> Llm:
    values = dict.fromkeys(Llm.model_fields) | {"backend": "local", "temperature": 1.0, "top_p": 0.95, "top_k": 50}
    values |= {
        "max_tokens": 30,
        "few_shot_words": 40,
        "per_prompt": 2,
        "concurrency": 3,
        "timeout": 5.0,
        "max_retries": 3,
    }
    values |= {"retry_seconds": 0.01, "store": "answers", "price_prompt": 0.0, "price_completion": 0.0}
    return Llm(**(values | changes))


def drafts_of(tmp_path, decoder, seed=3, **changes):
    llm.train(examples(), TASK, params(**changes), {"decoder": decoder}, tmp_path / "m", 13)
    return texts(llm.generate(tmp_path / "m", REQUESTS, TASK, synthesis(), {"decoder": decoder}, seed), REQUESTS)


def asked_of(tmp_path):
    return [read_json(path)["request"] for path in sorted((tmp_path / "answers").rglob("*.json"))]


def test_llm_writes_with_the_decoder_and_the_account_names_it(decoder, tmp_path):
    first = drafts_of(tmp_path, decoder)
    assert any(first)
    assert drafts_of(tmp_path, decoder) == first != drafts_of(tmp_path, decoder, seed=4)
    account = llm.account(tmp_path / "m", REQUESTS, TASK, 3)
    assert account["model"] == local.name_of(decoder)
    assert sum(account["answers"].values()) == len(REQUESTS) and account["answers"]["parsed"] == sum(map(bool, first))
    assert account["tokens"]["completion"] > 0


def test_the_prompt_is_a_list_under_the_line_of_the_composition_behind_related_ones(decoder, tmp_path):
    drafts_of(tmp_path, decoder)
    by_text = {e.text: e.labels for e in examples()}
    prompts = {request["prompt"] for request in asked_of(tmp_path)}
    assert len(prompts) == 5  # four requests of (joy, fear) share two
    for prompt in prompts:
        *before, last = prompt.split("\n\n")
        head, *items, mark = last.split("\n")
        label_set = next(labels for labels in REQUESTS if TASK.source(labels) == head)
        assert mark == "-" and all(by_text[item[2:]] == label_set for item in items)
        words = [len(item.split()) - 1 for item in items]
        for section in before:
            other, *theirs = section.split("\n")
            (labels,) = {by_text[item[2:]] for item in theirs}
            assert TASK.source(labels) == other and set(labels) & set(label_set)
            words += [len(item.split()) - 1 for item in theirs]
        assert before and 0 < sum(words) <= 40


def test_an_answer_that_is_cut_or_empty_is_counted_and_dropped():
    answer = {"content": "so be it", "finish_reason": "stop", "refusal": None}
    assert llm.listed(answer) == ("parsed", "so be it")
    assert llm.listed(answer | {"finish_reason": "length"}) == ("cut", "")
    assert llm.listed(answer | {"content": " "}) == ("unparsable", "")


def test_a_model_that_was_exchanged_is_one_line(decoder, tmp_path, folders, llama):
    other = folders["decoder"] if decoder == llama else llama
    llm.train(examples(), TASK, params(), {"decoder": decoder}, tmp_path / "m", 13)
    with pytest.raises(InputError, match="was to be asked; train the generator again"):
        list(llm.generate(tmp_path / "m", REQUESTS, TASK, synthesis(), {"decoder": other}, 3))


def test_what_is_left_open_is_as_for_an_endpoint():
    open_ = params(backend=None, max_tokens=None, few_shot_words=None, per_prompt=None, concurrency=None)
    assert (open_.backend, open_.max_tokens, open_.few_shot_words) == ("endpoint", 400, 1500)
    assert (open_.per_prompt, open_.concurrency) == (1, 8)
