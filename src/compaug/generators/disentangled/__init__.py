"""Label-specific representations for text generation (arXiv 2312.11276): LS-PT, LD-VAE and their ablations."""
