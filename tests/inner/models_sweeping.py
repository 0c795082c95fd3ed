"""Internal names of `screwbond.models.sweeping` that tests use."""

# ruff: noqa: F401

from screwbond.models.sweeping import DISTRIBUTIONS, read_plan
