"""From files to a compositional split: readers, corpora, splits and their audit, and what of it is learned."""
