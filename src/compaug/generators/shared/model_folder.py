"""Training a generator to its best epoch, and its model folder: facts, history and the tensors that were trained."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from accelerate import PartialState
from safetensors.torch import save_file
from torch import Tensor, nn

from compaug.cartography.dynamics import Dynamics
from compaug.core.files import InputError, atomic_dir, digest, file_digest, write_json
from compaug.core.records import Example
from compaug.generators import Backbones
from compaug.generators.shared.facts import FACTS
from compaug.training.checkpoint import checkpoints_kept, work_dir_for
from compaug.training.loop import device, fit_and_validate


def learn(
    generator: str,
    model: nn.Module,
    rows: Sequence[Mapping],
    collate: Callable[[list], dict[str, Tensor]],
    examples: Sequence[Example],
    task,
    params,
    backbones: Backbones,
    out_dir: Path,
    seed: int,
    save: Callable[[Path], object],
    facts_file: str = FACTS,
    measured: Callable[[Iterable[dict]], dict] | None = None,
    values: Callable[[], np.ndarray] | None = None,
    **facts: object,
) -> None:
    """Train `model` on the rows of `examples` and write the folder of its best epoch.

    `save(folder)` adds what was trained to facts and history. `measured`: of `fit_and_validate`. `values()` are those
    of all rows after an epoch, for data maps; None keeps no dynamics.
    """
    data = (task, *map(file_digest, backbones.values()), digest(examples))
    work_dir = work_dir_for(out_dir, generator, params, seed, *data)
    dynamics = [Dynamics(work_dir, [row["id"] for row in rows], values)] if values else []
    with checkpoints_kept():
        history = fit_and_validate(
            generator, model, rows, collate, params, out_dir, seed, *data, measured=measured, on_epoch_end=dynamics
        )
        if not PartialState().is_main_process:
            return
        with atomic_dir(out_dir) as folder:
            save(folder)
            facts |= {"generator": generator, **task.facts(), "params": params.in_force()}
            write_json(folder / facts_file, facts)
            write_json(folder / "history.json", {"epochs": history})
            for kept in dynamics:
                kept.write(folder)


def trained(model: nn.Module) -> dict[str, Tensor]:
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)


def filled(
    model: nn.Module, tensors: Mapping[str, Tensor], model_dir: Path, expected: Mapping[str, Tensor] | None = None
) -> nn.Module:
    """The model with these tensors, ready to generate.

    `expected` has their names and sizes, else the model's state. InputError where they differ: the backbone is not the
    one of the training.
    """
    sizes = {name: tensor.shape for name, tensor in (model.state_dict() if expected is None else expected).items()}
    if sizes != {name: tensor.shape for name, tensor in tensors.items()}:
        raise InputError(f"{model_dir}: does not fit this backbone; give the one that it was trained with")
    model.load_state_dict(tensors, strict=False)
    return model.to(device()).eval()
