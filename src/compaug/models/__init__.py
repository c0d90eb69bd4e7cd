"""Pretrained models as local folders, and what is built on them: prefixes, sampling, denoising, mixout."""
