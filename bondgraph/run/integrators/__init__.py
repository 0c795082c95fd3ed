"""Integrators: bound rates in; legs of a run between events out, by an explicit method, CVODE or SciPy."""
