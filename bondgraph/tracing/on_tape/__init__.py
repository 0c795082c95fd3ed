"""Basis of tracing: the system with its tape, values by name, sample states, and discontinuities."""
