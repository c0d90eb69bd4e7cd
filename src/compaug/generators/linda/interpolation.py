"""LINDA's model: trained without labels to write either of two texts from what lies between them (LINDA, §3.3).

It is a body (`bodies`), which has an encoder and a decoder, and the length converter between them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from compaug.core.files import InputError
from compaug.core.records import Example, sub_seed, write_jsonl
from compaug.generators import Backbones
from compaug.generators.linda.length_converter import LengthConverter, mix
from compaug.generators.shared.model_folder import filled, learn, save_tensors, trained
from compaug.generators.shared.real_rows import EXAMPLES
from compaug.models import sampling
from compaug.models.loading import IGNORED, load_tensors, pad
from compaug.training.batching import holdout
from compaug.training.loop import seed_everything

TENSORS = "interpolation.safetensors"
BodyOf = Callable[[Backbones, object], nn.Module]  # of the folders of the backbones and the settings


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
    examples: Sequence[Example],
    task,
    params,
    backbones: Backbones,
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
    body = body_of(backbones, params)
    check_room(f"generators.{generator}", params.max_length, body)
    model, rows = Interpolation(body, params), text_rows(written(examples, task), body, params.max_length)
    held_out = [row["id"] for row in holdout(rows, params.validation, seed)[1]]

    def save(folder: Path) -> None:
        body.save(folder)
        save_tensors(beside_model(model), folder / TENSORS)
        write_jsonl(folder / EXAMPLES, examples)

    of = (examples, task, params, backbones, out_dir, seed)
    learn(generator, model, rows, partial(collate, pad_id=body.pad_id), *of, save=save, held_out=held_out)


def beside_model(model: Interpolation) -> dict[str, Tensor]:
    """What was trained but an encoder-decoder, which has files of its own."""
    return {name: tensor for name, tensor in trained(model).items() if not name.startswith("body.model.")}


def check_room(block: str, max_length: int, body) -> None:
    if max_length > body.room:
        raise InputError(
            f"{block}.max_length: {max_length} tokens exceed the {body.room} that the decoder has room for; lower it"
        )


# ---------------------------------------------------------------- generation


def load(model_dir: Path, params, body_of: BodyOf, backbones: Backbones) -> Interpolation:
    """The trained model. InputError when the backbones are not those of the training."""
    model = Interpolation(body_of(backbones, params), params)
    return filled(model, load_tensors(model_dir / TENSORS), model_dir, beside_model(model))


def write_between(
    model: Interpolation, a: Sequence[str], b: Sequence[str], alpha: Sequence[float], synthesis, seed: int
) -> list[str]:
    """A text between a[i] and b[i] for every i, with weight alpha[i] of a[i].

    InputError where the decoder has no room for it.
    """
    if not a:
        return []
    body = model.body
    check_room("synthesis", synthesis.max_length, body)
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
