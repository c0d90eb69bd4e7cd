"""compaug: compositional data augmentation for multi-label text classification (arXiv 2312.11276)."""

__version__ = "0.1.0"
