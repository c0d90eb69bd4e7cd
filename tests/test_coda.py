"""CoDa: from D_cg to prompts, from answers to texts; interrupted, replayed, cut, refused; and what its report says."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from toys import TASK, examples, synthesis, texts

from compaug.core.files import InputError, read_json
from compaug.core.records import Example
from compaug.data.multi_label import Task
from compaug.generators.coda import coda
from compaug.generators.coda.constraints import lengths, syntactic
from compaug.generators.coda.constraints.reading import FATES, read
from compaug.generators.coda.prompts import Built, Model, build
from compaug.generators.parameters import Coda
from compaug.generators.shared import keywords as lexical
from compaug.models.language_models import local
from compaug.models.loading import load_decoder

pytestmark = [pytest.mark.extra("coda"), pytest.mark.usefixtures("in_a_temporary_folder", "tagger", "offline")]

REQUESTS = [(0, 1)] * 4 + [(2,)] * 2 + [(1, 3)] * 3
BY_ID = {example.id: example for example in examples()}


def params(**changes) -> Coda:
    values = {
        "backend": "local",
        "constraints": "paper",
        "temperature": 1.0,
        "top_p": 0.95,
        "top_k": 50,
        "max_tokens": 20,
    }
    values |= {"anchors": 0, "n_aug": 2, "overgenerate": 1, "rank_by": "compliance", "concurrency": 3, "timeout": 5.0}
    values |= {
        "max_retries": 1,
        "retry_seconds": 0.01,
        "store": "answers",
        "price_prompt": 0.0,
        "price_completion": 0.0,
    }
    return Coda(**(values | changes))


@pytest.fixture
def endpoint(monkeypatch):
    """A client in place of the hub's.

    `endpoint.script(prompt, number)` is the answer, or a mapping of what differs from a plain one.
    """

    def create(**request):
        server.requests.append(request)
        answer = server.script(request["messages"][0]["content"], len(server.requests) - 1)
        facts = {"content": answer} if isinstance(answer, str) else answer
        message = SimpleNamespace(content=facts.get("content"), refusal=facts.get("refusal"))
        choice = SimpleNamespace(message=message, finish_reason=facts.get("finish_reason", "stop"))
        return SimpleNamespace(choices=[choice], usage=SimpleNamespace(prompt_tokens=20, completion_tokens=5))

    server = SimpleNamespace(requests=[], script=lambda prompt, number: f"answer number {number}")
    monkeypatch.setattr("huggingface_hub.InferenceClient", lambda **_: SimpleNamespace(chat_completion=create))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return server


def train(folders, rows=None, task=TASK, **changes) -> Path:
    coda.train(examples() if rows is None else rows, task, params(**changes), folders, Path("m"), 13)
    return Path("m")


AT_AN_ENDPOINT = {"backend": "endpoint", "model": "toy", "context": 2000, "naming": "phrase"}


def built(folders, requests=REQUESTS, seed=3, task=TASK, **changes) -> list[Built]:
    model = train(folders, **({"task": task} | AT_AN_ENDPOINT | changes))
    return build(Model(model, task), requests, seed)


def drafts(model, requests=REQUESTS, seed=3, backbones=None, task=TASK):
    return list(coda.generate(model, requests, task, synthesis(), backbones or {}, seed))


# ---------------------------------------------------------------- constraints of a fixed document (B1)


def test_keywords_length_and_pattern_are_those_of_the_source(folders):
    for request, prompt in zip(REQUESTS, built(folders), strict=True):
        sources = [BY_ID[source] for source in prompt.constraints.sources]
        assert prompt.constraints.labels == request
        for label, keywords in prompt.constraints.keywords.items():
            source = next(anchor for anchor in sources if label in anchor.labels)
            most = -(-lexical.n_keywords(source.text) // len(request))
            assert keywords and len(keywords) <= most and set(keywords) <= set(lexical.ngrams(source.text))
        mean = sum(lengths.n_words(source.text) for source in sources) / len(sources)
        spread = lengths.spread([example.text for example in examples() if example.labels])
        assert prompt.constraints.length == lengths.paper(mean, spread)
        assert list(prompt.constraints.tags) in [
            pattern for source in sources for pattern in syntactic.tags_of([source.text])[0]
        ]


def test_the_keywords_of_one_label_are_the_k_closest_to_the_document(folders):
    (prompt, *_) = built(folders, [(2,)])
    (source,) = (BY_ID[source] for source in prompt.constraints.sources)
    ngrams = lexical.ngrams(source.text)
    scores = dict(zip(ngrams, lexical.similarities([(ngrams, source.text)], folders["encoder"])[0], strict=True))
    assert prompt.constraints.keywords == lexical.chosen({2: scores}, {2: lexical.n_keywords(source.text)})


def test_exemplars_share_the_labels_exclude_the_document_and_are_three(folders):
    rows = [Example(f"r{at}", f"text number {at} it is", (at % 2,)) for at in range(12)]
    task = Task(replace(TASK.labels, names=("joy", "fear"), phrases=("joy", "fear")), TASK.template, TASK.separator)
    orders = set()
    for prompt in built(folders, [(0,)] * 8 + [(1,)] * 8, task=task, rows=rows):
        shown = [int(exemplar.id[1:]) for exemplar in prompt.constraints.shown]
        assert len(set(shown)) == 3 and {at % 2 for at in shown} == set(prompt.constraints.labels)
        assert not {f"r{at}" for at in shown} & set(prompt.constraints.sources)
        orders.add(tuple(shown))
    assert len(orders) > 4  # drawn anew for every source


def test_a_label_with_one_document_has_no_exemplar_and_a_document_of_one_word_one_keyword(folders):
    rows = [Example("a", "sun", (0,)), Example("b", "rain falls here", (1,)), Example("c", "rain again now", (1,))]
    task = Task(replace(TASK.labels, names=("joy", "fear"), phrases=("joy", "fear")), TASK.template, TASK.separator)
    first, second = built(folders, [(0,), (1,)], task=task, rows=rows)
    assert first.constraints.shown == () and first.constraints.keywords == {0: ["sun"]}
    assert '2. It expresses this label, and no other label: "joy".\n3. ' in first.prompt
    assert len(second.constraints.shown) == 1


def test_exemplars_of_a_composition_are_its_support_texts_filled_up_with_single_labels(folders):
    for prompt in built(folders, [(0, 1)] * 8):
        support = [exemplar for exemplar in prompt.constraints.shown if exemplar.keeps.labels == (0, 1)]
        assert len(support) == 1 and BY_ID[support[0].id].source == "support"  # two support texts, one is the source
        assert {exemplar.keeps.labels for exemplar in prompt.constraints.shown} == {(0, 1), (0,), (1,)}


# ---------------------------------------------------------------- requests of several labels (docs/spec/coda.md, 8)


def test_anchors_are_support_texts_of_the_composition_in_turn_and_every_source_gets_n_aug_texts(folders):
    support = {example.id for example in examples() if example.labels == (0, 1)}
    sources = Counter(prompt.constraints.sources[0] for prompt in built(folders, [(0, 1)] * 10, n_aug=5))
    assert sources == dict.fromkeys(support, 5)
    again = built(folders, [(0, 1)] * 10, n_aug=5)
    assert len({prompt.prompt for prompt in again}) == 2  # a prompt for each source
    assert Counter(prompt.constraints.sources[0] for prompt in built(folders, [(0, 1)] * 20, n_aug=5)) == dict.fromkeys(
        support, 10
    )


def test_without_a_support_text_every_label_has_an_anchor_with_most_of_the_wanted_labels_and_fewest_others(folders):
    rows = [example for example in examples() if not {1, 3} <= set(example.labels)]
    for prompt in built(folders, [(1, 3)] * 6, rows=rows):
        anchors = [BY_ID[source].labels for source in prompt.constraints.sources]
        assert sorted(anchors) == [(1,), (3,)]
    for prompt in built(folders, [(1, 3)] * 6):  # D_train has it
        assert {BY_ID[source].labels for source in prompt.constraints.sources} == {(1, 3)}


def test_a_request_names_all_its_labels_and_has_keywords_for_each(folders):
    for request, prompt in zip(REQUESTS, built(folders), strict=True):
        names = [TASK.labels.phrases[label] for label in request]
        assert set(prompt.constraints.keywords) == set(request) and all(prompt.constraints.keywords.values())
        listed = ", ".join(f'"{name}"' for name in names)
        assert (
            f"and no other label: {listed}." in prompt.prompt and f"A message with {', '.join(names)}." in prompt.prompt
        )
        if len(request) > 1:
            assert all(f'for "{name}" "' in prompt.prompt for name in names)


def test_the_keywords_of_a_label_are_words_that_speak_for_it(folders):
    """A text of the toy language is one phrase for each label."""
    from toys import PHRASES

    for prompt in built(folders, [(0, 1), (2, 3)] * 4):
        for label, keywords in prompt.constraints.keywords.items():
            words = {word for phrase in PHRASES[label] for word in phrase.split()} | {"and"}
            assert all(set(keyword.split()) <= words for keyword in keywords), (label, keywords)


def test_concepts_to_avoid_belong_to_labels_that_are_not_wanted(folders):
    model = Model(train(folders, **AT_AN_ENDPOINT), TASK)
    of = [{concept.name for concept in group} for group in model._concepts]
    for request in ((0, 1), (2,)):
        avoided = {concept.name for concept in model.concepts(request)}
        assert (
            avoided
            and len(avoided) <= 3
            and avoided <= set().union(*(of[label] for label in range(4) if label not in request))
        )


SWITCHES = {
    "lexical": (False, "It contains all of these keywords"),
    "label": (False, "It expresses"),
    "syntactic": (False, "One of its sentences has"),
    "length": ("none", "It has "),
    "concepts": (False, "It does not express"),
}


def _lines(prompt: str) -> list[str]:
    """The numbered conditions, without their numbers, exemplars with the line that they belong to."""
    return prompt.replace("\n   ", " ").splitlines()[2:-1]


@pytest.mark.parametrize("name", SWITCHES)
def test_each_switch_removes_its_numbered_lines_and_leaves_the_others_as_they_are(folders, name):
    """Random choices of one constraint must not depend on whether another is there; exemplars are drawn last."""
    off, begins = SWITCHES[name]
    for whole, less in zip(built(folders), built(folders, **{name: off}), strict=True):
        every = [line.partition(". ")[2] for line in _lines(whole.prompt)]
        left = [line for line in _lines(less.prompt)]
        assert [int(line.partition(".")[0]) for line in left] == list(range(1, len(left) + 1))
        kept = [line for line in every if not line.startswith(begins)]
        assert len(kept) < len(every) and [line.partition(". ")[2] for line in left] == kept


def test_an_ablation_draws_the_same_exemplars_and_sentences(folders):
    rows = [replace(row, text=f"{row.text}. Then it was over! Was it so?") for row in examples()]
    rows += [replace(row, id=f"{row.id}-b", text=f"well {row.text}") for row in rows]
    whole = built(folders, rows=rows, concepts=False)
    less = built(folders, rows=rows, concepts=False, syntactic=False)
    assert [[exemplar.id for exemplar in prompt.constraints.shown] for prompt in whole] == [
        [exemplar.id for exemplar in prompt.constraints.shown] for prompt in less
    ]
    unlabelled = built(folders, rows=rows, concepts=False, label=False)
    assert [prompt.constraints.tags for prompt in whole] == [prompt.constraints.tags for prompt in unlabelled]


def test_with_every_switch_off_it_is_the_plain_prompt(folders):
    off = {name: value for name, (value, _) in SWITCHES.items()}
    for prompt in built(folders, **off):
        assert len(prompt.prompt.splitlines()) == 2 and prompt.constraints.record().keys() == {"sources"}


def test_the_presets_are_the_papers_five_constraints_and_what_the_released_code_does():
    paper, released = params(), params(constraints="released")
    assert (paper.lexical, paper.label, paper.syntactic, paper.length, paper.concepts) == (
        True,
        True,
        True,
        "paper",
        True,
    )
    assert (released.syntactic, released.concepts, released.length, released.longest) == (False, False, "reference", 1)
    assert (released.keywords_by, paper.keywords_by, paper.longest) == ("label", "document", 3)
    assert params(constraints="released", syntactic=True).syntactic  # a value of its own wins
    assert params().form == "list" and params().naming == "phrase"
    assert params(backend="endpoint").form == "instruction" and params(backend="endpoint").naming == "model"


def test_the_released_preset_ranks_single_words_by_the_labels_name(folders):
    (prompt, *_) = built(folders, [(2,)], constraints="released")
    (source,) = (BY_ID[source] for source in prompt.constraints.sources)
    ngrams = lexical.ngrams(source.text, 1)
    scores = dict(zip(ngrams, lexical.similarities([(ngrams, "anger")], folders["encoder"])[0], strict=True))
    assert prompt.constraints.keywords == lexical.chosen({2: scores}, {2: lexical.n_keywords(source.text)})
    assert (
        prompt.constraints.length == lengths.reference(lengths.n_words(source.text), 0) and not prompt.constraints.tags
    )


# ---------------------------------------------------------------- answers


ANSWERS = {
    "plain": ("so be it", "parsed", "so be it"),
    "two lines": ("so be it\n and then", "parsed", "so be it and then"),
    "quoted": ('"so be it"', "parsed", "so be it"),
    "quotes inside": ('"so" he said, "be it"', "parsed", '"so" he said, "be it"'),
    "a remark": ('Sure, here is a text:\n\n"so be it: yes"', "parsed", "so be it: yes"),
    "another remark": ("Here's your message: so be it", "parsed", "so be it"),
    "a role": ("Assistant: so be it", "parsed", "so be it"),
    "a colon that is the text's": (
        "Here is the thing: I love it: all of it",
        "parsed",
        "Here is the thing: I love it: all of it",
    ),
    "a clause before a colon": ("Absolutely loved it: all of it", "parsed", "Absolutely loved it: all of it"),
    "a list": ("1. so be it\n\n2. or not", "parsed", "so be it"),
    "several candidates": ("so be it\n\nor not", "parsed", "so be it"),
    "an emotion": ("I'm sorry for your loss", "parsed", "I'm sorry for your loss"),
    "no ascii": ("Ça alors ☀", "parsed", "Ça alors ☀"),
    "empty": ("", "empty", ""),
    "nothing": ({"content": None}, "empty", ""),
    "quotes alone": ('""', "empty", ""),
    "a refusal": ("As an AI, I do not have feelings.", "refused", ""),
    "a refusal in words": ("I'm sorry, but I can't write that.", "refused", ""),
    "another refusal": ("I cannot assist with that request", "refused", ""),
    "a refusal of the endpoint": ({"content": None, "refusal": "no"}, "refused", ""),
    "filtered": ({"content": "so", "finish_reason": "content_filter"}, "refused", ""),
    "cut": ({"content": "so be", "finish_reason": "length"}, "cut", ""),
    "cut after the first": ({"content": "so be it\n\nor", "finish_reason": "length"}, "parsed", "so be it"),
    "a copy": ("We laughed  all day", "copied", ""),
}


def test_what_goes_on_with_a_list_is_the_text_as_it_stands():
    answer = {"content": '"Text: so be it"', "refusal": None, "finish_reason": "stop"}
    assert read(answer, "list", set()) == ("parsed", '"Text: so be it"')
    assert read(answer, "instruction", set()) == ("parsed", "Text: so be it")
    assert read(answer | {"finish_reason": "length"}, "list", set()) == ("cut", "")


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_has_one_fate_and_is_counted(folders, endpoint, name):
    answer, fate, text = ANSWERS[name]
    endpoint.script = lambda prompt, number: answer if number == 0 else f"other {number}"
    model = train(folders, **AT_AN_ENDPOINT, concurrency=1, syntactic=False)
    synthetic = texts(drafts(model), REQUESTS)
    assert synthetic[0] == text and all(synthetic[1:])
    account = coda.account(model, REQUESTS, TASK, 3)
    assert account["answers"] == dict.fromkeys(FATES, 0) | {"parsed": 8} | {fate: 9 if fate == "parsed" else 1}
    assert account["n_failed"] == (fate != "parsed") and account["tokens"] == {"prompt": 180, "completion": 45}


def test_a_draft_says_what_it_was_asked_and_what_it_kept(folders, endpoint):
    endpoint.script = lambda prompt, number: "the sun is out and my hands shake"
    (draft,) = drafts(train(folders, **AT_AN_ENDPOINT), [(0, 1)])
    made_of = draft.made_of
    assert set(made_of) == {"sources", "keywords", "exemplars", "tags", "length", "concepts", "compliance"}
    assert set(made_of["compliance"]) == {"coverage", "tags", "length", "violations", "score"}
    assert set(made_of["keywords"]) == {"0", "1"} and all(
        part in BY_ID for part in made_of["sources"] + made_of["exemplars"]
    )
    # ids, no texts
    assert not any(example.text in str(made_of) for example in examples() if len(example.text.split()) > 4)


def test_of_several_answers_the_one_that_keeps_most_is_taken_and_the_report_says_what_that_gains(folders, endpoint):
    def script(prompt, number):
        keywords = prompt.partition("keywords: ")[2].partition(".\n2.")[0]
        words = [part for at, part in enumerate(keywords.split('"')) if at % 2 and part not in TASK.labels.names]
        return ["no", f"well {' '.join(words)} so", "we laughed all day"][number % 3]

    endpoint.script = script
    settings = AT_AN_ENDPOINT | {"overgenerate": 3, "concurrency": 1, "syntactic": False}
    model = train(folders, **settings)
    ranked = texts(drafts(model), REQUESTS)
    assert all(text.startswith("well ") for text in ranked)  # never the copy, which would keep more
    account = coda.account(model, REQUESTS, TASK, 3)
    assert account["answers"] == {"parsed": 18, "copied": 9, "empty": 0, "refused": 0, "cut": 0}
    assert account["compliance"]["kept"]["coverage"] == 1 and account["compliance"]["first"]["coverage"] == 0
    assert account["compliance"]["kept"]["n"] == account["compliance"]["first"]["n"] == 9
    n_requests = len(endpoint.requests)
    model = train(folders, **settings, rank_by="none")
    assert texts(drafts(model), REQUESTS) == ["no"] * 9 and len(endpoint.requests) == n_requests  # the same answers
    assert coda.account(model, REQUESTS, TASK, 3)["compliance"]["kept"] == account["compliance"]["first"]


def test_the_model_names_the_concepts_once_and_a_second_training_asks_nothing(folders, endpoint):
    endpoint.script = lambda prompt, number: f"#concept {chr(97 + number)}#" if "concept" in prompt else "text"
    settings = {name: value for name, value in AT_AN_ENDPOINT.items() if name != "naming"} | {"concurrency": 1}
    model = train(folders, **settings)
    config = read_json(model / "config.json")
    names = [concept["name"] for group in config["concepts"] for concept in group]
    assert len(set(names)) == len(names) == 12 and all(name.startswith("concept ") for name in names)
    assert all(concept["phrases"] for group in config["concepts"] for concept in group)
    assert {request["temperature"] for request in endpoint.requests} == {0.0}
    n_requests = len(endpoint.requests)
    train(folders, **settings)
    assert len(endpoint.requests) == n_requests


# ---------------------------------------------------------------- a decoder that lies here


def copies(folders) -> dict[str, Path]:
    return {role: shutil.copytree(folders[role], role) for role in ("encoder", "decoder")}


def test_a_replay_makes_the_same_bytes_without_any_model(folders):
    backbones = copies(folders)
    model = train(backbones)
    synthetic = drafts(model, backbones=backbones)
    account = coda.account(model, REQUESTS, TASK, 3)
    for folder in backbones.values():
        shutil.rmtree(folder)
    assert drafts(model, backbones=backbones) == synthetic and synthetic
    assert coda.account(model, REQUESTS, TASK, 3) == account
    assert account["model"] == local.name_of(folders["decoder"]) and account["form"] == "list"


def test_the_same_seed_has_the_same_folder_and_texts_and_another_seed_others(folders):
    first, copy = train(folders), Path("copy")
    shutil.copytree(first, copy)
    synthetic = drafts(first, backbones=folders)
    train(folders)
    assert {path.name: path.read_bytes() for path in first.rglob("*") if path.is_file()} == {
        path.name: path.read_bytes() for path in copy.rglob("*") if path.is_file()
    }
    assert drafts(first, backbones=folders) == synthetic != drafts(first, seed=4, backbones=folders)


def test_an_interrupted_run_asks_nothing_twice(folders, endpoint):
    model = train(folders, **AT_AN_ENDPOINT, concurrency=1)

    def script(prompt, number):
        if number == 5:
            raise KeyboardInterrupt
        return f"text {number}"

    endpoint.script = script
    with pytest.raises(KeyboardInterrupt):
        drafts(model)
    synthetic = drafts(model)
    # and the one that was interrupted
    assert len(endpoint.requests) == len(REQUESTS) + 1 and len(synthetic) == len(REQUESTS)


def test_a_prompt_that_exceeds_the_context_drops_exemplars_first_and_says_so(folders, capsys):
    def run(context):
        model = train(folders, context=context, concepts=False)
        opened = Model(model, TASK)
        shortened = build(opened, REQUESTS, 3)
        drafts(model, backbones=folders)
        return shortened, coda.account(model, REQUESTS, TASK, 3)["prompts"], capsys.readouterr().err

    tokenizer, _ = load_decoder(folders["decoder"])
    whole = built(folders, concepts=False, context=2000)
    for context in (128, 110, 90):  # the decoder has 128 positions
        shortened, prompts, note = run(context)
        dropped = {"exemplars": 0, "tags": 0}
        for prompt, (short, full) in {
            short.prompt: (short, full) for short, full in zip(shortened, whole, strict=True)
        }.items():
            assert len(tokenizer(prompt)["input_ids"]) + 20 <= context
            assert [exemplar.id for exemplar in short.constraints.shown] == [
                exemplar.id for exemplar in full.constraints.shown
            ][: len(short.constraints.shown)]
            assert short.constraints.tags == full.constraints.tags or not short.constraints.shown  # exemplars first
            dropped["exemplars"] += len(full.constraints.shown) - len(short.constraints.shown)
            dropped["tags"] += short.constraints.tags != full.constraints.tags
        assert prompts == {"different": 5, "dropped": dropped} and dropped["exemplars"]
        assert f"{dropped['exemplars']} exemplars and {dropped['tags']} patterns were left out" in note
    assert dropped["tags"]  # the smallest context
    with pytest.raises(
        InputError, match="the prompt for joy\\+fear exceeds 10 tokens even without exemplars and pattern"
    ):
        run(30)


def test_messages_go_to_a_decoder_that_has_a_chat_template_and_to_no_other(folders, tmp_path):
    tokenizer, model = load_decoder(folders["decoder"])
    tokenizer.chat_template = "{% for m in messages %}{{ m.content[-60:] }} {% endfor %}:"
    tokenizer.save_pretrained("chat")
    model.save_pretrained("chat")
    few = {
        "form": "instruction",
        "naming": "phrase",
        "label": False,
        "concepts": False,
        "lexical": False,
        "syntactic": False,
    }
    plain = train(folders, **few)
    with pytest.raises(
        InputError, match=r"generators.coda.form: instruction, but the decoder has no chat template; set form: list"
    ):
        drafts(plain, backbones=folders)
    backbones = {"encoder": folders["encoder"], "decoder": Path("chat")}
    chat = train(backbones, **few)
    drafts(chat, backbones=backbones)
    account = coda.account(chat, REQUESTS, TASK, 3)
    assert sum(account["answers"].values()) == len(REQUESTS) and account["form"] == "instruction"


# ---------------------------------------------------------------- what is refused


def test_what_cannot_be_done_is_one_line(folders):
    with pytest.raises(InputError, match="no text has a label"):
        train(folders, [Example("a", "nothing", ())])
    rows = [example for example in examples() if 3 not in example.labels]
    with pytest.raises(InputError, match="no text of D_cg has the label trust, so no constraints can be taken"):
        built(folders, [(0, 3)], rows=rows)
    assert coda.feasible(Path("m"), [(0, 3), (0, 1), (3,)], TASK) == [False, True, False]
    with pytest.raises(InputError, match=r"generators.coda.model is null and OPENAI_MODEL is not set"):
        train(folders, backend="endpoint")
    with pytest.raises(ValueError, match="an endpoint takes instructions"):
        params(backend="endpoint", form="list")
    with pytest.raises(ValueError, match="leaves no room for a prompt"):
        params(context=20)


def test_anchors_of_a_composition_are_so_many_and_all_support_texts(folders):
    rows = [Example(f"r{at}", f"text {at} it is", (0,), source="support" if at < 3 else "train") for at in range(12)]
    for most, kept in ((1, 4), (4, 7), (0, 12)):
        model = Model(train(folders, rows, anchors=most), TASK)
        assert len(model.texts) == kept and {f"r{at}" for at in range(3)} <= {example.id for example in model.texts}
        assert len(model.seen_texts) == 12
