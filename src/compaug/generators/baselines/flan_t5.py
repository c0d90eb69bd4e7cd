"""Flan-T5: a sequence-to-sequence model, all weights fine-tuned from the prompt P(y) to the text (paper, Flan-T5)."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from compaug.core.records import Draft, Example, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.shared.drafts import one_each, training_examples
from compaug.generators.shared.facts import facts_of
from compaug.generators.shared.model_folder import learn
from compaug.generators.shared.seq2seq import collate, written
from compaug.generators.shared.tokens import cut, token_ids
from compaug.models.loading import Seq2SeqLoss, load_seq2seq, save
from compaug.training.loop import seed_everything

ROLES = ("seq2seq",)


def text_rows(examples: Sequence[Example], task, tokenizer, max_length: int) -> list[dict]:
    """Rows for `loop.fit`: P(y) and EOS as source; text and EOS, cut at `max_length` tokens, as target."""
    end = tokenizer.eos_token_id
    sources = token_ids(tokenizer, [task.source(e.labels) for e in examples])
    targets = token_ids(tokenizer, [task.target(e) for e in examples])
    targets = cut([[*ids, end] for ids in targets], max_length)
    return [
        {
            "id": example.id,
            "source": [*source, end],
            "target": target,
            "length": len(source) + len(target),
        }
        for example, source, target in zip(examples, sources, targets, strict=True)
    ]


def train(examples: Sequence[Example], task, params, backbones: Backbones, out_dir: Path, seed: int) -> None:
    """Fine-tune on D_cg and save the best epoch; rows without labels have no prompt and are left out."""
    examples = training_examples(examples, params.generator_data)
    tokenizer, model = load_seq2seq(backbones["seq2seq"])
    rows = text_rows(examples, task, tokenizer, params.max_length)
    seed_everything(sub_seed(seed, "flan_t5"))
    batch = partial(collate, pad_id=tokenizer.pad_token_id)
    of = (examples, task, params, backbones, out_dir, seed)
    learn("flan_t5", Seq2SeqLoss(model), rows, batch, *of, save=lambda folder: save(folder, tokenizer, model))


def generate(model_dir: Path, requests: Requests, task, synthesis, backbones: Backbones, seed: int) -> Iterator[Draft]:
    """One text per request; the fine-tuned model is in `model_dir`, no backbone is opened."""
    _, _, task = facts_of(model_dir, task)
    tokenizer, model = load_seq2seq(model_dir)
    prompts = token_ids(tokenizer, [task.source(label_set) for label_set in requests])
    return one_each(requests, written(tokenizer, model, prompts, synthesis, seed))
