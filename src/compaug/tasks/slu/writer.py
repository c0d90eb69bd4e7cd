"""Utterances, their slots and their intent written at once by a small causal decoder (joint generation, §2.2).

The decoder learns, through LoRA, to write a whole sentence of the augmented language behind what is left of one after
hiding: the intent alone (`labels`), or a text with words or spans hidden; in every epoch others. `factorised` is the
baseline p(y) p(x|y) p(s|x): it writes plain texts of an intent, and the joint classifier tags them.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn

from compaug.core.files import digest, file_digest
from compaug.core.records import sub_seed
from compaug.generators.joint import lora
from compaug.generators.joint.augmented_language import Language, Sentence, Unreadable, bio_tags, in_words, spans_of
from compaug.generators.joint.masked_joint import LABELS, source
from compaug.models.loading import load_decoder
from compaug.tasks.slu.parameters import FACTORISED, Writer
from compaug.tasks.slu.utterances import Inventory, Utterance
from compaug.training import checkpoint, loop


def language_of(names: Inventory, slots: bool = True) -> Language:
    """Intents and slots in natural words."""
    kinds = ("intents", "slots") if slots else ("intents",)
    return Language(*([(name, in_words(name)) for name in names[kind]] for kind in kinds), single=True)


def sentence_of(utterance: Utterance, mode: str) -> Sentence:
    spans = () if mode == FACTORISED else spans_of(utterance.tags)
    return Sentence((utterance.intent,), utterance.words, spans)


def read(text: str, language: Language, name: str) -> Utterance:
    """The utterance that a string says, as `name`. Unreadable with the reason where it says none."""
    sentence = language.read(text)
    tags = bio_tags(len(sentence.words), sentence.spans)
    return Utterance(name, sentence.words, tuple(tags), sentence.names[0])


def shown(sentence: str, settings: Writer, draw) -> str:
    """What the decoder reads of a sentence."""
    mode = LABELS if settings.mode == FACTORISED else settings.mode
    return source(sentence, mode, settings.masked, lora.MASKS, draw)


def collate(rows: Sequence[dict], tokenizer, settings: Writer) -> dict[str, Tensor]:
    """Sources of this moment; labels [B, T] are IGNORED on them and on padding.

    They are drawn from torch's generator, which every epoch seeds.
    """
    show = lambda sentence: shown(sentence, settings, lambda n: torch.rand(n).tolist())
    return lora.collate(rows, tokenizer, show, settings.max_length)


def train(
    utterances: Sequence[Utterance], names: Inventory, settings: Writer, decoder: Path, seed: int
) -> tuple[object, nn.Module, float]:
    """(tokenizer, decoder, mean training loss of the last epoch) after it."""
    tokenizer, loaded = load_decoder(decoder)
    loop.seed_everything(sub_seed(seed, "writer"))
    model, language = lora.with_lora(loaded, settings.lora), language_of(names)
    sentences = [language.write(sentence_of(row, settings.mode)) for row in utterances]
    rows = lora.target_rows([row.id for row in utterances], sentences, tokenizer, settings.max_length, "writer")
    identity = (settings, seed, file_digest(decoder), digest([repr(row) for row in utterances]))
    history = loop.fit(
        lora.TargetLoss(model),
        rows,
        [],
        partial(collate, tokenizer=tokenizer, settings=settings),
        loop.FitOptions(settings.epochs, settings.batch_size, settings.lr, warmup=settings.warmup),
        seed=sub_seed(seed, "writer"),
        work_dir=checkpoint.work_dir_for("slu-writer", *identity),
        description="writer",
    )
    return tokenizer, model.merge_and_unload().eval().to(loop.device()), history[-1]["train"]["loss"]


def write(
    tokenizer, model, utterances: Sequence[Utterance], names: Inventory, settings: Writer, seed: int
) -> tuple[list[Utterance], dict[str, list[str]]]:
    """`settings.each` requests for every intent: the utterances that could be read, and the other texts by reason.

    What is shown comes from a random real utterance of the intent.
    """
    language = language_of(names)
    prompts = []
    for intent in names["intents"]:
        examples = [row for row in utterances if row.intent == intent]
        rng = np.random.default_rng(sub_seed(seed, "templates", intent))
        for _ in range(settings.each if examples else 0):
            sentence = language.write(sentence_of(examples[rng.integers(len(examples))], settings.mode))
            prompts.append(shown(sentence, settings, lambda n, rng=rng: rng.random(n).tolist()))
    decoding = SimpleNamespace(
        max_length=settings.max_length,
        batch_size=settings.batch_size * 8,
        temperature=settings.temperature,
        top_k=0,
        top_p=settings.top_p,
        no_repeat_ngram=0,
    )
    written: list[Utterance] = []
    refused: dict[str, list[str]] = {}
    only = language_of(names, settings.mode != FACTORISED) if settings.strict else None
    for number, text in enumerate(lora.written(tokenizer, model, prompts, decoding, seed, only)):
        try:
            written.append(read(text, language, f"written-{number}"))
        except Unreadable as error:
            refused.setdefault(str(error), []).append(text)
    return written, refused
