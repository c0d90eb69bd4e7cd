"""What torch computes, operation by operation, so that two CPUs can be compared bit for bit and the first that differs has a name."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

UNFILLED = "empty"  # in the names of operations whose results hold whatever the memory held


@dataclass(frozen=True)
class Operation:
    """`given` and `made` are checksums of the numbers that an operation only read, and of those that it wrote."""

    name: str  # "aten::mm [8, 16] x [16, 32]"
    given: int
    made: int


class Recorder(TorchDispatchMode):
    """Every operation below autograd that happens inside `with Recorder() as recorder`, forward, backward and optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[Operation] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        schema = function._schema
        values = dict(zip(schema.arguments, args, strict=False))
        values |= {argument: kwargs[argument.name] for argument in schema.arguments if argument.name in (kwargs or {})}
        written = [value for argument, value in values.items() if argument.is_write]
        read = _tensors([value for argument, value in values.items() if not argument.is_write])
        shapes = " x ".join(str(list(tensor.shape)) for tensor in [*_tensors(written), *read][:4])
        given = checksum(read)
        result = function(*args, **(kwargs or {}))
        if UNFILLED not in schema.name:
            name = f"{schema.name} {shapes}".strip()
            self.operations.append(Operation(name, given, checksum(_tensors([result, written]))))
        return result


def checksum(tensors: Sequence[torch.Tensor]) -> int:
    """CRC-32 of the bytes of all tensors."""
    found = 0
    for tensor in tensors:
        found = zlib.crc32(tensor.detach().numpy().tobytes(), found)
    return found


def _tensors(tree: object) -> list[torch.Tensor]:
    return [
        leaf
        for leaf in tree_leaves(tree)
        if isinstance(leaf, torch.Tensor) and leaf.device.type == "cpu" and leaf.numel()
    ]


def first_difference(here: Sequence[Operation], there: Sequence[Operation]) -> str | None:
    """The first operation that does not do the same in both traces; None when they are equal."""
    for number, (one, other) in enumerate(zip(here, there, strict=False), start=1):
        if one.name != other.name:
            return f"takes another way at operation {number}: {one.name} here, {other.name} there"
        if one.made != other.made and one.given != other.given:
            return f"differs before operation {number}, {one.name}, outside torch: what it reads is another"
        if one.made != other.made:
            return f"differs first at operation {number}, {one.name}"
    if len(here) != len(there):
        return f"is equal for {min(len(here), len(there))} operations, then one of the two ends"
    return None
