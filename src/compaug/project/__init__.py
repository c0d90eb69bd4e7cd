"""Ways in and out for somebody's own corpus: what a file holds and which values suit it, labels for new texts, and texts and classifier in the
formats that others open. What lies between is the pipeline's."""
