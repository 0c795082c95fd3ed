"""Source code: a compiled model in; its routines as C, NumPy, MATLAB or SymPy, with the user's names, out."""
