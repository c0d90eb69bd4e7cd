"""How fast the product is against the plain way of doing the same: variants on one random data set, taken in turns.

Design section 6. The plain variants compute what the product computes (checked), so that a factor is a price of waste
and nothing else. Ratios carry over to another machine, seconds do not.
"""

from __future__ import annotations

import copy
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import combinations, islice
from pathlib import Path

import numpy as np
import torch
import yaml
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.flop_counter import FlopCounterMode
from transformers.activations import ACT2FN

from compaug import classifiers, params, training
from compaug.backbones import prepare
from compaug.classifiers import bert, body
from compaug.generators import latents, ld_vae, prefix
from compaug.generators.posterior import Posterior
from compaug.pretrained import load_decoder, load_encoder, mean_states
from compaug.records import Example, InputError, Labels, sub_seed
from compaug.tasks.multi_label import Task

SEED = 0
BENCHMARK = "own"  # the block of params.yaml whose backbones and sizes are used
WIDTH = 128  # tokens that the reference pads every text to
BATCH = 16  # texts in a training batch, as in the paper
COUNTED = 8  # batches whose arithmetic is counted
N_LABELS, MOST_LABELS, WORDS = 11, 4, 3000
TEXT_WORDS, DOCUMENT_WORDS = (16, 6), 100  # mean and deviation of the words of a text; words of a document


@dataclass(frozen=True)
class Sizes:
    """How much is measured. The slow ways of two comparisons get fewer texts: a rate hardly depends on how many."""

    texts: int
    requests: tuple[int, int, int]  # one at a time, by ten, large batches
    filtered: tuple[int, int, int]  # one padded text at a time, one text at a time, large batches
    classified: tuple[int, int]  # one text at a time, large batches
    documents: int
    repeats: int


FULL = Sizes(
    texts=256, requests=(16, 60, 384), filtered=(64, 256, 4096), classified=(32, 512), documents=120_000, repeats=3
)
QUICK = Sizes(texts=48, requests=(2, 4, 8), filtered=(2, 4, 32), classified=(2, 8), documents=1500, repeats=2)


@dataclass(frozen=True)
class Bench:
    """The random world that the variants share."""

    folder: Path
    params_file: Path
    sizes: Sizes
    task: Task
    examples: list[Example]
    backbones: dict[str, Path]
    generator: params.LdVae
    synthesis: params.Synthesis


@dataclass(frozen=True)
class Rates:
    """Texts per second of the repetitions of one variant."""

    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        return f"{self.median:,.0f} ({min(self.values):,.0f} .. {max(self.values):,.0f})"


def run(folder: Path, params_file: Path, sizes: Sizes) -> str:
    """Every comparison; returns the report as Markdown. `folder` is an empty one for models and documents."""
    bench = setup(folder, params_file, sizes)
    sections = [part(bench) for part in (facts, training_step, synthesis, filtering, classifying, reading)]
    return "\n".join(sections) + "\n"


def in_turns(variants: Mapping[str, Callable[[], int]], repeats: int) -> dict[str, Rates]:
    """Run the variants A B C A B C ... so that a busy machine slows all of them; each returns how many texts it did.

    The first round is a warm-up and does not count.
    """
    rates: dict[str, list[float]] = {name: [] for name in variants}
    for repetition in range(repeats + 1):
        for name, variant in variants.items():
            start = time.perf_counter()
            count = variant()
            if repetition:
                rates[name].append(count / (time.perf_counter() - start))
    return {name: Rates(values) for name, values in rates.items()}


# ---------------------------------------------------------------- random data, small models


def setup(folder: Path, params_file: Path, sizes: Sizes) -> Bench:
    """Random texts and the small backbones of the benchmark `own`, pre-trained on them for one epoch."""
    blocks = params.load(
        params_file,
        [
            f"benchmarks.{BENCHMARK}.backbones",
            f"benchmarks.{BENCHMARK}.budgets.generator",
            f"benchmarks.{BENCHMARK}.budgets.synthesis",
            f"benchmarks.{BENCHMARK}.text_prompt",
            f"benchmarks.{BENCHMARK}.label_separator",
            "generators.{generator}",
            "synthesis",
        ],
        benchmark=BENCHMARK,
        generator="ld_vae",
    )
    rng = np.random.default_rng(sub_seed(SEED, "texts"))
    words = lexicon(rng)
    lengths = rng.normal(*TEXT_WORDS, sizes.texts).round().clip(1).astype(int)
    examples = [
        Example(f"t{number}", text, labels)
        for number, (text, labels) in enumerate(
            zip(texts_of(words, lengths, rng), compositions_of(sizes.texts, rng), strict=True)
        )
    ]
    backbones = {}
    for role in ("encoder", "decoder", "seq2seq"):
        spec = getattr(blocks["backbones"], role).model_copy(update={"epochs": 1})
        backbones[role] = folder / role
        backbones[role].mkdir()
        prepare(role, spec, [e.text for e in examples], backbones[role], SEED, folder / "work" / role)
    names = tuple(words[:N_LABELS])
    fixed = {"epochs": 1, "batch_size": BATCH, "max_length": WIDTH, "patience": None, "batch_order": "shuffled"}
    return Bench(
        folder,
        params_file,
        sizes,
        Task(Labels(names, names), blocks["text_prompt"], blocks["label_separator"]),
        examples,
        backbones,
        blocks["generator"].model_copy(update=fixed),
        blocks["synthesis"],
    )


def lexicon(rng: np.random.Generator) -> list[str]:
    """Pronounceable random words, all different."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words: dict[str, None] = {}
    while len(words) < WORDS:
        words["".join(rng.choice(syllables, rng.integers(2, 4)))] = None
    return list(words)


def texts_of(words: Sequence[str], lengths: Sequence[int], rng: np.random.Generator) -> Iterator[str]:
    """One text per length; the word of rank r has frequency 1 / r."""
    weights = 1 / np.arange(1, len(words) + 1)
    vocabulary = np.array(words, dtype=object)
    for start in range(0, len(lengths), 1000):
        block = lengths[start : start + 1000]
        drawn = vocabulary[rng.choice(len(words), sum(block), p=weights / weights.sum())]
        yield from (" ".join(text) for text in np.split(drawn, np.cumsum(block)[:-1]))


def compositions_of(n: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """n draws from a pool of compositions, as many of each size from 1 to 4 labels, a few of them frequent."""
    pool = []
    for size in range(1, MOST_LABELS + 1):
        possible = list(combinations(range(N_LABELS), size))
        pool += [possible[at] for at in rng.permutation(len(possible))[:N_LABELS]]
    order = rng.permutation(len(pool))
    weights = 1 / np.sqrt(np.arange(1, len(pool) + 1))
    return [pool[order[at]] for at in rng.choice(len(pool), n, p=weights / weights.sum())]


def facts(bench: Bench) -> str:
    """Title, machine and data."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "tokenizers", "numpy"))
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    machine = (
        f"{os.cpu_count()} CPU cores ({platform.machine()}), accelerator: {device}, {torch.get_num_threads()} torch "
        f"threads; {platform.system()}, Python {platform.python_version()}, {versions}."
    )
    words = statistics.mean(len(e.text.split()) for e in bench.examples)
    pairs = statistics.mean(len(e.labels) for e in bench.examples)
    return f"""# Fast against plain

Written by `python -m stages.bench` (`make bench`). Machine: {machine}

Data: random texts of {words:.1f} words on average, {N_LABELS} labels, {pairs:.1f} labels a text; backbones and sizes of the
benchmark `{BENCHMARK}` in `params.yaml` (small models trained on these texts for one epoch). The variants of a comparison ran in turns,
A B A B ..., {bench.sizes.repeats} times after a warm-up. Rates are texts per second: median (lowest .. highest). A factor is a ratio of
medians. Factors carry over to other machines better than rates do; both change with the size of the models.
"""


# ---------------------------------------------------------------- 1. a training step of LD-VAE


class OneByOne(nn.Module):
    """The encoders of `Posterior` the plain way: one packed torch.nn.GRU after the other, each with its own head."""

    def __init__(self, joint: Posterior) -> None:
        super().__init__()
        encoders, _, _, width = joint.w_ih.shape
        self.grus = nn.ModuleList(
            nn.GRU(width, joint.hidden, batch_first=True, bidirectional=True) for _ in range(encoders)
        )
        self.heads = nn.ModuleList(nn.Linear(joint.head.shape[2], joint.head.shape[1]) for _ in range(encoders))
        with torch.no_grad():
            for number, (gru, head) in enumerate(zip(self.grus, self.heads, strict=True)):
                for direction, suffix in enumerate(("_l0", "_l0_reverse")):
                    for part in ("w_ih", "w_hh", "b_ih", "b_hh"):
                        plain = part.replace("w_", "weight_").replace("b_", "bias_") + suffix
                        getattr(gru, plain).copy_(getattr(joint, part)[number, direction])
                head.weight.copy_(joint.head[joint.head_of[number]])
                head.bias.copy_(joint.head_bias[joint.head_of[number]])

    def forward(
        self,
        states: Tensor,
        lengths: Tensor,
        slot_encoder: Tensor,
        slot_row: Tensor,
        slot_filled: Tensor,
        slot_of: Tensor,
    ) -> tuple[Tensor, Tensor]:
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


class EveryLogit(prefix.PrefixDecoder):
    """Scores the vocabulary at every position, as GPT2LMHeadModel does, and uses the positions that count."""

    def token_nll(
        self, prefix: Tensor, *, input_ids: Tensor, predicts: Tensor, targets: Tensor, **masks: Tensor
    ) -> Tensor:
        everywhere = torch.arange(input_ids.numel(), device=input_ids.device)
        wanted = torch.full_like(everywhere, -100).index_copy(0, predicts, targets)
        return super().token_nll(prefix, input_ids=input_ids, predicts=everywhere, targets=wanted, **masks)[predicts]


@dataclass(frozen=True)
class Variant:
    """A way to train: a model, its rows, how they become a batch."""

    model: nn.Module
    rows: list[dict]
    collate: Callable[[list], dict]

    def epoch(self, work_dir: Path) -> int:
        options = training.FitOptions(epochs=1, batch_size=BATCH, lr=1e-4)
        training.fit(
            self.model, self.rows, [], self.collate, options, seed=SEED, work_dir=work_dir, description="bench"
        )
        return len(self.rows)

    def loss(self, ids: Sequence[str]) -> Tensor:
        """Of the rows with these ids, with the noise of a fixed seed."""
        by_id = {row["id"]: row for row in self.rows}
        torch.manual_seed(SEED)
        with torch.no_grad():
            return self.model(**on_device(self.collate([by_id[i] for i in ids])))["loss"]

    def batches(self) -> Iterator[dict[str, Tensor]]:
        lengths, groups = ([row.get(key) for row in self.rows] for key in ("length", "group"))
        for batch in training.batches_by_length(lengths, BATCH, SEED, groups):
            yield self.collate([self.rows[at] for at in batch])

    def tokens(self) -> float:
        """Positions of both models' inputs per text, padding included."""
        sizes = (batch["token_mask"].numel() + len(batch["lengths"]) * width_of(batch) for batch in self.batches())
        return sum(sizes) / len(self.rows)

    def arithmetic(self) -> float:
        """Millions of floating-point operations per text in the matrix products of both passes, without the attention's."""
        texts = 0
        with FlopCounterMode(display=False) as counter:
            for batch in islice(self.batches(), COUNTED):
                self.model(**on_device(batch))["loss"].backward()
                texts += len(batch["lengths"])
        self.model.zero_grad(set_to_none=True)
        return counter.get_total_flops() / texts / 1e6


def width_of(batch: Mapping[str, Tensor]) -> int:
    """Tokens that the encoder's input is padded to."""
    return batch["states" if "states" in batch else "encoder_ids"].shape[1]


def on_device(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.to(training.device()) for name, tensor in batch.items()}


def pad_to(collate: Callable[[list], dict], width: int, rows: list) -> dict[str, Tensor]:
    """The batch of `collate` with encoder and decoder input padded to `width` tokens, as the reference does."""
    batch = collate(rows)
    was = batch["input_ids"].shape[1]
    for name in ("input_ids", "token_mask", "encoder_ids", "encoder_mask"):
        batch[name] = nn.functional.pad(batch[name], (0, width - batch[name].shape[1]))
    batch["predicts"] = batch["predicts"] // was * width + batch["predicts"] % was  # flat positions in B x T
    return batch


def training_variants(bench: Bench) -> dict[str, Variant]:
    """The same weights trained in several ways, each with one remedy more; the last is the product."""
    settings, examples, labels = bench.generator, bench.examples, bench.task.labels
    tokenizer, decoder = load_decoder(bench.backbones["decoder"])
    encoder_tokenizer, encoder = load_encoder(bench.backbones["encoder"])
    encoder.to(training.device())
    rows = prefix.text_rows(examples, bench.task, tokenizer, settings.max_length, settings.loss_on_prompt)
    centroids, clusters = latents.content_clusters(examples, settings, encoder_tokenizer, encoder)
    rows = [row | {"cluster": cluster} for row, cluster in zip(rows, clusters, strict=True)]
    with_ids, with_states = [dict(row) for row in rows], [dict(row) for row in rows]
    latents.add_encoder_inputs(
        with_ids, examples, settings.model_copy(update={"cache_gib": 0.0}), encoder_tokenizer, encoder
    )
    latents.add_encoder_inputs(with_states, examples, settings, encoder_tokenizer, encoder)

    training.seed_everything(SEED)
    label_vectors = mean_states(encoder, encoder_tokenizer, labels.phrases, WIDTH, latents.ENCODER_BATCH, False)
    joint = Posterior(len(labels), encoder.config.hidden_size, settings.latent)
    network = latents.LatentPrefix(settings.model_dump(), label_vectors, centroids, decoder.config)
    prefix.save(bench.folder / "ld_vae", "ld_vae", bench.task, settings, network, [])
    collate = partial(
        latents.collate,
        n_encoders=len(labels),
        prefix_length=settings.prefix_length,
        pad_id=tokenizer.eos_token_id,
        encoder_pad_id=encoder_tokenizer.pad_token_id,
    )

    shipped = copy.deepcopy(decoder)  # GPT-2's activation as the library writes it, in seven operations
    for block in shipped.transformer.h:
        block.mlp.act = ACT2FN["gelu_new"]

    def model(posterior: nn.Module, encoder: nn.Module | None, decoder=shipped, every_logit: bool = False) -> nn.Module:
        made = latents.LdVae(settings, network, posterior, decoder, encoder, 1)
        if every_logit:
            made.decoder = EveryLogit(decoder)
        return made.to(training.device())

    one_by_one = OneByOne(joint)
    plain, padded = model(one_by_one, encoder, every_logit=True), partial(pad_to, collate, WIDTH)
    all_as_long = [row | {"length": WIDTH} for row in with_ids]
    by_composition = [row | {"group": row["labels"]} for row in all_as_long]
    return {
        "plain": Variant(plain, all_as_long, padded),
        "plain, one composition a batch": Variant(plain, by_composition, padded),
        "+ dynamic padding": Variant(model(one_by_one, encoder, every_logit=True), with_ids, collate),
        "+ logits that count": Variant(model(one_by_one, encoder), with_ids, collate),
        "+ cached states": Variant(model(one_by_one, None), with_states, collate),
        "+ activation in one kernel": Variant(model(one_by_one, None, decoder), with_states, collate),
        "+ joint encoders": Variant(model(joint, None, decoder), with_states, collate),
    }


def training_step(bench: Bench) -> str:
    variants = training_variants(bench)
    ids = [example.id for example in bench.examples[:BATCH]]
    losses = torch.stack([variant.loss(ids) for variant in variants.values()])
    if not torch.allclose(losses, losses[0].expand_as(losses), rtol=1e-4):
        raise RuntimeError(f"the variants do not compute the same loss: {losses.tolist()}")
    work = bench.folder / "work"
    rates = in_turns({name: partial(v.epoch, work / "fit") for name, v in variants.items()}, bench.sizes.repeats)
    plain, product = variants["plain"], variants["+ joint encoders"]
    real = sum(len(row["input_ids"]) + len(row["states"]) for row in product.rows) / len(product.rows)
    counted = {name: variant.arithmetic() for name, variant in variants.items()}
    rows = [
        [name, str(rates[name]), factor(rates[name], rates["plain"]), f"{variant.tokens():.0f}", f"{counted[name]:.0f}"]
        for name, variant in variants.items()
    ]
    return f"""## 1. Training LD-VAE

{table(["variant", "texts/s", "factor", "tokens a text", "MFLOP a text"], rows)}

`plain` does what the reference code does: every text padded to {WIDTH} tokens in encoder and decoder, the vocabulary scored at every
position, the frozen encoder run at every step, GPT-2's activation in seven operations, one packed `torch.nn.GRU` per label after the other, one head after the
other. The reference's batches hold one composition each (second line), which spares label encoders and fills fewer batches. From the
third line on, each adds one remedy; the last is the product's own path. All run `training.fit` on batches of {BATCH} from the same
weights, and their losses on one batch agree ({losses[0]:.5f}, largest difference {float((losses - losses[0]).abs().max()):.0e}).

A text has {real:.0f} real tokens (encoder and decoder), so leaving out the padding alone would give a factor of
{plain.tokens() / real:.1f} if time were proportional to tokens. It is not: prefix network and label encoders cost the same with and without
padding, and weigh more in small models. MFLOP counts the matrix products of both passes without the attention's: by that
arithmetic the product does {counted["plain"] / counted["+ joint encoders"]:.1f} times less. The one pass of the encoder that fills the cache is not in the rates.
"""


# ---------------------------------------------------------------- 2. synthesis, 3. filtering


def synthesis(bench: Bench) -> str:
    few, some, many = bench.sizes.requests
    label_sets = compositions_of(many, np.random.default_rng(sub_seed(SEED, "requests")))
    texts: dict[int, list[str]] = {}

    def generate(batch_size: int, count: int) -> int:
        settings = bench.synthesis.model_copy(update={"batch_size": batch_size})
        wanted = label_sets[:count]
        made = ld_vae.generate(bench.folder / "ld_vae", wanted, bench.task, settings, bench.backbones, SEED)
        texts[batch_size] = [draft.text for draft in made]
        return count

    large = bench.synthesis.batch_size
    rates = in_turns(
        {
            "one at a time": partial(generate, 1, few),
            "batches of 10": partial(generate, 10, some),
            f"mixed batches of {large}": partial(generate, large, many),
        },
        bench.sizes.repeats,
    )
    same = sum(a == b for a, b in zip(texts[1], texts[large], strict=False))
    words = statistics.mean(len(text.split()) for text in texts[large])
    return f"""## 2. Synthesis

{rates_table(rates)}

LD-VAE's own `generate` (prefix, decoding with a cache of keys and values, top-k, top-p, no repeated 2-grams), {words:.0f} words a text; requests
of all compositions share a batch and finished rows leave it. The reference decodes batches of ten of one composition. {few}, {some} and
{many} texts, loading the models included. A text depends on its request alone: of the first {few}, {same} are the same one at a
time and in large batches (rounding may part the others).
"""


def filtering(bench: Bench) -> str:
    fewest, few, many = bench.sizes.filtered
    tokenizer, encoder = load_encoder(bench.backbones["encoder"])
    settings = params.parse(bench.params_file).classifiers.bert.model_copy(update={"max_length": WIDTH})
    training.seed_everything(SEED)
    facts = body.facts_of("bert", bench.examples, bench.task.labels, settings)
    body.save(bert.build(encoder, facts), tokenizer, facts, bench.folder / "filter")
    texts = [example.text for example in bench.examples]
    texts = (texts * (many // len(texts) + 1))[:many]
    found: dict[str, np.ndarray] = {}

    def predict(name: str, count: int, **batch: int) -> int:
        found[name] = bert.predict(bench.folder / "filter", texts[:count], **batch)
        return count

    variants = {
        "padded, one at a time": partial(predict_padded, bench.folder / "filter", texts[:fewest]),
        "one at a time": partial(predict, "one", few, batch_size=1),
        "batches by length": partial(predict, "many", many),
    }
    rates = in_turns(variants, bench.sizes.repeats)
    difference = float(np.abs(found["one"] - found["many"][:few]).max())
    return f"""## 3. Filtering

{rates_table(rates)}

The reference tokenises one text, pads it to {WIDTH} tokens and classifies it (first line). The other two are the classifier's own
`predict` with batches of one text and with its default batches; {fewest}, {few} and {many} texts, loading the model included. The
probabilities of the last two differ by {difference:.0e} at most.
"""


@torch.inference_mode()
def predict_padded(model_dir: Path, texts: Sequence[str]) -> int:
    tokenizer, model, _ = body.load(bert.build, model_dir)
    for text in texts:
        row = tokenizer(text, truncation=True, max_length=WIDTH, padding="max_length", return_tensors="pt")
        model.scores(**on_device({name: row[name] for name in ("input_ids", "attention_mask")})).cpu()
    return len(texts)


def classifying(bench: Bench) -> str:
    """A row for every classifier: training for one epoch, and answering one text at a time against in batches."""
    few, many = bench.sizes.classified
    names, rows = list(params.Classifiers.model_fields), []
    texts = [example.text for example in bench.examples]
    texts = (texts * (many // len(texts) + 1))[:many]
    for name in names:
        module = classifiers.load(name)
        keys = ["classifiers.{classifier}", "benchmarks.{benchmark}.budgets.classifier"]
        settings = params.load(bench.params_file, keys, benchmark=BENCHMARK, classifier=name)["classifier"]
        settings = settings.model_copy(update={"epochs": 1, "max_length": WIDTH, "batch_size": BATCH})
        folder, backbone = bench.folder / name, bench.backbones[module.ROLES[0]]

        def train(module=module, settings=settings, folder=folder, backbone=backbone) -> int:
            module.train(bench.examples, bench.task.labels, settings, backbone, folder, SEED, "bench", [])
            return len(bench.examples)

        rates = in_turns(
            {
                "training": train,
                "one at a time": lambda m=module, f=folder: len(m.predict(f, texts[:few], batch_size=1)),
                "in batches": lambda m=module, f=folder: len(m.predict(f, texts)),
            },
            bench.sizes.repeats,
        )
        shown = [str(rates[variant]) for variant in ("training", "one at a time", "in batches")]
        rows.append([name, *shown, factor(rates["in batches"], rates["one at a time"])])
    header = ["classifier", "training, texts/s", "answering one at a time", "in batches", "factor"]
    return f"""## 4. Classifiers

{table(header, rows)}

One epoch on {len(bench.examples)} texts in batches of {BATCH}, then {few} texts one at a time and {many} in the default batches, loading and
saving included. The heads of a classifier are one matrix product, MAGNET's label graph is computed once a batch, finished rows leave SGM's decoding.
After one epoch T5+CLP has not learned where an answer ends: its rate is that of answers of full length, the worst case.
"""


# ---------------------------------------------------------------- 5. reading, splitting, auditing

# A process between this one and the stage: the peak memory of a child counts what its parent had when it was born.
MEASURE = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.call(sys.argv[1:])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
sys.exit(code)
"""


def reading(bench: Bench) -> str:
    folder = bench.folder / "documents"
    folder.mkdir()
    write_documents(folder / "documents.jsonl", bench.sizes.documents)
    raw = yaml.safe_load(bench.params_file.read_text(encoding="utf-8"))
    raw["benchmarks"][BENCHMARK]["options"] = {"path": "documents.jsonl", "label_column": "labels"}
    (folder / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    stages = {
        "raw": ("--out", "raw"),
        "split": ("--raw", "raw", "--out", "split"),
        "audit": ("--split", "split", "--out", "audit.json"),
    }
    measured = {stage: measure(stage, options, folder) for stage, options in stages.items()}
    rows = [[name, f"{wall:.1f}", f"{cpu:.1f}", f"{peak:.2f}"] for name, (wall, cpu, peak) in measured.items()]
    wall, cpu = (sum(values[at] for values in measured.values()) for at in (0, 1))
    rows.append(["together", f"{wall:.1f}", f"{cpu:.1f}", f"{max(peak for _, _, peak in measured.values()):.2f}"])
    megabytes = (folder / "documents.jsonl").stat().st_size / 1e6
    return f"""## 5. Reading, splitting, auditing

{table(["stage", "seconds", "CPU seconds", "peak memory, GiB"], rows)}

{bench.sizes.documents:,} random documents of {DOCUMENT_WORDS} words ({megabytes:.0f} MB of JSONL) through the stages as they are, each in a process
of its own, once; start-up of Python included. Meant: less than 60 seconds and 2 GiB for 120,000 documents."""


def write_documents(path: Path, count: int) -> None:
    rng = np.random.default_rng(sub_seed(SEED, "documents"))
    words = lexicon(rng)
    compositions = compositions_of(count, rng)
    texts = texts_of(words, np.full(count, DOCUMENT_WORDS), rng)
    with path.open("w", encoding="utf-8") as stream:
        for text, labels in zip(texts, compositions, strict=True):
            stream.write(json.dumps({"text": text, "labels": [words[label] for label in labels]}) + "\n")


def measure(stage: str, options: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak memory (GiB) of a stage run in `folder`; InputError with its message when it fails."""
    command = [sys.executable, "-m", f"stages.{stage}", "--benchmark", BENCHMARK, *options]
    source = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InputError(f"the stage {stage} failed on the random documents: {done.stderr.strip()}")
    wall, cpu, peak = json.loads(done.stdout.splitlines()[-1])
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB on Linux
    return wall, cpu, peak * unit / 2**30


# ---------------------------------------------------------------- Markdown


def rates_table(rates: Mapping[str, Rates]) -> str:
    slow = next(iter(rates.values()))
    return table(
        ["variant", "texts/s", "factor"], [[name, str(rate), factor(rate, slow)] for name, rate in rates.items()]
    )


def factor(rate: Rates, base: Rates) -> str:
    return f"{rate.median / base.median:.1f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
