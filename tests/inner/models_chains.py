"""Internal names of `screwbond.models.chains` that tests use."""

# ruff: noqa: F401

from screwbond.models.chains.damped_least_squares import rotation_vectors
from screwbond.models.chains.dynamics import inertia_numbers
from screwbond.models.chains.graph import articulated_is_shorter, operations, recursion_is_shorter
from screwbond.models.chains.links import cylinder_inertia
