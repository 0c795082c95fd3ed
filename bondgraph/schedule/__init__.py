"""Large models: compile sorted statements to loops over shared kernels, which are called like straight-line code."""
