"""Export of a run as code that contains the model and its solver."""
