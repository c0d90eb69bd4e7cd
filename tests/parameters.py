"""A copy of params.yaml and configs/ with some values set otherwise."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def written(folder: Path, changes: Mapping[str, object] | None = None) -> Path:
    """params.yaml in the folder, configs/ beside it. Keys of `changes` are dotted; before a colon stands the file's
    name, of configs/scales.yaml or of a corpus: "sizes.k", "scales:tiny.generators.shared.epochs", "own:split.seed". A
    mapping is added to the block, an empty one empties it, `...` takes a key away."""
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copytree(ROOT / "configs", folder / "configs", dirs_exist_ok=True)
    for key, value in (changes or {}).items():
        file, _, dotted = key.rpartition(":")
        corpus = folder / "configs" / "benchmarks" / f"{file}.yaml"
        path = {"": folder / "params.yaml", "scales": folder / "configs" / "scales.yaml"}.get(file, corpus)
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
        *parents, last = dotted.split(".")
        block = tree
        for word in parents:
            block = block.setdefault(word, {})
        if value is ...:
            del block[last]
        elif isinstance(value, dict) and value and isinstance(block.get(last), dict):
            block[last] = block[last] | value
        else:
            block[last] = value
        path.write_text(yaml.safe_dump(tree, sort_keys=False), encoding="utf-8")
    return folder / "params.yaml"
