"""How fast the product is against the plain way of doing the same: variants on one random data set, taken in turns.

The plain variants compute what the product computes (checked), so that a factor is a price of waste
and nothing else. Ratios carry over to another machine, seconds do not.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import cycle, islice
from pathlib import Path
from statistics import mean, median
from types import SimpleNamespace

import torch
from accelerate.state import AcceleratorState
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.flop_counter import FlopCounterMode

from compaug import classifiers
from compaug.classifiers import bert, body
from compaug.classifiers.parameters import BLOCKS
from compaug.core import numerics
from compaug.core.files import InputError, write_json
from compaug.core.records import Example
from compaug.data.multi_label import Task
from compaug.data.readers import diagnostic
from compaug.experiments import params
from compaug.generators.disentangled import latent_inputs, ld_vae, prefix_tuning
from compaug.generators.disentangled.posterior import Posterior
from compaug.generators.linda import interpolation, linda, linda_prefix
from compaug.generators.shared.facts import CONFIG
from compaug.generators.shared.model_folder import save_tensors
from compaug.models import prefix_decoder
from compaug.models.backbones import prepare
from compaug.models.loading import IGNORED, load_decoder, load_encoder, mean_states
from compaug.training import batching, loop

SEED = 0
BENCHMARK = "own"  # the corpus whose backbones and sizes are used
WIDTH = 128  # tokens that the reference pads every text to
BATCH = 16  # texts in a training batch, as in the paper
# Of the rows of a batch of the reference that are texts on SemEval, so here too: as many texts have each composition.
FILLED = 10.7
TOGETHER = 5  # texts in a document

REFERENCE, PRODUCT, REDUCED = "reference's batches, plain", "+ joint encoders", "+ bfloat16"  # ways to train

# How much is measured. (few, many): the slow ways get fewer texts, for a rate hardly depends on how many.
FULL = {
    "n": 256,
    "asked": (16, 384),
    "filtered": (64, 4096),
    "classified": (32, 512),
    "documents": 120_000,
    "mapped": 120_000,
    "mapped_texts": 1024,
    "rounds": 3,
}
QUICK = {
    "n": 48,
    "asked": (2, 8),
    "filtered": (2, 32),
    "classified": (2, 8),
    "documents": 1500,
    "mapped": 1500,
    "mapped_texts": 48,
    "rounds": 1,
}


def report(bench: SimpleNamespace) -> str:
    """Every comparison with small models, as Markdown."""
    parts = (facts, training_step, synthesis, filtering, classifying, reading, interpolating)
    return "\n".join(part(bench) for part in parts)


def in_turns(variants: Mapping[str, Callable[[], int]], rounds: int, warm: bool = False) -> dict[str, list[float]]:
    """Texts per second of each variant in each round; a variant returns how many texts it did.

    They run A B C A B C ... so that a busy machine slows all of them; unless they are `warm`, a round that does not
    count comes first.
    """
    rates: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds + (not warm)):
        for name, variant in variants.items():
            start = time.perf_counter()
            rates[name].append(variant() / (time.perf_counter() - start))
    return {name: values[-rounds:] for name, values in rates.items()}


def operations_of(variant: Callable[[], int]) -> float:
    """Floating-point operations that a text takes, those of matrix products; the variant runs once for it."""
    with FlopCounterMode(display=False) as counter:
        texts = variant()
    return counter.get_total_flops() / texts


# ---------------------------------------------------------------- texts, small models


def setup(folder: Path, params_file: Path, sizes: Mapping) -> SimpleNamespace:
    """What the variants share; `folder` is an empty one for models and documents.

    Texts of the diagnostic grammar, the small backbones of the benchmark `own`, pre-trained on them for one epoch, its
    task and its settings of LD-VAE.
    """
    settings = params.parse(params_file, BENCHMARK, "tiny")
    examples, labels = diagnostic.read({"size": sizes["n"]}, SEED)
    examples = of_few_compositions(examples)
    backbones = {role: folder / role for role in ("encoder", "decoder", "seq2seq")}
    for role, path in backbones.items():
        spec = getattr(settings.backbones, role).model_copy(update={"epochs": 1})
        path.mkdir()
        prepare(role, spec, [e.text for e in examples], path, SEED, folder / "work" / role)
    fixed = {"epochs": 1, "batch_size": BATCH, "max_length": WIDTH, "patience": None, "batch_order": "shuffled"}
    return SimpleNamespace(
        folder=folder,
        settings=settings,
        params_file=params_file.resolve(),
        task=Task(labels, settings.corpus.text_prompt, settings.corpus.label_separator),
        examples=examples,
        backbones=backbones,
        generator=settings.generators["ld_vae"].model_copy(update=fixed),
        synthesis=settings.synthesis,
        reduced=False,
        **sizes,
    )


def of_few_compositions(examples: Sequence[Example]) -> list[Example]:
    """With the most frequent label sets in turn in place of their own, so that FILLED of them have each.

    Speed does not ask what is right.
    """
    count = max(round(len(examples) / FILLED), 1)
    frequent = [labels for labels, _ in Counter(e.labels for e in examples).most_common(count)]
    return [replace(e, labels=frequent[at % len(frequent)]) for at, e in enumerate(examples)]


def first(count: int, values: Iterable) -> list:
    """So many of them, over and over again."""
    return list(islice(cycle(values), count))


def words_of(texts: Iterable[str]) -> float:
    """Mean number of words."""
    return mean(len(text.split()) for text in texts)


def machine() -> str:
    """Hardware and versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "tokenizers", "numpy"))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return f"""Machine: {os.cpu_count()} CPU cores ({platform.machine()}), accelerator: {device},
{torch.get_num_threads()} torch thread{"s" * (torch.get_num_threads() > 1)}; {platform.system()}, Python \
{platform.python_version()}, {versions}."""


def facts(bench) -> str:
    """Title, machine and data."""
    words, labels = words_of(e.text for e in bench.examples), mean(len(e.labels) for e in bench.examples)
    return f"""# Fast against plain

Written by `python -m tools.bench` (`make bench`). {machine()} The other half is
[at the paper's sizes](bench_paper.md).

Data: texts of the diagnostic grammar, {words:.1f} words and {labels:.1f} of {len(bench.task.labels)} labels on \
average, labels drawn anew so that some {FILLED:.0f} texts have the same; backbones and sizes of the
benchmark `{BENCHMARK}` at the scale `tiny` (small models trained on these texts for one epoch). The variants of a \
comparison ran in turns,
A B A B ..., {bench.rounds} times after a warm-up. Rates are texts per second: median (lowest .. highest). A factor is \
a ratio of
medians. Factors carry over to other machines better than rates do; both change with the size of the models.
"""


# ---------------------------------------------------------------- 1. a training step of LD-VAE


class OneByOne(nn.Module):
    """The encoders of `Posterior` the plain way: one packed torch.nn.GRU after the other, each with its own head."""

    def __init__(self, joint: Posterior) -> None:
        super().__init__()
        width = joint.w_ih.shape[-1]
        weights = {"weight_ih": joint.w_ih, "weight_hh": joint.w_hh, "bias_ih": joint.b_ih, "bias_hh": joint.b_hh}
        self.grus, self.heads = nn.ModuleList(), nn.ModuleList()
        for number, head in enumerate(joint.head_of):
            gru = nn.GRU(width, joint.hidden, batch_first=True, bidirectional=True)
            for direction, suffix in enumerate(("_l0", "_l0_reverse")):
                tensors = {name + suffix: weight[number, direction] for name, weight in weights.items()}
                gru.load_state_dict(tensors, strict=False)
            linear = nn.Linear(joint.head.shape[2], joint.head.shape[1])
            linear.load_state_dict({"weight": joint.head[head], "bias": joint.head_bias[head]})
            self.grus.append(gru)
            self.heads.append(linear)

    def forward(self, states, lengths, slot_encoder, slot_row, slot_filled, slot_of) -> tuple[Tensor, Tensor]:
        """As `Posterior.forward`; the slots are read back into (encoder, row) items."""
        encoder_of = slot_encoder.repeat_interleave(slot_row.shape[1])[slot_of]
        row_of = slot_row.flatten()[slot_of]
        order, moments = [], []
        for encoder in encoder_of.unique().tolist():
            items = (encoder_of == encoder).nonzero().squeeze(1)
            rows = row_of[items]
            packed = pack_padded_sequence(states[rows], lengths[rows].cpu(), batch_first=True, enforce_sorted=False)
            outputs, _ = pad_packed_sequence(self.grus[encoder](packed)[0], batch_first=True)  # [n, T, 2 h]
            order.append(items)
            moments.append(self.heads[encoder](outputs.sum(dim=1) / lengths[rows, None]))
        mean, log_variance = torch.cat(moments)[torch.cat(order).argsort()].chunk(2, dim=-1)
        return mean, log_variance.clamp(-10, 10)


class EveryLogit(prefix_decoder.PrefixDecoder):
    """Scores the vocabulary at every position, as transformers' own loss does, and uses the positions that count."""

    def token_nll(self, rows: Tensor, *, predicts: Tensor, targets: Tensor, **inputs: Tensor) -> Tensor:
        everywhere = torch.arange(inputs["input_ids"].numel(), device=targets.device)
        all_targets = torch.full_like(everywhere, -100).index_copy(0, predicts, targets)
        return super().token_nll(rows, predicts=everywhere, targets=all_targets, **inputs)[predicts]


@contextlib.contextmanager
def bfloat16(enabled: bool) -> Iterator[None]:
    """With bfloat16 where the CPU has it, or without, whatever COMPAUG_CPU was when the process began.

    `loop.reduced` asks each time.
    """
    before = os.environ.get("COMPAUG_CPU")
    os.environ["COMPAUG_CPU"] = numerics.CPU[enabled]
    AcceleratorState._reset_state()  # else it refuses a precision that is not the first one's
    try:
        yield
    finally:
        AcceleratorState._reset_state()
        os.environ.pop("COMPAUG_CPU")
        if before is not None:
            os.environ["COMPAUG_CPU"] = before


@dataclass(frozen=True)
class Variant:
    """A way to train: a model, its rows, how they become a batch, and whether it computes in bfloat16."""

    model: nn.Module
    rows: list[dict]
    collate: Callable[[list], dict]
    reduced: bool = False

    def epoch(self, work_dir: Path) -> int:
        options, more = loop.FitOptions(epochs=1, batch_size=BATCH, lr=1e-4), {"seed": SEED, "description": "bench"}
        with bfloat16(self.reduced):
            loop.fit(self.model, self.rows, [], self.collate, options, work_dir=work_dir, **more)
        return len(self.rows)

    def loss(self) -> Tensor:
        """Of the first rows, with the noise of a fixed seed."""
        torch.manual_seed(SEED)
        where = loop.device()
        with torch.no_grad(), torch.autocast(where.type, torch.bfloat16, enabled=self.reduced):
            return self.model(**on_device(self.collate(self.rows[:BATCH])))["loss"]

    def filled(self) -> float:
        """Share of a batch's rows that are texts."""
        return len(self.rows) / sum(
            self.collate([self.rows[at] for at in batch])["input_ids"].shape[0] for batch in self.batches()
        )

    def batches(self) -> list[list[int]]:
        """Row numbers of every batch of an epoch."""
        lengths, groups = ([row.get(key) for row in self.rows] for key in ("length", "group"))
        return batching.batches_by_length(lengths, BATCH, SEED, groups)

    def tokens(self) -> float:
        """Positions of both models' inputs per text, padding included."""
        batches = (self.collate([self.rows[at] for at in batch]) for batch in self.batches())
        inputs = ("input_ids", "encoder_ids", "states")
        total = sum(batch[name].shape[:2].numel() for batch in batches for name in inputs if name in batch)
        return total / len(self.rows)


def on_device(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.to(loop.device()) for name, tensor in batch.items()}


def pad_to(collate: Callable[[list], dict], width: int, rows: list) -> dict[str, Tensor]:
    """The batch of `collate` with encoder and decoder input padded to `width` tokens, as the reference does."""
    batch = collate(rows)
    was = batch["input_ids"].shape[1]
    for name in ("input_ids", "token_mask", "encoder_ids", "encoder_mask"):
        batch[name] = nn.functional.pad(batch[name], (0, width - batch[name].shape[1]))
    batch["predicts"] = batch["predicts"] // was * width + batch["predicts"] % was  # flat positions in B x T
    return batch


def fill(collate: Callable[[list], dict], rows: list) -> dict[str, Tensor]:
    """A batch of always as many rows, the first ones once more where they are too few.

    This is what the reference computes for its empty rows.
    """
    return collate(first(BATCH, rows))


@bfloat16(False)  # a frozen decoder takes its precision where a model is made
def training_variants(bench) -> dict[str, Variant]:
    """The same weights trained in several ways, each with one remedy more; the reference's own batches come first.

    The last that computes in float32 is the product's default.
    """
    settings, examples, labels = bench.generator, bench.examples, bench.task.labels
    tokenizer, decoder = load_decoder(bench.backbones["decoder"])
    encoder_tokenizer, encoder = load_encoder(bench.backbones["encoder"])
    encoder.to(loop.device())
    rows = prefix_tuning.text_rows(examples, bench.task, tokenizer, settings.max_length, settings.loss_on_prompt)
    with_ids, with_states = copy.deepcopy(rows), rows
    no_cache = settings.model_copy(update={"cache_gib": 0.0})
    latent_inputs.add_encoder_inputs(with_ids, examples, no_cache, encoder_tokenizer, encoder)
    _, means = latent_inputs.add_encoder_inputs(with_states, examples, settings, encoder_tokenizer, encoder)
    centroids, clusters = latent_inputs.content_clusters(means, settings)
    for row, same, cluster in zip(with_ids, with_states, clusters, strict=True):
        row["cluster"] = same["cluster"] = cluster

    loop.seed_everything(SEED)
    label_vectors = mean_states(encoder, encoder_tokenizer, labels.phrases, WIDTH, latent_inputs.ENCODER_BATCH, False)
    joint = Posterior(len(labels), encoder.config.hidden_size, settings.latent)
    one_by_one = OneByOne(joint)
    network = ld_vae.LatentPrefix(settings, label_vectors, centroids, decoder.config)
    folder = bench.folder / "ld_vae"
    folder.mkdir()
    save_tensors(network.state_dict(), folder / prefix_tuning.TENSORS)
    facts = {"generator": "ld_vae", **bench.task.facts(), "params": settings.in_force()}
    write_json(folder / CONFIG, facts)
    pads = {"pad_id": tokenizer.eos_token_id, "encoder_pad_id": encoder_tokenizer.pad_token_id}
    collate = partial(latent_inputs.collate, n_encoders=len(labels), prefix_length=settings.prefix_length, **pads)

    def model(posterior: nn.Module, encoder: nn.Module | None, every_logit: bool = False, decoder=decoder) -> nn.Module:
        elbo = ld_vae.NegativeElbo(settings, network, posterior, decoder, encoder, 1)
        if every_logit:
            elbo.decoder = EveryLogit(decoder)
        return elbo.to(loop.device())

    plain, padded = model(one_by_one, encoder, every_logit=True), partial(pad_to, collate, WIDTH)
    all_as_long = [row | {"length": WIDTH} for row in with_ids]
    by_composition = [row | {"group": row["labels"]} for row in all_as_long]
    variants = {
        REFERENCE: Variant(plain, by_composition, partial(fill, padded)),
        "plain": Variant(plain, all_as_long, padded),
        "+ dynamic padding": Variant(plain, with_ids, collate),
        "+ logits that count": Variant(model(one_by_one, encoder), with_ids, collate),
        "+ cached states": Variant(model(one_by_one, None), with_states, collate),
        PRODUCT: Variant(model(joint, None), with_states, collate),
    }
    if bench.reduced:
        with bfloat16(True):
            in_bfloat16 = model(copy.deepcopy(joint), None, decoder=copy.deepcopy(decoder))
        variants[REDUCED] = Variant(in_bfloat16, with_states, collate, reduced=True)
    return variants


def training_in_turns(bench, variants: Mapping[str, Variant]) -> tuple[dict, dict, str]:
    """Rates and operations a text of each variant, and their table."""
    work_dir = bench.folder / "work" / "fit"
    epochs = {name: partial(variant.epoch, work_dir) for name, variant in variants.items()}
    operations = {name: operations_of(epoch) for name, epoch in epochs.items()}  # which warms them up
    rates = in_turns(epochs, bench.rounds, warm=True)
    rows = [
        [
            name,
            *rated(rates[name], rates[REFERENCE]),
            f"{variant.tokens():.0f}",
            f"{operations[name] / 1e6:,.0f}",
            f"{operations[name] * median(rates[name]) / 1e9:.0f}",
        ]
        for name, variant in variants.items()
    ]
    return rates, operations, table([*RATED, "tokens a text", "MFLOP a text", "GFLOP/s"], rows)


def losses_of(variants: Mapping[str, Variant]) -> Tensor:
    """Of one batch, by every variant in float32; RuntimeError where they differ by more than rounding."""
    losses = torch.stack([variant.loss() for variant in variants.values() if not variant.reduced])
    if not torch.allclose(losses, losses[0].expand_as(losses), rtol=1e-4):
        raise RuntimeError(f"the variants do not compute the same loss: {losses.tolist()}")
    return losses


def training_step(bench) -> str:
    variants = training_variants(bench)
    losses = losses_of(variants)
    _, operations, rates = training_in_turns(bench, variants)
    plain, product = variants["plain"], variants[PRODUCT]
    real = mean(len(row["input_ids"]) + len(row["states"]) for row in product.rows)
    fewer = operations[REFERENCE] / operations[PRODUCT]
    return f"""## 1. Training LD-VAE

{rates}

`plain` does what the reference code does: every text padded to {WIDTH} tokens in encoder and decoder, the vocabulary \
scored at every
position, the frozen encoder run at every step, one packed `torch.nn.GRU` per label after the other, one head after the
other. The reference's batches hold one composition each and always {BATCH} rows (first line): of those \
{BATCH * variants[REFERENCE].filled():.1f} are texts here, as on SemEval, the
others nothing; the second line has its batches full. From the third line on, each adds one remedy; the last is the \
product's own path. All run
`loop.fit` on batches of {BATCH} from the same weights, and their losses on one batch agree ({losses[0]:.5f}, largest \
difference {float((losses - losses[0]).abs().max()):.0e}).

A text has {real:.0f} real tokens (encoder and decoder), so leaving out the padding alone would give a factor of \
{plain.tokens() / real:.1f} if time were
proportional to tokens. It is not: prefix network and label encoders cost the same with and without padding, and weigh \
more in small models.
MFLOP counts the matrix products of both passes, those of the attention where it is one kernel aside; by that \
arithmetic the product does
{fewer:.1f} times less. The one pass of the encoder that fills the cache is not in the rates.
"""


# ---------------------------------------------------------------- 2. synthesis, 3. filtering, 4. classifiers


def synthesis_in_turns(bench) -> tuple[str, float, str]:
    """Table of the rates, words of a text, and what to know about it."""
    (few, many), large = bench.asked, bench.synthesis.batch_size
    label_sets = first(many, (e.labels for e in bench.examples))
    texts: dict[int, list[str]] = {}

    def generate(batch_size: int, count: int, reduced: bool = False) -> int:
        settings, model = bench.synthesis.model_copy(update={"batch_size": batch_size}), bench.folder / "ld_vae"
        with bfloat16(reduced):
            drafts = ld_vae.generate(model, label_sets[:count], bench.task, settings, bench.backbones, SEED)
        if not reduced:
            texts[batch_size] = [draft.text for draft in drafts]
        return count

    several = min(4 * few, many)
    variants = {"one at a time": (1, few), "batches of 10": (10, several), f"mixed batches of {large}": (large, many)}
    if bench.reduced:
        variants[REDUCED] = (large, many, True)
    rates = in_turns({name: partial(generate, *sizes) for name, sizes in variants.items()}, bench.rounds)
    same = sum(a == b for a, b in zip(texts[1], texts[large], strict=False))
    facts = f"""{few}, {several} and {many} texts, loading the models included. A text depends on its request
alone: of the first {few}, {same} are the same one at a time and in large batches (rounding may part the others)."""
    return rates_table(rates), words_of(texts[large]), facts


def synthesis(bench) -> str:
    rates, words, facts = synthesis_in_turns(bench)
    return f"""## 2. Synthesis

{rates}

LD-VAE's own `generate` (prefix, decoding with a cache of keys and values, top-k, top-p, no repeated 2-grams). \
Requests of all compositions
share a batch and finished rows leave it. The reference decodes batches of ten of one composition. {words:.0f} words a \
text; {facts}
"""


def filtering_in_turns(bench) -> tuple[str, str]:
    """Table of the rates, and what to know about it."""
    few, many = bench.filtered
    several, texts = min(4 * few, many), first(many, (e.text for e in bench.examples))
    train, predict, folder = classifier(bench, "bert")
    train()
    variants = {
        "padded, one at a time": lambda: predict_padded(folder, texts[:few]),
        "one at a time": lambda: len(predict(texts[:several], batch_size=1)),
        "batches by length": lambda: len(predict(texts)),
    }
    rates = in_turns(variants, bench.rounds)
    difference = abs(predict(texts[:several], batch_size=1) - predict(texts)[:several]).max()
    return rates_table(rates), (
        f"{few}, {several} and {many} texts, loading the model included. The\nprobabilities of the last two differ by "
        f"{difference:.0e} at most."
    )


def filtering(bench) -> str:
    rates, facts = filtering_in_turns(bench)
    return f"""## 3. Filtering

{rates}

The reference tokenises one text, pads it to {WIDTH} tokens and classifies it (first line). The other two are the \
classifier's own
`predict` with batches of one text and with its default batches; {facts}
"""


def classifier(bench, name: str) -> tuple[Callable[[], int], Callable, Path]:
    """Train it for one epoch, predict with it, its folder."""
    module, folder = classifiers.load(name), bench.folder / name
    settings = bench.settings.classifiers[name].model_copy(
        update={"epochs": 1, "max_length": WIDTH, "batch_size": BATCH}
    )
    backbone = bench.backbones[module.ROLES[0]]

    def train() -> int:
        module.train(bench.examples, bench.task.labels, settings, backbone, folder, SEED, "bench", [])
        return len(bench.examples)

    return train, partial(module.predict, folder), folder


@torch.inference_mode()
def predict_padded(model_dir: Path, texts: Sequence[str]) -> int:
    tokenizer, model, _ = body.load(bert.build, model_dir)
    for text in texts:
        row = tokenizer(text, truncation=True, max_length=WIDTH, padding="max_length", return_tensors="pt")
        model.scores(**on_device({name: row[name] for name in ("input_ids", "attention_mask")})).cpu()
    return len(texts)


def classifying(bench) -> str:
    """A row for every classifier: training for one epoch, and answering one text at a time against in batches."""
    few, many = bench.classified
    texts, rows = first(many, (e.text for e in bench.examples)), []
    for name in BLOCKS:
        train, predict, _ = classifier(bench, name)
        variants = {
            "training": train,
            "one at a time": lambda predict=predict: len(predict(texts[:few], batch_size=1)),
            "in batches": lambda predict=predict: len(predict(texts)),
        }
        rates = in_turns(variants, bench.rounds)
        training_rate, single, batched = rates.values()
        rows.append([name, shown(training_rate), shown(single), *rated(batched, single)])
    header = ["classifier", "training, texts/s", "answering one at a time", "in batches", "factor"]
    return f"""## 4. Classifiers

{table(header, rows)}

One epoch on {len(bench.examples)} texts in batches of {BATCH}, then {few} texts one at a time and {many} in the \
default batches, loading and
saving included. The heads of a classifier are one matrix product, MAGNET's label graph is computed once a batch, \
finished rows leave SGM's decoding.
After one epoch T5+CLP has not learned where an answer ends: its rate is that of answers of full length, the worst case.
"""


# ---------------------------------------------------------------- 5. reading, splitting, auditing

# A process between this one and the stage: the peak memory of a child counts what its parent had when it was born.
MEASURE = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[1:])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB on Linux
print(json.dumps([time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**30]))
sys.exit(code)
"""


def reading(bench) -> str:
    folder = bench.folder / "documents"
    folder.mkdir()
    examples, labels = diagnostic.read({"size": bench.documents}, SEED)
    texts = [e.text for e in examples]
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as stream:
        for at, example in enumerate(examples):
            row = {"text": " ".join(texts[at : at + TOGETHER]), "labels": [labels.names[y] for y in example.labels]}
            stream.write(json.dumps(row) + "\n")
    options = '--set corpus.options={"path":"documents.jsonl","label_column":"labels"}'
    stages = {
        "raw": f"--out raw {options}",
        "split": "--raw raw --out split",
        "audit_split": "--split split --out audit.json",
    }
    usage = {stage: measure(bench, stage, options) for stage, options in stages.items()}
    wall, cpu, peak = zip(*usage.values(), strict=True)
    usage["together"] = (sum(wall), sum(cpu), max(peak))
    rows = [[name, f"{wall:.1f}", f"{cpu:.1f}", f"{peak:.2f}"] for name, (wall, cpu, peak) in usage.items()]
    megabytes = (folder / "documents.jsonl").stat().st_size / 1e6
    return f"""## 5. Reading, splitting, auditing

{table(["stage", "seconds", "CPU seconds", "peak memory, GiB"], rows)}

{bench.documents:,} documents of {TOGETHER * words_of(texts):.0f} words ({megabytes:.0f} MB of JSONL) through the \
stages as they are, each in a process
of its own, once; start-up of Python included. Meant: less than 60 seconds and 2 GiB for 120,000 documents.
"""


def measure(bench, stage: str, options: str) -> tuple[float, float, float]:
    """`measured` of a stage on the documents."""
    command = f"-m compaug.stages.{stage} --params {bench.params_file} --benchmark {BENCHMARK} {options}".split()
    return measured(f"the stage {stage}", command, bench.folder / "documents")


def measured(what: str, arguments: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak memory (GiB) of Python run in that folder. InputError with its message."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    whole = [sys.executable, "-c", MEASURE, sys.executable, *arguments]
    done = subprocess.run(whole, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{what} failed: {done.stderr.strip()}")
    return tuple(json.loads(done.stdout.splitlines()[-1]))


# ---------------------------------------------------------------- 6. training LINDA


class Copying(nn.Module):
    """Plain fine-tuning of a body of LINDA's: it reads a text and writes it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, input_ids: Tensor, mask: Tensor, words: Tensor, labels: Tensor) -> dict[str, Tensor]:
        nll = self.body.nll(self.body.encode(input_ids, mask), mask, labels)
        return {"loss": nll.sum() / (labels != IGNORED).sum()}


def interpolation_variants(bench, name: str, module) -> dict[str, Variant]:
    """Plain fine-tuning on batches of like lengths, and the product on batches of any."""
    settings = bench.settings.generators[name].model_copy(update={"max_length": WIDTH // 2})
    loop.seed_everything(SEED)
    body = module.body_of(bench.backbones, settings)
    rows = interpolation.text_rows(bench.examples, body, settings.max_length)
    by_length = [row | {"length": len(row["source"]) + len(row["target"])} for row in rows]
    collate = partial(interpolation.collate, pad_id=body.pad_id)
    return {
        f"{name}: plain": Variant(Copying(body).to(loop.device()), by_length, collate),
        name: Variant(interpolation.Interpolation(body, settings).to(loop.device()), rows, collate),
    }


def interpolating(bench) -> str:
    """Rates of texts read and of texts written: of two that are read LINDA learns to write both, from every mixture."""
    rows = []
    for name, module in {"linda": linda, "linda_prefix": linda_prefix}.items():
        variants = interpolation_variants(bench, name, module)
        rates = in_turns(
            {key: partial(v.epoch, bench.folder / "work" / "fit") for key, v in variants.items()}, bench.rounds
        )
        plain, product = rates.values()
        written = [2 * rate for rate in product]
        rows.append([f"{name}, plain fine-tuning", *rated(plain, plain), *rated(plain, plain)])
        rows.append([name, *rated(product, plain), *rated(written, plain)])
    header = ["variant", "texts read/s", "factor", "texts written/s", "factor"]
    return f"""## 6. Training LINDA

{table(header, rows)}

Plain fine-tuning of the same body reads a text and writes it, in batches of texts of like length. LINDA mixes every \
text of a batch with another one
and learns to write both from the same states, so that a text that is read is written twice; its batches have texts of \
any length. One epoch
on {len(bench.examples)} texts in batches of {BATCH}, masking, noise and norm penalty included. Meant: at least 0.8 \
times as many texts written.
"""


# ---------------------------------------------------------------- Markdown


RATED = ("variant", "texts/s", "factor")


def number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2f}"


def shown(rates: Sequence[float]) -> str:
    return f"{number(median(rates))} ({number(min(rates))} .. {number(max(rates))})"


def rated(rates: Sequence[float], base: Sequence[float]) -> tuple[str, str]:
    """The rate, and the factor over that of `base`."""
    return shown(rates), f"{median(rates) / median(base):.1f}"


def rates_table(rates: Mapping[str, Sequence[float]]) -> str:
    """A line for each variant, the factor over the first."""
    return table(RATED, [[name, *rated(values, next(iter(rates.values())))] for name, values in rates.items()])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
