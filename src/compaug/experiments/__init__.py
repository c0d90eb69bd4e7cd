"""Settings in layers, the cells of an experiment, and the stages that a cell needs."""
