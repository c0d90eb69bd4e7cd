"""A causal decoder that learns by LoRA to write a string behind what it is shown of it (§2.2)."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.pytorch_utils import Conv1D

from compaug.generators.joint.augmented_language import Language
from compaug.generators.joint.strict_decoding import StrictStep, Vocabulary
from compaug.models import prefix_decoder, sampling
from compaug.models.loading import IGNORED, pad, say_cut
from compaug.training.loop import device

MASKS = ["_"]  # a causal decoder has no mask of its own; a word that every tokenizer knows
BEHIND = "\n"  # what the decoder is shown ends with it
LORA_ALPHA = 2  # times the rank


def with_lora(decoder: nn.Module, rank: int) -> nn.Module:
    """The decoder, of which only small factors beside each linear layer learn.

    `merge_and_unload()` puts these into its weights.
    """
    from peft import LoraConfig, get_peft_model  # after `pretrained`

    transposed = any(isinstance(module, Conv1D) for module in decoder.modules())  # GPT-2's linear layers
    config = LoraConfig(
        r=rank,
        lora_alpha=LORA_ALPHA * rank,
        target_modules="all-linear",
        fan_in_fan_out=transposed,
        task_type="CAUSAL_LM",
    )
    # peft asks transformers by a name that it has changed
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        return get_peft_model(decoder, config)


class TargetLoss(nn.Module):
    """The mean cross-entropy of the labelled next tokens, as `loop.fit` wants it.

    Only their logits are computed: those of what is shown and of padding, each as many numbers as the vocabulary has
    tokens, would be a third of the time of a step.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, labels: Tensor, **inputs: Tensor) -> dict[str, Tensor]:
        """`labels` [B, T] are the ids themselves, IGNORED where nothing is to be learned; the shift happens here."""
        decoder, labels = self.model.get_base_model(), labels[:, 1:]
        states, labelled = decoder.base_model(**inputs).last_hidden_state[:, :-1], labels != IGNORED
        logits = decoder.get_output_embeddings()(states[labelled]).float()  # [n, V]
        return {"loss": F.cross_entropy(logits, labels[labelled])}


def target_rows(
    names: Sequence[str], sentences: Sequence[str], tokenizer, max_length: int, description: str
) -> list[dict]:
    """Rows for `loop.fit`; `max_length`, in tokens, is of what is shown and what is written together.

    What is shown has half of it, for it is about as long as what is written.
    """
    targets = [[*ids, tokenizer.eos_token_id] for ids in (tokenizer(list(sentences))["input_ids"] if sentences else [])]
    say_cut(description, sum(2 * len(ids) > max_length for ids in targets), len(targets), max_length)
    return [
        {"id": name, "length": len(target), "sentence": sentence, "target": target}
        for name, sentence, target in zip(names, sentences, targets, strict=True)
    ]


def collate(rows: Sequence[Mapping], tokenizer, show: Callable[[str], str], max_length: int) -> dict[str, Tensor]:
    """What is shown of each sentence at this moment, and the sentence.

    Labels [B, T] are IGNORED on the former and on padding.
    """
    heads = _encoded(tokenizer, [show(row["sentence"]) for row in rows], max_length)
    whole = [[*head, *row["target"]][:max_length] for head, row in zip(heads, rows, strict=True)]
    ids, mask = pad(whole, tokenizer.pad_token_id)
    labels, _ = pad([[IGNORED] * len(h) + w[len(h) :] for h, w in zip(heads, whole, strict=True)], IGNORED)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def _encoded(tokenizer, shown: Sequence[str], max_length: int) -> list[list[int]]:
    """The tokens of what is shown, with their end, at most half of `max_length`."""
    half = max_length // 2
    encoded = tokenizer([text + BEHIND for text in shown])["input_ids"] if shown else []
    return [ids if len(ids) <= half else [*ids[: half - 1], ids[-1]] for ids in encoded]


def written(tokenizer, model, shown: Sequence[str], decoding, seed: int, language: Language | None = None) -> list[str]:
    """What the decoder writes behind each string; `decoding.max_length` is of both together, in tokens.

    With a language only sentences of it, where its phrases can be spelled token by token.
    """
    vocabulary = Vocabulary(tokenizer) if language else None
    strict = (
        partial(StrictStep, language=language, vocabulary=vocabulary)
        if language and vocabulary.spells(language)
        else lambda step: step
    )
    ids = _encoded(tokenizer, shown, decoding.max_length)

    def begin(numbers: list[int]) -> tuple[prefix_decoder.Step, list[list[int]]]:
        nothing = torch.zeros(len(numbers), 0, dtype=torch.long, device=device())
        return strict(prefix_decoder.Step(model, DynamicCache(), nothing)), [ids[at] for at in numbers]

    return sampling.sample_texts(begin, [len(row) for row in ids], tokenizer, decoding, seed)
