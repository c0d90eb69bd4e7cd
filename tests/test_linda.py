"""LINDA, with an encoder-decoder and with a prefix between frozen models: risk, masking, drafts, labels (§3)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from parameters import written
from toys import LABELS, TASK, backbones, bart, examples, linda_params, llama, synthesis

from compaug import classifiers, generators
from compaug.classifiers import body
from compaug.core.files import InputError, file_digest, read_json, write_rows
from compaug.core.records import Example, Labels, read_jsonl, write_jsonl
from compaug.data.multi_label import Task
from compaug.generators.linda import bodies, interpolation, linda, linda_prefix, soft_labels
from compaug.generators.linda.interpolation import Interpolation, collate, mask_words, text_rows
from compaug.models.loading import IGNORED, load_decoder, pad
from compaug.stages import select, synthesize, train_classifier, train_filter
from compaug.training import checkpoint

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

ROWS = examples()
TEXTS = [e.text for e in ROWS]
NAMES = {"t5": "linda", "bart": "linda", "prefix": "linda_prefix", "reading": "linda_prefix"}
MODULES = {"linda": linda, "linda_prefix": linda_prefix}
every_body = pytest.mark.parametrize("kind", NAMES)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    paths = backbones(tmp_path_factory.mktemp("backbones"))
    with_bart = paths | {"seq2seq": bart(tmp_path_factory.mktemp("bart"), paths["seq2seq"])}
    repeats = paths | {"decoder": repeating(tmp_path_factory.mktemp("repeating") / "decoder", paths["decoder"])}
    return {"t5": paths, "prefix": paths, "reading": repeats, "bart": with_bart}


def repeating(folder, decoder):
    """The toys' decoder after it has read texts that stand there twice, as larger ones have in what they were trained
    on."""
    tokenizer, model = load_decoder(decoder)
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=0.003)
    before, behind = (tokenizer(words)["input_ids"] for words in (bodies.ASKED, bodies.AGAIN))
    rng = np.random.default_rng(0)
    for _ in range(200):
        texts = [tokenizer(f" {TEXTS[at]}")["input_ids"] for at in rng.integers(len(TEXTS), size=16)]
        rows = [[*before, *ids, *behind, *ids, 0] for ids in texts]
        ids, mask = pad(rows, 0)
        model(ids, labels=ids.masked_fill(mask == 0, IGNORED)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def params_of(kind, **changes):
    return linda_params(**({"reads": "decoder"} if kind == "reading" else {}) | changes)


def model_of(kind, folders, **changes) -> Interpolation:
    params = params_of(kind, **changes)
    torch.manual_seed(0)
    return Interpolation(MODULES[NAMES[kind]].body_of(folders[kind], params), params).eval()


def batch_of(model, texts):
    rows = text_rows([Example(str(at), text, ()) for at, text in enumerate(texts)], model.body, 40)
    return collate(rows, model.body.pad_id)


# ---------------------------------------------------------------- the risk


@every_body
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_is_the_alpha_weighted_sum_over_pairs_one_by_one(kind, reduction, folders):
    model = model_of(kind, folders, reduction=reduction)
    batch = batch_of(model, TEXTS[:4])
    with torch.no_grad():
        torch.manual_seed(5)
        loss = model(**batch)["loss"].item()
        torch.manual_seed(5)
        partner, alpha = torch.randperm(4).tolist(), torch.rand(4).tolist()
        total = 0.0
        for at, (other, weight) in enumerate(zip(partner, alpha, strict=True)):
            a, b = (model.body.sources([TEXTS[row]], 40) for row in (at, other))
            mixed, mask = model.between(a, b, [weight])
            for row, share in ((at, weight), (other, 1 - weight)):
                (target,) = model.body.targets([TEXTS[row]], 40)
                nll = model.body.nll(mixed, mask, torch.tensor([target]))[0]
                total += share * (nll.mean() if reduction == "mean" else nll.sum()).item() / 4
    assert loss == pytest.approx(total, rel=1e-4)


@every_body
def test_alpha_of_a_batch_is_one_number(kind, folders, monkeypatch):
    seen = []
    mix = interpolation.mix
    monkeypatch.setattr(interpolation, "mix", lambda *args: seen.append(args[-1].tolist()) or mix(*args))
    for alpha_for in ("pair", "batch"):
        model = model_of(kind, folders, alpha_for=alpha_for)
        model(**batch_of(model, TEXTS[:5]))
    assert len(set(seen[0])) == 5 and len(set(seen[1])) == 1


@every_body
@pytest.mark.parametrize("what", ["p_mask", "norm", "noise"])
def test_masking_norm_penalty_and_noise_act_in_training_alone_and_can_be_switched_off(kind, what, folders):
    off = {"p_mask": 0.0, "norm": 0.0, "noise": 0.0}

    def loss(training, **changes):
        model = model_of(kind, folders, **(off | changes)).train(training)
        torch.manual_seed(3)
        return model(**batch_of(model, TEXTS[:6]))["loss"].item()

    strong = {what: 0.9}
    assert loss(False) == loss(False, **strong) == pytest.approx(loss(True))
    assert abs(loss(True, **strong) - loss(True)) > 1e-3


@every_body
def test_the_norm_penalty_is_over_the_tokens_of_both_texts_and_not_over_padding(kind, folders):
    model = model_of(kind, folders, reduction="sum", norm=0.01)
    batch = batch_of(model, [TEXTS[0], TEXTS[-1]])
    single = [
        model.body.encode(*pad([ids], model.body.pad_id))[0] for ids, _ in model.body.sources([TEXTS[0], TEXTS[-1]], 40)
    ]
    norms = [(states**2).sum().item() for states in single]
    torch.manual_seed(0)
    losses = model(**batch)
    # (n_1 + n_2 + n_1 + n_2) / 2, whoever meets whom
    assert losses["norm"].item() == pytest.approx(sum(norms), rel=1e-4)
    assert losses["loss"] == losses["nll"]


def test_whole_words_are_masked_and_marks_never():
    ids = torch.arange(10, 18).repeat(4000, 1)
    words = torch.tensor([[-1, 0, 0, 1, 2, 2, 2, -1]]).repeat(4000, 1)
    torch.manual_seed(0)
    masked = mask_words(ids, words, 0.1, 3)
    hidden = masked == 3
    assert not hidden[:, [0, 7]].any() and torch.equal(masked[~hidden], ids[~hidden])
    assert torch.equal(hidden[:, 1], hidden[:, 2]) and torch.equal(hidden[:, 4], hidden[:, 6])
    assert hidden[:, [1, 3, 4]].float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert not torch.equal(hidden[:, 1], hidden[:, 3])
    assert torch.equal(mask_words(ids, words, 0.0, 3), ids)


@every_body
def test_a_word_of_several_tokens_has_one_number(kind, folders):
    reads = model_of(kind, folders).body
    ((ids, words),) = reads.sources(["the sun is out"], 40)
    assert len(ids) == len(words) and [word for word in words if word >= 0] == sorted(
        word for word in words if word >= 0
    )
    assert len(set(words) - {-1}) == 4
    assert (-1 in words) == (kind != "reading")  # its end; a decoder that reads has marks of its own around a text
    cut = reads.sources([" ".join(TEXTS)], 9)[0]
    assert len(cut[0]) == 9 and (cut[1][-1] == -1) == (kind != "reading")


# ---------------------------------------------------------------- decoding


@every_body
def test_what_is_decoded_step_by_step_is_what_the_loss_saw(kind, folders):
    """Also behind mixed states of other lengths in the batch."""
    model = model_of(kind, folders)
    of = model.body
    a, b = of.sources(TEXTS[3:6], 40), of.sources(TEXTS[20:23], 40)
    labels, _ = pad(of.targets(TEXTS[3:6], 40), IGNORED)
    with torch.no_grad():
        mixed, mask = model.between(a, b, [0.9, 0.5, 0.1])
        nll = of.nll(mixed, mask, labels)
        step, start = of.begin(mixed, mask)
        tokens = torch.tensor([start] * 3)
        for at in range(int((labels != IGNORED).sum(1).min())):
            scores = step(tokens, torch.ones_like(tokens), 1).log_softmax(-1)
            chosen = labels[:, at : at + 1]
            torch.testing.assert_close(-scores.gather(1, chosen)[:, 0], nll[:, at], rtol=1e-4, atol=1e-4)
            tokens = torch.cat([tokens, chosen], dim=1)


@every_body
def test_a_text_depends_neither_on_its_batch_nor_on_which_of_the_two_comes_first(kind, folders):
    model = model_of(kind, folders)
    a, b, alpha = TEXTS[:8], TEXTS[8:16], [0.1, 0.25, 0.5, 0.75, 1.0, 0.0, 0.6, 0.3]

    def written(*of, **changes):
        return interpolation.write_between(model, *of, synthesis(max_length=12, **changes), 1)

    texts = written(a, b, alpha)
    assert texts == written(a, b, alpha, batch_size=1)
    assert texts == written(b, a, [1 - value for value in alpha])
    assert texts != written(a, b, alpha, top_k=0, temperature=2.0) and written([], [], []) == []


@every_body
def test_it_learns_a_few_texts_by_heart_and_alpha_says_which_is_written(kind, folders, tmp_path):
    rows = [Example(f"r{at}", text, (at,)) for at, text in enumerate(TEXTS[:8:2])]
    params = params_of(kind, epochs=250, lr=0.01, p_mask=0.0, mid_dim=64, batch_size=4)
    module = generators.load(NAMES[kind])
    module.train(rows, TASK, params, folders[kind], tmp_path / "m", 13)
    history = read_json(tmp_path / "m" / "history.json")["epochs"]
    assert history[-1]["train"]["nll"] < 0.5 * history[0]["train"]["nll"]
    model = MODULES[NAMES[kind]].opened(tmp_path / "m", params, folders[kind])
    texts = [row.text for row in rows]
    for alpha, expected in ((1.0, texts), (0.0, texts[1:] + texts[:1])):
        texts_between = interpolation.write_between(model, texts, texts[1:] + texts[:1], [alpha] * 4, synthesis(), 1)
        assert texts_between == expected


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_what_a_decoder_reads_at_alpha_1_is_the_text_and_that_it_is_to_repeat_it(family, folders, tmp_path):
    folder = folders["reading"]["decoder"]
    tokenizer, decoder = load_decoder(llama(tmp_path / "llama", folder) if family == "llama" else folder)
    body = bodies.ReadingBody(tokenizer, decoder, 40)
    model = Interpolation(body, params_of("reading", sigma=0.011)).eval()
    texts, others = TEXTS[:3], TEXTS[5:8]
    before, behind = (tokenizer(words, add_special_tokens=False)["input_ids"] for words in (bodies.ASKED, bodies.AGAIN))
    mixed, mask = model.between(body.sources(texts, 40), body.sources(others, 40), [1.0] * 3)
    targets = body.targets(texts, 40)
    labels, _ = pad(targets, IGNORED)
    with torch.no_grad():
        nll = body.nll(mixed, mask, labels)
        for row, target in enumerate(targets):
            ids = torch.tensor([[*before, *target[:-1], *behind, *target]])
            losses = torch.nn.functional.cross_entropy(decoder(ids).logits[0, :-1], ids[0, 1:], reduction="none")
            torch.testing.assert_close(nll[row, : len(target)], losses[-len(target) :], rtol=1e-4, atol=1e-4)
            assert not nll[row, len(target) :].any()


# ---------------------------------------------------------------- the generator


@pytest.fixture(scope="module")
def trained(folders, tmp_path_factory):
    """The folder of a generator after one epoch, made once for each body and setting."""
    models = {}

    def train(kind, **changes):
        key = (kind, *sorted(changes.items()))
        if key not in models:
            models[key] = tmp_path_factory.mktemp(kind) / "m"
            params = params_of(kind, epochs=1, validation=0.2, **changes)
            generators.load(NAMES[kind]).train(ROWS, TASK, params, folders[kind], models[key], 13)
        return models[key]

    return train


def drafts_of(kind, folder, folders, requests, seed=3, **changes):
    drafts = generators.load(NAMES[kind]).generate(folder, requests, TASK, synthesis(**changes), folders[kind], seed)
    return {draft.request: draft for draft in drafts}


REQUESTS = [(0, 1), (2, 3), (0, 1, 2, 3), (1,), (0, 1)]


@every_body
def test_a_draft_says_what_it_was_made_of_and_has_the_labels_asked_for(kind, trained, folders):
    drafts = drafts_of(kind, trained(kind), folders, REQUESTS)
    assert drafts
    labels = {e.id: set(e.labels) for e in ROWS}
    for number, draft in drafts.items():
        assert draft.labels == REQUESTS[number] and draft.soft_labels is None and draft.text
        sources, alpha = draft.made_of["sources"], draft.made_of["alpha"]
        assert set().union(*(labels[source] for source in sources)) == set(REQUESTS[number])
        assert len(alpha) == len(sources) - 1 and all(0.3 <= value <= 0.7 for value in alpha)
    assert drafts == drafts_of(kind, trained(kind), folders, REQUESTS, batch_size=1)
    assert drafts != drafts_of(kind, trained(kind), folders, REQUESTS, seed=4)
    assert drafts_of(kind, trained(kind), folders, []) == {}


def test_between_random_texts_nothing_is_asked_for(trained, folders):
    """One text for every request, with the labels of both sources in their proportion."""
    texts = {e.id: e for e in ROWS}
    model = trained("bart", pairs="random", alpha_low=0.0, alpha_high=1.0)
    requests = [(0, 1)] * (len(ROWS) - 1) + [(4,)]
    assert generators.load("linda").feasible(model, requests, TASK) == [True] * len(requests)
    drafts = drafts_of("bart", model, folders, requests)
    assert len({draft.made_of["sources"][0] for draft in drafts.values()}) == len(drafts) > len(requests) / 2
    for draft in drafts.values():
        (a, b), (alpha,) = (draft.made_of[name] for name in ("sources", "alpha"))
        assert draft.labels == texts[a if alpha >= 0.5 else b].labels
        soft = [alpha * (y in texts[a].labels) + (1 - alpha) * (y in texts[b].labels) for y in range(len(TASK.labels))]
        assert list(draft.soft_labels) == pytest.approx(soft, abs=1e-5)
    assert generators.load("linda").account(model, requests, TASK, 3) == {
        "pairs": {"random": len(requests)},
        "again": 0,
    }


def test_a_composition_that_no_texts_make_up_is_skipped_and_counted(folders, tmp_path):
    rows = [
        Example("a", "the sun is out", (0,)),
        Example("b", "it was so dark", (1,)),
        Example("c", "nothing at all", ()),
    ]
    linda.train(rows, TASK, linda_params(epochs=1), folders["t5"], tmp_path / "m", 13)
    requests = [(0, 1), (2,), (0, 1)]
    assert linda.feasible(tmp_path / "m", requests, TASK) == [True, False, True]
    assert set(drafts_of("t5", tmp_path / "m", folders, requests)) <= {0, 2}
    account = linda.account(tmp_path / "m", requests, TASK, 3)
    assert account == {"pairs": {"union": 2, "same": 0, "chain": 0, "superset": 0}, "again": 1}


def test_three_texts_are_written_between_two_and_then_between_that_and_the_third(folders, tmp_path, monkeypatch):
    rows = [Example(f"r{y}", TEXTS[2 * y], (y,)) for y in range(3)]
    linda.train(rows, TASK, linda_params(epochs=1), folders["t5"], tmp_path / "m", 13)
    calls = []
    monkeypatch.setattr(
        interpolation, "write_between", lambda model, a, b, alpha, *_: calls.append((a, b)) or ["first step"] * len(a)
    )
    (draft,) = drafts_of("t5", tmp_path / "m", folders, [(0, 1, 2)]).values()
    text_of = {row.id: row.text for row in rows}
    first_id, two, three = draft.made_of["sources"]
    assert calls == [([text_of[first_id]], [text_of[two]]), (["first step"], [text_of[three]])]
    first, second = draft.made_of["alpha"]
    shares = {first_id: first * second, two: (1 - first) * second, three: 1 - second}
    labelled = soft_labels.of_sources(draft.made_of, {row.id: row.labels for row in rows}, len(LABELS))
    assert labelled == pytest.approx([shares[f"r{y}"] for y in range(3)] + [0.0], abs=1e-5)
    assert draft.made_of["pair"] == "chain"


@every_body
def test_training_twice_writes_the_same_bytes_also_after_a_kill(kind, folders, tmp_path, monkeypatch):
    train, params = generators.load(NAMES[kind]).train, params_of(kind, epochs=3, validation=0.1)
    train(ROWS, TASK, params, folders[kind], tmp_path / "straight", 13)
    save = checkpoint.Checkpoint.save

    def save_and_die(self, history, *rest):
        save(self, history, *rest)
        if len(history) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(checkpoint.Checkpoint, "save", save_and_die)
        train(ROWS, TASK, params, folders[kind], tmp_path / "killed", 13)
    assert not (tmp_path / "killed").exists()
    train(ROWS, TASK, params, folders[kind], tmp_path / "killed", 13)
    assert file_digest(tmp_path / "killed") == file_digest(tmp_path / "straight")
    train(ROWS, TASK, params, folders[kind], tmp_path / "other", 14)
    assert file_digest(tmp_path / "other") != file_digest(tmp_path / "straight")


def test_the_frozen_models_stay_as_they_are(folders, trained):
    before = {role: file_digest(folders["prefix"][role]) for role in ("encoder", "decoder")}
    model = model_of("prefix", folders)
    assert not any(p.requires_grad for part in (model.body.encoder, model.body.decoder) for p in part.parameters())
    assert not model.train().body.encoder.training and not model.body.decoder.training
    trained("prefix")
    assert before == {role: file_digest(folders["prefix"][role]) for role in ("encoder", "decoder")}


@every_body
def test_texts_that_were_held_out_are_told(kind, trained):
    held = read_json(trained(kind) / "generator.json")["held_out"]
    assert 0 < len(held) < len(ROWS) and set(held) <= {e.id for e in ROWS}


# ---------------------------------------------------------------- from the generator to the classifier


@pytest.mark.parametrize("way", ["hard union", "soft", "sharpened", "teacher"])
def test_each_way_of_labelling_reaches_the_classifier(way, trained, folders, tmp_path, monkeypatch):
    """Synthesize, filter, select, train, by the stages."""
    (tmp_path / "split").mkdir()
    LABELS.write(tmp_path / "split" / "labels.json")
    for source in ("train", "support"):
        write_jsonl(tmp_path / "split" / f"{source}.jsonl", [e for e in ROWS if e.source == source])
    write_rows(tmp_path / "wanted.jsonl", [{"requested_labels": list(labels)} for labels in REQUESTS])
    write_jsonl(tmp_path / "test.jsonl", [Example("x", "so dark", ())])
    bert = {"validation": 0.01, "epochs": 1, "max_length": 32}
    written(tmp_path, {"sizes.k": 3, "classifiers.bert": bert, "synthesis": {"max_length": 24, "temperature": 2.0}})
    common, backbones_ = ["--params", "params.yaml", "--benchmark", "diagnostic", "--seed", "13"], folders["t5"]
    model = trained("t5")

    def run(stage, words, *more):
        stage.main([*common, *words.split(), *more])

    beside = f"--backbones {backbones_['encoder'].parent}"
    run(
        synthesize,
        f"--generator linda --model {model} --compositions wanted.jsonl --split split {beside} --out made.jsonl",
    )
    run(train_filter, f"--classifier bert --split split --encoder {backbones_['encoder']} --out filter")
    data = "--classifier bert --labels split/labels.json --train split/train.jsonl"
    options = {"soft": "labels=soft", "sharpened": "labels=soft,sharpening=0.5", "teacher": "labels=teacher"}
    labelled = ["--set", f"selection.{options[way]}"] if way in options else []
    run(select, f"{data} split/support.jsonl --synthetic made.jsonl --filter filter --out kept.jsonl", *labelled)
    batches, collate = [], body.collate
    monkeypatch.setattr(body, "collate", lambda rows, *more: batches.append(rows) or collate(rows, *more))
    files = "--synthetic kept.jsonl --test-inputs test.jsonl --out classifier --predictions predictions.jsonl.gz"
    run(train_classifier, f"{data} {files} {beside}")

    learned = {row["id"]: row["targets"].tolist() for rows in batches for row in rows if "targets" in row}
    kept = read_jsonl(tmp_path / "kept.jsonl", len(LABELS))
    read = classifiers.load("bert").predict(tmp_path / "filter", [e.text for e in kept])
    labels_of = {e.id: e.labels for e in ROWS}
    assert len(kept) == 3
    for e, probabilities in zip(kept, read.tolist(), strict=True):
        hard = [float(label in e.requested_labels) for label in range(len(LABELS))]
        (a, b), (alpha,) = e.made_of["sources"], e.made_of["alpha"]
        mixed = [alpha * (y in labels_of[a]) + (1 - alpha) * (y in labels_of[b]) for y in range(len(LABELS))]
        sharp = [p**2 / (p**2 + (1 - p) ** 2) for p in mixed]
        expected = {"hard union": hard, "soft": mixed, "sharpened": sharp, "teacher": probabilities}[way]
        assert e.labels == e.requested_labels
        assert learned[e.id] == pytest.approx(expected, abs=1e-5)
        assert (e.soft_labels is None) == (way == "hard union")
    assert read_json(tmp_path / "made.json")["account"]["pairs"]["union"] > 0


# ---------------------------------------------------------------- what is refused


@every_body
def test_a_model_of_other_labels_or_sizes_is_refused(kind, trained, folders):
    module = generators.load(NAMES[kind])
    other = Task(Labels(("a", "b"), ("a", "b")))
    with pytest.raises(InputError, match="trained for other labels"):
        module.generate(trained(kind), [(0,)], other, synthesis(), folders[kind], 1)
    if kind == "prefix":
        with pytest.raises(InputError, match="give the one that it was trained with"):
            linda_prefix.opened(trained(kind), params_of(kind, mid_dim=8), folders[kind])


def test_one_text_alone_is_refused_before_anything_is_written(folders, tmp_path):
    with pytest.raises(InputError, match="linda writes texts between two texts; there are 1 to learn from"):
        linda.train(ROWS[:1], TASK, linda_params(), folders["t5"], tmp_path / "m", 13)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("kind", ["bart", "prefix", "reading"])
def test_a_text_longer_than_the_decoder_has_room_for_is_refused(kind, trained, folders):
    with pytest.raises(
        InputError, match=r"synthesis\.max_length: 4000 tokens exceed the \d+ that the decoder has room for"
    ):
        drafts_of(kind, trained(kind), folders, REQUESTS, max_length=4000)


@pytest.mark.parametrize("kind", ["bart", "prefix", "reading"])
def test_training_on_texts_longer_than_the_decoder_has_room_for_is_refused(kind, folders, tmp_path):
    with pytest.raises(InputError, match=rf"generators\.{NAMES[kind]}\.max_length: 500 tokens exceed the \d+"):
        generators.load(NAMES[kind]).train(
            ROWS, TASK, params_of(kind, max_length=500), folders[kind], tmp_path / "m", 13
        )


def test_words_cannot_be_masked_without_a_token_for_them(folders):
    model = model_of("t5", folders)
    model.body.mask_id = None
    with pytest.raises(InputError, match="p_mask: the tokenizer has no token for a masked word"):
        Interpolation(model.body, linda_params())
    Interpolation(model.body, linda_params(p_mask=0.0))


# ---------------------------------------------------------------- soft labels

PROBABILITIES = arrays(float, 6, elements=st.floats(0, 1))


@given(PROBABILITIES, st.floats(0.01, 1.0))
def test_sharpening_keeps_every_label_in_0_to_1_and_on_its_side(p, temperature):
    sharp = soft_labels.sharpened_labels(p, temperature)
    assert ((sharp >= 0) & (sharp <= 1)).all()
    assert (np.abs(sharp - 0.5) >= np.abs(p - 0.5) - 1e-9).all() and ((sharp > 0.5) <= (p >= 0.5 - 1e-12)).all()
    np.testing.assert_allclose(soft_labels.sharpened_labels(p, 1.0), p, atol=1e-12)


@given(PROBABILITIES.filter(lambda p: p.sum() > 0.1), st.floats(0.01, 1.0))
def test_sharpening_keeps_a_distribution_of_single_labels(p, temperature):
    p = p / p.sum()
    sharp = soft_labels.sharpened(p, temperature)
    assert sharp.sum() == pytest.approx(1.0) and (sharp >= 0).all()
    assert p[sharp.argmax()] == pytest.approx(p.max())
    np.testing.assert_allclose(soft_labels.sharpened(p, 1.0), p, atol=1e-12)


def test_sharpening_by_hand():
    np.testing.assert_allclose(soft_labels.sharpened(np.array([0.6, 0.3, 0.1]), 0.5), np.array([36, 9, 1]) / 46)
    np.testing.assert_allclose(soft_labels.sharpened_labels(np.array([0.6, 0.0, 1.0]), 0.5), [36 / 52, 0.0, 1.0])


def test_labels_are_mixed_by_hand():
    np.testing.assert_allclose(soft_labels.mixed([0.3, 0.7], [(0, 1), (1, 2)], 4), [0.3, 1.0, 0.7, 0.0])
    assert soft_labels.shares_of([0.4]) == [0.4, 0.6]
    assert soft_labels.shares_of([0.5, 0.8]) == pytest.approx([0.4, 0.4, 0.2])
    assert len(LABELS) == 4
