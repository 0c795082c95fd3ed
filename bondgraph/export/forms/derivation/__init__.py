"""Derivation of energy forms: the model is cut at its storages, resistors and sources, and their matrices follow, in SymPy."""
