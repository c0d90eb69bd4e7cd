"""VAE-DPrior: one latent for the whole composition beside the content's (paper, Eq. 7).

LD-VAE's network with a single label encoder and a prior N(l_Y W, lambda I), where l_Y is the encoder's mean state over
the label phrases joined to one string. A composition that training never saw has a vector l_Y all the same.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from torch import Tensor

from compaug.core.records import Draft, Example
from compaug.generators import Backbones, Requests
from compaug.generators.disentangled import ld_vae
from compaug.generators.disentangled.guidance import others
from compaug.generators.disentangled.latent_inputs import ENCODER_BATCH
from compaug.generators.parameters import LdVae
from compaug.generators.shared.drafts import training_examples
from compaug.generators.shared.facts import facts_of
from compaug.models.loading import load_encoder, mean_states

ROLES = ("encoder", "decoder")
GUIDED = True


class Whole(LdVae):
    """LD-VAE's parameters for one latent of the whole composition."""

    label_prior: Literal["composition"]


LD_VAE = {  # LD-VAE's options, as VAE-DPrior has them
    "prior": "conditional",
    "label_pool": "mean",
    "label_heads": "per_label",
    "label_prior": "composition",  # one W, no bias
    "position_embedding": True,
    "noise_per_copy": False,
    "batch_order": "shuffled",
}


def commitment_loss(mean: Tensor, log_variance: Tensor, prior_mean: Tensor, prior_variance: float) -> Tensor:
    """What the original implementation minimises per dimension.

    Squared distances to the prior's mean, 0.1 of them moving the posterior, and a reward for variance. It is not a
    divergence: it can be negative.
    """
    squared = (prior_mean - mean.detach()).square() + 0.1 * (prior_mean.detach() - mean).square()
    return squared - 0.1 * log_variance


KL_FORMS = {"exact": ld_vae.gaussian_kl, "reference": commitment_loss}


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Train encoders, priors and prefix network on D_cg."""
    compositions = sorted({example.labels for example in examples if example.labels})
    examples = training_examples(examples, params.generator_data)
    number = {composition: at for at, composition in enumerate(compositions)}
    latents = ld_vae.Latents(
        phrases=[task.phrase(composition) for composition in compositions],
        priors=[(number[example.labels],) for example in examples],
        posteriors=[(0,)] * len(examples),
        encoders=("composition",),
    )
    settings = Whole(**vars(params), **LD_VAE)
    ld_vae.fit("vae_dprior", latents, KL_FORMS[params.kl_form], examples, task, settings, backbones, out_dir, seed)


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One text per request; the encoder reads the phrases of the requested compositions, and no text."""
    _, params, task = facts_of(model_dir, task)
    against = others(requests, len(task.labels), seed) if synthesis.guidance else []
    compositions = sorted({tuple(label_set) for label_set in (*requests, *against)})
    number = {composition: (at,) for at, composition in enumerate(compositions)}
    tokenizer, encoder = load_encoder(backbones["encoder"])
    phrases = [task.phrase(composition) for composition in compositions]
    vectors = mean_states(encoder, tokenizer, phrases, params.max_length, ENCODER_BATCH, False)
    model = ld_vae.opened(model_dir, task, backbones, {"label_vectors": vectors})
    return ld_vae.generate_drafts(*model, requests, synthesis, seed, lambda label_set: number[tuple(label_set)])
