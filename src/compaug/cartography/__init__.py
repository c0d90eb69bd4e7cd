"""Dataset cartography: how sure a model was of each text in each epoch, and which texts are worth learning."""
