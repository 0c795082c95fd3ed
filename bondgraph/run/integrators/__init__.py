"""Integrators: bound rates in; legs of a run between events out, by explicit methods and a Rosenbrock method."""
