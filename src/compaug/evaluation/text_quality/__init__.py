"""Measures of synthetic texts and of the representations that they were written from."""
