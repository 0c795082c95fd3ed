"""Derivation of energy forms in SymPy: the model is cut at its storages, resistors and sources, which gives the matrices."""
