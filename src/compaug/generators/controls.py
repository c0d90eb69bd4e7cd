"""What the controls share: their "model" is the folder of the real rows that they draw from (design section 4).

`none`, `oversample` and `shuffled` tell the quality of generated text from its mere volume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.records import Example, atomic_dir, read_jsonl, write_jsonl

EXAMPLES = "examples.jsonl"


def train(examples: Sequence[Example], task, params, backbones: Mapping[str, Path], out_dir: Path, seed: int) -> None:
    """Keep D_cg; there is nothing to learn."""
    with atomic_dir(out_dir) as folder:
        write_jsonl(folder / EXAMPLES, examples)


def examples_of(model_dir: Path, task) -> list[Example]:
    """The rows that `train` kept."""
    return read_jsonl(model_dir / EXAMPLES, len(task.labels))
