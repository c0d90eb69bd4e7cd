"""Masked joint generation by a causal decoder, of which small factors beside its linear layers learn (LoRA).

It is `masked_joint` with the body that comes nearest to the paper's pretrained models (docs/spec/joint-generation.md,
3 and 7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
from accelerate import PartialState
from safetensors.torch import save_file

from compaug.core.records import Draft, Example, InputError, atomic_dir, digest, file_digest, sub_seed
from compaug.generators.joint import lora, masked_joint
from compaug.models import prefix_decoder
from compaug.models.loading import load_decoder, load_tensors
from compaug.training.loop import device, fit_and_validate, seed_everything

ROLES = ("decoder",)
FACTORS = "lora.safetensors"
TIMES = 2  # as many tokens as a text has: what is shown of it stands before it


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
    """Train the factors on D_cg, with other masks in every epoch, and save the best epoch's.

    Rows without labels are left out.
    """
    examples, evidence, sentences = masked_joint.learned_from(examples, task, params)
    tokenizer, loaded = load_decoder(backbones["decoder"])
    longest = TIMES * params.max_length
    _check_room("generators.masked_joint_lora", params.max_length, loaded)
    seed_everything(sub_seed(seed, "masked_joint_lora"))
    model = lora.with_lora(loaded, params.lora)
    rows = lora.target_rows([e.id for e in examples], sentences, tokenizer, longest, "generator")
    show = lambda sentence: masked_joint.source(
        sentence, params.mode, params.masked, lora.MASKS, lambda n: torch.rand(n).tolist()
    )
    batch = partial(lora.collate, tokenizer=tokenizer, show=show, max_length=longest)
    data = (task, file_digest(backbones["decoder"]), digest(examples))
    history = fit_and_validate("masked_joint_lora", lora.TargetLoss(model), rows, batch, params, out_dir, seed, *data)
    if not PartialState().is_main_process:
        return
    with atomic_dir(out_dir) as folder:
        factors = {name: p.detach().cpu().contiguous() for name, p in model.named_parameters() if p.requires_grad}
        save_file(factors, folder / FACTORS)
        masked_joint.keep(folder, "masked_joint_lora", task, params, evidence, history, examples)


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """As `masked_joint.generate`. InputError where the backbone is not the one of the training, or has no room."""

    def writer(params):
        tokenizer, loaded = load_decoder(backbones["decoder"])
        decoding = masked_joint.decoding_of(synthesis, TIMES)
        _check_room("synthesis", synthesis.max_length, loaded)
        model, factors = lora.with_lora(loaded, params.lora), load_tensors(model_dir / FACTORS)
        shapes = {name: p.shape for name, p in model.named_parameters() if p.requires_grad}
        if shapes != {name: factor.shape for name, factor in factors.items()}:
            raise InputError(f"{model_dir}: does not fit this backbone; give the one that it was trained with")
        model.load_state_dict(factors, strict=False)
        model = model.merge_and_unload().to(device()).eval()
        return lora.MASKS, lambda sources: lora.written(tokenizer, model, sources, decoding, seed)

    return masked_joint.generate_with(writer, model_dir, requests, task, seed)


def _check_room(block: str, max_length: int, decoder) -> None:
    """InputError where the decoder has no positions for a text and what is shown of it."""
    if TIMES * max_length > (room := prefix_decoder.shape(decoder.config).positions):
        raise InputError(
            f"{block}.max_length: {max_length} tokens, and as many that are shown of them, "
            f"exceed the {room} positions of the decoder; lower it"
        )
