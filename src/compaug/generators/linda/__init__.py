"""LINDA: texts between two real ones (arXiv 2112.13969)."""
