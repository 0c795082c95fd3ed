"""Source code of a compiled model: its routines as C, NumPy, MATLAB, Modelica, SymPy, CasADi or JAX."""
