"""Inner names of `screwbond.models.sweeping` that tests look into."""

# ruff: noqa: F401

from screwbond.models.sweeping import DISTRIBUTIONS, read_plan
