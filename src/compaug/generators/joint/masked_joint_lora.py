"""Masked joint generation by a causal decoder, of which small factors beside its linear layers learn (LoRA).

It is `masked_joint` with the body that comes nearest to the paper's pretrained models (docs/spec/joint-generation.md,
3 and 7).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch

from compaug.core.files import InputError
from compaug.core.records import Draft, Example, sub_seed, write_jsonl
from compaug.generators import Backbones, Requests
from compaug.generators.joint import lora, masked_joint
from compaug.generators.shared.model_folder import filled, learn, save_tensors, trained
from compaug.generators.shared.real_rows import EXAMPLES
from compaug.models import prefix_decoder
from compaug.models.loading import load_decoder, load_tensors
from compaug.training.loop import seed_everything

ROLES = ("decoder",)
FACTORS = "lora.safetensors"
TIMES = 2  # as many tokens as a text has: what is shown of it stands before it


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Train the factors on D_cg, with other masks in every epoch, and save the best epoch's.

    Rows without labels are left out.
    """
    examples, evidence, sentences = masked_joint.learned_from(examples, task, params)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    longest = TIMES * params.max_length
    _check_room("generators.masked_joint_lora", params.max_length, decoder)
    seed_everything(sub_seed(seed, "masked_joint_lora"))
    model = lora.with_lora(decoder, params.lora)
    rows = lora.target_rows([e.id for e in examples], sentences, tokenizer, longest, "generator")
    draw = lambda n: torch.rand(n).tolist()
    show = lambda sentence: masked_joint.source(sentence, params.mode, params.masked, lora.MASKS, draw)
    batch = partial(lora.collate, tokenizer=tokenizer, show=show, max_length=longest)

    def save(folder: Path) -> None:
        save_tensors(trained(model), folder / FACTORS)
        write_jsonl(folder / EXAMPLES, examples)

    of = (examples, task, params, backbones, out_dir, seed)
    learn("masked_joint_lora", lora.TargetLoss(model), rows, batch, *of, save=save, evidence=evidence)


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """As `masked_joint.generate`. InputError where the backbone is not the one of the training, or has no room."""

    def writer(params):
        tokenizer, decoder = load_decoder(backbones["decoder"])
        decoding = masked_joint.decoding_of(synthesis, TIMES)
        _check_room("synthesis", synthesis.max_length, decoder)
        model = lora.with_lora(decoder, params.lora)
        model = filled(model, load_tensors(model_dir / FACTORS), model_dir, trained(model)).merge_and_unload()
        return lora.MASKS, lambda sources: lora.written(tokenizer, model, sources, decoding, seed)

    return masked_joint.generate_with(writer, model_dir, requests, task, seed)


def _check_room(block: str, max_length: int, decoder) -> None:
    """InputError where the decoder has no positions for a text and what is shown of it."""
    if TIMES * max_length > (room := prefix_decoder.shape(decoder.config).positions):
        raise InputError(
            f"{block}.max_length: {max_length} tokens, and as many that are shown of them, "
            f"exceed the {room} positions of the decoder; lower it"
        )
