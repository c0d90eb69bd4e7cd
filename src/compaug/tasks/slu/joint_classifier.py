"""The joint classifier: one encoder, a head for the intent and one for the tag of each word (joint generation, §2.3).

The loss is the sum of both cross-entropies. A word is tagged at its first sub-word; the others, and what was cut off,
have no tag to learn.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from compaug.core.files import InputError, digest, file_digest
from compaug.core.records import sub_seed
from compaug.core.schema import whole_epochs
from compaug.models.loading import IGNORED, load_encoder, pad, say_cut
from compaug.tasks.slu.parameters import Joint
from compaug.tasks.slu.utterances import Inventory, Utterance
from compaug.training import batching, checkpoint, loop

OUTSIDE = "O"
READ = 256  # utterances a batch in prediction


class JointClassifier(nn.Module):
    def __init__(self, encoder: nn.Module, n_intents: int, n_tags: int, dropout: float) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        self.backbone, self.drop = encoder, nn.Dropout(dropout)
        self.intent = nn.Sequential(
            nn.Linear(width, width), nn.Tanh(), nn.Dropout(dropout), nn.Linear(width, n_intents)
        )
        self.tag = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(dropout), nn.Linear(width, n_tags))

    def scores(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Of the intents [B, n_intents], from the state of [CLS], and of the tags [B, T, n_tags]."""
        states = self.drop(self.backbone(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state)
        return self.intent(states[:, 0]).float(), self.tag(states).float()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, intents: Tensor, tags: Tensor) -> dict[str, Tensor]:
        """intents [B]; tags [B, T], IGNORED where nothing is to be learned."""
        of_intents, of_tags = self.scores(input_ids, attention_mask)
        intent = F.cross_entropy(of_intents, intents)
        tag = F.cross_entropy(of_tags.transpose(1, 2), tags, ignore_index=IGNORED)
        return {"loss": intent + tag, "intent": intent, "tag": tag}


def tags_of(names: Inventory) -> list[str]:
    """O, then B- and I- of every slot."""
    return [OUTSIDE, *(f"{mark}-{slot}" for slot in names["slots"] for mark in "BI")]


def rows_of(utterances: Sequence[Utterance], tokenizer, names: Inventory, max_length: int) -> list[dict]:
    """Rows for `loop.fit`; `firsts`: the place of the first sub-word of each word that was not cut off."""
    if not utterances:
        return []
    encoded = tokenizer(
        [list(row.words) for row in utterances], is_split_into_words=True, truncation=True, max_length=max_length
    )
    tag_ids = {tag: at for at, tag in enumerate(tags_of(names))}
    rows = []
    for at, row in enumerate(utterances):
        first: dict[int, int] = {}
        for place, word in enumerate(encoded.word_ids(at)):
            if word is not None:
                first.setdefault(word, place)
        ids = encoded["input_ids"][at]
        tags = [IGNORED] * len(ids)
        for word, place in first.items():
            tags[place] = tag_ids[row.tags[word]]
        intent = names["intents"].index(row.intent)
        rows.append(
            {"id": row.id, "length": len(ids), "input_ids": ids, "tags": tags, "intent": intent, "first": first}
        )
    cut = sum(len(row["first"]) < len(u.words) for row, u in zip(rows, utterances, strict=True))
    say_cut("joint", cut, len(rows), max_length)
    return rows


def collate(rows: Sequence[dict], pad_id: int) -> dict[str, Tensor]:
    input_ids, mask = pad([row["input_ids"] for row in rows], pad_id)
    tags, _ = pad([row["tags"] for row in rows], IGNORED)
    intents = torch.tensor([row["intent"] for row in rows])
    return {"input_ids": input_ids, "attention_mask": mask, "intents": intents, "tags": tags}


def train(
    utterances: Sequence[Utterance], names: Inventory, settings: Joint, encoder: Path, seed: int
) -> tuple[object, JointClassifier, float]:
    """(tokenizer, model, mean training loss of the last epoch) after `settings.steps`, to a whole epoch.

    InputError for a tokenizer that does not know words.
    """
    tokenizer, loaded = load_encoder(encoder)
    if not tokenizer.is_fast:
        raise InputError(
            f"{encoder}: its tokenizer cannot say which word a sub-word is of; use one with a tokenizer.json"
        )
    loop.seed_everything(sub_seed(seed, "joint"))
    model = JointClassifier(loaded, len(names["intents"]), len(tags_of(names)), settings.dropout)
    epochs = whole_epochs(settings.steps, len(utterances), settings.batch_size)
    options = loop.FitOptions(epochs, settings.batch_size, settings.lr, warmup=settings.warmup)
    identity = (settings, seed, file_digest(encoder), digest([repr(row) for row in utterances]))
    history = loop.fit(
        model,
        rows_of(utterances, tokenizer, names, settings.max_length),
        [],
        lambda rows: collate(rows, tokenizer.pad_token_id),
        options,
        seed=sub_seed(seed, "joint"),
        work_dir=checkpoint.work_dir_for("joint", *identity),
        description="joint",
        lr_of=lambda parameter: settings.lr if parameter.startswith("backbone.") else settings.lr_head,
    )
    return tokenizer, model.eval().to(loop.device()), history[-1]["train"]["loss"]


def balanced(real: Sequence[Utterance], written: Sequence[Utterance]) -> list[Utterance]:
    """Both, the real ones as often as makes them as many as those that were written, once at least.

    Hundreds of written utterances, whose tags are half wrong, would else teach a classifier more than the few dozen
    that people have tagged.
    """
    return [*real] * max(1, round(len(written) / len(real))) + [*written]


@torch.inference_mode()
def predict(
    tokenizer, model: JointClassifier, utterances: Sequence[Utterance], names: Inventory, max_length: int
) -> tuple[list[str], list[list[str]]]:
    """(intents, tags of every word), in the order given; a word that was cut off is outside."""
    rows, tags = rows_of(utterances, tokenizer, names, max_length), tags_of(names)
    intents = [""] * len(rows)
    predicted = [[OUTSIDE] * len(row.words) for row in utterances]
    for batch_rows in batching.batches_by_length([row["length"] for row in rows], READ):
        batch = collate([rows[at] for at in batch_rows], tokenizer.pad_token_id)
        ids, mask = (batch[name].to(loop.device()) for name in ("input_ids", "attention_mask"))
        of_intents, of_tags = (scores.argmax(-1).cpu().tolist() for scores in model.scores(ids, mask))
        for at, intent, ids_of_tags in zip(batch_rows, of_intents, of_tags, strict=True):
            intents[at] = names["intents"][intent]
            for word, place in rows[at]["first"].items():
                predicted[at][word] = tags[ids_of_tags[place]]
    return intents, predicted
