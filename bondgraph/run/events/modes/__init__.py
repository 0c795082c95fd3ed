"""Modes that are found together at an instant, by complementarity."""
