"""Semantic parsing, a second task beside multi-label texts: COGS and CFQ (cartography spec, section 4).

A sentence goes in, its logical form comes out, and only the whole of it counts. `corpora` reads the files, `vocabulary`
turns words into numbers, `model` is a plain Transformer from scratch, `learning` trains it and judges it.
"""
