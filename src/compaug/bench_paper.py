"""The comparisons of `bench` at the paper's sizes: models of the shapes of BERT-base and GPT-2, with random weights, and SemEval's settings.

Design section 6. Speed does not depend on what weights say, so that no model has to be fetched; only where a text ends does, and
therefore all that are written here are cut at the same length.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, BertConfig, GPT2Config

from compaug import bench, params, pretrained
from compaug.bench import SEED
from compaug.training import seed_everything

BENCHMARK = "semeval"  # whose settings at the scale `paper` are taken
WRITTEN = 48  # tokens of a text that is generated, its prompt included
PRODUCT = 4096  # rows and columns of the matrices whose product shows what the machine can do
BASE = {"layers": 12, "hidden": 768, "heads": 12, "words": 30522, "tokens": 50257}

FULL = {"n": 48, "asked": (2, 64), "filtered": (8, 512), "rounds": 2, "shape": BASE, "product": PRODUCT}
QUICK = {
    "n": 16,
    "asked": (2, 8),
    "filtered": (2, 16),
    "rounds": 1,
    "shape": {"layers": 2, "hidden": 64, "heads": 2, "words": 3000, "tokens": 3000},
    "product": 256,
}


def setup(small: SimpleNamespace, sizes: Mapping) -> SimpleNamespace:
    """`bench.setup` with the tokenizers of its small models, models of the paper's shapes and the paper's settings."""
    settings = params.parse(small.params_file, BENCHMARK, "paper")
    folder, shape = small.folder / "paper", sizes["shape"]
    seed_everything(SEED)
    layers, hidden, heads = shape["layers"], shape["hidden"], shape["heads"]
    backbones = {role: folder / role for role in ("encoder", "decoder")}
    tokenizer, _ = pretrained.load_encoder(small.backbones["encoder"])
    sizes_of_encoder = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
    encoder = BertConfig(
        vocab_size=shape["words"],
        intermediate_size=4 * hidden,
        pad_token_id=tokenizer.pad_token_id,
        **sizes_of_encoder,
    )
    _save(backbones["encoder"], tokenizer, AutoModelForMaskedLM.from_config(encoder))
    tokenizer, _ = pretrained.load_decoder(small.backbones["decoder"])
    end = tokenizer.eos_token_id
    sizes_of_decoder = {"n_layer": layers, "n_embd": hidden, "n_head": heads}
    decoder = GPT2Config(vocab_size=shape["tokens"], bos_token_id=end, eos_token_id=end, **sizes_of_decoder)
    _save(backbones["decoder"], tokenizer, AutoModelForCausalLM.from_config(decoder))
    fixed = {"epochs": 1, "patience": None, "batch_order": "shuffled"}
    many = max(sizes["asked"])
    return SimpleNamespace(
        folder=folder,
        settings=settings,
        task=small.task,
        examples=small.examples[: sizes["n"]],
        backbones=backbones,
        generator=settings.generators["ld_vae"].model_copy(update=fixed),
        synthesis=settings.synthesis.model_copy(update={"max_length": WRITTEN, "batch_size": many}),
        **sizes,
    )


def _save(folder: Path, tokenizer, model: nn.Module) -> None:
    folder.mkdir(parents=True)
    pretrained.save(folder, tokenizer, model)


def speed_of_products(side: int) -> float:
    """Operations a second of one large matrix product in float32, the best of a few."""
    left, right, taken = torch.randn(side, side), torch.randn(side, side), []
    for _ in range(5):
        start = time.perf_counter()
        left @ right
        taken.append(time.perf_counter() - start)
    return 2 * side**3 / min(taken)


def report(small: SimpleNamespace, sizes: Mapping) -> str:
    """The eighth section."""
    made = setup(small, sizes)
    variants = bench.training_variants(made)
    losses = bench.losses_of(variants)
    rates, operations, training = bench.training_in_turns(made, variants)
    peak = speed_of_products(sizes["product"])
    limit = peak / operations["+ joint encoders"] / median(rates["plain"])
    synthesis, written = bench.synthesis_in_turns(made)
    filtering, filtered = bench.filtering_in_turns(made)
    shape = sizes["shape"]
    return f"""## 8. At the paper's sizes

Encoder and decoder have the shapes of BERT-base and GPT-2 ({shape["layers"]} layers of {shape["hidden"]}; {shape["words"]:,} and {shape["tokens"]:,} tokens) and random weights; settings
of `{BENCHMARK}` at the scale `paper`. Texts and variants are those of sections 1 to 3, in {made.rounds}
round{"s" * (made.rounds > 1)} after the warm-up.

### Training LD-VAE

{training}

{len(made.examples)} texts. One large product in float32 runs at {peak / 1e9:.0f} GFLOP/s here, so that {limit:.1f} would be the factor of the product's operations at that rate.
Losses on one batch agree ({losses[0]:.5f}, largest difference {float((losses - losses[0]).abs().max()):.0e}).

### Synthesis

{synthesis}

Every text is {WRITTEN} tokens long with its prompt, for random weights end none; {written}

### Filtering

{filtering}

{filtered}
"""
