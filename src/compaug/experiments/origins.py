"""What a run would use, key by key, and which file said it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compaug.core.files import read_yaml
from compaug.core.schema import Block
from compaug.experiments import params

DEFAULT = "the default of the method"  # where no file says anything


def origins(path: Path, benchmark: str | None = None, scale: str | None = None) -> Iterator[tuple[str, Any, str]]:
    """(key, value, file) of all that is in force for the cell of `run`; of methods, for its generator and classifier.

    Options that are off are left out. InputError as of `params.parse`.
    """
    settings = params.parse(path, benchmark, scale)
    run = settings.run
    layers = params.layers_of(path, read_yaml(path), benchmark or run.benchmark, scale or run.scale)
    chosen = {"generators": run.generator, "classifiers": run.classifier}
    for name, block in settings:
        if name in chosen:
            yield from _of_block(block[chosen[name]], (name, chosen[name]), layers)
        else:
            yield from _of_block(block, (name,), layers)


def _of_block(block: Block, key: tuple[str, ...], layers: dict[str, dict]) -> Iterator[tuple[str, Any, str]]:
    for name, value in block.in_force().items():
        if isinstance(value, Block):
            yield from _of_block(value, (*key, name), layers)
        else:
            place = (*key, name)
            yield ".".join(place).removeprefix("corpus."), value, params.file_of(layers, place) or DEFAULT
