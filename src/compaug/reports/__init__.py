"""Pages and tables made from result files: what people read, and the numbers `dvc metrics diff` compares."""

from collections.abc import Collection
from pathlib import Path

from compaug.data.multi_label import METRICS
from compaug.data.parameters import Backbone, Backbones

__all__ = ["CORPORA", "METRICS", "NAMES", "backbone_names"]

NAMES = {  # of generators, in words
    "concat": "single labels joined",
    "flan_t5": "Flan-T5",
    "gpt2_pt": "GPT2-PT",
    "ld_vae": "LD-VAE",
    "ls_pt": "LS-PT",
    "masked_joint": "joint generation",
    "masked_joint_lora": "joint generation, LoRA",
    "shuffled": "wrong labels",
    "vae": "VAE",
    "vae_dprior": "VAE-DPrior",
}
CORPORA = {  # whose names do not say what their texts are
    "arxiv": "papers",
    "debtags": "programs",
    "diagnostic": "a grammar",
    "quick": "a short grammar",
    "semeval": "tweets",
}


def backbone_names(backbones: Backbones, roles: Collection[str]) -> dict[str, str]:
    """Each role's pre-trained model in words, from the benchmark's `backbones` block.

    Of the filter's and classifier's encoder, the label generator's decoder, and the roles that the text generator
    opens.
    """

    def name(backbone: Backbone) -> str:
        if backbone.kind == "tiny":
            return f"tiny, {backbone.layers} layers of {backbone.hidden}"
        if backbone.parts:  # several packages: the file that they make up
            return Path(backbone.path).name.partition(".")[0]
        return Path(backbone.path).name if backbone.kind == "path" else backbone.name

    return {role: name(backbone) for role, backbone in backbones if role in {"encoder", "decoder", *roles}}
