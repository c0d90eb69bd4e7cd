"""From probabilities to label sets, and how much of a gap a constant at decoding closes."""
