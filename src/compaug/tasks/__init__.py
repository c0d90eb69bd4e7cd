"""The other tasks of these papers: parsing, intents and slots, one label from few texts."""
