"""LD-VAE: label-disentangled variational autoencoder (paper, Eqs. 7 to 14).

Every label has a latent of its own with its own encoder and prior, the content has one more; the network is in `latents`,
the encoders are in `posterior`.
"""

from functools import partial

from compaug.generators import latents

ROLES = ("encoder", "decoder")
GUIDED = True
train = partial(latents.train_per_label, "ld_vae")
generate = latents.generate_per_label
