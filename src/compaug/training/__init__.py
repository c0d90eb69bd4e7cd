"""One training loop for every model, and the curricula that it can follow."""
