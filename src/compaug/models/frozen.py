"""An encoder whose lower layers are frozen (`freeze_layers`): their states of a text are computed once and kept.

Training then needs neither a forward nor a backward pass through them. The model that is saved is the whole one.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from compaug.core.files import InputError
from compaug.models.loading import pad
from compaug.training.batching import batches_by_length
from compaug.training.loop import reduced

READ_AT_ONCE = 64  # texts
AT_MOST = 4 * 2**30  # bytes of kept states


class FrozenBelow(nn.Module):
    """Called as the encoder `whole` is, with the same answer.

    Its embeddings and first `layers` layers are not trained and have no dropout, nor is anything trained that they
    share with the layers above, such as MPNet's bias of relative positions. InputError where it has no more layers.
    """

    def __init__(self, whole: nn.Module, layers: int) -> None:
        super().__init__()
        self.whole, self.config = whole, whole.config
        path, every = _layers(whole)
        if not 0 < layers < len(every):
            raise InputError(
                f"freeze_layers: {layers} of {len(every)} layers leave none to train; "
                f"set 1 to {len(every) - 1}, or null"
            )
        self._frozen = (whole.embeddings, *every[:layers])
        lower, upper = _with_layers(whole, path, every[:layers]), _with_layers(whole, path, every[layers:])
        if hasattr(whole, "final_norm"):  # of ModernBERT, after its last layer
            lower._modules["final_norm"] = nn.Identity()
        lower.requires_grad_(False)
        upper._modules["embeddings"] = self._input = _InputStates()
        # As attributes of this module torch would count the weights again, which both share with the whole model.
        self._views = SimpleNamespace(lower=lower, upper=upper)
        self._kept: dict[bytes, Tensor] = {}  # token ids -> states after the frozen layers [T, H]

    @property
    def device(self) -> torch.device:
        return self.whole.device

    def train(self, mode: bool = True) -> FrozenBelow:
        super().train(mode)
        for part in self._frozen:
            part.eval()
        return self

    def keep(self, texts: Sequence[Sequence[int]], pad_id: int) -> None:
        """Read texts, lists of token ids, and keep their states where they fit in `AT_MOST` bytes.

        In an order of their own, so that a training that goes on after an interruption finds the same numbers.
        """
        distinct = [list(ids) for ids in sorted({tuple(ids) for ids in texts})]
        if sum(map(len, distinct)) * self.config.hidden_size * 4 > AT_MOST:
            print(
                f"note: the frozen layers' states of {len(distinct)} texts are too many to keep; "
                "they are read in every epoch",
                file=sys.stderr,
            )
            return
        for rows in batches_by_length([len(ids) for ids in distinct], READ_AT_ONCE):
            ids, mask = (tensor.to(self.device) for tensor in pad([distinct[row] for row in rows], pad_id))
            with torch.autocast(self.device.type, torch.bfloat16, enabled=reduced(self.device)):
                read = self._below(ids, mask).float().cpu()
            for row, states in zip(rows, read, strict=True):
                self._kept[_key(distinct[row])] = states[: len(distinct[row])]

    def forward(self, input_ids: Tensor, attention_mask: Tensor):
        lengths = attention_mask.sum(1).tolist()
        keys = [_key(ids[:length]) for ids, length in zip(input_ids.tolist(), lengths, strict=True)]
        if all(key in self._kept for key in keys):
            states = nn.utils.rnn.pad_sequence([self._kept[key] for key in keys], batch_first=True).to(self.device)
        else:
            states = self._below(input_ids, attention_mask)
        self._input.states = states
        return self._views.upper(input_ids=input_ids, attention_mask=attention_mask)

    @torch.no_grad()
    def _below(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """States after the frozen layers.  # [B, T, H]"""
        training = self.training
        self.eval()
        states = self._views.lower(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        self.train(training)
        return states


class _InputStates(nn.Module):
    """Stands where the embeddings were, and gives what was read."""

    states: Tensor

    def forward(self, *_, **__) -> Tensor:
        return self.states


def _key(ids: Sequence[int]) -> bytes:
    return torch.tensor(ids, dtype=torch.int32).numpy().tobytes()


def _layers(whole: nn.Module) -> tuple[list[str], nn.ModuleList]:
    """Where a model has its layers, as names from the outside in, and these. InputError where they are not found."""
    for name, module in whole.named_modules():
        is_list = isinstance(module, nn.ModuleList) and len(module) == whole.config.num_hidden_layers
        if is_list and hasattr(whole, "embeddings"):
            return name.split("."), module
    raise InputError(f"freeze_layers: {whole.config.model_type} has no layers that are known here; set it to null")


def _with_layers(module: nn.Module, path: Sequence[str], layers: nn.ModuleList) -> nn.Module:
    """A copy of the module with other layers at the place `path`, names from the outside in; all else is shared."""
    view = copy.copy(module)
    view._modules = dict(module._modules)
    name, *inner = path
    view._modules[name] = _with_layers(module._modules[name], inner, layers) if inner else layers
    return view
