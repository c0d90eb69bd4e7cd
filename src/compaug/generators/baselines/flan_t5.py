"""Flan-T5: a sequence-to-sequence model, all weights fine-tuned from the prompt P(y) to the text (paper, Flan-T5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from accelerate import PartialState

from compaug.core.records import Draft, Example, atomic_dir, digest, file_digest, read_json, sub_seed, write_json
from compaug.generators.shared.drafts import one_each, training_examples
from compaug.generators.shared.seq2seq import FACTS, collate, written
from compaug.models.loading import Seq2SeqLoss, load_seq2seq, save, say_cut
from compaug.training.loop import device, fit_and_validate, seed_everything

ROLES = ("seq2seq",)


def text_rows(examples: Sequence[Example], task, tokenizer, max_length: int) -> list[dict]:
    """Rows for `loop.fit`: P(y) and EOS as source; text and EOS, cut at `max_length` tokens, as target."""
    if not examples:
        return []
    end = tokenizer.eos_token_id
    sources = tokenizer([task.source(e.labels) for e in examples], add_special_tokens=False)["input_ids"]
    targets = tokenizer([task.target(e) for e in examples], add_special_tokens=False)["input_ids"]
    say_cut("generator", sum(len(target) + 1 > max_length for target in targets), len(examples), max_length)
    return [
        {
            "id": example.id,
            "source": [*source, end],
            "target": [*target, end][:max_length],
            "length": len(source) + min(len(target) + 1, max_length),
        }
        for example, source, target in zip(examples, sources, targets, strict=True)
    ]


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
    """Fine-tune on D_cg and save the best epoch; rows without labels have no prompt and are left out."""
    examples = training_examples(examples, params.generator_data)
    tokenizer, model = load_seq2seq(backbones["seq2seq"])
    rows = text_rows(examples, task, tokenizer, params.max_length)
    seed_everything(sub_seed(seed, "flan_t5"))
    batch = partial(collate, pad_id=tokenizer.pad_token_id)
    data = (task, file_digest(backbones["seq2seq"]), digest(examples))
    history = fit_and_validate("flan_t5", Seq2SeqLoss(model), rows, batch, params, out_dir, seed, *data)
    if not PartialState().is_main_process:
        return
    with atomic_dir(out_dir) as folder:
        save(folder, tokenizer, model)
        write_json(folder / FACTS, {"generator": "flan_t5", **task.facts(), "params": params.in_force()})
        write_json(folder / "history.json", {"epochs": history})


def generate(
    model_dir: Path, requests: Sequence[Sequence[int]], task, synthesis, backbones: Mapping[str, Path], seed: int
) -> Iterator[Draft]:
    """One text per request; the fine-tuned model is in `model_dir`, no backbone is opened."""
    task = task.of_model(read_json(model_dir / FACTS), model_dir)
    tokenizer, model = load_seq2seq(model_dir)
    model = model.to(device()).eval()
    if not requests:
        return iter(())
    prompts = tokenizer([task.source(label_set) for label_set in requests], add_special_tokens=False)["input_ids"]
    return one_each(requests, written(tokenizer, model, prompts, synthesis, seed))
