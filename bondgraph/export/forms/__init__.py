"""Forms of equations: those of a compiled model in the forms of the literature, as SymPy records."""
