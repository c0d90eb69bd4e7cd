"""Data maps of generators (cartography, Eqs. 3 to 8): what LS-PT and the autoencoders leave of their training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from toys import LABELS, TASK, examples, ld_vae_params, ls_pt_params, synthesis, texts, vae_dprior_params

from compaug import generators
from compaug.cartography import dynamics
from compaug.cartography import maps as cartography
from compaug.core.files import InputError, file_digest, read_json
from compaug.core.records import write_jsonl
from compaug.generators.disentangled import ls_pt, prefix_tuning
from compaug.generators.shared import teacher_forcing
from compaug.generators.shared.teacher_forcing import VALUES
from compaug.stages import train_generator
from compaug.training import curricula

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

ROOT = Path(__file__).parents[1]
PARAMS = {"ls_pt": ls_pt_params, "ld_vae": ld_vae_params, "vae_dprior": vae_dprior_params}
LABELED = [e for e in examples() if e.labels]


def trained(name, folder, folders, rows=LABELED, seed=13, **changes):
    params = PARAMS[name](**({"epochs": 2, "validation": 0.0} | changes))
    generators.load(name).train(rows, TASK, params, folders, folder, seed)
    return folder


@pytest.mark.parametrize("name", PARAMS)
def test_a_generator_leaves_the_measures_of_every_text_after_every_epoch(name, folders, tmp_path):
    values, ids = dynamics.read(
        trained(name, tmp_path / "a", folders, dynamics=True, dynamics_bleu=0.25, validation=0.1)
    )
    assert ids == [e.id for e in LABELED]  # those held out too
    assert values.shape == (2, len(ids), len(VALUES)) and not np.array_equal(values[0], values[1])
    decoded = np.isfinite(values[:, :, VALUES.index("bleu")])
    assert decoded.sum(1).tolist() == [round(0.25 * len(ids))] * 2 and np.array_equal(decoded[0], decoded[1])
    mean, root = values[:, :, 0], values[:, :, 1]
    assert (root > 0).all() and (root <= mean + 1e-6).all() and (mean <= 1).all()  # geometric and arithmetic mean
    maps = cartography.generator_maps(values, ids, cartography.window(2))
    assert maps["chia"].confidence == pytest.approx(values[:, :, 0].mean(0), abs=1e-6)
    assert len(maps["bleu"].ids) == round(0.25 * len(ids))


@pytest.mark.parametrize("name", PARAMS)
def test_keeping_them_changes_nothing_else_and_off_leaves_no_trace(name, folders, tmp_path):
    for out, more in {"off": {}, "on": {"dynamics": True, "dynamics_bleu": 0.2}, "again": {"dynamics": True}}.items():
        trained(name, tmp_path / out, folders, **more)
    weights = [file_digest(tmp_path / out / "model.safetensors") for out in ("off", "on", "again")]
    assert len(set(weights)) == 1
    assert "dynamics" not in (tmp_path / "off" / "config.json").read_text()
    assert not (tmp_path / "off" / "dynamics.npy").exists() and (tmp_path / "on" / "dynamics.npy").exists()


def test_the_probabilities_are_those_of_the_decoder_behind_its_prefix(folders, tmp_path):
    """LS-PT's own loss of one text is the mean -log p that the inverse perplexity comes from."""
    example_rows = LABELED[:1]
    folder = trained("ls_pt", tmp_path / "a", folders, rows=example_rows * 2, dynamics=True, epochs=1)
    values, _ = dynamics.read(folder)
    params, task, tokenizer, decoder, network = prefix_tuning.opened(ls_pt.network, folder, TASK, folders)
    rows = prefix_tuning.text_rows(example_rows, task, tokenizer, params.max_length)
    with torch.no_grad():
        loss = prefix_tuning.PrefixModel(network, decoder)(
            **prefix_tuning.collate(rows, params.prefix_length, tokenizer.eos_token_id)
        )["loss"]
    assert values[0, 0, 1] == pytest.approx(float((-loss).exp()), rel=1e-4)


@pytest.mark.parametrize("loss_on_prompt", [False, True])
def test_the_prompt_is_no_part_of_a_text(loss_on_prompt, folders, tmp_path):
    folder = trained("ls_pt", tmp_path / "a", folders, dynamics=True, epochs=1, lr=1e-9, loss_on_prompt=loss_on_prompt)
    other = trained("ls_pt", tmp_path / "b", folders, dynamics=True, epochs=1, lr=1e-9)
    assert np.allclose(dynamics.read(folder)[0], dynamics.read(other)[0], atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("name", ["ls_pt", "ld_vae"])
def test_a_text_is_right_where_greedy_decoding_gives_it(name, folders, tmp_path):
    """What teacher forcing says is what decoding does: BLEU is 1 exactly there."""
    rows = LABELED[:8:2]  # one text per label
    more = {"epochs": 40, "dynamics": True, "dynamics_bleu": 1.0, "generator_data": "all"}
    values, _ = dynamics.read(trained(name, tmp_path / "a", folders, rows=rows * 2, **more))
    last, right = values[-1], values[-1, :, VALUES.index("right")].astype(bool)
    assert right.any() and not values[0, :, VALUES.index("right")].all()
    assert np.array_equal(last[:, VALUES.index("bleu")] == 1, right)
    if name == "ls_pt":
        written = texts(
            generators.load(name).generate(tmp_path / "a", [e.labels for e in rows], TASK, synthesis(), folders, 1),
            [e.labels for e in rows],
        )
        assert [text == e.text for text, e in zip(written, rows, strict=True)] == right[: len(rows)].tolist()


def test_a_killed_training_ends_with_the_same_dynamics(folders, tmp_path, monkeypatch):
    trained("ls_pt", tmp_path / "whole", folders, dynamics=True, epochs=3)
    calls, values = [], teacher_forcing.values

    def killed(*args):
        calls.append(None)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return values(*args)

    monkeypatch.setattr(teacher_forcing, "values", killed)
    with pytest.raises(KeyboardInterrupt):
        trained("ls_pt", tmp_path / "resumed", folders, dynamics=True, epochs=3)
    trained("ls_pt", tmp_path / "resumed", folders, dynamics=True, epochs=3)
    assert file_digest(tmp_path / "whole") == file_digest(tmp_path / "resumed")


# ---------------------------------------------------------------- curricula


@pytest.mark.parametrize("name", ["ls_pt", "ld_vae"])
def test_a_curriculum_unlocks_the_rows_of_a_generator_in_the_order_in_which_they_stand(
    name, folders, tmp_path, monkeypatch
):
    seen, batches = [], curricula.batches

    def spied(*args):
        order = batches(*args)
        return lambda epoch, seed: (
            seen.append([row for batch in order(epoch, seed) for row in batch]) or order(epoch, seed)
        )

    monkeypatch.setattr(curricula, "batches", spied)
    trained(name, tmp_path / "a", folders, epochs=7, batch_size=4, patience=1, pacing="exponential", first="hard")
    epochs = seen[-7:]
    assert max(epochs[0]) < len(LABELED) / 10 and set(epochs[-1]) == set(range(len(LABELED)))
    assert len(read_json(tmp_path / "a" / "history.json")["epochs"]) == 7  # no early stopping


def test_the_stage_orders_a_generators_texts_by_its_map(folders, tmp_path, monkeypatch):
    trained_ids = []
    monkeypatch.setattr(ls_pt, "train", lambda examples, *_: trained_ids.extend(e.id for e in examples))
    LABELS.write(tmp_path / "split" / "labels.json")
    write_jsonl(tmp_path / "split" / "train.jsonl", [e for e in examples() if e.source == "train"])
    write_jsonl(tmp_path / "split" / "support.jsonl", [e for e in examples() if e.source != "train"])
    ids = [e.id for e in LABELED]
    numbers = np.random.default_rng(1).permutation(len(ids)) / len(ids)
    (tmp_path / "map").mkdir()
    cartography.write_map(tmp_path / "map" / "chia.csv", cartography.DataMap(ids, numbers, numbers, numbers))
    options = (
        f"--params {ROOT}/params.yaml --benchmark diagnostic --scale tiny --generator ls_pt --seed 1 --backbones none"
    )
    paths = f"--split {tmp_path}/split --out {tmp_path}/out"
    paced = "--set generators.ls_pt.pacing=linear,first=hard"
    train_generator.main(f"{options} {paths} {paced} --map {tmp_path}/map".split())
    assert trained_ids == [ids[at] for at in np.argsort(numbers, kind="stable")]
    for wrong in (paced, f"--map {tmp_path}/map"):
        with pytest.raises(InputError, match="go together"):
            train_generator.main(f"{options} {paths} {wrong}".split())
    with pytest.raises(InputError, match="concat has no curriculum"):
        train_generator.main(f"{options.replace('ls_pt', 'concat')} {paths} --map {tmp_path}/map".split())
