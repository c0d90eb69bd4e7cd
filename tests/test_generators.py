"""LS-PT (paper, Eqs. 5 and 6), the controls, and the two stages around the generators."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import torch
from parameters import written
from toys import LABELS, TASK, examples, ls_pt_params, synthesis, texts
from transformers import GPT2Config, GPT2LMHeadModel

from compaug import generators, selection
from compaug.core.files import InputError, file_digest, read_json, write_json, write_rows
from compaug.core.records import Draft, Labels, read_jsonl, write_jsonl
from compaug.data.multi_label import Task
from compaug.generators.disentangled import ls_pt, prefix_tuning
from compaug.generators.shared.drafts import training_examples
from compaug.models.loading import load_decoder
from compaug.stages import synthesize, train_generator
from compaug.training.loop import FitOptions, fit

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

ROOT = Path(__file__).parents[1]
LABELED = [e for e in examples() if e.labels]
ONE_WAY = LABELED[::2]  # one text per composition


@pytest.fixture(scope="module")
def trained(folders, tmp_path_factory):
    """LS-PT trained until it knows the single text of every composition but the last."""
    folder = tmp_path_factory.mktemp("run") / "generator"
    params = ls_pt_params(epochs=60, validation=0.0)
    ls_pt.train([e for e in ONE_WAY if len(e.labels) < 4] * 2, TASK, params, folders, folder, 13)
    return folder


def texts_of(folder, folders, label_sets, seed=3, **changes):
    return texts(ls_pt.generate(folder, label_sets, TASK, synthesis(**changes), folders, seed), label_sets)


# ---------------------------------------------------------------- LS-PT


def test_the_prefix_has_as_many_rows_as_labels_times_length(folders):
    _, decoder = load_decoder(folders["decoder"])
    network = ls_pt.LabelPrefix(4, 3, 8, decoder.config)
    index = prefix_tuning.pairs([(0, 1, 3), (2,)], 3)
    prefix = prefix_tuning.place(
        network(index["pair_label"]), index["pair_row"], index["pair_slot"], index["prefix_mask"]
    )
    assert prefix.shape == (2, 9, decoder.config.n_layer * 2 * decoder.config.n_embd)
    assert index["prefix_mask"].sum(1).tolist() == [9, 3]


def test_the_trainable_parameters_of_gpt2_size_are_the_table_and_the_mlp():
    with torch.device("meta"):
        network = ls_pt.LabelPrefix(11, 10, 512, GPT2Config())
    assert sum(p.numel() for p in network.parameters()) == 9_849_344 + 11 * 10 * 768


def test_changing_one_label_changes_the_prefix_rows_of_that_label_only(folders):
    _, decoder = load_decoder(folders["decoder"])
    network = ls_pt.LabelPrefix(4, 3, 8, decoder.config)
    index = prefix_tuning.pairs([(0, 1), (0, 2)], 3)
    first, second = prefix_tuning.place(
        network(index["pair_label"]), index["pair_row"], index["pair_slot"], index["prefix_mask"]
    )
    assert torch.equal(first[:3], second[:3])
    assert not torch.isclose(first[3:], second[3:]).all(dim=1).any()


def test_training_ls_pt_leaves_gpt2_bit_identical_and_lowers_the_loss(folders, tmp_path):
    tokenizer, decoder = load_decoder(folders["decoder"])
    torch.manual_seed(0)
    before = {name: value.clone() for name, value in decoder.state_dict().items()}
    model = prefix_tuning.PrefixModel(ls_pt.LabelPrefix(4, 3, 16, decoder.config), decoder)
    assert {name.split(".")[0] for name, p in model.named_parameters() if p.requires_grad} == {"network"}
    assert not model.train().decoder.model.training  # its dropout stays off
    rows = prefix_tuning.text_rows(LABELED, TASK, tokenizer, 40)
    collate = partial(prefix_tuning.collate, prefix_length=3, pad_id=tokenizer.eos_token_id)
    options = FitOptions(epochs=16, batch_size=8, lr=0.01)
    history = fit(model, rows, [], collate, options, seed=1, work_dir=tmp_path / "work", description="toy")
    assert all(torch.equal(value, before[name]) for name, value in decoder.state_dict().items())
    assert history[-1]["train"]["loss"] < 0.8 * history[0]["train"]["loss"]


def test_ls_pt_overfits_the_toy_set_and_greedy_decoding_reproduces_it(trained, folders):
    history = json.loads((trained / "history.json").read_text())["epochs"]
    assert history[-1]["train"]["nll"] < 0.05
    seen_examples = [e for e in ONE_WAY if len(e.labels) < 4]
    texts = texts_of(trained, folders, [e.labels for e in seen_examples])
    assert sum(text == e.text for text, e in zip(texts, seen_examples, strict=True)) >= 0.9 * len(seen_examples)


def test_a_label_set_that_training_never_saw_gets_a_text(trained, folders):
    (text,) = texts_of(trained, folders, [(0, 1, 2, 3)])
    assert text


def test_as_many_texts_as_requests_and_batches_equal_single_requests(trained, folders):
    label_sets = [e.labels for e in LABELED]
    together = texts_of(trained, folders, label_sets, batch_size=30)
    assert len(together) == len(label_sets)
    assert together == texts_of(trained, folders, label_sets, batch_size=1)
    assert texts_of(trained, folders, []) == []


def test_sampling_depends_on_the_seed_alone(trained, folders):
    label_sets = [e.labels for e in LABELED]
    sampled = {"top_k": 50, "top_p": 0.95, "temperature": 1.5}
    first = texts_of(trained, folders, label_sets, seed=1, **sampled)
    assert first == texts_of(trained, folders, label_sets, seed=1, **sampled)
    assert first != texts_of(trained, folders, label_sets, seed=2, **sampled)


def test_training_twice_writes_the_same_bytes(folders, tmp_path):
    params = ls_pt_params(epochs=2, validation=0.1, patience=1)
    for name in ("one", "two"):
        ls_pt.train(LABELED, TASK, params, folders, tmp_path / name, 13)
    assert file_digest(tmp_path / "one") == file_digest(tmp_path / "two")
    ls_pt.train(LABELED, TASK, params, folders, tmp_path / "three", 14)
    assert file_digest(tmp_path / "one") != file_digest(tmp_path / "three")


def test_generators_learn_from_labeled_rows_and_without_support_if_asked():
    assert {e.id for e in examples()} - {e.id for e in training_examples(examples(), "all")} == {"t30", "t31"}
    assert all(e.source == "train" for e in training_examples(examples(), "train_only"))


def test_a_model_of_other_labels_or_another_decoder_is_refused(trained, folders, tmp_path):
    other = Task(Labels(("a", "b"), ("a", "b")))
    with pytest.raises(InputError, match="trained for other labels"):
        ls_pt.generate(trained, [(0,)], other, synthesis(), folders, 1)
    tokenizer, _ = load_decoder(folders["decoder"])
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=128, n_embd=16, n_layer=1, n_head=2)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "decoder")
    tokenizer.save_pretrained(tmp_path / "decoder")
    with pytest.raises(InputError, match="does not fit this backbone"):
        ls_pt.generate(trained, [(0,)], TASK, synthesis(), {"decoder": tmp_path / "decoder"}, 1)


def test_a_prefix_that_does_not_fit_the_decoder_is_one_clear_line(folders, tmp_path):
    with pytest.raises(InputError, match="lower prefix_length or max_length"):
        ls_pt.train(LABELED, TASK, ls_pt_params(prefix_length=30), folders, tmp_path / "g", 1)


# ---------------------------------------------------------------- controls


def control(name, tmp_path, label_sets, seed=3):
    generator = generators.load(name)
    generator.train(examples(), TASK, None, {}, tmp_path / name, 13)
    return texts(generator.generate(tmp_path / name, label_sets, TASK, synthesis(), {}, seed), label_sets)


def test_no_augmentation_answers_no_request(tmp_path):
    assert control("none", tmp_path, [(0,), (1,)]) == ["", ""]
    assert not generators.load("none").takes_requests and generators.load("oversample").takes_requests


def test_oversampling_repeats_support_texts_of_exactly_the_requested_composition(tmp_path):
    support = {(e.labels, e.text) for e in examples() if e.source == "support"}
    drawn_texts = control("oversample", tmp_path, [(0, 1)] * 20 + [(2, 3)] * 20)
    assert set(zip([(0, 1)] * 20 + [(2, 3)] * 20, drawn_texts, strict=True)) == support
    assert control("oversample", tmp_path, [(0,)]) == [""]  # (0,) is in D_train, not in the support set


def test_the_shuffled_control_uses_every_real_text_equally_often(tmp_path):
    drawn_texts = control("shuffled", tmp_path, [(0,)] * 64)
    assert sorted(drawn_texts) == sorted([e.text for e in examples()] * 2)
    assert drawn_texts != control("shuffled", tmp_path, [(0,)] * 64, seed=4)


# ---------------------------------------------------------------- the stage after a generator


def test_blank_repeated_and_copied_texts_are_told_apart():
    drafts = [Draft(0, text, (0,)) for text in ["New text", " ", "new  TEXT", "Known text", "another"]]

    def fates(seen_keys, copies):
        judged = list(selection.judge(iter(drafts), seen_keys, copies))
        assert [draft for draft, _ in judged] == drafts
        return [fate for _, fate in judged]

    assert fates({"known text"}, copies=False) == ["kept", "blank", "duplicate", "copied", "kept"]
    assert fates(set(), copies=True) == ["kept", "blank", "kept", "kept", "kept"]


def test_the_side_car_adds_up():
    requests = [(0,), (0,), (0, 1), (0, 1)]
    for unanswered in ([(1, "blank")], []):  # a blank draft and no draft are the same
        tally = selection.counts(requests, [(0, "kept"), *unanswered, (2, "copied"), (3, "kept")], LABELS)
        assert tally["requested"] == 4 == tally["kept"] + sum(tally["dropped"].values())
        assert tally["produced"] == 3 and tally["dropped"]["blank"] == 1
        assert tally["per_composition"] == {"joy": {"requested": 2, "kept": 1}, "joy+fear": {"requested": 2, "kept": 1}}


def test_the_side_car_counts_further_drafts_of_a_request():
    tally = selection.counts([(0,), (1,)], [(0, "kept"), (0, "duplicate"), (0, "kept")], LABELS)
    assert (tally["requested"], tally["produced"], tally["kept"]) == (2, 3, 2)
    assert tally["dropped"] == {"blank": 1, "duplicate": 1, "copied": 0}
    assert tally["per_composition"] == {"joy": {"requested": 1, "kept": 2}, "fear": {"requested": 1, "kept": 0}}


def test_a_request_with_an_unknown_label_names_its_line(tmp_path):
    path = tmp_path / "compositions.jsonl"
    path.write_text('{"requested_labels": [0, 1]}\n{"requested_labels": [4]}\n')
    with pytest.raises(InputError, match="compositions.jsonl:2: unknown label 4"):
        synthesize.read_label_sets(path, 4)
    path.write_text('{"requested_labels": []}\n')
    with pytest.raises(InputError, match="an empty label set cannot be requested"):
        synthesize.read_label_sets(path, 4)


def test_guidance_is_refused_without_a_prefix_but_not_of_a_control_beside_it(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "model").mkdir()
    words = "--benchmark diagnostic --set synthesis.guidance=2 --split a --compositions b --backbones c --seed 1"
    files = ["--model", str(tmp_path / "model"), "--out", str(tmp_path / "texts.jsonl")]
    with pytest.raises(InputError, match=r"synthesis.guidance: flan_t5 holds no labels against those of a request"):
        synthesize.main([*words.split(), *files, "--generator", "flan_t5"])
    with pytest.raises(InputError, match=r"a/labels.json"):  # the next thing that is missing
        synthesize.main([*words.split(), *files, "--generator", "oversample"])


def test_the_model_of_another_generator_is_refused(tmp_path):
    (tmp_path / "model").mkdir()
    write_json(tmp_path / "model" / "config.json", {"generator": "vae"})
    with pytest.raises(InputError, match="model: a model of vae, not of ld_vae; train the generator again"):
        synthesize._check_made_by("ld_vae", tmp_path / "model")
    synthesize._check_made_by("vae", tmp_path / "model")
    write_json(tmp_path / "model" / "config.json", {"a user's own": 1})
    synthesize._check_made_by("mine", tmp_path / "model")


def test_both_stages_run_end_to_end_and_describe_what_they_made(folders, tmp_path):
    (tmp_path / "split").mkdir()
    LABELS.write(tmp_path / "split" / "labels.json")
    for source in ("train", "support"):
        write_jsonl(tmp_path / "split" / f"{source}.jsonl", [e for e in examples() if e.source == source])
    write_rows(tmp_path / "compositions.jsonl", [{"requested_labels": [0, 1]}] * 3 + [{"requested_labels": [2]}])
    small = {"epochs": 1, "mid_dim": 16, "max_length": 40, "prefix_length": 3}
    written(tmp_path, {"generators.shared": small, "synthesis": {"max_length": 40, "batch_size": 8}})
    common = ["--params", "params.yaml", "--benchmark", "diagnostic", "--split", "split", "--seed", "13"]
    common += ["--backbones", str(folders["decoder"].parent)]
    for name, rows in (("ls_pt", None), ("oversample", 4), ("none", 0)):
        train_generator.main([*common, "--generator", name, "--out", "model"])
        synthesize.main(
            [
                *common,
                "--generator",
                name,
                "--model",
                "model",
                "--compositions",
                "compositions.jsonl",
                "--out",
                "made.jsonl",
            ]
        )
        rows_written, side_car = read_jsonl(tmp_path / "made.jsonl", 4), read_json(tmp_path / "made.json")
        assert len(rows_written) == side_car["kept"] == side_car["requested"] - sum(side_car["dropped"].values())
        assert rows is None or len(rows_written) == rows
        assert all(e.labels == e.requested_labels and e.source == name and e.seed == 13 for e in rows_written)
        assert side_car["requested"] == (0 if name == "none" else 4)
        assert side_car["hashes"]["generator"] == file_digest(tmp_path / "model")
