"""Utterances, their slots and their intent written at once by a small causal decoder (spec slu-joint-generation 2 and 3).

The decoder learns, through LoRA, to write a whole sentence of the augmented language behind what is left of one after hiding: the intent alone
(`labels`), or a text with words or spans hidden; in every epoch others. `factorised` is the baseline p(y) p(x|y) p(s|x): it writes plain texts of an
intent, and the joint classifier tags them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.pytorch_utils import Conv1D

from compaug import decoders, sampling, training
from compaug.augmented_language import Language, Sentence, Unreadable, in_words, spans_of, tags_of
from compaug.generators.masked_joint import LABELS, source
from compaug.pretrained import IGNORED, LanguageModelLoss, load_decoder, pad, say_cut
from compaug.records import InputError, digest, file_digest, sub_seed
from compaug.shapes import Inventory
from compaug.slu.corpus import Utterance
from compaug.slu.parameters import FACTORISED, Writer

MASKS = ["_"]  # a causal decoder has no mask of its own; a word that every tokenizer knows
BEHIND = "\n"  # what the decoder reads ends with it
LORA_ALPHA = 2  # times the rank


def language_of(names: Inventory) -> Language:
    """Intents and slots in natural words."""
    return Language(*([(name, in_words(name)) for name in names[kind]] for kind in ("intents", "slots")), one=True)


def sentence_of(utterance: Utterance, mode: str) -> Sentence:
    spans = () if mode == FACTORISED else spans_of(utterance.tags)
    return Sentence((utterance.intent,), utterance.words, spans)


def read(text: str, language: Language, name: str) -> Utterance:
    """The utterance that a string says, as `name`. Unreadable with the reason where it says none."""
    found = language.read(text)
    return Utterance(name, found.words, tuple(tags_of(found)), found.names[0])


def shown(sentence: str, settings: Writer, draw) -> str:
    """What the decoder reads of a sentence."""
    mode = LABELS if settings.mode == FACTORISED else settings.mode
    return source(sentence, mode, settings.masked, MASKS, draw)


def with_lora(decoder: nn.Module, rank: int) -> nn.Module:
    """The decoder, of which only small factors beside each linear layer learn; `merge_and_unload()` puts these into its weights."""
    from peft import LoraConfig, get_peft_model  # after `pretrained`

    transposed = any(isinstance(module, Conv1D) for module in decoder.modules())  # GPT-2's linear layers
    config = LoraConfig(
        r=rank,
        lora_alpha=LORA_ALPHA * rank,
        target_modules="all-linear",
        fan_in_fan_out=transposed,
        task_type="CAUSAL_LM",
    )
    with warnings.catch_warnings(
        action="ignore", category=FutureWarning
    ):  # peft asks transformers by a name that it has changed
        return get_peft_model(decoder, config)


def collate(rows: Sequence[dict], tokenizer, settings: Writer) -> dict[str, Tensor]:
    """Sources of this moment, drawn from torch's generator, which every epoch seeds; labels [B, T] are IGNORED on them and on padding."""
    read_of = [shown(row["sentence"], settings, lambda n: torch.rand(n).tolist()) + BEHIND for row in rows]
    heads = tokenizer(read_of)["input_ids"]
    whole = [[*head, *row["target"]][: settings.max_length] for head, row in zip(heads, rows, strict=True)]
    ids, mask = pad(whole, tokenizer.pad_token_id)
    labels, _ = pad([[IGNORED] * len(h) + w[len(h) :] for h, w in zip(heads, whole, strict=True)], IGNORED)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def train(
    utterances: Sequence[Utterance], names: Inventory, settings: Writer, decoder: Path, seed: int
) -> tuple[object, nn.Module, float]:
    """(tokenizer, decoder, mean training loss of the last epoch) after it. InputError without utterances."""
    if not utterances:
        raise InputError("there is no utterance to learn from")
    tokenizer, loaded = load_decoder(decoder)
    training.seed_everything(sub_seed(seed, "writer"))
    model, language = with_lora(loaded, settings.lora), language_of(names)
    sentences = [language.write(sentence_of(row, settings.mode)) for row in utterances]
    targets = [[*ids, tokenizer.eos_token_id] for ids in tokenizer(sentences)["input_ids"]]
    say_cut("writer", sum(2 * len(ids) > settings.max_length for ids in targets), len(targets), settings.max_length)
    rows = [
        {"id": row.id, "length": len(target), "sentence": sentence, "target": target}
        for row, sentence, target in zip(utterances, sentences, targets, strict=True)
    ]
    identity = (settings, seed, file_digest(decoder), digest([repr(row) for row in utterances]))
    history = training.fit(
        LanguageModelLoss(model),
        rows,
        [],
        partial(collate, tokenizer=tokenizer, settings=settings),
        training.FitOptions(settings.epochs, settings.batch_size, settings.lr, warmup=settings.warmup),
        seed=sub_seed(seed, "writer"),
        work_dir=training.work_dir_for("slu-writer", *identity),
        description="writer",
    )
    return tokenizer, model.merge_and_unload().eval().to(training.device()), history[-1]["train"]["loss"]


def write(
    tokenizer, model, utterances: Sequence[Utterance], names: Inventory, settings: Writer, seed: int
) -> tuple[list[Utterance], dict[str, list[str]]]:
    """`settings.each` requests for every intent: the utterances that could be read, and by reason the texts that could not. What is
    shown comes from a random real utterance of the intent."""
    language = language_of(names)
    prompts = []
    for intent in names["intents"]:
        own = [row for row in utterances if row.intent == intent]
        rng = np.random.default_rng(sub_seed(seed, "templates", intent))
        for _ in range(settings.each if own else 0):
            sentence = language.write(sentence_of(own[rng.integers(len(own))], settings.mode))
            prompts.append(shown(sentence, settings, lambda n, rng=rng: rng.random(n).tolist()) + BEHIND)
    ids = tokenizer(prompts)["input_ids"]

    def begin(numbers: list[int]) -> tuple[decoders.Step, list[list[int]]]:
        nothing = torch.zeros(len(numbers), 0, dtype=torch.long, device=training.device())
        return decoders.Step(model, DynamicCache(), nothing), [ids[at] for at in numbers]

    decoding = SimpleNamespace(
        max_length=settings.max_length,
        batch_size=settings.batch_size * 8,
        temperature=settings.temperature,
        top_k=0,
        top_p=settings.top_p,
        no_repeat_ngram=0,
    )
    made: list[Utterance] = []
    refused: dict[str, list[str]] = {}
    for number, text in enumerate(sampling.sample_texts(begin, [len(row) for row in ids], tokenizer, decoding, seed)):
        try:
            made.append(read(text, language, f"written-{number}"))
        except Unreadable as error:
            refused.setdefault(error.reason, []).append(text)
    return made, refused
