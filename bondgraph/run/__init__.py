"""Hybrid simulation: a compiled program, start values, settings -> a result with names and an energy account."""
