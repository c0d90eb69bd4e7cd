"""Has a posterior collapsed onto its prior? What each latent of LD-VAE says of the texts."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from compaug.generators.disentangled.posterior import SLOTS

ACTIVE = 0.01  # variance from which a dimension is in use


@torch.no_grad()
def measures(model, batches: Iterable[Mapping[str, Tensor]], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """What the latents of each encoder, by name, and of the content say of the texts; in nats of a whole vector.

    kl: mean KL(Q(z | x) || P(z)). active: dimensions whose mean moves from text to text, Var E[z | x] > 0.01 (Burda et
    al. 2016). mutual_information: of z and x, with a Gaussian in place of the aggregate posterior (an upper bound).
    """
    moments: dict[int, list[tuple[Tensor, Tensor, Tensor]]] = {}
    for batch in batches:
        states = model.states(*(batch.get(name) for name in ("states", "encoder_ids", "encoder_mask")))
        slots_of = {name: batch[name] for name in SLOTS}
        mean, log_variance = model.posterior(states, **slots_of)
        encoder = slots_of["slot_encoder"].repeat_interleave(batch["slot_row"].shape[1])[batch["slot_of"]]
        kl = model.exact_kl(mean, log_variance, batch).sum(-1)
        for number in encoder.unique().tolist():
            of_encoder = encoder == number
            moments.setdefault(number, []).append((mean[of_encoder], log_variance[of_encoder], kl[of_encoder]))
    every = {}
    for number, name in enumerate((*names, "content")):
        if number not in moments:
            continue
        mean, log_variance, kl = (torch.cat(parts) for parts in zip(*moments[number], strict=True))
        spread = mean.var(0, correction=0)  # [latent]
        apart = (log_variance.exp().mean(0) + spread).log() - log_variance.mean(0)
        values = {"kl": kl.mean(), "active": (spread > ACTIVE).sum(), "mutual_information": 0.5 * apart.sum()}
        every[name] = {key: round(float(value), 4) for key, value in values.items()}
    return every
