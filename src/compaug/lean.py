"""Importing transformers without what no stage uses: torch's compiler, sharded tensors, the losses of object detection.

They are half of what transformers imports, a second of every stage, and none of them changes a number: as long as nothing is compiled, marking a
function as not to be compiled does nothing. Whoever asks for more gets the real thing; `torch.compile` works as ever.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace

COMPILER = "torch._dynamo"
MARKS = f"{COMPILER}._trace_wrapped_higher_order_op"  # the one file of it that transformers takes a name from


class NoCompiler(ModuleType):
    """In the place of `torch._dynamo` until somebody wants another name of it than these, or one of its files."""

    eval_frame = SimpleNamespace(
        OptimizedModule=type("OptimizedModule", (), {})
    )  # accelerate asks whether a model is one

    @staticmethod
    def disable(fn=None, recursive: bool = True, **_):
        return (lambda other: other) if fn is None else fn

    @staticmethod
    def allow_in_graph(fn):
        return fn

    assume_constant_result = allow_in_graph

    @staticmethod
    def graph_break(msg: str = "") -> None:
        """Optimizers call it at every step."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(the_compiler(), name)


class ItsFiles:
    """Finds the compiler's files: the first that is imported brings in all of it, and most likely that file among the rest."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        if not name.startswith(f"{COMPILER}."):
            return None
        real = the_compiler()
        return ModuleSpec(name, self) if name in sys.modules else PathFinder.find_spec(name, real.__path__)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It has been run."""


FILES = ItsFiles()


def the_compiler() -> ModuleType:
    """The real module, which takes the place of the other."""
    if FILES in sys.meta_path:
        sys.meta_path.remove(FILES)
        del sys.modules[COMPILER]
    return importlib.import_module(COMPILER)


def apply() -> None:
    """Call it before transformers is imported. Nothing happens under several processes, which need sharded tensors, nor where the
    libraries are not built as expected; then imports only take longer."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return
    if COMPILER not in sys.modules:
        compiler = NoCompiler(COMPILER)
        compiler.__path__ = [str(Path(importlib.util.find_spec("torch").origin).parent / "_dynamo")]
        sys.modules[COMPILER] = compiler
        try:
            importlib.import_module(MARKS)
        except ImportError:  # another version of torch: leave it to itself
            del sys.modules[COMPILER]
        else:
            sys.meta_path.insert(0, FILES)
    from transformers import utils
    from transformers.utils import import_utils

    for name in ("is_torch_distributed_available", "is_scipy_available"):  # transformers' own questions
        for module in (utils, import_utils):
            if hasattr(module, name):
                setattr(module, name, lambda: False)
