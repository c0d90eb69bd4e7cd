"""What the prefix-tuned generators share: a frozen decoder behind a computed prefix (paper, Eqs. 5, 6).

A generator gives L rows of numbers per label of a composition; they become keys and values that every layer of the
frozen decoder attends to before the first token (`compaug.models.prefix_decoder`). Requests of a batch may have
different compositions: shorter prefixes and prompts are padded on the left with mask 0; positions follow the mask.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import send_to_device
from torch import Tensor, nn

from compaug.core.files import InputError
from compaug.core.records import Draft, Example, Labels, sub_seed
from compaug.generators import Backbones, Requests
from compaug.generators.disentangled.guidance import Guided, others
from compaug.generators.shared import teacher_forcing
from compaug.generators.shared.drafts import one_each, training_examples
from compaug.generators.shared.facts import CONFIG, facts_of
from compaug.generators.shared.model_folder import filled, learn, save_tensors
from compaug.generators.shared.tokens import cut, token_ids
from compaug.models import prefix_decoder, sampling
from compaug.models.loading import PreTrainedModel, frozen, load_decoder, load_tensors, pad
from compaug.models.prefix_decoder import PrefixDecoder
from compaug.training.loop import device, seed_everything

TENSORS = "model.safetensors"
GREEDY = {"temperature": 1.0, "top_k": 1, "top_p": 1.0, "no_repeat_ngram": 0, "guidance": None}
LabelSet = Sequence[int]
NetworkOf = Callable[[object, Labels, object], nn.Module]  # of the params, the labels and the decoder's configuration
PartsOf = Callable[[LabelSet], LabelSet]  # of a label set: what its prefix is made of


# ---------------------------------------------------------------- the prefix


def prefix_mlp(width: int, mid_dim: int, decoder) -> nn.Sequential:
    """M = W2 tanh(W1 z + b1) + b2, position-wise; a row holds the keys and values of one position in all layers."""
    return nn.Sequential(nn.Linear(width, mid_dim), nn.Tanh(), nn.Linear(mid_dim, prefix_decoder.shape(decoder).row))


def pairs(label_sets: Sequence[LabelSet], prefix_length: int) -> dict[str, Tensor]:
    """Index of the N (request, label) pairs of a batch of B requests with at most m labels, left-padded.

    pair_row, pair_slot, pair_label: [N]; prefix_mask: [B, m * prefix_length].
    """
    most = max(map(len, label_sets))
    index = [
        (row, most - len(label_set) + place, label)
        for row, label_set in enumerate(label_sets)
        for place, label in enumerate(label_set)
    ]
    pair_row, pair_slot, pair_label = torch.tensor(index, dtype=torch.long).reshape(-1, 3).unbind(1)
    mask = torch.zeros(len(label_sets), most, dtype=torch.long)
    mask[pair_row, pair_slot] = 1
    return {
        "pair_row": pair_row,
        "pair_slot": pair_slot,
        "pair_label": pair_label,
        "prefix_mask": mask.repeat_interleave(prefix_length, dim=1),
    }


def place(rows: Tensor, pair_row: Tensor, pair_slot: Tensor, prefix_mask: Tensor) -> Tensor:
    """The pairs' prefix rows [N, L, D] stacked in label order per request: [B, m * L, D]; padding is zero."""
    batch, width = prefix_mask.shape
    prefix = rows.new_zeros(batch, width // rows.shape[1], *rows.shape[1:])  # [B, m, L, D]
    prefix[pair_row, pair_slot] = rows
    return prefix.flatten(1, 2)


def check_positions(decoder, label_sets: Sequence[LabelSet], prefix_length: int, max_length: int) -> None:
    """InputError when prefix and text do not fit the decoder's position table."""
    longest = max(map(len, label_sets), default=0) * prefix_length
    if longest + max_length > (room := prefix_decoder.shape(decoder).positions):
        raise InputError(
            f"a prefix of {longest} positions, of the row with most labels, and max_length {max_length} exceed the "
            f"decoder's {room} positions; raise backbones.decoder.max_positions, or lower prefix_length or max_length"
        )


def check_prompts(prompts: Sequence[Sequence[int]], max_length: int) -> None:
    longest = max(map(len, prompts), default=0)
    if longest >= max_length:
        raise InputError(
            f"max_length {max_length} leaves no room for a text after a text_prompt of {longest} tokens; raise it"
        )


# ---------------------------------------------------------------- training


def text_rows(
    examples: Sequence[Example], task, tokenizer, max_length: int, loss_on_prompt: bool = False
) -> list[dict]:
    """Rows for `loop.fit`: tokens of P(y), a space, the text and EOS, cut at `max_length` tokens.

    `first` is the index of the first token that counts in the loss, `begins` that of the text's first. A cut text gets
    no EOS: it did not end there.
    """
    prompts = token_ids(tokenizer, [task.source(e.labels) for e in examples])
    texts = token_ids(tokenizer, [" " + task.target(e) for e in examples])
    check_prompts(prompts, max_length)
    whole = [[*head, *text, tokenizer.eos_token_id] for head, text in zip(prompts, texts, strict=True)]
    return [
        {
            "id": example.id,
            "labels": example.labels,
            "input_ids": ids,
            "first": 1 if loss_on_prompt else len(head),
            "begins": len(head),
            "length": len(ids),
        }
        for example, head, ids in zip(examples, prompts, cut(whole, max_length), strict=True)
    ]


def collate(rows: Sequence[Mapping], prefix_length: int, pad_id: int) -> dict[str, Tensor]:
    """Batch of `text_rows`, padded on the right.

    input_ids, token_mask: [B, T]; predicts: positions (flat in B x T) whose next token counts; targets: those tokens.
    """
    input_ids, token_mask = pad([row["input_ids"] for row in rows], pad_id)
    predicts, targets = [], []
    for start, row in zip(range(0, input_ids.numel(), input_ids.shape[1]), rows, strict=True):
        predicts += range(start + row["first"] - 1, start + len(row["input_ids"]) - 1)
        targets += row["input_ids"][row["first"] :]
    return {
        "input_ids": input_ids,
        "token_mask": token_mask,
        "predicts": torch.tensor(predicts),
        "targets": torch.tensor(targets),
        **pairs([row["labels"] for row in rows], prefix_length),
    }


class PrefixModel(nn.Module):
    """Loss of the text given its prefix: mean -log P(x_t | x_<t, prefix) over text tokens and EOS.

    `network` turns the parts [N] of the batch's prefixes into rows [N, L, prefix_decoder.Shape.row].
    """

    def __init__(self, network: nn.Module, decoder: PreTrainedModel) -> None:
        super().__init__()
        self.network, self.decoder = network, PrefixDecoder(decoder)

    def forward(
        self, *, pair_row: Tensor, pair_slot: Tensor, pair_label: Tensor, prefix_mask: Tensor, **texts: Tensor
    ) -> dict[str, Tensor]:
        rows = place(self.network(pair_label), pair_row, pair_slot, prefix_mask)
        nll = self.decoder.token_nll(rows, prefix_mask=prefix_mask, **texts).mean()
        return {"loss": nll, "nll": nll}

    def pair_rows(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Prefix rows [N, L, prefix_decoder.Shape.row] of the batch's pairs."""
        return self.network(batch["pair_label"])


def train_prefix(
    generator: str,
    network_of: NetworkOf,
    parts_of: PartsOf,
    examples: Sequence[Example],
    task,
    params,
    backbones: Backbones,
    out_dir: Path,
    seed: int,
) -> None:
    """Train a prefix network in front of the frozen decoder on D_cg and save its best epoch."""
    examples = training_examples(examples, params.generator_data)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    check_positions(decoder.config, [parts_of(e.labels) for e in examples], params.prefix_length, params.max_length)
    rows = text_rows(examples, task, tokenizer, params.max_length, params.loss_on_prompt)
    rows = [row | {"labels": parts_of(row["labels"])} for row in rows]
    seed_everything(sub_seed(seed, generator))
    network = network_of(params, task.labels, decoder.config)
    model = PrefixModel(network, decoder)
    batch = partial(collate, prefix_length=params.prefix_length, pad_id=tokenizer.eos_token_id)
    values = text_values(model, rows, examples, batch, tokenizer, task, params, seed)
    of = (examples, task, params, backbones, out_dir, seed)
    save = lambda folder: save_tensors(network.state_dict(), folder / TENSORS)
    learn(generator, model, rows, batch, *of, save=save, facts_file=CONFIG, values=values)


def text_values(
    model: nn.Module, rows: Sequence[Mapping], examples: Sequence[Example], collate, tokenizer, task, params, seed: int
) -> Callable[[], np.ndarray] | None:
    """`teacher_forcing.values` of the rows, those of the examples, at this moment; None without `params.dynamics`.

    The model has `pair_rows(batch)`, the prefix rows [N, L, D] of the batch's pairs without noise. Of a text that was
    cut the remaining tokens count; prompts never do. InputError for BLEU under several processes.
    """
    if not params.dynamics:
        return None
    if params.dynamics_bleu and PartialState().num_processes > 1:
        raise InputError("dynamics_bleu: decodes on one process alone; train on one, or leave it out")
    rows = [row | {"first": row["begins"]} for row in rows]
    parts_of = {example.labels: row["labels"] for example, row in zip(examples, rows, strict=True)}.__getitem__
    decoding = SimpleNamespace(max_length=params.max_length, batch_size=params.batch_size, **GREEDY)

    def logits_of(batch: Mapping[str, Tensor]) -> Tensor:
        prefix = place(model.pair_rows(batch), batch["pair_row"], batch["pair_slot"], batch["prefix_mask"])
        names = ("input_ids", "token_mask", "prefix_mask", "predicts")
        return model.decoder.logits(prefix, *(batch[name] for name in names))

    def greedy(numbers: list[int]) -> list[tuple[str, str]]:
        """The most likely text of each row, and its own."""

        def rows_of(batch: list[int], *_: object) -> Tensor:
            return model.pair_rows(send_to_device(collate([rows[numbers[at]] for at in batch]), device()))

        requests = [examples[number].labels for number in numbers]
        behind = (requests, task, params.prefix_length, decoding, seed, parts_of)
        likely = generate_texts(model.decoder.model, tokenizer, rows_of, *behind)
        texts = [rows[number]["input_ids"][rows[number]["first"] :] for number in numbers]
        return list(zip(likely, tokenizer.batch_decode(texts, skip_special_tokens=True), strict=True))

    return partial(
        teacher_forcing.values, rows, collate, params.batch_size, logits_of, greedy, params.dynamics_bleu, seed
    )


# ---------------------------------------------------------------- generation


def opened(network_of: NetworkOf, model_dir: Path, task, backbones: Backbones):
    """(params, task, tokenizer, decoder, network) of a folder that `train_prefix` wrote."""
    _, params, task = facts_of(model_dir, task)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    network = network_of(params, task.labels, decoder.config)
    return params, task, tokenizer, decoder, filled(network, load_tensors(model_dir / TENSORS), model_dir)


def generate_prefix(
    network_of: NetworkOf,
    parts_of: PartsOf,
    model_dir: Path,
    requests: Requests,
    task,
    synthesis,
    backbones: Backbones,
    seed: int,
) -> Iterator[Draft]:
    """One text per request with the network that `train_prefix` saved."""
    params, task, tokenizer, decoder, network = opened(network_of, model_dir, task, backbones)
    rows_of = lambda numbers, parts, index: network(index["pair_label"])
    behind = (requests, task, params.prefix_length, synthesis, seed, parts_of)
    return one_each(requests, generate_texts(decoder, tokenizer, rows_of, *behind))


def generate_texts(
    decoder: PreTrainedModel,
    tokenizer,
    rows_of: Callable[[list[int], list[LabelSet], Mapping[str, Tensor]], Tensor],
    requests: Requests,
    task,
    prefix_length: int,
    synthesis,
    seed: int,
    parts_of: PartsOf = tuple,
) -> list[str]:
    """One text per request, behind its prefix and its prompt, with `synthesis.guidance` held against other labels.

    `rows_of(request numbers, their parts, pairs)` gives the prefix rows [N, L, D] of the pairs of a batch.
    """
    decoder = frozen(decoder)

    def inputs_of(label_sets: Sequence[LabelSet]) -> tuple[list[LabelSet], list[list[int]]]:
        prompts = [task.source(label_set) for label_set in label_sets]
        return [parts_of(label_set) for label_set in label_sets], token_ids(tokenizer, prompts)

    def step_of(numbers: list[int], parts: Sequence[LabelSet]) -> prefix_decoder.Step:
        of_batch = [parts[number] for number in numbers]
        index = {name: tensor.to(device()) for name, tensor in pairs(of_batch, prefix_length).items()}
        rows = rows_of(numbers, of_batch, index)
        prefix = place(rows, index["pair_row"], index["pair_slot"], index["prefix_mask"])
        return prefix_decoder.Step(decoder, prefix_decoder.prefix_cache(prefix, decoder), index["prefix_mask"])

    parts, prompts = inputs_of(requests)
    check_prompts(prompts, synthesis.max_length)
    check_positions(decoder.config, parts, prefix_length, synthesis.max_length)
    if synthesis.guidance:  # the same text stands there behind a prompt that may be longer
        other_parts, other_prompts = inputs_of(others(requests, len(task.labels), seed))
        longer = max((len(other) - len(ids) for ids, other in zip(prompts, other_prompts, strict=True)), default=0)
        check_positions(decoder.config, other_parts, prefix_length, synthesis.max_length + max(0, longer))

    def begin(numbers: list[int]) -> tuple[sampling.Step, list[list[int]]]:
        step = step_of(numbers, parts)
        if synthesis.guidance:
            others_first = [other_prompts[number] for number in numbers]
            step = Guided(step, step_of(numbers, other_parts), others_first, synthesis.guidance)
        return step, [prompts[number] for number in numbers]

    lengths = [len(of_one) * prefix_length + len(ids) for of_one, ids in zip(parts, prompts, strict=True)]
    return sampling.sample_texts(begin, lengths, tokenizer, synthesis, seed)
