"""The comparisons of `bench` at the paper's sizes, with SemEval's settings.

The models have the shapes of BERT-base and GPT-2, and random weights.

Speed does not depend on what weights say, so that no model has to be fetched; only where a text ends does, and
therefore all that are written here are cut at the same length. With COMPAUG_CPU=native the plain variants have this
CPU's widest instructions too, as the reference code has, and the product's last variant computes in bfloat16 where
there is that.
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

from compaug.core import numerics
from compaug.experiments import params
from compaug.models import loading
from compaug.training.loop import device, reduced, seed_everything
from tools import bench_runs
from tools.bench_runs import PRODUCT, REDUCED, REFERENCE, SEED

BENCHMARK = "semeval"  # whose settings at the scale `paper` are taken
WRITTEN = 48  # tokens of a text that is generated, its prompt included
BASE = {"layers": 12, "hidden": 768, "heads": 12, "words": 30522, "tokens": 50257}

FULL = {"n": 32, "asked": (8, 128), "filtered": (16, 512), "rounds": 2, "shape": BASE, "side": 4096}
QUICK = {
    "n": 16,
    "asked": (2, 8),
    "filtered": (4, 16),
    "rounds": 1,
    "shape": {"layers": 2, "hidden": 64, "heads": 2, "words": 3000, "tokens": 3000},
    "side": 256,
}


def setup(small: SimpleNamespace, sizes: Mapping) -> SimpleNamespace:
    """`bench.setup` with the tokenizers of its small models, models of the paper's shapes and the paper's settings."""
    settings = params.parse(small.params_file, BENCHMARK, "paper")
    folder, shape = small.folder / "paper", sizes["shape"]
    seed_everything(SEED)
    layers, hidden, heads = shape["layers"], shape["hidden"], shape["heads"]
    backbones = {role: folder / role for role in ("encoder", "decoder")}
    tokenizer, _ = loading.load_encoder(small.backbones["encoder"])
    sizes_of_encoder = {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads}
    encoder = BertConfig(
        vocab_size=shape["words"],
        intermediate_size=4 * hidden,
        pad_token_id=tokenizer.pad_token_id,
        **sizes_of_encoder,
    )
    _save(backbones["encoder"], tokenizer, AutoModelForMaskedLM.from_config(encoder))
    tokenizer, _ = loading.load_decoder(small.backbones["decoder"])
    end = tokenizer.eos_token_id
    sizes_of_decoder = {"n_layer": layers, "n_embd": hidden, "n_head": heads}
    decoder = GPT2Config(vocab_size=shape["tokens"], bos_token_id=end, eos_token_id=end, **sizes_of_decoder)
    _save(backbones["decoder"], tokenizer, AutoModelForCausalLM.from_config(decoder))
    fixed = {"epochs": 1, "patience": None, "batch_order": "shuffled"}
    many, examples = max(sizes["asked"]), small.examples[: sizes["n"]]
    return SimpleNamespace(
        folder=folder,
        settings=settings,
        task=small.task,
        examples=bench_runs.of_few_compositions(examples),
        backbones=backbones,
        generator=settings.generators["ld_vae"].model_copy(update=fixed),
        synthesis=settings.synthesis.model_copy(update={"max_length": WRITTEN, "batch_size": many}),
        reduced=device().type == "cpu" and reduced(device()),
        **sizes,
    )


def _save(folder: Path, tokenizer, model: nn.Module) -> None:
    folder.mkdir(parents=True)
    loading.save(folder, tokenizer, model)


def speed_of_products(side: int, dtype: torch.dtype) -> float:
    """Operations a second of one large matrix product, the best of some."""
    left, right, taken = torch.randn(side, side, dtype=dtype), torch.randn(side, side, dtype=dtype), []
    for _ in range(10):
        start = time.perf_counter()
        left @ right
        taken.append(time.perf_counter() - start)
    return 2 * side**3 / min(taken)


def report(small: SimpleNamespace, sizes: Mapping) -> str:
    """Every comparison with models of the paper's sizes, as Markdown."""
    bench = setup(small, sizes)
    variants = bench_runs.training_variants(bench)
    losses = bench_runs.losses_of(variants)
    rates, operations, training = bench_runs.training_in_turns(bench, variants)
    synthesis, _, written = bench_runs.synthesis_in_turns(bench)
    filtering, filtered = bench_runs.filtering_in_turns(bench)
    shape = sizes["shape"]
    return f"""# Fast against plain, at the paper's sizes

Written by `python -m tools.bench --paper` (`make bench`, with COMPAUG_CPU={numerics.CPU[numerics.native()].lower()}). \
{bench_runs.machine()} The other half is
[with small models](bench.md).

Encoder and decoder have the shapes of BERT-base and GPT-2 ({shape["layers"]} layers of {shape["hidden"]}; \
{shape["words"]:,} and {shape["tokens"]:,} tokens) and random weights; settings
of `{BENCHMARK}` at the scale `paper`. Texts are those of the other half, \
{bench_runs.words_of(e.text for e in bench.examples):.1f} words on average. The variants of a comparison ran in turns, \
in {bench.rounds}
round{"s" * (bench.rounds > 1)} after a warm-up; rates are texts per second: median (lowest .. highest), a factor is a \
ratio of medians.

## 1. Training LD-VAE

{training}

The variants are those of the other half, but that encoders as wide as these run one after the other in the product as \
well. {len(bench.examples)} texts; of the {bench_runs.BATCH} rows of a batch of the reference \
{bench_runs.BATCH * variants[REFERENCE].filled():.1f} are texts, as on SemEval. Losses on one batch agree \
({losses[0]:.5f},
largest difference {float((losses - losses[0]).abs().max()):.0e}).
{limits(bench, rates, operations)}

## 2. Synthesis

{synthesis}

Every text is {WRITTEN} tokens long with its prompt, for random weights end none; {written}

## 3. Filtering

{filtering}

{filtered} The classifier that is the filter computes in float32 everywhere.
"""


def limits(bench: SimpleNamespace, rates: Mapping, operations: Mapping) -> str:
    """How far the product is from what its operations would take at the rate of one large matrix product."""
    ways = {PRODUCT: torch.float32} | ({REDUCED: torch.bfloat16} if bench.reduced else {})
    lines = []
    for name, dtype in ways.items():
        peak = speed_of_products(bench.side, dtype)
        limit = peak / operations[name] / median(rates[REFERENCE])
        factor = median(rates[name]) / median(rates[REFERENCE])
        lines.append(
            f"One large product in {str(dtype).removeprefix('torch.')} runs at {peak / 1e9:.0f} GFLOP/s here, at which "
            f"the product's operations would be {limit:.1f} times as fast as the reference: `{name}` is at "
            f"{100 * factor / limit:.0f} % of that."
        )
    return "\n".join(lines)
