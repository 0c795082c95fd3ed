"""Equations of a compiled model in the forms of the literature, as SymPy records."""
