"""VAE: LD-VAE with standard normal priors; the labels reach the decoder through the prompt alone (paper, Table 8).

The network is LD-VAE's; the block `generators.vae` says `prior: standard`.
"""

from functools import partial

from compaug.generators.disentangled import ld_vae

ROLES = ("encoder", "decoder")
GUIDED = True
train = partial(ld_vae.train, generator="vae")
generate = ld_vae.generate
