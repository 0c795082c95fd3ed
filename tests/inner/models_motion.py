"""Internal names of `screwbond.models.motion` that tests use."""

# ruff: noqa: F401

from screwbond.models.motion.polynomials import QUANTITIES
