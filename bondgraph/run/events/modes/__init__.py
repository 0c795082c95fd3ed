"""Modes of an instant that are found together, by complementarity."""
