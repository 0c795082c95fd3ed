"""Derivation: a compiled model cut at its storages, resistors and sources in; the matrices of energy forms, in SymPy, out."""
