"""Dataset cartography: what a model thought of each text, epoch by epoch, and what that makes worth learning."""
