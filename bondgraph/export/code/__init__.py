"""Source code of a compiled model: its routines as C, NumPy, MATLAB or SymPy, with the user's names."""
