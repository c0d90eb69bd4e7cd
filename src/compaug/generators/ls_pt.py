"""LS-PT: label-specific prefix tuning of a frozen GPT-2 (paper, "Label Specific Prefix-Tuning"; spec section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from compaug.generators import prefix
from compaug.pretrained import load_decoder
from compaug.records import Example, Labels, digest, file_digest, sub_seed
from compaug.training import FitOptions, fit, holdout, seed_everything, work_dir_for


class LabelPrefix(nn.Module):
    """Free parameters z_y in R^{L x H} for every label y and the position-wise MLP that turns them into keys and values."""

    def __init__(self, n_labels: int, prefix_length: int, mid_dim: int, decoder) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(n_labels, prefix_length, decoder.n_embd))
        self.mlp = prefix.prefix_mlp(decoder.n_embd, mid_dim, decoder)

    def forward(self, pair_label: Tensor) -> Tensor:
        """Prefix rows [N, L, n_layer * 2 * n_embd] of the labels [N]."""
        return self.mlp(self.table[pair_label])


class LsPt(nn.Module):
    """Loss of the text given the prefix of its labels: mean -log P(x_t | x_<t, y) over text tokens and EOS."""

    def __init__(self, network: LabelPrefix, decoder) -> None:
        super().__init__()
        self.network, self.decoder = network, prefix.PrefixDecoder(decoder)

    def forward(
        self, *, pair_row: Tensor, pair_slot: Tensor, pair_label: Tensor, prefix_mask: Tensor, **texts: Tensor
    ) -> dict[str, Tensor]:
        rows = prefix.place(self.network(pair_label), pair_row, pair_slot, prefix_mask)
        nll = self.decoder.token_nll(rows, prefix_mask=prefix_mask, **texts).mean()
        return {"loss": nll, "nll": nll}


def train(
    examples: Sequence[Example],
    labels: Labels,
    params,
    prompt: prefix.Prompt,
    backbones: Mapping[str, Path],
    out_dir: Path,
    seed: int,
) -> None:
    """Train the table and the MLP on D_cg (rows without labels have no prefix and are left out) and save the best epoch."""
    examples = prefix.training_examples(examples, params.generator_data)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    prefix.check_positions(decoder.config, [e.labels for e in examples], params.prefix_length, params.max_length)
    rows = prefix.text_rows(examples, labels, prompt, tokenizer, params.max_length, params.loss_on_prompt)
    train_rows, valid_rows = holdout(rows, params.validation, seed)
    seed_everything(sub_seed(seed, "ls_pt"))
    network = LabelPrefix(len(labels), params.prefix_length, params.mid_dim, decoder.config)
    history = fit(
        LsPt(network, decoder),
        train_rows,
        valid_rows,
        partial(prefix.collate, prefix_length=params.prefix_length, pad=tokenizer.eos_token_id),
        FitOptions(params.epochs, params.batch_size, params.lr, warmup=params.warmup, patience=params.patience),
        seed=seed,
        work_dir=work_dir_for(
            out_dir, "ls_pt", params, prompt, labels, file_digest(backbones["decoder"]), digest(examples), seed
        ),
        description="ls_pt",
    )
    prefix.save(out_dir, "ls_pt", labels, prompt, params, network, history)


def generate(
    model_dir: Path,
    label_sets: Sequence[Sequence[int]],
    labels: Labels,
    synthesis,
    backbones: Mapping[str, Path],
    seed: int,
) -> list[str]:
    """One text per label set."""
    params, prompt, tensors = prefix.load(model_dir, labels)
    tokenizer, decoder = load_decoder(backbones["decoder"])
    network = LabelPrefix(len(labels), params["prefix_length"], params["mid_dim"], decoder.config)
    prefix.load_into(network, tensors, model_dir)
    return prefix.decode(
        decoder,
        tokenizer,
        lambda requests, index: network(index["pair_label"]),
        label_sets,
        [prompt.of(labels, label_set) for label_set in label_sets],
        params["prefix_length"],
        synthesis,
        seed,
    )
