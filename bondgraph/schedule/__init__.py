"""Large models: compile sorted statements to loops over shared kernels, called like straight-line code."""
