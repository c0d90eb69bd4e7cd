"""LD-VAE, the label-disentangled variational autoencoder: prior, bound, training and sampling (paper, Eqs. 7 to 14;
docs/spec/ld-vae.md, 7).

Every label y of a composition has a latent z_y with its own prior N(l_y W_y, lambda I), the content has z_c with prior
N(k_c W_c, lambda I) around one of |C| centroids; the decoder is LS-PT's with rows [z_y ; z_c ; e_l]. The posteriors are
in `posterior`, what they read in `latent_inputs`. `prior: standard` is the vanilla VAE of Table 8; the options that
follow the reference code are rows of docs/spec/ld-vae.md, 11.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from compaug.core.files import write_json
from compaug.core.records import Draft, Example, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.disentangled import collapse, prefix_tuning
from compaug.generators.disentangled.latent_inputs import ENCODER_BATCH, add_encoder_inputs, collate, content_clusters
from compaug.generators.disentangled.posterior import SLOTS, Posterior
from compaug.generators.shared.drafts import one_each, training_examples
from compaug.generators.shared.facts import CONFIG, facts_of
from compaug.generators.shared.model_folder import filled, learn, save_tensors
from compaug.models.loading import load_decoder, load_encoder, load_tensors, mean_states
from compaug.models.prefix_decoder import PrefixDecoder
from compaug.training.batching import holdout
from compaug.training.loop import device, seed_everything

ROLES = ("encoder", "decoder")
GUIDED = True
LabelSet = Sequence[int]


# ---------------------------------------------------------------- the prior, and the prefix of its latents


class LatentPrefix(nn.Module):
    """Priors and prefix network: everything that inference needs besides the frozen decoder, and all that is saved."""

    def __init__(self, params, label_vectors: Tensor, centroids: Tensor, decoder) -> None:
        super().__init__()
        self.length, self.latent = params.prefix_length, params.latent
        self.conditional = params.prior == "conditional"
        self.variance = params.prior_variance if self.conditional else 1.0
        self.per_copy = params.noise_per_copy
        if self.conditional:
            n_labels, width = label_vectors.shape
            self.register_buffer("label_vectors", label_vectors)  # l_y
            self.register_buffer("centroids", centroids)  # k_c
            self.content = nn.Linear(width, self.latent, bias=False)  # W_c
            if params.label_prior == "per_label":
                self.label_maps = nn.Parameter(torch.empty(n_labels, width, self.latent))  # W_y
                nn.init.uniform_(self.label_maps, -(width**-0.5), width**-0.5)
            else:  # the reference's map has a bias, the composition's map of VAE-DPrior has none
                self.shared_map = nn.Linear(width, self.latent, bias=params.label_prior == "shared")
        self.positions = None
        if params.position_embedding:
            self.positions = nn.Parameter(torch.randn(self.length, decoder.hidden_size))  # e_l
        width = 2 * self.latent + (decoder.hidden_size if params.position_embedding else 0)
        self.mlp = prefix_tuning.prefix_mlp(width, params.mid_dim, decoder)

    def label_means(self, labels: Tensor) -> Tensor:
        """mu_y^p of the labels [N]: [N, latent]."""
        if not self.conditional:
            return self.mlp[0].weight.new_zeros(len(labels), self.latent)
        if hasattr(self, "shared_map"):
            return self.shared_map(self.label_vectors)[labels]
        return torch.einsum("yh,yhd->yd", self.label_vectors, self.label_maps)[labels]

    def content_means(self, clusters: Tensor) -> Tensor:
        """mu_c^p of the clusters [B]: [B, latent]."""
        if not self.conditional:
            return self.mlp[0].weight.new_zeros(len(clusters), self.latent)
        return self.content(self.centroids[clusters])

    def forward(self, z_label: Tensor, z_content: Tensor) -> Tensor:
        """Prefix rows [N, L, prefix_decoder.Shape.row] from each pair's z_y [N, 1 or L, latent] and z_c [N, latent]."""
        copies = [z_label.expand(-1, self.length, -1), z_content[:, None].expand(-1, self.length, -1)]
        if self.positions is not None:
            copies.append(self.positions.expand(len(z_label), -1, -1))
        return self.mlp(torch.cat(copies, dim=-1))

    def noise_shape(self) -> tuple[int, int]:
        """Of one label: the reference draws noise for each copy of z_y, the paper once (docs/spec/ld-vae.md, 11.7)."""
        return (self.length if self.per_copy else 1, self.latent)

    def sample(self, label_sets: Sequence[Sequence[int]], seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
        """z_y [N, 1 or L, latent] of all pairs in order and z_c [B, latent], from the priors.

        c is uniform over the clusters. Each request has its own seed. No encoder and no text takes part.
        """
        where = self.mlp[0].weight.device
        clusters, content_noise, label_noise = [], [], []
        for label_set, seed in zip(label_sets, seeds, strict=True):
            rng = np.random.default_rng(seed)
            clusters.append(int(rng.integers(len(self.centroids))) if self.conditional else 0)
            content_noise.append(rng.standard_normal(self.latent, dtype=np.float32))
            label_noise.append(rng.standard_normal((len(label_set), *self.noise_shape()), dtype=np.float32))
        labels = torch.tensor([label for label_set in label_sets for label in label_set], device=where)
        noise = torch.from_numpy(np.concatenate(label_noise)).to(where)
        z_label = self.label_means(labels)[:, None] + self.variance**0.5 * noise
        noise = torch.from_numpy(np.stack(content_noise)).to(where)
        z_content = self.content_means(torch.tensor(clusters, device=where)) + self.variance**0.5 * noise
        return z_label, z_content


# ---------------------------------------------------------------- the bound


def gaussian_kl(mean: Tensor, log_variance: Tensor, prior_mean: Tensor, prior_variance: float) -> Tensor:
    """KL(N(mean, diag s) || N(prior_mean, lambda I)) per latent dimension; non-negative, zero iff both are equal."""
    squared = (mean - prior_mean).square()
    log_ratio = log_variance - float(np.log(prior_variance))
    return 0.5 * ((log_variance.exp() + squared) / prior_variance - 1 - log_ratio)


def reference_divergence(mean: Tensor, log_variance: Tensor, prior_mean: Tensor, prior_variance: float) -> Tensor:
    """What the reference code minimises instead, per dimension (docs/spec/ld-vae.md, 11.5).

    Commitment terms with stopped gradients, and the standard deviation where the variance belongs. It is not a
    divergence: it can be negative.
    """
    commitment = 0.2 * (prior_mean - mean.detach()).square() + (prior_mean.detach() - mean).square()
    return commitment + (0.5 * log_variance).exp() - 1 - log_variance


KL_FORMS = {"exact": gaussian_kl, "reference": reference_divergence}


class NegativeElbo(nn.Module):
    """The negative ELBO of a batch of texts with their compositions (paper, Eqs. 7 and 8)."""

    def __init__(
        self,
        params,
        network: LatentPrefix,
        posterior: Posterior,
        decoder,
        encoder,
        total_steps: int,
        divergence: Callable[..., Tensor] = gaussian_kl,
    ) -> None:
        super().__init__()
        self.params, self.network, self.posterior, self.divergence = params, network, posterior, divergence
        self.decoder = PrefixDecoder(decoder)
        self.encoder = encoder.requires_grad_(False) if encoder is not None else None  # None: token states are cached
        self.warm_steps = params.kl_warmup * total_steps
        # A parameter without gradient, so that checkpoints carry it and an interrupted warm-up goes on where it was.
        self.steps = nn.Parameter(torch.zeros(())) if self.warm_steps else None

    def train(self, mode: bool = True) -> NegativeElbo:
        super().train(mode)
        if self.encoder is not None:
            self.encoder.eval()
        return self

    def forward(
        self,
        *,
        lengths: Tensor,
        clusters: Tensor,
        pair_row: Tensor,
        pair_slot: Tensor,
        pair_label: Tensor,
        prefix_mask: Tensor,
        slot_encoder: Tensor,
        slot_row: Tensor,
        slot_filled: Tensor,
        slot_of: Tensor,
        states: Tensor | None = None,
        encoder_ids: Tensor | None = None,
        encoder_mask: Tensor | None = None,
        **texts: Tensor,
    ) -> dict[str, Tensor]:
        """loss, and for the log: nll (token mean), kl_label, kl_content (reduced as in the loss, before free bits)."""
        states = self.states(states, encoder_ids, encoder_mask)
        mean, log_variance = self.posterior(states, lengths, slot_encoder, slot_row, slot_filled, slot_of)
        deviation = (0.5 * log_variance).exp()
        n_pairs = len(pair_label)
        noise = torch.randn(n_pairs, *self.network.noise_shape(), device=mean.device)
        z_label = mean[:n_pairs, None] + deviation[:n_pairs, None] * noise  # [N, 1 or L, latent]
        z_content = mean[n_pairs:] + deviation[n_pairs:] * torch.randn_like(mean[n_pairs:])  # [B, latent]
        rows = self.network(z_label, z_content[pair_row])
        nll = self.decoder.token_nll(
            prefix_tuning.place(rows, pair_row, pair_slot, prefix_mask), prefix_mask=prefix_mask, **texts
        )
        variance = self.network.variance
        label_kl = self.divergence(
            mean[:n_pairs], log_variance[:n_pairs], self.network.label_means(pair_label).float(), variance
        )
        content_kl = self.divergence(
            mean[n_pairs:], log_variance[n_pairs:], self.network.content_means(clusters).float(), variance
        )
        return self.elbo(nll, label_kl, content_kl, n_texts=len(lengths))

    def exact_kl(self, mean: Tensor, log_variance: Tensor, batch: Mapping[str, Tensor]) -> Tensor:
        """KL(Q(z | x) || P(z)) of the batch's pairs, then of its contents: [N + B, latent]."""
        priors = [self.network.label_means(batch["pair_label"]), self.network.content_means(batch["clusters"])]
        return gaussian_kl(mean, log_variance, torch.cat(priors).float(), self.network.variance)

    def pair_rows(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Prefix rows [N, L, prefix_decoder.Shape.row] of the batch's pairs at the posteriors' means: no noise."""
        states = self.states(*(batch.get(name) for name in ("states", "encoder_ids", "encoder_mask")))
        mean, _ = self.posterior(states, **{name: batch[name] for name in SLOTS})
        n_pairs = len(batch["pair_label"])
        return self.network(mean[:n_pairs, None], mean[n_pairs:][batch["pair_row"]])

    def states(self, states: Tensor | None, encoder_ids: Tensor | None, encoder_mask: Tensor | None) -> Tensor:
        """V_x of a batch: cached, or read now.  # [B, T, H]"""
        if states is not None:
            return states
        with torch.no_grad():
            return self.encoder(encoder_ids, attention_mask=encoder_mask).last_hidden_state

    def elbo(self, nll: Tensor, label_kl: Tensor, content_kl: Tensor, n_texts: int) -> dict[str, Tensor]:
        """Token-mean CE + alpha KL_label + beta KL_content, means over everything.

        `paper_literal`: sums over tokens, labels and dimensions of a text, alpha = beta = 1 (paper, Eqs. 7, 12, 13).
        """
        literal = self.params.kl_reduction == "paper_literal"

        def reduce(values: Tensor) -> Tensor:
            return values.sum() / n_texts if literal else values.mean()

        def charged(values: Tensor) -> Tensor:
            """Less than `free_bits` nats per latent vector costs as much as `free_bits`: there is nothing to gain."""
            if not self.params.free_bits:
                return reduce(values)
            vectors = values.sum(dim=-1, keepdim=True).clamp(min=self.params.free_bits)
            return reduce(vectors) / (1 if literal else values.shape[-1])

        alpha, beta = (1.0, 1.0) if literal else (self.params.alpha, self.params.beta)
        divergence = alpha * charged(label_kl) + beta * charged(content_kl)
        loss = reduce(nll) + self.kl_weight() * divergence
        return {"loss": loss, "nll": nll.mean(), "kl_label": reduce(label_kl), "kl_content": reduce(content_kl)}

    def kl_weight(self) -> Tensor | float:
        """Linear warm-up over the first share of the training steps; full weight in validation."""
        if self.steps is None or not self.training:
            return 1.0
        with torch.no_grad():
            return self.steps.add_(1).div(self.warm_steps).clamp(max=1.0)


# ---------------------------------------------------------------- training


@dataclass(frozen=True)
class Latents:
    """The label latents of the training texts: of LD-VAE one for each label, of VAE-DPrior one for the composition."""

    phrases: Sequence[str]  # one a prior; its vector l is the encoder's mean state over the phrase
    priors: Sequence[LabelSet]  # of every text: numbers of `phrases`
    posteriors: Sequence[LabelSet]  # of every text, one for each of its priors: numbers of `encoders`
    encoders: Sequence[str]  # their names


def train(
    examples: Sequence[Example],
    task,
    params,
    backbones: Backbones,
    out_dir: Path,
    seed: int,
    generator: str = "ld_vae",
) -> None:
    """Train with a latent, an encoder and a prior for every label, and save what generates at the best epoch."""
    examples = training_examples(examples, params.generator_data)
    label_sets = [example.labels for example in examples]
    latents = Latents(task.labels.phrases, label_sets, label_sets, task.labels.names)
    fit(generator, latents, KL_FORMS[params.kl_form], examples, task, params, backbones, out_dir, seed)


def fit(
    generator: str,
    latents: Latents,
    divergence: Callable[..., Tensor],
    examples: Sequence[Example],
    task,
    params,
    backbones: Backbones,
    out_dir: Path,
    seed: int,
) -> None:
    """Cluster the contents of `examples`, all with labels, and train encoders, priors and prefix network on them."""
    tokenizer, decoder = load_decoder(backbones["decoder"])
    encoder_tokenizer, encoder = load_encoder(backbones["encoder"])
    encoder.to(device())
    prefix_tuning.check_positions(decoder.config, latents.priors, params.prefix_length, params.max_length)
    rows = prefix_tuning.text_rows(examples, task, tokenizer, params.max_length, params.loss_on_prompt)
    cached, means = add_encoder_inputs(rows, examples, params, encoder_tokenizer, encoder)
    centroids, clusters = content_clusters(means, params)
    groups = {label_set: group for group, label_set in enumerate(sorted({e.labels for e in examples}))}
    for row, cluster, priors, posteriors in zip(rows, clusters, latents.priors, latents.posteriors, strict=True):
        if params.batch_order == "reference":  # one composition per batch; without its dummy rows
            row["group"] = groups[row["labels"]]
        row |= {"cluster": cluster, "labels": priors, "encoders": posteriors}

    seed_everything(sub_seed(seed, generator))
    label_vectors = mean_states(encoder, encoder_tokenizer, latents.phrases, params.max_length, ENCODER_BATCH, False)
    network = LatentPrefix(params, label_vectors, centroids, decoder.config)
    n_encoders, shared_heads = len(latents.encoders), params.label_heads == "shared"
    posterior = Posterior(n_encoders, encoder.config.hidden_size, params.latent, params.label_pool, shared_heads)
    seen = max(1, round((params.epoch_share or 1.0) * len(holdout(rows, params.validation, seed)[0])))  # in an epoch
    total_steps = params.epochs * -(-seen // params.batch_size)
    model = NegativeElbo(params, network, posterior, decoder, None if cached else encoder, total_steps, divergence)
    pads = {"pad_id": tokenizer.eos_token_id, "encoder_pad_id": encoder_tokenizer.pad_token_id}
    batch = partial(collate, n_encoders=n_encoders, prefix_length=params.prefix_length, **pads)

    def save(folder: Path) -> None:
        save_tensors(network.state_dict(), folder / prefix_tuning.TENSORS)
        ids = [example.id for example in examples]
        write_json(folder / "clusters.json", dict(zip(ids, clusters, strict=True)))

    learn(
        generator,
        model,
        rows,
        batch,
        *(examples, task, params, backbones, out_dir, seed, save, CONFIG),
        measured=partial(collapse.measures, model, names=latents.encoders),
        values=prefix_tuning.text_values(model, rows, examples, batch, tokenizer, task, params, seed),
    )


# ---------------------------------------------------------------- sampling


def opened(model_dir: Path, task, backbones: Backbones, vectors: Mapping[str, Tensor] | None = None):
    """(params, task, tokenizer, decoder, network) of a folder that `fit` wrote; `vectors` stand in for its tensors."""
    _, params, task = facts_of(model_dir, task)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    tensors = load_tensors(model_dir / prefix_tuning.TENSORS) | (vectors or {})
    priors = (tensors.get(name, torch.zeros(0, 0)) for name in ("label_vectors", "centroids"))
    return params, task, tokenizer, decoder, filled(LatentPrefix(params, *priors, decoder.config), tensors, model_dir)


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One text per request: latents from the priors, then the decoder. Neither the encoder nor any text is opened."""
    return generate_drafts(*opened(model_dir, task, backbones), requests, synthesis, seed, tuple)


def generate_drafts(
    params, task, tokenizer, decoder, network: LatentPrefix, requests: Requests, synthesis, seed: int, parts_of
) -> Iterator[Draft]:
    """One text per request, with latents of its parts drawn from the network's priors.

    What guidance holds against it has the same z_c.
    """

    def rows_of(numbers: list[int], parts: list[LabelSet], index: Mapping[str, Tensor]) -> Tensor:
        z_label, z_content = network.sample(parts, [sub_seed(seed, "latent", number) for number in numbers])
        return network(z_label, z_content[index["pair_row"]])

    behind = (requests, task, params.prefix_length, synthesis, seed, parts_of)
    return one_each(requests, prefix_tuning.generate_texts(decoder, tokenizer, rows_of, *behind))
