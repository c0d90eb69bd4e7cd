"""BERT with one two-way head per label (spec 10.1): the [CLS] state goes to n_labels independent linear classifiers.

The n_labels heads are one matrix product. A two-way softmax head equals a sigmoid of the difference of its two scores; both
scores are kept because the paper trains both.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from compaug import pretrained, training
from compaug.params import Bert
from compaug.records import Example, InputError, Labels, digest, file_digest, read_json, sub_seed, write_json

HEADS = "heads.safetensors"


class BertClassifier(nn.Module):
    def __init__(self, encoder: nn.Module, n_labels: int, head_hidden: int = 0, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder, self.n_labels = encoder, n_labels
        hidden = encoder.config.hidden_size
        middle = [nn.Linear(hidden, head_hidden), nn.Tanh()] if head_hidden else []
        self.heads = nn.Sequential(nn.Dropout(dropout), *middle, nn.Linear(head_hidden or hidden, 2 * n_labels))

    def scores(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Two-way log-probabilities, absent then present.  # [B, n_labels, 2]"""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state  # [B, T, H]
        return self.heads(states[:, 0]).view(-1, self.n_labels, 2).float().log_softmax(-1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Mean cross-entropy over labels and batch; `targets` [B, n_labels] in [0, 1], soft ones as a two-way distribution."""
        absent, present = self.scores(input_ids, attention_mask).unbind(-1)
        return {"loss": -(targets * present + (1 - targets) * absent).mean()}


def targets_of(example: Example, n_labels: int) -> Tensor:
    """Soft labels where the example has them, else its label set as zeros and ones.  # [n_labels]"""
    if example.soft_labels is not None:
        return torch.tensor(example.soft_labels)
    target = torch.zeros(n_labels)
    target[list(example.labels)] = 1.0
    return target


def train(
    examples: Sequence[Example],
    labels: Labels,
    settings: Bert,
    backbone: Path,
    out_dir: Path,
    seed: int,
    description: str = "classifier",
    validation: Sequence[Example] | None = None,
) -> list[dict]:
    """Fine-tune the encoder in `backbone` on `examples`; the best epoch by validation loss goes to `out_dir`.

    `validation` are the held-out examples; None draws the share that the settings name. InputError without examples.
    """
    if not examples:
        raise InputError(f"{description}: there are no training examples")
    tokenizer, encoder = pretrained.load_encoder(backbone)
    training.seed_everything(sub_seed(seed, "classifier"))
    model = BertClassifier(encoder, len(labels), settings.head_hidden, settings.dropout)
    if validation is None:
        examples, validation = training.holdout(examples, settings.validation, seed)
    options = training.FitOptions(settings.epochs, settings.batch_size, settings.lr, patience=settings.patience)
    identity = (settings, seed, file_digest(backbone), digest([e.as_row() for e in examples]), len(validation))
    history = training.fit(
        model,
        _rows(examples, tokenizer, settings.max_length, len(labels)),
        _rows(validation, tokenizer, settings.max_length, len(labels)),
        lambda rows: _collate(rows, tokenizer.pad_token_id),
        options,
        seed=sub_seed(seed, "classifier"),
        work_dir=training.work_dir_for(description.replace(" ", "-"), *identity),  # out_dir may be a temporary folder
        description=description,
        lr_of=lambda name: settings.lr_head if name.startswith("heads.") else settings.lr,
    )
    save(model, tokenizer, settings, out_dir)
    return history


def _rows(examples: Sequence[Example], tokenizer, max_length: int, n_labels: int) -> list[dict]:
    encoded = (
        tokenizer([e.text for e in examples], truncation=True, max_length=max_length)["input_ids"] if examples else []
    )
    return [
        {"id": e.id, "length": len(ids), "input_ids": ids, "targets": targets_of(e, n_labels)}
        for e, ids in zip(examples, encoded, strict=True)
    ]


def _collate(rows: list[dict], pad_id: int) -> dict[str, Tensor]:
    width = max(row["length"] for row in rows)
    batch = {
        "input_ids": torch.tensor([row["input_ids"] + [pad_id] * (width - row["length"]) for row in rows]),
        "attention_mask": torch.tensor([[1] * row["length"] + [0] * (width - row["length"]) for row in rows]),
    }
    if "targets" in rows[0]:
        batch["targets"] = torch.stack([row["targets"] for row in rows])
    return batch


def save(model: BertClassifier, tokenizer, settings: Bert, out_dir: Path) -> None:
    """The encoder as a Hugging Face folder, the heads beside it."""
    out_dir.mkdir(parents=True, exist_ok=True)
    pretrained.save(out_dir, tokenizer, model.encoder)
    save_file({name: p.contiguous() for name, p in model.heads.state_dict().items()}, out_dir / HEADS)
    facts = {"n_labels": model.n_labels, "head_hidden": settings.head_hidden, "max_length": settings.max_length}
    write_json(out_dir / "classifier.json", facts)


def load(model_dir: Path) -> tuple[object, BertClassifier, dict]:
    tokenizer, encoder = pretrained.load_encoder(model_dir)
    facts = read_json(Path(model_dir) / "classifier.json")
    model = BertClassifier(encoder, facts["n_labels"], facts["head_hidden"])
    model.heads.load_state_dict(load_file(Path(model_dir) / HEADS))
    return tokenizer, model.eval().to(training.device()), facts


@torch.inference_mode()
def predict(model_dir: Path, texts: Sequence[str], batch_size: int = 256) -> np.ndarray:
    """Probability of every label for every text, in the order given.  # [n, n_labels]"""
    tokenizer, model, facts = load(model_dir)
    probabilities = np.zeros((len(texts), facts["n_labels"]), dtype=np.float32)
    if not len(texts):
        return probabilities
    encoded = tokenizer(list(texts), truncation=True, max_length=facts["max_length"])["input_ids"]
    rows = [{"length": len(ids), "input_ids": ids} for ids in encoded]
    for batch_rows in training.batches_by_length([row["length"] for row in rows], batch_size):
        batch = _collate([rows[i] for i in batch_rows], tokenizer.pad_token_id)
        batch = {name: value.to(training.device()) for name, value in batch.items()}
        probabilities[batch_rows] = model.scores(**batch)[..., 1].exp().cpu().numpy()
    return probabilities
