"""compaug: compositional data augmentation for multi-label text classification (arXiv 2312.11276)."""

from compaug.core import numerics

numerics.fix()  # before anything loads numpy or torch

__version__ = "0.1.0"
