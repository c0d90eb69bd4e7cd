"""From a source to a text by a sequence-to-sequence model: batches to learn from, and what the model writes."""

from collections.abc import Mapping, Sequence

from torch import Tensor

from compaug.models import sampling
from compaug.models.loading import IGNORED, pad
from compaug.models.prefix_decoder import Seq2SeqStep
from compaug.training.loop import device


def collate(rows: Sequence[Mapping], pad_id: int) -> dict[str, Tensor]:
    """input_ids, attention_mask [B, S]; labels [B, T], IGNORED on padding."""
    input_ids, mask = pad([row["source"] for row in rows], pad_id)
    labels, _ = pad([row["target"] for row in rows], IGNORED)
    return {"input_ids": input_ids, "attention_mask": mask, "labels": labels}


def written(tokenizer, model, prompts: Sequence[Sequence[int]], synthesis, seed: int) -> list[str]:
    """What the model writes for each prompt, tokens without an end."""
    model = model.to(device()).eval()
    sources = [[*ids, tokenizer.eos_token_id] for ids in prompts]

    def begin(numbers: list[int]) -> tuple[Seq2SeqStep, list[list[int]]]:
        padded = pad([sources[i] for i in numbers], tokenizer.pad_token_id)
        input_ids, mask = (tensor.to(device()) for tensor in padded)
        states = model.get_encoder()(input_ids=input_ids, attention_mask=mask).last_hidden_state  # [B, S, H]
        return Seq2SeqStep(model, states, mask), [[model.config.decoder_start_token_id]] * len(numbers)

    return sampling.sample_texts(begin, [len(ids) for ids in sources], tokenizer, synthesis, seed)
