"""What the classifiers share: rows, batches, training, predicting, model folders (paper, "MLTC Models").

A classifier is a module with a `backbone` and two methods, made by `build(backbone, facts)`:

    forward(input_ids, attention_mask, targets) -> {"loss": scalar}    targets [B, n_labels] in [0, 1]
    probabilities(input_ids, attention_mask) -> Tensor                  # [B, n_labels]

`facts` is what the labels and the training rows tell it, besides its settings: see `facts_of`. It may also have

    read_labels(tokenizer, labels)      called once before training, with the backbone as it was given
    take_tokenizer(tokenizer)           called before training and again after loading
    answers(input_ids, attention_mask) -> (probabilities, unparsed [B])     for one that writes its answer as text
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from compaug.cartography.dynamics import PROBABILITIES, Dynamics, InPassing
from compaug.core.files import InputError, digest, file_digest, read_json, write_json
from compaug.core.records import Example, Labels, sub_seed, text_key
from compaug.models import loading, mixout
from compaug.models.frozen import FrozenBelow
from compaug.training import batching, checkpoint, curricula, loop

HEADS, FACTS = "heads.safetensors", "classifier.json"

Build = Callable[[nn.Module, Mapping], nn.Module]


def targets_of(example: Example, n_labels: int) -> Tensor:
    """Soft labels where the example has them, else its label set as zeros and ones.  # [n_labels]"""
    if example.soft_labels is not None:
        return torch.tensor(example.soft_labels)
    target = torch.zeros(n_labels)
    target[list(example.labels)] = 1.0
    return target


def facts_of(name: str, examples: Sequence[Example], labels: Labels, settings) -> dict:
    """The classifier's name and settings, and statistics of its training rows.

    These are their number, the positives of every label, and how often two labels stand together (a soft label counts
    as its probability). `names` of the labels are there where they are not the phrases.
    """
    targets = torch.stack([targets_of(example, len(labels)) for example in examples])  # [rows, n_labels]
    pairs = (targets.T @ targets).tolist()
    return {
        "classifier": name,
        "n_labels": len(labels),
        "phrases": list(labels.phrases),
        **({} if tuple(labels.names) == tuple(labels.phrases) else {"names": list(labels.names)}),
        "settings": settings.in_force(),
        "rows": len(examples),
        "positives": [round(value, 6) for value in targets.sum(0).tolist()],
        "pairs": [[round(value, 6) for value in row] for row in pairs],
    }


def train(
    name: str,
    build: Build,
    examples: Sequence[Example],
    labels: Labels,
    settings,
    backbone: Path,
    out_dir: Path,
    seed: int,
    description: str = "classifier",
    validation: Sequence[Example] | None = None,
    load_backbone: Callable = loading.load_encoder,
) -> list[dict]:
    """Fine-tune on `examples`; the best epoch by validation loss goes to `out_dir`.

    The model in `backbone` is trained too where the module lets it, with `lr`; all other parameters learn with
    `lr_head`. `validation` are the held-out examples; None draws the share that the settings name. With
    `settings.pacing` the examples are unlocked in the order in which they stand, and the last epoch is kept. With
    `settings.dynamics` dynamics.npy [epochs, rows, n_labels] gets the probabilities of the training rows after every
    epoch, or as training comes to them ("during"), dynamics.json their ids.
    """
    tokenizer, loaded = load_backbone(backbone)
    loop.seed_everything(sub_seed(seed, "classifier"))
    if validation is None:
        examples, validation = batching.holdout(examples, settings.validation, seed, lambda e: text_key(e.text))
    facts = facts_of(name, examples, labels, settings)
    model = _network(build, loaded, facts, settings, tokenizer, labels)
    rows = rows_of(examples, tokenizer, settings.max_length, len(labels), description)
    held = rows_of(validation, tokenizer, settings.max_length, len(labels), f"{description}, validation")
    if isinstance(model.backbone, FrozenBelow):
        model.to(loop.device()).backbone.keep([row["input_ids"] for row in rows + held], tokenizer.pad_token_id)
    identity = (name, settings, seed, file_digest(backbone), digest([e.as_row() for e in examples]), len(validation))
    work_dir = checkpoint.work_dir_for(description.replace(" ", "-"), *identity)  # out_dir may be a temporary folder
    dynamics = _dynamics(examples, model, tokenizer, facts, settings, work_dir) if settings.dynamics else None
    with checkpoint.checkpoints_kept():
        history = loop.fit(
            model,
            rows,
            held,
            lambda rows: collate(rows, tokenizer.pad_token_id),
            _options(settings, len(rows)),
            seed=sub_seed(seed, "classifier"),
            work_dir=work_dir,
            description=description,
            lr_of=lambda parameter: settings.lr if parameter.startswith("backbone.") else settings.lr_head,
            batches=_order(settings, rows),
            on_epoch_end=[dynamics] if dynamics else [],
            on_batch=getattr(dynamics, "batch", None),
        )
        if dynamics:
            dynamics.write(Path(out_dir))
        mixout.unmix(model)
        save(model, tokenizer, facts, out_dir)
    return history


def _network(build: Build, backbone: nn.Module, facts: Mapping, settings, tokenizer, labels: Labels) -> nn.Module:
    """The module that is trained: on frozen layers, with what it reads of the labels, with mixout, where asked for."""
    layers = getattr(settings, "freeze_layers", None)
    model = build(FrozenBelow(backbone, layers) if layers else backbone, facts)
    if hasattr(model, "take_tokenizer"):
        model.take_tokenizer(tokenizer)
    if hasattr(model, "read_labels"):
        model.read_labels(tokenizer, labels)
    if settings.mixout:
        mixout.mix(model, settings.mixout, settings.mixout_mask or "entry")
    return model


def _options(settings, n_rows: int) -> loop.FitOptions:
    """The rules of the training; with pacing no early stop, for what is locked is not known to be of no use."""
    return loop.FitOptions(
        settings.epochs_over(n_rows),
        settings.batch_size,
        settings.lr,
        warmup=getattr(settings, "warmup", 0.0),
        patience=None if settings.pacing else settings.patience,
        schedule=getattr(settings, "lr_schedule", "decay"),
    )


def _order(settings, rows: Sequence[Mapping]) -> Callable | None:
    """The order of batches of a curriculum; None without one."""
    if not settings.pacing:
        return None
    lengths, epochs = [row["length"] for row in rows], settings.epochs_over(len(rows))
    return curricula.batches(settings.pacing, lengths, settings.batch_size, epochs)


def _dynamics(
    examples: Sequence[Example], model: nn.Module, tokenizer, facts: Mapping, settings, work_dir: Path
) -> Dynamics:
    """The hook that keeps the probabilities of every text; repeated support rows count once."""
    distinct = {example.id: example for example in examples}
    if settings.dynamics == "during":
        place_of = {example_id: place for place, example_id in enumerate(distinct)}
        return InPassing(work_dir, list(distinct), [place_of[e.id] for e in examples], facts["n_labels"])
    texts = [example.text for example in distinct.values()]
    return Dynamics(work_dir, list(distinct), lambda: _answers(model, tokenizer, texts, facts)[0])


def rows_of(
    examples: Sequence[Example], tokenizer, max_length: int, n_labels: int, description: str = "classifier"
) -> list[dict]:
    """Rows for `loop.fit`. Says how many texts are cut."""
    if not examples:
        return []
    encoded = tokenizer([e.text for e in examples], truncation=True, max_length=max_length)["input_ids"]
    if full := [e.text for e, ids in zip(examples, encoded, strict=True) if len(ids) == max_length]:
        # With the same truncation: a tokenizer keeps the last one that it was asked for, and is saved with it.
        pieces = tokenizer(full, truncation=True, max_length=max_length, return_overflowing_tokens=True)
        cut = sum(n > 1 for n in Counter(pieces["overflow_to_sample_mapping"]).values())
        loading.say_cut(description, cut, len(examples), max_length)
    return [
        {"id": e.id, "length": len(ids), "input_ids": ids, "targets": targets_of(e, n_labels)}
        for e, ids in zip(examples, encoded, strict=True)
    ]


def collate(rows: list[dict], pad_id: int) -> dict[str, Tensor]:
    """input_ids, attention_mask [B, T]; targets [B, n_labels] where the rows have them."""
    input_ids, mask = loading.pad([row["input_ids"] for row in rows], pad_id)
    batch = {"input_ids": input_ids, "attention_mask": mask}
    if "targets" in rows[0]:
        batch["targets"] = torch.stack([row["targets"] for row in rows])
    return batch


def save(model: nn.Module, tokenizer, facts: Mapping, out_dir: Path) -> None:
    """The backbone as a Hugging Face folder, everything else beside it."""
    out_dir.mkdir(parents=True, exist_ok=True)
    loading.save(out_dir, tokenizer, getattr(model.backbone, "whole", model.backbone))
    heads = {name: value for name, value in model.state_dict().items() if not name.startswith("backbone.")}
    save_file({name: value.detach().cpu().contiguous() for name, value in heads.items()}, out_dir / HEADS)
    write_json(out_dir / FACTS, dict(facts))


def load(
    build: Build, model_dir: Path, load_backbone: Callable = loading.load_encoder
) -> tuple[object, nn.Module, dict]:
    """(tokenizer, model, facts) of a folder written by `save`."""
    tokenizer, backbone = load_backbone(model_dir)
    facts = read_json(Path(model_dir) / FACTS)
    model = build(backbone, facts)
    missing, unexpected = model.load_state_dict(loading.load_tensors(Path(model_dir) / HEADS), strict=False)
    if unexpected or any(not name.startswith("backbone.") for name in missing):
        raise InputError(f"{model_dir}: {HEADS} does not fit this classifier; train it again")
    if hasattr(model, "take_tokenizer"):
        model.take_tokenizer(tokenizer)
    return tokenizer, model.eval().to(loop.device()), facts


def predict(
    build: Build,
    model_dir: Path,
    texts: Sequence[str],
    batch_size: int = 256,
    load_backbone: Callable = loading.load_encoder,
) -> np.ndarray:
    """Probability of every label for every text, in the order given.  # [n, n_labels]"""
    return answers(build, model_dir, texts, batch_size, load_backbone)[0]


def answers(
    build: Build,
    model_dir: Path,
    texts: Sequence[str],
    batch_size: int = 256,
    load_backbone: Callable = loading.load_encoder,
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [n, n_labels] and, of a classifier that writes text, how many pieces an answer has wrong [n]."""
    tokenizer, model, facts = load(build, model_dir, load_backbone)
    return _answers(model, tokenizer, texts, facts, batch_size)


@torch.inference_mode()
def _answers(
    model: nn.Module, tokenizer, texts: Sequence[str], facts: Mapping, batch_size: int = 256
) -> tuple[np.ndarray, np.ndarray]:
    probabilities = np.zeros((len(texts), facts["n_labels"]), dtype=np.float32)
    unparsed = np.zeros(len(texts), dtype=int)
    if not len(texts):
        return probabilities, unparsed
    encoded = tokenizer(list(texts), truncation=True, max_length=facts["settings"]["max_length"])["input_ids"]
    rows, where = [{"length": len(ids), "input_ids": ids} for ids in encoded], loop.device()
    for batch_rows in batching.batches_by_length([row["length"] for row in rows], batch_size):
        batch = collate([rows[i] for i in batch_rows], tokenizer.pad_token_id)
        batch = {name: value.to(where) for name, value in batch.items()}
        with torch.autocast(where.type, torch.bfloat16, enabled=loop.reduced(where)):
            if hasattr(model, "answers"):
                values, unparsed[batch_rows] = model.answers(**batch)
            else:
                values = model.probabilities(**batch)
        probabilities[batch_rows] = values.float().cpu().numpy()
    return probabilities, unparsed


# ---------------------------------------------------------------- one logit a label, of `dbloss` and `magnet`


class SigmoidClassifier(nn.Module):
    """A subclass has `logits(input_ids, attention_mask)` [B, n_labels] and `loss(logits, targets)`, a scalar."""

    def forward(self, input_ids: Tensor, attention_mask: Tensor, targets: Tensor) -> dict[str, Tensor]:
        logits = self.logits(input_ids, attention_mask)
        return {"loss": self.loss(logits, targets), PROBABILITIES: logits.detach().sigmoid()}

    def probabilities(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.logits(input_ids, attention_mask).sigmoid()


# ---------------------------------------------------------------- two-way heads, of `bert` and `bert_p`


class BertClassifier(nn.Module):
    """The state of the text goes to one two-way head per label; all heads are one matrix product."""

    def __init__(
        self,
        encoder: nn.Module,
        n_labels: int,
        head_hidden: int = 0,
        dropout: float = 0.0,
        pool: str = "cls",
        middle: Sequence[nn.Module] = (),
    ) -> None:
        super().__init__()
        self.backbone, self.n_labels, self.pool = encoder, n_labels, pool
        self.heads = two_way_heads(encoder.config.hidden_size, n_labels, head_hidden, dropout, middle)

    def states(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Token states of the encoder.  # [B, T, H]"""
        return self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    def scores(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Two-way log-probabilities, absent then present.  # [B, n_labels, 2]"""
        return self.scores_of(self.text_state(input_ids, attention_mask))

    def text_state(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The one state of each text.  # [B, H]"""
        return POOLS[self.pool](self.states(input_ids, attention_mask), attention_mask)

    def scores_of(self, text_state: Tensor) -> Tensor:
        """`scores` from the texts' states [B, H]."""
        return self.heads(text_state).view(-1, self.n_labels, 2).float().log_softmax(-1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Mean cross-entropy over labels and batch; `targets` [B, n_labels] in [0, 1], soft ones as distributions."""
        return two_way_loss(self.scores(input_ids, attention_mask), targets)

    def probabilities(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.scores(input_ids, attention_mask)[..., 1].exp()


def two_way_loss(scores: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """Mean cross-entropy of two-way log-probabilities `scores` [B, n_labels, 2], and P(label | text) [B, n_labels]."""
    absent, present = scores.unbind(-1)
    return {"loss": -(targets * present + (1 - targets) * absent).mean(), PROBABILITIES: present.detach().exp()}


def _of_cls(states: Tensor, attention_mask: Tensor) -> Tensor:
    return states[:, 0]


def _mean(states: Tensor, attention_mask: Tensor) -> Tensor:
    weights = attention_mask[..., None].to(states.dtype)  # [B, T, 1]
    return (states * weights).sum(1) / weights.sum(1)


# One state for a text [B, H] from those of its tokens [B, T, H]: the paper's [CLS], or their mean, which a model that
# was trained on restoring words alone learns from sooner, because nothing has taught its [CLS] to gather anything.
POOLS = {"cls": _of_cls, "mean": _mean}


def prediction_head(config) -> list[nn.Module]:
    """What `ModernBertForSequenceClassification` has between a text's state and its linear layer.  # [B, H] to [B, H]

    So transformers can open a classifier that was trained with it. InputError for another encoder.
    """
    if config.model_type != "modernbert":
        raise InputError(
            f"classifiers.bert.prediction_head: the encoder is a {config.model_type}, which needs none; set it to null"
        )
    width = config.hidden_size
    return [
        nn.Linear(width, width, bias=False),
        nn.GELU(),
        nn.LayerNorm(width, eps=config.norm_eps, bias=config.norm_bias),
    ]


def two_way_heads(
    width: int, n_labels: int, hidden: int, dropout: float, middle: Sequence[nn.Module] = ()
) -> nn.Sequential:
    """From a state [B, width] to two scores a label [B, 2 n_labels]; `hidden` 0: linear heads behind `middle`."""
    middle = [nn.Linear(width, hidden), nn.Tanh()] if hidden else middle
    return nn.Sequential(nn.Dropout(dropout), *middle, nn.Linear(hidden or width, 2 * n_labels))
