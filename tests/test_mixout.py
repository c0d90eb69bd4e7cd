"""Mixout: the algebra of its draws, and what a classifier is that was trained with it (§2.3)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_bert import CUES, SETTINGS, examples, write_encoder, write_seq2seq
from test_classifiers import OWN, every
from torch import nn

from compaug import classifiers
from compaug.classifiers import body
from compaug.classifiers.parameters import Bert
from compaug.core.files import file_digest
from compaug.core.records import Labels
from compaug.models.loading import load_encoder, load_tensors
from compaug.models.mixout import Mixout, mix, unmix

LABELS = Labels(("joy", "love", "fear"), CUES)
masks = pytest.mark.parametrize("mask", ["entry", "column"])


@pytest.fixture(autouse=True)
def checkpoints_go_to_a_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@masks
@pytest.mark.parametrize("mu", [0.05, 0.3, 0.7])
def test_the_mean_over_masks_is_the_weight(mask, mu):
    torch.manual_seed(0)
    before, weight = torch.randn(3, 4), torch.randn(3, 4)
    phi, draws = Mixout(before, mu, mask), 40_000
    mean = sum(phi(weight) for _ in range(draws)) / draws
    error = (weight - before).abs() * ((1 - mu) / mu / draws) ** 0.5  # standard error of a mean of draws
    assert ((mean - weight).abs() < 5 * error).all()


@masks
@given(mu=st.floats(0.05, 1), seed=st.integers(0, 999))
def test_a_draw_is_the_printed_formula_for_some_mask(mask, mu, seed):
    """(M w + (I - M) u - (1 - mu) u) / mu, with M = 0 or 1."""
    torch.manual_seed(seed)
    before, weight = torch.randn(5, 3).double(), torch.randn(5, 3).double()
    drawn = Mixout(before, mu, mask)(weight)
    none, all_ = ((m * weight + (1 - m) * before - (1 - mu) * before) / mu for m in (0, 1))
    is_none, is_all = torch.isclose(drawn, none), torch.isclose(drawn, all_)
    assert (is_none | is_all).all()
    if mask == "column":
        assert (is_all.all(0) | is_none.all(0)).all()


@masks
def test_evaluation_and_mu_1_are_the_weight_itself_and_equal_weights_a_fixed_point(mask):
    before, weight = torch.randn(4, 4), torch.randn(4, 4)
    assert torch.equal(Mixout(before, 0.1, mask).eval()(weight), weight)
    assert torch.equal(Mixout(before, 1.0, mask)(weight), weight)
    assert all(torch.equal(Mixout(before, 0.3, mask)(before.clone()), before) for _ in range(20))


def test_the_gradient_is_that_of_the_draw():
    """dPhi / dw = M / mu, with the factor that the reference code leaves out."""
    before, weight = torch.zeros(50, 50), torch.ones(50, 50, requires_grad=True)
    drawn = Mixout(before, 0.25, "entry")(weight)
    drawn.sum().backward()
    assert torch.equal(weight.grad, drawn.detach()) and set(drawn.unique().tolist()) == {0.0, 4.0}


def test_the_encoder_answers_as_before_and_has_its_own_weights_back(tmp_path):
    tokenizer, encoder = load_encoder(write_encoder(tmp_path / "encoder"))
    batch = tokenizer(["sunny today", "we were there again"], padding=True, return_tensors="pt")
    names, before = {name for name, _ in encoder.named_parameters()}, encoder.eval()(**batch).last_hidden_state
    mix(encoder, 0.3)
    assert torch.equal(encoder(**batch).last_hidden_state, before)
    encoder.train()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.1)
    drawn = [encoder(**batch).last_hidden_state for _ in "ab"]
    assert not torch.equal(*drawn)  # of masks alone: no dropout is left
    unmix(encoder)
    assert {name for name, _ in encoder.named_parameters()} == names
    assert torch.equal(*[encoder(**batch).last_hidden_state for _ in "ab"])


def test_what_is_not_trained_is_left_alone():
    model = nn.ModuleDict(
        {"frozen": nn.Linear(2, 2).requires_grad_(False), "norm": nn.LayerNorm(2), "head": nn.Linear(2, 2)}
    )
    mix(model, 0.5)
    layers = [name for name, module in model.named_modules() if isinstance(module, Mixout)]
    assert layers == ["head.parametrizations.weight.0"]


@every
def test_every_classifier_learns_with_it_and_leaves_the_folder_of_one_without(name, tmp_path):
    backbone = (write_seq2seq if name == "t5_clp" else write_encoder)(tmp_path / "backbone")
    model, out = classifiers.load(name), {}
    for mu in (None, 0.7):
        settings = OWN[name].model_copy(update={"mixout": mu, "epochs": 2})
        history = model.train(examples(), LABELS, settings, backbone, tmp_path / str(mu), 1, validation=examples(8))
        out[mu] = [load_tensors(file) for file in sorted((tmp_path / str(mu)).glob("*.safetensors"))]
        assert np.isfinite([epoch["train"]["loss"] for epoch in history]).all()
        assert model.predict(tmp_path / str(mu), ["sunny today"]).shape == (1, 3)
    assert [outcome.keys() for outcome in out[None]] == [outcome.keys() for outcome in out[0.7]]
    assert any(not torch.equal(a[key], b[key]) for a, b in zip(*out.values(), strict=True) for key in a)


def test_it_overfits_32_rows(tmp_path):
    encoder, settings = write_encoder(tmp_path / "encoder"), SETTINGS.model_copy(update={"mixout": 0.9, "epochs": 60})
    body.train(
        "bert",
        classifiers.load("bert").build,
        examples(),
        LABELS,
        settings,
        encoder,
        tmp_path / "m",
        1,
        validation=examples(),
    )
    answers = classifiers.load("bert").predict(tmp_path / "m", [e.text for e in examples()]) > 0.5
    assert np.mean([tuple(np.flatnonzero(row)) == e.labels for row, e in zip(answers, examples(), strict=True)]) >= 0.9


@masks
def test_an_interrupted_training_ends_with_the_same_bytes(mask, tmp_path, monkeypatch):
    encoder, settings = (
        write_encoder(tmp_path / "encoder"),
        SETTINGS.model_copy(update={"mixout": 0.5, "mixout_mask": mask, "epochs": 3}),
    )
    train = classifiers.load("bert").train
    train(examples(), LABELS, settings, encoder, tmp_path / "whole", 1, "a", examples(8))
    dynamics = body.Dynamics.__call__

    def killed(self, end):
        if end.epoch == 2:
            raise KeyboardInterrupt
        dynamics(self, end)

    settings = settings.model_copy(update={"dynamics": True})
    train(examples(), LABELS, settings, encoder, tmp_path / "other", 1, "b", examples(8))
    monkeypatch.setattr(body.Dynamics, "__call__", killed)
    with pytest.raises(KeyboardInterrupt):
        train(examples(), LABELS, settings, encoder, tmp_path / "part", 1, "c", examples(8))
    monkeypatch.setattr(body.Dynamics, "__call__", dynamics)
    train(examples(), LABELS, settings, encoder, tmp_path / "part", 1, "c", examples(8))
    assert file_digest(tmp_path / "part") == file_digest(tmp_path / "other")
    weights = [load_tensors(tmp_path / name / "model.safetensors") for name in ("whole", "other")]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_what_is_no_share_is_refused():
    for wrong in ("half", 0.0, 1.5, -0.1):
        with pytest.raises(ValueError, match="mixout"):
            Bert.model_validate(SETTINGS.model_dump() | {"mixout": wrong})


def test_a_model_folder_says_whether_it_was_on():
    assert (
        "mixout" not in SETTINGS.in_force() and SETTINGS.model_copy(update={"mixout": 0.3}).in_force()["mixout"] == 0.3
    )
