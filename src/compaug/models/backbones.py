"""Backbones: tiny in-domain models, or models that are given (downloads.py), all ending as a plain model folder.

A tiny backbone is a tokenizer and a small encoder (masked LM), decoder (causal LM) or T5 (from prompt to text, or span
corruption) trained from scratch on D_train texts only: no network, no text of D_test. Encoder and decoder have rotary
positions (ModernBERT, Llama), because with learned ones models of this size need several times the steps before they
attend to what stands elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertTokenizer,
    GPT2Tokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from compaug.core.files import InputError, write_json
from compaug.core.records import sub_seed
from compaug.models import downloads
from compaug.models.denoising import MASKED, corrupt, infilled
from compaug.models.loading import IGNORED, LanguageModelLoss, Seq2SeqLoss, pad, save
from compaug.models.tiny_tokenizers import SENTINELS, TOKENIZERS
from compaug.training.batching import holdout
from compaug.training.loop import FitOptions, fit, seed_everything, validate

Prompted = tuple[str, str]  # prompt, "" where there is none, and text
VALIDATION = 0.05
WARMUP = 0.06
WEIGHT_DECAY = 0.01


def prepare(
    role: str,
    spec,
    texts: Sequence[str],
    out_dir: Path,
    seed: int,
    work_dir: Path,
    prompts: Sequence[str] | None = None,
) -> None:
    """Fill the empty folder `out_dir` with the backbone that `spec` (a `params.Backbone`) describes.

    `role` is encoder, decoder or seq2seq; `texts` (D_train only) are what kind tiny learns from, resumable in
    `work_dir`, behind the `prompts` P(y) where `spec.pretraining` is prompted ("": a text without labels). InputError:
    a missing file or variable, no network, a folder that cannot be loaded in this role.
    """
    if spec.kind == "tiny":
        prompts = prompts if spec.pretraining == "prompted" and prompts is not None else [""] * len(texts)
        _train_tiny(role, spec, list(zip(prompts, texts, strict=True)), out_dir, seed, work_dir)
    else:
        downloads.bring(role, spec, out_dir)


# ---------------------------------------------------------------- tiny models


@dataclass(frozen=True)
class _Objective:
    """What is trained: rows hold "ids" and "targets" (the ids that the loss can ask for)."""

    model: torch.nn.Module
    loss: torch.nn.Module
    rows: list[dict]
    collate: Callable[[list[dict]], dict[str, torch.Tensor]]


class _MaskedLoss(torch.nn.Module):
    """Masked LM with the vocabulary scored at the chosen positions alone: half of a small model's time otherwise."""

    def __init__(self, model: ModernBertForMaskedLM) -> None:
        super().__init__()
        self.model = model

    def forward(self, labels: torch.Tensor, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        chosen = labels != IGNORED
        states = self.model.model(**inputs).last_hidden_state[chosen]  # [chosen, H]
        scores = self.model.decoder(self.model.head(states))
        return {"loss": torch.nn.functional.cross_entropy(scores, labels[chosen])}


class _Unigram(torch.nn.Module):
    """The loss of token frequencies alone (add-one smoothed), the least that a language model must beat."""

    def __init__(self, rows: Sequence[dict], vocabulary: int) -> None:
        super().__init__()
        counts = torch.bincount(torch.tensor([t for row in rows for t in row["targets"]]), minlength=vocabulary) + 1
        self.log_p = torch.nn.Parameter((counts / counts.sum()).log(), requires_grad=False)  # [V]

    def forward(self, labels: torch.Tensor, **_: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": -self.log_p[labels[labels != IGNORED]].mean()}


def _train_tiny(role: str, spec, texts: Sequence[Prompted], out_dir: Path, seed: int, work_dir: Path) -> None:
    """Train tokenizer and model on `texts`; `pretraining.json` tells how well the held-out 5 % are predicted."""
    seed = sub_seed(seed, "backbone", role)
    tokenizer = TOKENIZERS[role]([joined(*text) for text in texts], spec)
    seed_everything(sub_seed(seed, "weights"))
    objective = OBJECTIVES[role](tokenizer, texts, spec)
    train_rows, valid_rows = holdout(objective.rows, VALIDATION, seed)
    if not valid_rows:
        raise InputError(f"a tiny {role} needs at least two training texts; there are {len(objective.rows)}")
    patience = spec.epochs  # never stops early, yet the best epoch is kept
    options = FitOptions(spec.epochs, spec.batch_size, spec.lr, WEIGHT_DECAY, WARMUP, patience)
    history = fit(
        objective.loss,
        train_rows,
        valid_rows,
        objective.collate,
        options,
        seed=seed,
        work_dir=work_dir,
        description=f"tiny {role}",
    )
    save(out_dir, tokenizer, objective.model)
    unigram = validate(_Unigram(train_rows, len(tokenizer)), valid_rows, objective.collate, spec.batch_size, seed)
    report = {
        "texts": len(train_rows),
        "held_out_texts": len(valid_rows),
        "held_out_loss": min(epoch["valid"]["loss"] for epoch in history),
        "unigram_loss": unigram["loss"],
        "vocabulary": len(tokenizer),
        "parameters": sum(parameter.numel() for parameter in objective.model.parameters()),
    }
    write_json(out_dir / "pretraining.json", report)


def joined(prompt: str, text: str) -> str:
    return f"{prompt} {text}" if prompt else text


def _shape(tokenizer, spec) -> dict[str, int | None]:
    """What the configurations of all architectures have, by the names that they share."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": spec.hidden,
        "num_hidden_layers": spec.layers,
        "num_attention_heads": spec.heads,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.sep_token_id if tokenizer.eos_token_id is None else tokenizer.eos_token_id,
    }


def _gated(hidden: int) -> int:
    """Width of a gated feed-forward layer with as many weights as a plain one of 4 H, in steps of 16."""
    return round(8 * hidden / 3 / 16) * 16


def _masked_language_model(tokenizer: BertTokenizer, texts: Sequence[Prompted], spec) -> _Objective:
    config = ModernBertConfig(
        **_shape(tokenizer, spec),
        intermediate_size=_gated(spec.hidden),
        max_position_embeddings=spec.max_positions,
        layer_types=["full_attention"] * spec.layers,  # texts are shorter than a window
        bos_token_id=tokenizer.cls_token_id,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
    )
    plain = [joined(*text) for text in texts]
    encoded = tokenizer(plain, truncation=True, max_length=spec.max_positions)["input_ids"]
    rows = [
        {"id": str(number), "length": len(ids), "ids": ids, "targets": ids[1:-1]}
        for number, ids in enumerate(encoded)
        if len(ids) > 2
    ]

    def collate(batch: list[dict]) -> dict[str, torch.Tensor]:
        ids, mask = pad([row["ids"] for row in batch], tokenizer.pad_token_id)  # [B, T]
        lengths = mask.sum(1, keepdim=True)  # [B, 1]
        scores = torch.rand(ids.shape)
        place = torch.arange(ids.shape[1])
        scores[(place == 0) | (place >= lengths - 1)] = 2.0  # [CLS], [SEP] and padding are never chosen
        quota = ((lengths - 2) * MASKED).round().clamp(min=1)  # every text has something to restore
        chosen = scores.argsort(1).argsort(1) < quota
        labels = ids.masked_fill(~chosen, IGNORED)
        fate = torch.rand(ids.shape)  # 80 % become [MASK], 10 % a random token, 10 % stay (BERT)
        ids = torch.where(chosen & (fate < 0.8), tokenizer.mask_token_id, ids)
        ids = torch.where(chosen & (fate >= 0.9), torch.randint(len(tokenizer), ids.shape), ids)
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}

    model = ModernBertForMaskedLM(config)
    return _Objective(model, _MaskedLoss(model), rows, collate)


def _causal_language_model(tokenizer: GPT2Tokenizer, texts: Sequence[Prompted], spec) -> _Objective:
    """Prompt, text and end of text, exactly as generators write them.

    With `pretraining: texts` the text alone between two ends of text, as in GPT-2's stream of documents. Positions are
    relative, so a prefix before the text is at no place that was never trained.
    """
    end, prompted = tokenizer.eos_token_id, spec.pretraining == "prompted"
    config = LlamaConfig(
        **_shape(tokenizer, spec),
        intermediate_size=_gated(spec.hidden),
        max_position_embeddings=spec.max_positions,
        bos_token_id=end,
        tie_word_embeddings=True,
    )
    whole = [joined(*text) if prompted else f" {text[1]}" for text in texts]
    encoded = tokenizer(whole, verbose=False)["input_ids"]  # cut below, so that there is nothing to warn of
    rows = []
    for number, ids in enumerate(encoded):
        ids = [*([] if prompted else [end]), *ids, end][: spec.max_positions]
        rows.append({"id": str(number), "length": len(ids), "ids": ids, "targets": ids[1:]})

    def collate(batch: list[dict]) -> dict[str, torch.Tensor]:
        ids, mask = pad([row["ids"] for row in batch], end)  # [B, T]
        labels = ids.masked_fill(mask == 0, IGNORED)
        labels[:, 0] = IGNORED
        return {"input_ids": ids, "labels": labels}  # padding comes after every token that counts: no mask

    model = LlamaForCausalLM(config)
    return _Objective(model, LanguageModelLoss(model), rows, collate)


def _written_or_restored(tokenizer: GPT2Tokenizer, texts: Sequence[Prompted], spec) -> _Objective:
    """A text that has a prompt is written from it, as Flan-T5 does; one without is restored as T5 or BART does.

    With `pretraining: texts` none has a prompt. Not both for the same text: half of the steps on spans left a model of
    this size with neither.
    """
    end = tokenizer.eos_token_id
    model, restored = _SHAPES[spec.architecture or "t5"](tokenizer, spec)
    prompts, plain = zip(*texts, strict=True)
    encoded = [tokenizer(strings, verbose=False)["input_ids"] for strings in (list(prompts), list(plain))]
    rows, longest = [], spec.max_positions - 1
    for number, (prompt, text) in enumerate(zip(*encoded, strict=True)):
        ids = text[:longest]
        if len(ids) > 1:
            rows.append({"id": str(number), "length": len(ids), "prompt": prompt, "ids": ids, "targets": ids})

    def collate(batch: list[dict]) -> dict[str, torch.Tensor]:
        pairs = ((row["prompt"], row["ids"]) if row["prompt"] else restored(row["ids"]) for row in batch)
        sources, targets = zip(*pairs, strict=True)
        input_ids, mask = pad([[*ids, end] for ids in sources], tokenizer.pad_token_id)
        labels, _ = pad([[*ids, end] for ids in targets], IGNORED)
        return {"input_ids": input_ids, "attention_mask": mask, "labels": labels}

    return _Objective(model, Seq2SeqLoss(model), rows, collate)


def _t5(tokenizer: GPT2Tokenizer, spec) -> tuple[torch.nn.Module, Callable]:
    """Gated layers as in Flan-T5; no dropout, as in the other tiny models, which see few epochs."""
    config = T5Config(
        **_shape(tokenizer, spec),
        num_decoder_layers=spec.layers,
        d_kv=spec.hidden // spec.heads,
        d_ff=_gated(spec.hidden),
        feed_forward_proj="gated-gelu",
        dropout_rate=0.0,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    marks = tokenizer.convert_tokens_to_ids([f"<extra_id_{at}>" for at in range(SENTINELS)])
    return T5ForConditionalGeneration(config), lambda ids: corrupt(ids, marks)


def _bart(tokenizer: GPT2Tokenizer, spec) -> tuple[torch.nn.Module, Callable]:
    """Learned positions, so that a state says where it stood, which T5's relative ones do not. No dropout."""
    sides = {
        f"{side}_{what}": size
        for side in ("encoder", "decoder")
        for what, size in (("layers", spec.layers), ("attention_heads", spec.heads), ("ffn_dim", 4 * spec.hidden))
    }
    end = tokenizer.eos_token_id
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=spec.hidden,
        max_position_embeddings=spec.max_positions,
        dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=end,
        eos_token_id=end,
        decoder_start_token_id=end,
        forced_eos_token_id=None,
        **sides,
    )
    return BartForConditionalGeneration(config), lambda ids: infilled(ids, tokenizer.mask_token_id)


_SHAPES = {"t5": _t5, "bart": _bart}
OBJECTIVES = {"encoder": _masked_language_model, "decoder": _causal_language_model, "seq2seq": _written_or_restored}
