"""Masked joint generation: what is hidden, what is written, what is dropped with its reason (§2.2)."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from toys import LABELS, SETTINGS, TASK, backbones, examples, pretrain, synthesis

from compaug import selection
from compaug.core.files import InputError, file_digest, read_json
from compaug.core.records import Example, Labels
from compaug.data.multi_label import Task
from compaug.generators.joint import lora, masked_joint, masked_joint_lora, masking
from compaug.generators.joint.augmented_language import BAR, BEGIN, END, REASONS
from compaug.generators.parameters import MaskedJoint, MaskedJointLora
from compaug.models.loading import IGNORED, load_decoder

KNOWN = [e for e in examples() if e.labels and len(e.labels) < 4]
EVIDENCE = [["sun", "laughed"], ["dark"], ["cup"], ["count"]]
MASKS = ["<0>", "<1>", "<2>"]
OWN = {"mode": "words", "masked": 0.3, "spans": "none", "relabel": "drop", "lora": 32}
BODIES = {masked_joint: MaskedJoint, masked_joint_lora: MaskedJointLora}
every_body = pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__.rpartition(".")[2])
EPOCHS, RATES = {masked_joint: 200, masked_joint_lora: 200}, {masked_joint: SETTINGS["lr"], masked_joint_lora: 0.01}
uniforms = st.floats(0, 1, exclude_max=True)
tokens = st.lists(st.sampled_from(["a", "b", "c", BEGIN, BAR, END]), min_size=1, max_size=40)


def settings(body=masked_joint, **changes):
    values = SETTINGS | OWN | changes
    return BODIES[body](**{name: value for name, value in values.items() if name in BODIES[body].model_fields})


def drawn(data):
    return lambda n: data.draw(st.lists(uniforms, min_size=n, max_size=n))


# ---------------------------------------------------------------- what is hidden


@given(tokens, st.data())
def test_words_are_hidden_one_by_one_and_marks_never(sequence, data):
    hidden = masking.words(sequence, 1.0, drawn(data))
    assert hidden == [token not in masking.MARKS for token in sequence]
    assert not any(masking.words(sequence, 0.0, drawn(data)))
    shown = list(masking.masked(sequence, hidden, MASKS, "words"))
    assert len(shown) == len(sequence) and [t for t in shown if t in masking.MARKS] == [
        t for t in sequence if t in masking.MARKS
    ]


@given(tokens, st.data())
def test_one_span_is_one_run_of_a_tenth_to_a_half(sequence, data):
    hidden = masking.span(sequence, 0.3, drawn(data))
    assert max(1, round(0.1 * len(sequence))) <= sum(hidden) <= max(1, round(0.5 * len(sequence)))
    assert _runs(hidden) == 1 and sum(t in MASKS for t in masking.masked(sequence, hidden, MASKS, "span")) == 1


@given(tokens, st.data())
def test_several_spans_are_two_to_four_runs_apart_where_there_is_room(sequence, data):
    hidden = masking.multi_spans(sequence, 0.3, drawn(data))
    assert len(hidden) == len(sequence)
    assert max(1, round(0.3 * len(sequence))) <= sum(hidden) <= max(1, round(0.5 * len(sequence)))
    assert min(2, sum(hidden)) <= _runs(hidden) <= 4 or len(sequence) < 4
    assert sum(t in MASKS for t in masking.masked(sequence, hidden, MASKS, "multi_spans")) == _runs(hidden)


def _runs(hidden):
    return sum(now and not before for before, now in zip([False, *hidden], hidden, strict=False))


@pytest.mark.parametrize("mode", masking.MODES)
@given(data=st.data())
def test_the_marker_stays_and_words_of_other_labels_are_hidden(mode, data):
    sentence = "(( joy ; fear )) the sun is out and it was so dark today"
    read = masked_joint.source(sentence, mode, 0.3, MASKS, drawn(data), lambda word: word == "dark")
    assert read.startswith("(( joy ; fear )) ") and "dark" not in read.split() and set(read.split()) & set(MASKS)
    assert masked_joint.source(sentence, "labels", 0.3, MASKS, drawn(data)) == "(( joy ; fear ))"


def test_masks_are_taken_in_turn():
    assert list(masking.masked("abcd", [True] * 4, MASKS, "words")) == ["<0>", "<1>", "<2>", "<0>"]
    assert list(masking.masked("abcd", [True, True, False, True], MASKS, "span")) == ["<0>", "c", "<1>"]


def test_evidence_is_marked_where_the_text_has_the_label():
    example = Example("a", "The sun, so dark !", (0, 2))
    sentence = masked_joint.sentence_of(example, TASK, EVIDENCE, "mi")
    assert sentence.names == ("joy", "anger") and sentence.spans == ((1, 2, "joy"),)
    written = masked_joint.language_of(TASK).write(sentence)
    assert written == "(( joy ; anger )) The [ sun, | joy ] so dark !"


# ---------------------------------------------------------------- templates


def test_a_template_has_the_nearest_other_composition():
    rows = [
        Example("a", "the sun", (0,)),
        Example("b", "so dark a cup", (1, 2)),
        Example("c", "the sun so dark", (0, 1)),
    ]
    templates = masked_joint.Templates(rows, TASK, EVIDENCE)
    language = masked_joint.language_of(TASK)
    ask = lambda label_sets, **more: templates.ask(label_sets, language, settings(masked=0.0001, **more), MASKS, 1)
    assert ask((0, 1))[1] == {"template": "a"}  # half in common; (1, 2) has a third, and (0, 1) itself is left out
    assert ask((1,))[0] == "(( fear )) so dark a <0>"  # what speaks for anger is hidden
    assert ask((0, 1, 2, 3), spans="mi")[0] in (
        "(( joy ; fear ; anger ; trust )) the [ sun | joy ] so [ dark | fear ]",
        "(( joy ; fear ; anger ; trust )) so [ dark | fear ] a [ cup | anger ]",
    )
    assert ask((0, 1), mode="labels") == ("(( joy ; fear ))", None)
    alone = masked_joint.Templates(rows[:1], TASK, EVIDENCE)
    assert alone.ask((0,), language, settings(), MASKS, 1)[1] == {"template": "a"}


# ---------------------------------------------------------------- what was written


@pytest.mark.parametrize(
    ("text", "relabel", "expected"),
    [
        ("(( joy )) the [ sun | joy ] is out", "drop", ("the sun is out", (0,), None)),
        ("(( fear )) it was so dark", "drop", ("", (0,), "other labels")),
        ("(( fear )) it was so dark", "generated", ("it was so dark", (1,), None)),
        ("(( none )) nothing at all", "generated", ("nothing at all", (), None)),
        ("the sun is out", "generated", ("", (0,), "no marker")),
        ("(( joy )) the [ sun is out", "drop", ("", (0,), "unbalanced brackets")),
    ],
)
def test_what_was_written_is_kept_relabelled_or_dropped_with_its_reason(text, relabel, expected):
    draft = masked_joint.drafted(0, (0,), text, masked_joint.language_of(TASK), TASK, relabel, None)
    assert (draft.text, draft.labels, draft.fate) == expected


def test_the_side_car_counts_every_reason():
    language = masked_joint.language_of(TASK)
    texts = ["(( joy )) the sun", "so dark", "so dark", "(( joy )) the [ sun", "(( fear )) x", ""]
    drafts = [masked_joint.drafted(n, (0,), text, language, TASK, "drop", None) for n, text in enumerate(texts)]
    fates = [(draft.request, fate) for draft, fate in selection.judge(drafts, set(), False)]
    counts = selection.counts([(0,)] * 6, fates, LABELS)
    assert counts["kept"] == counts["produced"] == 1
    dropped = {"blank": 0, "duplicate": 0, "copied": 0, "no marker": 3, "other labels": 1, "unbalanced brackets": 1}
    assert counts["dropped"] == dropped and sum(dropped.values()) + counts["kept"] == counts["requested"]


# ---------------------------------------------------------------- the model


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """With a decoder that has seen the marks: LoRA cannot teach it tokens."""
    paths = backbones(tmp_path_factory.mktemp("backbones"))
    tokenizer, model = load_decoder(paths["decoder"])
    _, _, sentences = masked_joint.learned_from(KNOWN, TASK, settings())
    pretrain(model.train(), tokenizer, [Example(str(n), text, ()) for n, text in enumerate(sentences)], False)
    model.save_pretrained(paths["decoder"])
    return paths


@pytest.fixture(scope="module")
def model_of(folders, tmp_path_factory):
    """The folder of a generator trained on 28 rows in a mode, made once; two epochs, unless it has to know them."""
    models = {}

    def train(mode, body=masked_joint, epochs=2):
        if (key := (mode, body, epochs)) not in models:
            models[key] = tmp_path_factory.mktemp(mode) / "generator"
            params = settings(body, mode=mode, epochs=epochs, max_length=60, lr=RATES[body])
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(models[key].parent)
                body.train(KNOWN, TASK, params, folders, models[key], 13)
        return models[key]

    return train


@pytest.mark.slow
@every_body
@pytest.mark.parametrize("mode", ["labels", "words"])
def test_it_overfits_and_four_fifths_of_what_it_writes_is_valid(mode, body, model_of, folders):
    model = model_of(mode, body, EPOCHS[body])
    history = read_json(model / "history.json")["epochs"]
    assert history[-1]["train"]["loss"] < (0.15 if body is masked_joint else 0.25) * history[0]["train"]["loss"]
    requests = [e.labels for e in KNOWN] * 2
    drafts = list(body.generate(model, requests, TASK, synthesis(max_length=60), folders, 3))
    assert [draft.request for draft in drafts] == list(range(len(requests)))
    fates = Counter(draft.fate for draft in drafts)
    # so small a decoder takes the template's labels too
    valid = 0.8 if body is masked_joint or mode == "labels" else 0.4
    assert fates[None] >= valid * len(requests) and set(fates) <= {None, "other labels", *REASONS}
    assert all(bool(draft.text) == (draft.fate is None) and draft.labels == requests[draft.request] for draft in drafts)
    if mode == "labels":
        texts = {e.text for e in KNOWN}
        assert sum(draft.text in texts for draft in drafts) >= 0.8 * len(requests)


@every_body
def test_a_draft_depends_on_its_request_and_the_seed_and_not_on_its_batch(body, model_of, folders):
    requests = [e.labels for e in KNOWN]
    sampled = {"top_k": 50, "temperature": 2.0, "max_length": 60}
    write = lambda seed, size: list(
        body.generate(model_of("words", body), requests, TASK, synthesis(batch_size=size, **sampled), folders, seed)
    )
    assert write(3, 1) == write(3, 30) != write(4, 30)
    assert list(body.generate(model_of("words", body), [], TASK, synthesis(), folders, 1)) == []


@every_body
def test_training_twice_writes_the_same_bytes(body, folders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        body.train(KNOWN, TASK, settings(body, epochs=2, spans="mi"), folders, tmp_path / name, seed)
    digests = [file_digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    other = settings(body, epochs=2, spans="mi", relabel="generated")  # concerns what was written alone
    body.train(KNOWN, TASK, other, folders, tmp_path / "d", 1)
    facts = tmp_path / "d" / "generator.json"
    facts.write_text(facts.read_text().replace('"relabel": "generated"', '"relabel": "drop"'))
    assert file_digest(tmp_path / "d") == digests[0]


@every_body
def test_a_model_of_other_labels_is_refused(body, model_of, folders):
    other = Task(Labels(("a", "b"), ("a", "b")))
    with pytest.raises(InputError, match="trained for other labels"):
        next(body.generate(model_of("labels", body), [(0,)], other, synthesis(), folders, 1))


# ---------------------------------------------------------------- a causal decoder


def test_half_of_the_room_is_for_what_is_shown_and_only_what_is_written_counts(folders):
    tokenizer, _ = load_decoder(folders["decoder"])
    rows = lora.target_rows("ab", ["(( joy )) the sun", "(( fear )) " + "so dark " * 30], tokenizer, 40, "x")
    batch = lora.collate(rows, tokenizer, lambda sentence: sentence, 40)
    assert batch["input_ids"].shape[1] <= 40
    for row, ids, labels in zip(rows, batch["input_ids"].tolist(), batch["labels"].tolist(), strict=True):
        counted = [label for label in labels if label != IGNORED]
        assert counted and counted == row["target"][: len(counted)]  # also behind a text that is shown in part
        head = ids[: next(at for at, label in enumerate(labels) if label != IGNORED)]
        assert len(head) <= 20 and tokenizer.decode(head).endswith(lora.BEHIND)


def test_no_room_and_another_backbone_are_refused(model_of, folders, tmp_path):
    model, requests = model_of("labels", masked_joint_lora), [(0,)]
    with pytest.raises(InputError, match=r"masked_joint_lora.max_length: 500 tokens, .* positions of the decoder"):
        masked_joint_lora.train(KNOWN, TASK, settings(masked_joint_lora, max_length=500), folders, tmp_path / "m", 1)
    with pytest.raises(InputError, match=r"synthesis.max_length: 500 tokens, .* positions of the decoder"):
        next(masked_joint_lora.generate(model, requests, TASK, synthesis(max_length=500), folders, 1))
    save_file({"other": torch.zeros(1)}, model / masked_joint_lora.FACTORS)
    with pytest.raises(InputError, match="give the one that it was trained with"):
        next(masked_joint_lora.generate(model, requests, TASK, synthesis(), folders, 1))
