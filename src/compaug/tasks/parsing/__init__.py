"""Semantic parsing, a second task beside multi-label texts: COGS and CFQ.

Dataset cartography was published on them (cartography spec, section 4).

A sentence goes in, its logical form comes out, and only the whole of it counts. `corpora` reads the files, `vocabulary`
turns words into numbers, `model` is a plain Transformer from scratch, `learning` trains it and judges it. Maps, subsets
and curricula are those of `compaug.cartography.maps` and `compaug.training.curricula`; `parser_cells` says what the
experiment of configs/parsing.yaml runs.
"""
