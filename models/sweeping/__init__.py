"""Parameter sweeps from files: run a model by a plan into a store of runs and a table."""
