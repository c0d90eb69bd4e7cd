"""LD-VAE (paper, Eqs. 7 to 14): divergences, encoders, priors, options, frozen parts, generation."""

from __future__ import annotations

import json
import shutil
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch.distributions import Normal, kl_divergence
from toys import TASK, examples, ld_vae_params, synthesis, texts
from transformers import GPT2Config

from compaug.core.files import InputError, file_digest
from compaug.core.records import Example
from compaug.generators.disentangled import collapse, latent_inputs, ld_vae, prefix_tuning
from compaug.generators.disentangled import posterior as posterior_module
from compaug.generators.disentangled.posterior import Posterior, slots
from compaug.models import loading
from compaug.models.loading import load_decoder, load_encoder
from compaug.training.loop import FitOptions, fit

pytestmark = pytest.mark.usefixtures("in_a_temporary_folder")

LABELED = [e for e in examples() if e.labels]
ONE_WAY = LABELED[::2]  # one text per composition
LABEL_SETS = [(0, 2), (1,), (0, 1, 2), (2,), (0,)]
LENGTHS = torch.tensor([5, 3, 7, 1, 4])


@pytest.fixture(scope="module")
def trained(folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "generator"
    params = ld_vae_params(epochs=60, alpha=0.01, beta=0.01)
    ld_vae.train([e for e in ONE_WAY if len(e.labels) < 4] * 2, TASK, params, folders, folder, 13)
    return folder


def texts_of(folder, folders, label_sets, seed=3, **changes):
    return texts(ld_vae.generate(folder, label_sets, TASK, synthesis(**changes), folders, seed), label_sets)


def train(folders, folder, **changes):
    """Two epochs on the toy set; returns the history."""
    params = ld_vae_params(**({"epochs": 2} | changes))
    ld_vae.train(examples(), TASK, params, folders, folder, 13)
    return json.loads((folder / "history.json").read_text())["epochs"]


# ---------------------------------------------------------------- divergences

numbers = st.floats(-3, 3).map(lambda x: round(x, 3))
variances = st.sampled_from([0.25, 1.0, 2.5])


@given(numbers, numbers, numbers, variances)
def test_the_kl_equals_torch_distributions_and_is_zero_only_for_equal_gaussians(
    mean, log_variance, prior_mean, variance
):
    mean, log_variance, prior_mean = (torch.tensor(v, dtype=torch.float64) for v in (mean, log_variance, prior_mean))
    divergence = ld_vae.gaussian_kl(mean, log_variance, prior_mean, variance)
    expected = kl_divergence(Normal(mean, (0.5 * log_variance).exp()), Normal(prior_mean, variance**0.5))
    torch.testing.assert_close(divergence, expected, atol=1e-9, rtol=1e-6)
    assert divergence >= -1e-12
    zero = ld_vae.gaussian_kl(prior_mean, torch.tensor(variance, dtype=torch.float64).log(), prior_mean, variance)
    assert abs(zero) < 1e-12
    if abs(mean - prior_mean) > 1e-2 or abs(log_variance.exp() - variance) > 1e-2:
        assert divergence > 0


def test_the_kl_of_a_hand_worked_case():
    # s = 2, difference 1, lambda = 1: 1/2 (2 + 1 - 1 - ln 2)
    divergence = ld_vae.gaussian_kl(torch.tensor(1.0), torch.tensor(2.0).log(), torch.tensor(0.0), 1.0)
    assert divergence.item() == pytest.approx(0.5 * (2 - 0.6931472))


def test_the_reference_form_stops_gradients_as_the_reference_code_does():
    mean, prior_mean = torch.tensor(1.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    log_variance = torch.tensor(0.0)
    divergence = ld_vae.reference_divergence(mean, log_variance, prior_mean, 1.0)
    assert divergence.item() == pytest.approx(0.2 * 4 + 4 + 1 - 1)
    divergence.backward()
    assert prior_mean.grad.item() == pytest.approx(0.2 * 2 * 2)
    assert mean.grad.item() == pytest.approx(-2 * 2)


# ---------------------------------------------------------------- encoders


def reference_gru(posterior: Posterior, encoder: int) -> torch.nn.GRU:
    """The torch module with the weights of one of the joint encoders."""
    gru = torch.nn.GRU(posterior.w_ih.shape[-1], posterior.hidden, bidirectional=True, batch_first=True)
    for direction, suffix in enumerate(("", "_reverse")):
        for name in ("w_ih", "w_hh", "b_ih", "b_hh"):
            torch_name = (
                name.replace("w_", "weight_").replace("b_", "bias_").replace("ih", "ih_l0").replace("hh", "hh_l0")
            )
            getattr(gru, torch_name + suffix).data = getattr(posterior, name)[encoder, direction].data
    return gru


@pytest.fixture(params=["joint", "in turn"])
def ways(request, monkeypatch):
    """Both ways to run the encoders, whatever their width."""
    monkeypatch.setattr(posterior_module, "WIDE", 0 if request.param == "in turn" else 10**6)


@pytest.mark.parametrize("pool", ["mean", "last"])
def test_encoders_equal_torch_gru_on_packed_sequences(pool, ways):
    torch.manual_seed(0)
    posterior = Posterior(n_labels=4, width=10, latent=3, pool=pool)
    states = torch.randn(5, 7, 10)
    states[torch.arange(7) >= LENGTHS[:, None]] = torch.nan  # padding must not even be looked at
    mean, log_variance = posterior(states.nan_to_num(1e4), LENGTHS, **slots(LABEL_SETS, 4))
    pairs = [(row, label) for row, label_set in enumerate(LABEL_SETS) for label in label_set]
    for item, (row, encoder) in enumerate(pairs + [(row, 4) for row in range(5)]):
        sequence = states[row : row + 1, : LENGTHS[row]]
        packed = torch.nn.utils.rnn.pack_padded_sequence(sequence, LENGTHS[row : row + 1], batch_first=True)
        outputs, last = reference_gru(posterior, encoder)(packed)
        outputs, _ = torch.nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
        pooled = outputs[0].mean(0) if pool == "mean" or encoder == 4 else torch.cat([last[0, 0], last[1, 0]])
        moments = posterior.head[encoder] @ pooled + posterior.head_bias[encoder]
        torch.testing.assert_close(torch.cat([mean[item], log_variance[item]]), moments, atol=1e-5, rtol=1e-5)


def test_only_the_encoders_of_the_gold_labels_and_of_the_content_are_used(ways):
    torch.manual_seed(0)
    posterior = Posterior(n_labels=4, width=10, latent=3)
    index = slots(LABEL_SETS, 4)  # label 3 does not occur
    mean, log_variance = posterior(torch.randn(5, 7, 10), LENGTHS, **index)
    (mean.sum() + log_variance.sum()).backward()
    for parameter in (posterior.w_ih, posterior.w_hh, posterior.b_ih, posterior.b_hh, posterior.head):
        used = parameter.grad.flatten(1).abs().sum(1) > 0
        assert used.tolist() == [True, True, True, False, True]


def test_changing_an_unused_encoder_changes_nothing_and_a_used_one_only_its_labels(ways):
    torch.manual_seed(0)
    posterior, states = Posterior(n_labels=4, width=10, latent=3), torch.randn(5, 7, 10)
    index = slots(LABEL_SETS, 4)
    before, _ = posterior(states, LENGTHS, **index)
    with torch.no_grad():
        posterior.w_ih[3] += 1
        assert torch.equal(posterior(states, LENGTHS, **index)[0], before)
        posterior.w_ih[2] += 1
    changed = (posterior(states, LENGTHS, **index)[0] - before).abs().sum(1) > 0
    assert changed[:8].tolist() == [label == 2 for label_set in LABEL_SETS for label in label_set]
    assert not changed[8:].any()


def test_wide_encoders_run_in_turn_with_the_gradients_of_joint_ones(monkeypatch):
    torch.manual_seed(0)
    posterior, states = Posterior(n_labels=4, width=10, latent=3), torch.randn(5, 7, 10)
    ran, in_turn, gradients = [], posterior.pooled_in_turn, []
    monkeypatch.setattr(posterior, "pooled_in_turn", lambda *batch: ran.append(1) or in_turn(*batch))
    for wide in (11, 10):
        monkeypatch.setattr(posterior_module, "WIDE", wide)
        mean, log_variance = posterior(states, LENGTHS, **slots(LABEL_SETS, 4))
        gradients.append(torch.autograd.grad((mean * log_variance).sum(), list(posterior.parameters())))
    assert ran == [1]
    torch.testing.assert_close(*gradients)


def test_slots_hold_every_pair_and_every_row_once():
    index = slots(LABEL_SETS, 4)
    size = index["slot_row"].shape[1]
    assert len(set(index["slot_of"].tolist())) == len(index["slot_of"]) == index["slot_filled"].sum()
    encoders = index["slot_encoder"][index["slot_of"] // size].tolist()
    rows = index["slot_row"].flatten()[index["slot_of"]].tolist()
    pairs = [(label, row) for row, label_set in enumerate(LABEL_SETS) for label in label_set]
    assert list(zip(encoders, rows, strict=True)) == pairs + [(4, row) for row in range(5)]


def test_shared_heads_are_shared_by_labels_and_not_by_the_content():
    posterior = Posterior(n_labels=4, width=10, latent=3, shared_heads=True)
    assert posterior.head.shape[0] == 2
    assert posterior.head_of.tolist() == [0, 0, 0, 0, 1]


# ---------------------------------------------------------------- priors and prefix


def network_of(decoder=None, **changes) -> ld_vae.LatentPrefix:
    torch.manual_seed(0)
    params = ld_vae_params(**changes)
    decoder = decoder or GPT2Config(n_embd=32, n_layer=2, n_head=2)
    return ld_vae.LatentPrefix(params, torch.randn(4, 16), torch.randn(5, 16), decoder)


def test_the_prefix_network_of_gpt2_size_has_the_printed_number_of_parameters():
    with torch.device("meta"):
        network = network_of(GPT2Config(), latent=512, mid_dim=512)
    assert sum(p.numel() for p in network.mlp.parameters()) == 10_373_632


def test_a_label_encoder_of_bert_size_has_about_2_66_million_parameters():
    with torch.device("meta"):
        weights = [p for name, p in Posterior(1, 768, 512).named_parameters() if not name.startswith("head")]
    assert sum(p[0].numel() for p in weights) == 2_658_816


def test_prior_samples_change_with_label_and_cluster():
    network = network_of()
    (z_label, z_content), (other_label, same_content) = network.sample([(0,)], [7]), network.sample([(1,)], [7])
    assert not torch.isclose(z_label, other_label).any()  # same noise, another mean
    assert torch.equal(z_content, same_content)
    first, second = network.label_means(torch.tensor([0, 1]))
    torch.testing.assert_close(z_label[0, 0] - other_label[0, 0], first - second)
    means = network.content_means(torch.arange(5))
    assert torch.pdist(means).min() > 0
    torch.testing.assert_close(means, network.centroids @ network.content.weight.T)
    drawn = torch.cat([network.sample([(0,)], [seed])[1] for seed in range(400)])
    assert (torch.cdist(drawn, means).argmin(1).bincount(minlength=5) > 20).all()  # every cluster is drawn


def test_label_priors_are_projected_per_label_or_by_one_shared_map():
    network = network_of()
    torch.testing.assert_close(
        network.label_means(torch.tensor([2]))[0], network.label_vectors[2] @ network.label_maps[2]
    )
    shared = network_of(label_prior="shared")
    assert shared.shared_map.bias is not None and not hasattr(shared, "label_maps")


def test_the_latents_of_the_vanilla_vae_do_not_depend_on_labels_or_clusters():
    network = network_of(prior="standard")
    assert set(network.state_dict()) == {"positions", "mlp.0.weight", "mlp.0.bias", "mlp.2.weight", "mlp.2.bias"}
    (z_label, z_content), (other_label, other_content) = network.sample([(0,)], [7]), network.sample([(3,)], [7])
    assert torch.equal(z_label, other_label) and torch.equal(z_content, other_content)
    assert not network.label_means(torch.tensor([0, 1])).any() and not network.content_means(torch.tensor([2])).any()


def test_copies_of_a_latent_share_their_noise_unless_the_reference_is_followed():
    z_label, _ = network_of().sample([(0, 1)], [7])
    assert z_label.shape == (2, 1, 8)
    z_label, _ = network_of(noise_per_copy=True).sample([(0, 1)], [7])
    assert z_label.shape == (2, 3, 8)
    assert not torch.isclose(z_label[0, 0], z_label[0, 1]).any()


def test_without_position_embedding_the_rows_of_a_label_are_identical():
    network = network_of(position_embedding=False)
    rows = network(*(torch.randn(2, 1, 8), torch.randn(2, 8)))
    torch.testing.assert_close(rows, rows[:, :1].expand_as(rows))
    assert network.mlp[0].in_features == 16
    rows = network_of()(torch.randn(2, 1, 8), torch.randn(2, 8))
    assert not torch.isclose(rows[:, 0], rows[:, 1]).all()


# ---------------------------------------------------------------- the objective


def model_and_rows(folders, cached=True, **changes):
    params = ld_vae_params(**changes)
    tokenizer, decoder = load_decoder(folders["decoder"])
    encoder_tokenizer, encoder = load_encoder(folders["encoder"])
    rows = prefix_tuning.text_rows(LABELED, TASK, tokenizer, params.max_length)
    assert cached == latent_inputs.add_encoder_inputs(rows, LABELED, params, encoder_tokenizer, encoder)[0]
    for at, row in enumerate(rows):
        row["cluster"] = at % 5
    torch.manual_seed(1)
    network = network_of(decoder.config, **changes)
    posterior = Posterior(4, 16, params.latent, params.label_pool, params.label_heads == "shared")
    model = ld_vae.NegativeElbo(
        params, network, posterior, decoder, None if cached else encoder, 10, ld_vae.KL_FORMS[params.kl_form]
    )
    return model, rows, lambda batch_rows: latent_inputs.collate(batch_rows, 4, params.prefix_length, 0, 0)


def parts_of(folders, **changes):
    model, rows, collate = model_and_rows(folders, **changes)
    torch.manual_seed(2)
    return model(**collate(rows[:6])), rows[:6]


def test_the_loss_is_the_weighted_sum_of_its_logged_parts(folders):
    parts, _ = parts_of(folders, alpha=0.3, beta=0.7)
    assert set(parts) == {"loss", "nll", "kl_label", "kl_content"}
    assert parts["kl_label"] > 0 and parts["kl_content"] > 0
    torch.testing.assert_close(parts["loss"], parts["nll"] + 0.3 * parts["kl_label"] + 0.7 * parts["kl_content"])


def test_paper_literal_sums_over_tokens_labels_and_dimensions(folders):
    mean, _ = parts_of(folders, alpha=0.3, beta=0.7)
    literal, rows = parts_of(folders, alpha=0.3, beta=0.7, kl_reduction="paper_literal")
    n_tokens = sum(len(row["input_ids"]) - row["first"] for row in rows)
    n_pairs = sum(len(row["labels"]) for row in rows)
    torch.testing.assert_close(literal["kl_label"], mean["kl_label"] * 8 * n_pairs / 6)
    torch.testing.assert_close(literal["kl_content"], mean["kl_content"] * 8)
    expected = mean["nll"] * n_tokens / 6 + literal["kl_label"] + literal["kl_content"]  # alpha = beta = 1
    torch.testing.assert_close(literal["loss"], expected)


def test_free_bits_are_not_charged(folders):
    parts, _ = parts_of(folders, free_bits=1000.0)
    torch.testing.assert_close(parts["loss"], parts["nll"] + 0.1 * 1000 / 8 + 0.1 * 1000 / 8)


def test_what_the_latents_say_is_measured_after_every_epoch(folders, tmp_path):
    history = train(folders, tmp_path / "a", validation=0.3)
    assert [set(entry["measures"]) for entry in history] == [{*TASK.labels.names, "content"}] * 2
    assert all(
        value["kl"] >= 0 and 0 <= value["active"] <= 8 and value["mutual_information"] >= 0
        for entry in history
        for value in entry["measures"].values()
    )
    assert "measures" not in train(folders, tmp_path / "b", validation=0.0)[0]


class _Fixed(torch.nn.Module):
    """A posterior whose moments are given: one pair and one content latent to each of n texts."""

    def __init__(self, mean, log_variance):
        super().__init__()
        self.moments = mean, log_variance

    def forward(self, *_, **__):
        return self.moments


@pytest.mark.parametrize(
    ("spread", "log_variance", "kl", "active", "information"),
    [
        (0.0, 0.0, 0.0, 0, 0.0),  # collapsed onto the prior
        (3.0, 0.0, 4.5, 1, 0.5 * 2.302585),  # means at +3 and -3: KL 9 / 2; 1/2 log(1 + 9)
    ],
)
def test_the_measures_of_hand_worked_latents(folders, spread, log_variance, kl, active, information):
    mean = torch.zeros(4, 1)
    mean[:2, 0] = torch.tensor([spread, -spread])  # two pairs of one label, then two contents
    model = ld_vae.NegativeElbo.__new__(ld_vae.NegativeElbo)
    torch.nn.Module.__init__(model)
    model.posterior, model.encoder = _Fixed(mean, torch.full((4, 1), log_variance)), None
    zeros = lambda names: torch.zeros(len(names), 1)
    model.network = SimpleNamespace(label_means=zeros, content_means=zeros, variance=1.0)
    batch = slots([(0,), (0,)], 1) | {"lengths": torch.tensor([1, 1]), "states": torch.zeros(2, 1, 4)}
    batch |= {"pair_label": torch.tensor([0, 0]), "clusters": torch.tensor([0, 0])}
    latent_measures = collapse.measures(model, [batch], ["joy"])
    expected = {"kl": kl, "active": active, "mutual_information": information}
    assert latent_measures["joy"] == pytest.approx(expected, abs=1e-3)
    assert latent_measures["content"] == {"kl": 0.0, "active": 0.0, "mutual_information": 0.0}


def test_kl_warm_up_grows_with_the_steps_and_validation_pays_in_full(folders):
    model, *_ = model_and_rows(folders, kl_warmup=0.4)  # 4 of 10 steps
    assert [float(model.train().kl_weight()) for _ in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert model.eval().kl_weight() == 1.0


def test_token_states_in_memory_and_encoding_on_the_fly_give_the_same_loss(folders):
    cached, _ = parts_of(folders)
    encoded, _ = parts_of(folders, cached=False, cache_gib=0.0)
    for name in cached:
        torch.testing.assert_close(cached[name], encoded[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("change", [{"kl_form": "reference"}, {"label_pool": "last"}, {"noise_per_copy": True}])
def test_reference_options_change_the_loss(folders, change):
    assert parts_of(folders, **change)[0]["loss"] != parts_of(folders)[0]["loss"]


def test_training_changes_neither_bert_nor_gpt2_and_labels_absent_from_a_batch_get_no_gradient(folders, tmp_path):
    model, rows, collate = model_and_rows(folders, cached=False, cache_gib=0.0)
    rows = [row for row in rows if 3 not in row["labels"]]
    frozen = {n: p.clone() for n, p in model.named_parameters() if n.startswith(("decoder.", "encoder."))}
    model(**collate(rows[:4]))["loss"].backward()
    assert not model.posterior.w_ih.grad[3].any() and not model.network.label_maps.grad[3].any()
    model.zero_grad()
    options = FitOptions(epochs=3, batch_size=8, lr=0.01)
    history = fit(model, rows, [], collate, options, seed=1, work_dir=tmp_path / "work", description="toy")
    assert history[-1]["train"]["loss"] < history[0]["train"]["loss"]
    after = dict(model.named_parameters())
    assert len(frozen) > 20 and all(torch.equal(after[name], value) for name, value in frozen.items())
    assert not any(after[name].requires_grad for name in frozen)


# ---------------------------------------------------------------- training and generation


def test_ld_vae_overfits_the_toy_set(trained, folders):
    history = json.loads((trained / "history.json").read_text())["epochs"]
    assert {"loss", "nll", "kl_label", "kl_content"} == set(history[0]["train"])
    assert history[-1]["train"]["nll"] < 0.1 < history[0]["train"]["nll"] / 3
    assert history[-1]["train"]["kl_label"] >= 0 and history[-1]["train"]["kl_content"] >= 0


@pytest.mark.parametrize("cache_gib", [0.0, 1.0])
def test_the_frozen_encoder_reads_every_text_once_before_training(folders, tmp_path, monkeypatch, cache_gib):
    read, batches = [], loading._hidden_batches

    def counted(model, tokenizer, texts, *more):
        read.extend(texts)
        return batches(model, tokenizer, texts, *more)

    monkeypatch.setattr(loading, "_hidden_batches", counted)
    train(folders, tmp_path / "g", cache_gib=cache_gib, epochs=1)
    assert sorted(read) == sorted([*(e.text for e in LABELED), *TASK.labels.phrases])


@pytest.mark.parametrize("kept", [0, 4, 5000])
def test_weights_that_are_cut_off_are_one_line(trained, folders, tmp_path, kept):
    shutil.copytree(trained, tmp_path / "m")
    weights = tmp_path / "m" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])
    with pytest.raises(InputError, match="model.safetensors: missing or damaged .* train the model again") as error:
        texts_of(tmp_path / "m", folders, [(0,)])
    assert "\n" not in str(error.value)


def test_the_requested_labels_decide_what_is_generated(trained, folders):
    seen_examples = [e for e in ONE_WAY if len(e.labels) < 4]
    texts = texts_of(trained, folders, [e.labels for e in seen_examples])
    assert sum(text == e.text for text, e in zip(texts, seen_examples, strict=True)) >= 0.6 * len(seen_examples)


def test_inference_opens_neither_encoder_nor_text(trained, folders):
    assert {file.name for file in trained.iterdir()} == {
        "config.json",
        "model.safetensors",
        "history.json",
        "clusters.json",
        ".written",
    }
    weights = load_file(trained / "model.safetensors")
    assert not any("w_ih" in name or "head" in name or "encoder" in name for name in weights)
    assert all(e.text not in (trained / "config.json").read_text() for e in examples())
    only_decoder = {"decoder": folders["decoder"]}
    assert texts_of(trained, only_decoder, [(0, 1)]) == texts_of(trained, folders, [(0, 1)])


def test_one_text_per_request_also_for_a_never_seen_set_whatever_the_batches(trained, folders):
    label_sets = [e.labels for e in LABELED]  # the set of all four labels was not trained
    together = texts_of(trained, folders, label_sets, batch_size=30)
    assert len(together) == len(label_sets) and all(together)
    assert together == texts_of(trained, folders, label_sets, batch_size=1)


def test_texts_depend_on_the_seed_through_the_latents_even_when_decoding_is_greedy(trained, folders):
    label_sets = [e.labels for e in LABELED]
    first = texts_of(trained, folders, label_sets, seed=1)
    assert first == texts_of(trained, folders, label_sets, seed=1)
    assert first != texts_of(trained, folders, label_sets, seed=2)


def test_training_twice_writes_the_same_bytes(folders, tmp_path):
    for name in ("one", "two"):
        train(folders, tmp_path / name, validation=0.1, patience=1)
    assert file_digest(tmp_path / "one") == file_digest(tmp_path / "two")


def test_clusters_cover_the_labeled_texts_and_shrink_with_the_data_and_say_so(folders, tmp_path, capsys):
    train(folders, tmp_path / "g", clusters=200)
    assert (
        f"note: clusters: {len(LABELED) // 5} instead of 200, one for 5 of {len(LABELED)} texts\n"
        in capsys.readouterr().err
    )
    clusters = json.loads((tmp_path / "g" / "clusters.json").read_text())
    assert set(clusters) == {e.id for e in LABELED}
    assert load_file(tmp_path / "g" / "model.safetensors")["centroids"].shape == (len(LABELED) // 5, 16)
    assert set(clusters.values()) == set(range(len(LABELED) // 5))


@pytest.mark.parametrize(
    "changes",
    [
        {"prior": "standard"},
        {"kl_form": "reference", "label_pool": "last", "label_heads": "shared", "label_prior": "shared"},
        {"noise_per_copy": True, "batch_order": "reference", "cache_gib": 0.0},
        {"position_embedding": False, "kl_reduction": "paper_literal", "kl_warmup": 0.5, "free_bits": 0.1},
        {"generator_data": "train_only", "prior_variance": 0.5, "loss_on_prompt": True},
    ],
)
def test_every_option_trains_and_generates(folders, tmp_path, changes):
    history = train(folders, tmp_path / "g", **changes)
    assert history[-1]["train"]["nll"] < history[0]["train"]["nll"]
    assert all(texts_of(tmp_path / "g", folders, [(0, 1), (3,)]))


def test_one_composition_per_batch_when_the_order_of_the_reference_is_asked_for(folders, tmp_path, monkeypatch):
    seen = []
    collate = latent_inputs.collate
    noted = lambda rows, **rest: seen.append({row["labels"] for row in rows}) or collate(rows, **rest)
    monkeypatch.setattr(ld_vae, "collate", noted)
    train(folders, tmp_path / "g", batch_order="reference", epochs=1)
    assert seen and all(len(compositions) == 1 for compositions in seen)


def test_a_text_longer_than_the_encoder_reads_is_cut(folders, tmp_path):
    long = Example("long", "the sun is out and " * 40, (0,))
    ld_vae.train([*examples(), long], TASK, ld_vae_params(epochs=1), folders, tmp_path / "g", 13)
    assert (tmp_path / "g" / "model.safetensors").exists()
