"""Inner names of `screwbond.models.motion` that tests look into."""

# ruff: noqa: F401

from screwbond.models.motion.polynomials import QUANTITIES
