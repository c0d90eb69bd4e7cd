"""Texts and labels written together in one augmented language."""
