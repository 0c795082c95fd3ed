"""Large models: compile sorted statements to loops over shared kernels, with the signatures of straight-line code."""
