"""CoDa: a language model that is asked to keep to constraints taken from real texts (arXiv 2403.20415)."""
