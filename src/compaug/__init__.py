"""compaug: compositional data augmentation for multi-label text classification (arXiv 2312.11276)."""

from compaug.core import memory, numerics

numerics.fix()  # before anything loads numpy or torch
memory.keep_freed()

__version__ = "0.1.0"
