"""What the prefix-tuned generators share: a frozen decoder behind a computed prefix.

Paper, Eqs. 5, 6. A generator gives L rows of numbers per label of a composition; they become keys and values that every
layer of the frozen decoder attends to before the first token (`compaug.models.prefix_decoder`). Requests of a batch may
have different compositions: shorter prefixes and prompts are padded on the left with mask 0; positions follow the mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import torch
from accelerate import PartialState
from accelerate.utils import send_to_device
from safetensors.torch import save_file
from torch import Tensor, nn

from compaug.cartography.dynamics import Dynamics
from compaug.core.records import (
    Draft,
    Example,
    InputError,
    Labels,
    atomic_dir,
    digest,
    file_digest,
    read_json,
    sub_seed,
    write_json,
)
from compaug.generators.disentangled.guidance import Guided, others
from compaug.generators.shared import teacher_forcing
from compaug.generators.shared.drafts import check_prompts, one_each, training_examples
from compaug.models import prefix_decoder, sampling
from compaug.models.loading import PreTrainedModel, frozen, load_decoder, load_tensors, pad, say_cut
from compaug.models.prefix_decoder import PrefixDecoder
from compaug.training.checkpoint import checkpoints_kept, work_dir_for
from compaug.training.loop import device, fit_and_validate, seed_everything

LabelSet = Sequence[int]
NetworkOf = Callable[[object, Labels, object], nn.Module]


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
            f"a prefix of {longest} positions and max_length {max_length} exceed the decoder's {room} "
            "positions; lower prefix_length or max_length, or take a decoder with more positions"
        )


# ---------------------------------------------------------------- training


def text_rows(
    examples: Sequence[Example], task, tokenizer, max_length: int, loss_on_prompt: bool = False
) -> list[dict]:
    """Rows for `loop.fit`: tokens of P(y), a space, the text and EOS, cut at `max_length` tokens.

    `first` is the index of the first token that counts in the loss, `begins` that of the text's first. A cut text gets
    no EOS: it did not end there.
    """
    if not examples:
        return []
    prompts = tokenizer([task.source(e.labels) for e in examples], add_special_tokens=False)["input_ids"]
    texts = tokenizer([" " + task.target(e) for e in examples], add_special_tokens=False)["input_ids"]
    check_prompts(prompts, max_length)
    cut = sum(len(head) + len(text) + 1 > max_length for head, text in zip(prompts, texts, strict=True))
    say_cut("generator", cut, len(examples), max_length)
    return [
        {
            "id": example.id,
            "labels": example.labels,
            "input_ids": (head + text + [tokenizer.eos_token_id])[:max_length],
            "first": 1 if loss_on_prompt else len(head),
            "begins": len(head),
            "length": min(len(head) + len(text) + 1, max_length),
        }
        for example, head, text in zip(examples, prompts, texts, strict=True)
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
    parts_of: Callable[[LabelSet], LabelSet],
    examples: Sequence[Example],
    task,
    params,
    backbones: Mapping[str, Path],
    out_dir: Path,
    seed: int,
) -> None:
    """Train a prefix network in front of the frozen decoder on D_cg and save its best epoch.

    `network_of(params, labels, decoder config)` builds the network; `parts_of(label set)` are the parts of its prefix.
    Rows without labels have no prefix and are left out.
    """
    examples = training_examples(examples, params.generator_data)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    check_positions(decoder.config, [parts_of(e.labels) for e in examples], params.prefix_length, params.max_length)
    rows = text_rows(examples, task, tokenizer, params.max_length, params.loss_on_prompt)
    rows = [row | {"labels": parts_of(row["labels"])} for row in rows]
    seed_everything(sub_seed(seed, generator))
    network = network_of(params, task.labels, decoder.config)
    model = PrefixModel(network, decoder)
    batch = partial(collate, prefix_length=params.prefix_length, pad_id=tokenizer.eos_token_id)
    data = (task, file_digest(backbones["decoder"]), digest(examples))
    kept = dynamics_of(model, rows, examples, batch, task, tokenizer, params, out_dir, seed, generator, *data)
    with checkpoints_kept():
        history = fit_and_validate(generator, model, rows, batch, params, out_dir, seed, *data, on_epoch_end=kept)
        save(out_dir, generator, task, params, network, history, dynamics=kept)


def dynamics_of(
    model: nn.Module,
    rows: Sequence[Mapping],
    examples: Sequence[Example],
    collate,
    task,
    tokenizer,
    params,
    out_dir,
    seed,
    *identity,
) -> list[Dynamics]:
    """With `params.dynamics` the hook that keeps `teacher_forcing.VALUES` of all rows, those of the examples.

    The model has `pair_rows(batch)`, the prefix rows [N, L, D] of the batch's pairs without noise; `identity` is that
    of its checkpoint. Of a text that was cut the remaining tokens count; prompts never do. InputError for BLEU under
    several processes.
    """
    if not params.dynamics:
        return []
    if params.dynamics_bleu and PartialState().num_processes > 1:
        raise InputError("dynamics_bleu: decodes on one process alone; train on one, or leave it out")
    rows = [row | {"first": row["begins"]} for row in rows]

    def logits_of(batch: Mapping[str, Tensor]) -> Tensor:
        placed = place(model.pair_rows(batch), batch["pair_row"], batch["pair_slot"], batch["prefix_mask"])
        return model.decoder.logits(
            placed, *(batch[name] for name in ("input_ids", "token_mask", "prefix_mask", "predicts"))
        )

    def greedy(numbers: list[int]) -> list[tuple[str, str]]:
        def rows_of(batch: list[int], _: object, index: Mapping[str, Tensor]) -> Tensor:
            return model.pair_rows(send_to_device(collate([rows[numbers[at]] for at in batch]), device()))

        parts, prompts = zip(*((rows[n]["labels"], task.source(examples[n].labels)) for n in numbers), strict=True)
        most_likely = {"temperature": 1.0, "top_k": 1, "top_p": 1.0, "no_repeat_ngram": 0}
        synthesis = SimpleNamespace(max_length=params.max_length, batch_size=params.batch_size, **most_likely)
        decoded = generate_texts(
            model.decoder.model, tokenizer, rows_of, parts, prompts, params.prefix_length, synthesis, seed
        )
        originals = tokenizer.batch_decode(
            [rows[n]["input_ids"][rows[n]["first"] :] for n in numbers], skip_special_tokens=True
        )
        return list(zip(decoded, originals, strict=True))

    arguments = (rows, collate, params.batch_size, logits_of, greedy, params.dynamics_bleu, seed)
    work_dir = work_dir_for(out_dir, identity[0], params, seed, *identity[1:])
    return [Dynamics(work_dir, [row["id"] for row in rows], partial(teacher_forcing.values, *arguments))]


# ---------------------------------------------------------------- generation


def parts_and_prompts(
    requests: Sequence[LabelSet], task, parts_of: Callable[[LabelSet], LabelSet] = tuple
) -> tuple[list[LabelSet], list[str]]:
    """What `generate_texts` takes of every request: the parts of its prefix, and its prompt."""
    return [parts_of(label_set) for label_set in requests], [task.source(label_set) for label_set in requests]


def generate_texts(
    decoder: PreTrainedModel,
    tokenizer,
    rows_of: Callable[[list[int], list[LabelSet], Mapping[str, Tensor]], Tensor],
    label_sets: Sequence[LabelSet],
    prompts: Sequence[str],
    prefix_length: int,
    synthesis,
    seed: int,
    against: tuple[Sequence[LabelSet], Sequence[str]] | None = None,
) -> list[str]:
    """One text per prompt and label set.

    `rows_of(requests, label sets, pairs)` gives the prefix rows [N, L, D] of the pairs of a batch of request numbers.
    `against`: the label sets and prompts that guidance holds against them, one for each.
    """
    if not label_sets:
        return []
    where = device()
    decoder = frozen(decoder)

    def tokens_of(prompts: Sequence[str]) -> list[list[int]]:
        return tokenizer(list(prompts), add_special_tokens=False)["input_ids"]

    def step_of(requests: list[int], label_sets: Sequence[LabelSet]) -> prefix_decoder.Step:
        chosen = [label_sets[i] for i in requests]
        index = {name: tensor.to(where) for name, tensor in pairs(chosen, prefix_length).items()}
        rows = rows_of(requests, chosen, index)
        prefix = place(rows, index["pair_row"], index["pair_slot"], index["prefix_mask"])
        return prefix_decoder.Step(decoder, prefix_decoder.prefix_cache(prefix, decoder), index["prefix_mask"])

    prompt_ids = tokens_of(prompts)
    check_prompts(prompt_ids, synthesis.max_length)
    check_positions(decoder.config, label_sets, prefix_length, synthesis.max_length)
    if against:  # the same text stands there behind a prompt that may be longer
        other_ids = tokens_of(against[1])
        longer = max(len(other) - len(ids) for ids, other in zip(prompt_ids, other_ids, strict=True))
        check_positions(decoder.config, against[0], prefix_length, synthesis.max_length + max(0, longer))

    def begin(requests: list[int]) -> tuple[sampling.Step, list[list[int]]]:
        step = step_of(requests, label_sets)
        if against:
            other = step_of(requests, against[0])
            step = Guided(step, other, [other_ids[i] for i in requests], synthesis.guidance)
        return step, [prompt_ids[i] for i in requests]

    lengths = [len(labels) * prefix_length + len(ids) for labels, ids in zip(label_sets, prompt_ids, strict=True)]
    return sampling.sample_texts(begin, lengths, tokenizer, synthesis, seed)


def generate_prefix(
    network_of: NetworkOf,
    parts_of: Callable[[LabelSet], LabelSet],
    model_dir: Path,
    requests: Sequence[LabelSet],
    task,
    synthesis,
    backbones: Mapping[str, Path],
    seed: int,
) -> Iterator[Draft]:
    """One text per request with the network that `train_prefix` saved."""
    params, task, tensors = load(model_dir, task)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    network = load_into(network_of(SimpleNamespace(**params), task.labels, decoder.config), tensors, model_dir)
    against = others(requests, len(task.labels), seed) if synthesis.guidance else None
    texts = generate_texts(
        decoder,
        tokenizer,
        lambda numbers, label_sets, index: network(index["pair_label"]),
        *parts_and_prompts(requests, task, parts_of),
        params["prefix_length"],
        synthesis,
        seed,
        parts_and_prompts(against, task, parts_of) if against else None,
    )
    return one_each(requests, texts)


# ---------------------------------------------------------------- model folders


def save(
    out_dir: Path,
    generator: str,
    task,
    params,
    network: nn.Module,
    history: list[dict],
    dynamics: Sequence[Dynamics] = (),
    **records: object,
) -> None:
    """Write a model folder: all that generation needs besides the frozen decoder.

    config.json, model.safetensors, history.json, <record>.json; dynamics.npy and dynamics.json where they were kept.
    """
    if not PartialState().is_main_process:
        return
    with atomic_dir(out_dir) as folder:
        write_json(folder / "config.json", {"generator": generator, **task.facts(), "params": params.in_force()})
        for name, record in {"history": {"epochs": history}, **records}.items():
            write_json(folder / f"{name}.json", record)
        tensors = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
        save_file(tensors, folder / "model.safetensors")
        for kept in dynamics:
            kept.write(folder)


def load(model_dir: Path, task) -> tuple[dict, object, dict[str, Tensor]]:
    """(params, task, tensors) of a folder written by `save`; InputError when it was trained for another task."""
    config = read_json(model_dir / "config.json")
    task = task.of_model(config, model_dir)
    return config["params"], task, load_tensors(model_dir / "model.safetensors")


def load_into(network: nn.Module, tensors: Mapping[str, Tensor], model_dir: Path) -> nn.Module:
    """Fill `network`; InputError when the sizes do not fit, that is when the decoder is not the one of the training."""
    expected = network.state_dict()
    if {k: v.shape for k, v in expected.items()} != {k: v.shape for k, v in tensors.items()}:
        raise InputError(f"{model_dir}: does not fit this decoder; give the backbones it was trained with")
    network.load_state_dict(tensors)
    return network.to(device()).eval()
