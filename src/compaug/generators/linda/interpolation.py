"""LINDA's model: trained without labels to write either of two texts from what lies between them (LINDA, §3.3).

It is a body (`bodies`), which has an encoder and a decoder, and the length converter between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from accelerate import PartialState
from safetensors.torch import save_file
from torch import Tensor, nn

from compaug.core.records import (
    Example,
    InputError,
    atomic_dir,
    digest,
    file_digest,
    read_json,
    sub_seed,
    write_json,
    write_jsonl,
)
from compaug.generators.linda.length_converter import LengthConverter, mix
from compaug.generators.shared.real_rows import EXAMPLES
from compaug.models import loading, sampling
from compaug.models.loading import IGNORED, load_tensors, pad
from compaug.training.batching import holdout
from compaug.training.loop import device, fit_and_validate, seed_everything

NO_ROOM = "tokens exceed the {} that the decoder has room for; lower it"
FACTS, TENSORS = "generator.json", "interpolation.safetensors"
BodyOf = Callable[[Mapping[str, Path], Mapping], nn.Module]  # of the folders of the backbones and the settings


# ---------------------------------------------------------------- the model and its risk


class Interpolation(nn.Module):
    """p(y | x^a, x^b, alpha) and the risk that trains it.

    Masked words, norm penalty and noise are there in training alone.
    """

    def __init__(self, body: nn.Module, params) -> None:
        super().__init__()
        self.body, self.params, self.converter = body, params, LengthConverter(params.sigma)
        if params.p_mask and body.mask_id is None:
            raise InputError(
                "p_mask: the tokenizer has no token for a masked word (<mask>, <extra_id_0>, <unk>); set it to 0"
            )

    def forward(self, input_ids: Tensor, mask: Tensor, words: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Every text of a batch [M] as x^a, another one as its x^b; a text may meet itself.

        R = 1/M sum_m alpha_m nll(x^a) + (1 - alpha_m) nll(x^b), and norm * 1/M sum of |h|^2 over the tokens of both
        texts. With `reduction: mean` nll and |h|^2 are means over tokens, so that short texts count as much as long
        ones; `sum`: as printed.
        """
        params, texts = self.params, len(input_ids)
        partner = torch.randperm(texts, device=input_ids.device)
        alpha = torch.rand(texts if params.alpha_for == "pair" else 1, device=input_ids.device).expand(texts)
        if self.training and params.p_mask:
            input_ids = mask_words(input_ids, words, params.p_mask, self.body.mask_id)
        states = self.body.encode(input_ids, mask)  # [M, L, H]
        norm = reduced((states.float() ** 2).sum(-1), mask, params.reduction)  # [M]
        if self.training and params.noise:
            states = states + params.noise * torch.randn_like(states)
        nll_a, nll_b = self.nll(states, mask, partner, alpha, labels)
        risk = (alpha * nll_a + (1 - alpha) * nll_b).mean()
        penalty = (norm + norm[partner]).mean()
        loss = risk + params.norm * penalty if self.training else risk
        return {"loss": loss, "nll": risk, "norm": penalty}

    def nll(
        self, states: Tensor, mask: Tensor, partner: Tensor, alpha: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """-log p of both texts of every pair, from the same mixed states.  # [M], [M]"""
        lengths = mask.sum(1)
        mixed, mixed_mask = mix(self.converter, states, lengths, states[partner], lengths[partner], alpha)
        both = torch.cat([labels, labels[partner]])  # [2 M, T]
        nll = reduced(self.body.nll(mixed, mixed_mask, both), both != IGNORED, self.params.reduction)
        return nll[: len(states)], nll[len(states) :]

    def between(self, a: Sequence, b: Sequence, alpha: Sequence[float]) -> tuple[Tensor, Tensor]:
        """Mixed states and their mask of pairs of sources, as `body.sources` gives them."""
        where = self.converter.width.device
        ids, mask = pad([ids for ids, _ in [*a, *b]], self.body.pad_id)
        mask = mask.to(where)
        states, lengths, n = self.body.encode(ids.to(where), mask), mask.sum(1), len(a)
        weights = torch.tensor(list(alpha), dtype=torch.float32, device=where)
        return mix(self.converter, states[:n], lengths[:n], states[n:], lengths[n:], weights)


def reduced(values: Tensor, counts: Tensor, reduction: str) -> Tensor:
    """The values [B, T] of each row that count, added up or their mean.  # [B]"""
    total = (values * counts).sum(1)
    return total / counts.sum(1) if reduction == "mean" else total


def mask_words(input_ids: Tensor, words: Tensor, p_mask: float, mask_id: int) -> Tensor:
    """A word (tokens of one number) becomes mask tokens with probability p_mask; marks (-1) never do.  # [B, L]"""
    drawn = torch.rand(len(words), max(int(words.max()) + 1, 1), device=words.device) < p_mask  # [B, words]
    return input_ids.masked_fill(drawn.gather(1, words.clamp(min=0)) & (words >= 0), mask_id)


# ---------------------------------------------------------------- training


def written(examples: Sequence[Example], task) -> list[Example]:
    """The examples with the texts that the task wants written."""
    return [replace(example, text=task.target(example)) for example in examples]


def text_rows(examples: Sequence[Example], body, max_length: int) -> list[dict]:
    """Rows for `loop.fit`, all of one length to its buckets.

    In a batch of like lengths no text would meet a shorter one.
    """
    texts = [" ".join(example.text.split()) for example in examples]
    read, written = body.sources(texts, max_length), body.targets(texts, max_length)
    return [
        {"id": example.id, "length": 1, "source": ids, "words": words, "target": target}
        for example, (ids, words), target in zip(examples, read, written, strict=True)
    ]


def collate(rows: Sequence[Mapping], pad_id: int) -> dict[str, Tensor]:
    """input_ids, mask, words [B, L]; labels [B, T], IGNORED on padding."""
    input_ids, mask = pad([row["source"] for row in rows], pad_id)
    words, _ = pad([row["words"] for row in rows], -1)
    labels, _ = pad([row["target"] for row in rows], IGNORED)
    return {"input_ids": input_ids, "mask": mask, "words": words, "labels": labels}


def train(
    generator: str,
    body_of: BodyOf,
    save_body: Callable[[nn.Module, Path], None],
    examples: Sequence[Example],
    task,
    params,
    backbones: Mapping[str, Path],
    out_dir: Path,
    seed: int,
) -> None:
    """Train on the texts of D_cg, without their labels, and save the best epoch.

    With it these texts, and which of them were held out. InputError with fewer than two texts.
    """
    examples = [e for e in examples if params.generator_data == "all" or e.source != "support"]
    if len(examples) < 2:
        raise InputError(f"{generator} writes texts between two texts; there are {len(examples)} to learn from")
    seed_everything(sub_seed(seed, generator))
    body = body_of(backbones, params.in_force())
    if params.max_length > body.room:
        raise InputError(f"generators.{generator}.max_length: {params.max_length} {NO_ROOM.format(body.room)}")
    model, rows = Interpolation(body, params), text_rows(written(examples, task), body, params.max_length)
    data = (*map(file_digest, backbones.values()), digest([e.as_row() for e in examples]))
    batch = partial(collate, pad_id=body.pad_id)
    history = fit_and_validate(generator, model, rows, batch, params, out_dir, seed, *data)
    if not PartialState().is_main_process:
        return
    _, held_out = holdout(rows, params.validation, seed)
    with atomic_dir(out_dir) as folder:
        save_body(body, folder)
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        kept = {
            name: p.detach().cpu().contiguous() for name, p in trained.items() if not name.startswith("body.model.")
        }
        save_file(kept, folder / TENSORS)
        facts = {"generator": generator, **task.facts(), "params": params.in_force()}
        write_json(folder / FACTS, facts | {"held_out": [row["id"] for row in held_out]})
        write_json(folder / "history.json", {"epochs": history})
        write_jsonl(folder / EXAMPLES, examples)


def save_model(body, folder: Path) -> None:
    """An encoder-decoder, all of whose weights were trained, as a model folder."""
    loading.save(folder, body.tokenizer, body.model)


def save_nothing(body, folder: Path) -> None:
    """Encoder and decoder are the backbones."""


# ---------------------------------------------------------------- generation


def facts_of(model_dir: Path, task) -> tuple[dict, object]:
    """(facts, task) of a model's folder. InputError when it was trained for other labels."""
    facts = read_json(model_dir / FACTS)
    return facts, task.of_model(facts, model_dir)


def load(model_dir: Path, params, body_of: BodyOf, backbones: Mapping[str, Path]) -> Interpolation:
    """The trained model. InputError when the backbones are not those of the training."""
    model, tensors = Interpolation(body_of(backbones, vars(params)), params), load_tensors(model_dir / TENSORS)
    state = {name: value for name, value in model.state_dict().items() if name in tensors}
    if {name: value.shape for name, value in state.items()} != {name: value.shape for name, value in tensors.items()}:
        raise InputError(f"{model_dir}: does not fit these backbones; give those that it was trained with")
    model.load_state_dict(tensors, strict=False)
    return model.to(device()).eval()


def write_between(
    model: Interpolation, a: Sequence[str], b: Sequence[str], alpha: Sequence[float], synthesis, seed: int
) -> list[str]:
    """A text between a[i] and b[i] for every i, with weight alpha[i] of a[i].

    InputError where the decoder has no room for it.
    """
    if not a:
        return []
    body = model.body
    if synthesis.max_length > body.room:
        raise InputError(f"synthesis.max_length: {synthesis.max_length} {NO_ROOM.format(body.room)}")
    limit = model.params.max_length
    first, second = body.sources(list(a), limit), body.sources(list(b), limit)

    def begin(numbers: list[int]):
        mixed, mask = model.between(
            [first[i] for i in numbers], [second[i] for i in numbers], [alpha[i] for i in numbers]
        )
        step, start = body.begin(mixed, mask)
        return step, [start] * len(numbers)

    lengths = [len(ids) + len(others) for (ids, _), (others, _) in zip(first, second, strict=True)]
    return sampling.sample_texts(begin, lengths, body.tokenizer, synthesis, seed)
