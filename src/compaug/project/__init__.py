"""Ways in and out for somebody's own corpus; what lies between is the pipeline's.

What a file holds and which values suit it, labels for new texts, and texts and classifier in the formats that others
open.
"""
