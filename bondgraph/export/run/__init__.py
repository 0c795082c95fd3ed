"""Export of runs as code: a model with its solver."""
