"""What generators of several papers share."""
