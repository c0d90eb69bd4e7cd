"""compaug: compositional data augmentation for multi-label text classification (arXiv 2312.11276).

The Python API is loaded when a name of it is first used (docs/api.md).
"""

from importlib import import_module

from compaug.core import numerics

numerics.fix()  # before anything loads numpy or torch

__version__ = "0.3.0.dev0"

MEASURES = ("jaccard", "accuracy", "correctness", "completeness", "harmonic", "ausuc", "best_harmonic", "gap")
API = {"load": "project.classifier", "Audit": "project.file_audit", "InputError": "core.files"}  # by module
API |= dict.fromkeys(("split", *MEASURES), "project.arrays")


def __getattr__(name: str):
    if name not in API:
        raise AttributeError(f"module 'compaug' has no attribute {name!r}")
    return getattr(import_module(f"compaug.{API[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *API})
